//! Plan of a guest: the file's keys, and the boots that follow from them.
//!
//! Measuring side, cold, pure. Nothing is opened or started here.

use crate::BootMode;
use crate::part::{GuestPart, MIX, NULL_IO};
use crate::records::Boot;
use bakeoff_calls::CallOperation;
use bakeoff_plan::study;
use bakeoff_plan::{Extent, PlanError, near_miss};
use bakeoff_units::Nanos;
use serde::Deserialize;
use std::str::FromStr;

/// Most perturbed boots of a mode: their words must fit into a kernel's command line.
const MOST_BOOTS: u32 = 9;
/// Most batches of an operation.
const MOST_BATCHES: usize = 99;

/// The key that makes a text a plan of this kind.
pub const KEY: &str = "guest";

/// A value that is wrong: its key, and why.
struct Wrong(&'static str, String);

/// What will be done.
#[derive(Clone, Debug, PartialEq)]
pub struct GuestPlan {
    /// Its name: of a shipped plan, or the file's.
    pub name: String,
    /// Its text, as it is kept with the results.
    pub text: String,
    /// What it is, for the head of the report.
    pub title: String,
    /// How much of it; `None` where it states no sample.
    pub extent: Option<Extent>,
    /// Modes, the one that the others are compared with first.
    pub modes: Vec<BootMode>,
    /// What is counted.
    pub parts: Vec<GuestPart>,
    /// Operations of the part `calls`.
    pub operations: Vec<CallOperation>,
    /// Batches of each at most.
    pub batches: usize,
    /// Every boot, in its order.
    pub boots: Vec<Boot>,
    /// How long a boot may take.
    pub time_limit: Nanos,
    /// The study whose published figures stand beside the rows.
    pub study: Option<String>,
    /// What the plan keeps of the study and what it modernises.
    pub differs: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanFile {
    guest: Section,
}

/// `[guest]`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    title: String,
    modes: Option<Vec<BootMode>>,
    parts: Option<Vec<GuestPart>>,
    operations: Option<Vec<String>>,
    batches: Option<usize>,
    boots: Option<Extents<u32>>,
    repeats: Option<Extents<Vec<BootMode>>>,
    mitigations: Option<Extents<Vec<Switch>>>,
    time_limit: Option<String>,
    study: Option<String>,
    #[serde(default)]
    differs: Vec<String>,
}

/// A value, or `{ sample = X, full = Y }`.
#[derive(Clone, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a value as docs/plans.md has it, or { sample = VALUE, full = VALUE }"
)]
enum Extents<T> {
    Two { sample: T, full: T },
    One(T),
}

impl<T: Clone> Extents<T> {
    fn of(&self, full: bool) -> T {
        match self {
            Self::One(value) => value.clone(),
            Self::Two { full: value, .. } if full => value.clone(),
            Self::Two { sample, .. } => sample.clone(),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Switch {
    Off,
    On,
}

impl GuestPlan {
    /// Reads and checks a plan, `origin` being its file or what it is called.
    ///
    /// # Errors
    /// It is no TOML, a key or a value is wrong, or `full` is asked for where there is no sample.
    pub fn parse(name: &str, origin: &str, text: &str, full: bool) -> Result<Self, PlanError> {
        let sections = "a guest's plan has one section, [guest]";
        let file: PlanFile =
            toml::from_str(text).map_err(|why| PlanError::of_file(origin, text, &why, sections))?;
        file.guest
            .check(name, text, full)
            .map_err(|Wrong(key, why)| PlanError::of_key(origin, text, key, why))
    }

    /// Words of its operations.
    pub(crate) fn operation_words(&self) -> Vec<&'static str> {
        self.operations.iter().map(|operation| operation.word()).collect()
    }

    /// Rows that every boot must give.
    pub(crate) fn rows(&self) -> Vec<String> {
        self.parts.iter().flat_map(|part| part.rows(&self.operations)).collect()
    }

    /// A few lines that say what it would do.
    pub fn in_words(&self) -> String {
        let words = |list: Vec<&str>| list.join(", ");
        let modes = words(self.modes.iter().map(|mode| mode.word()).collect());
        let parts = words(self.parts.iter().map(|part| part.word()).collect());
        let extent = self.extent.map_or(String::new(), |extent| format!("\n  {}", extent.in_words()));
        format!(
            "{}: good\n  counts instructions in a guest: {parts}\n  modes: {modes}\n  {} boots of at most {} each{extent}",
            self.name,
            self.boots.len(),
            self.time_limit
        )
    }
}

impl Section {
    fn check(self, name: &str, text: &str, full: bool) -> Result<GuestPlan, Wrong> {
        let is_two = matches!(self.boots, Some(Extents::Two { .. }))
            || matches!(self.repeats, Some(Extents::Two { .. }))
            || matches!(self.mitigations, Some(Extents::Two { .. }));
        if full && !is_two {
            let why = "this plan states no sample, so it is always run whole; take the flag out, or give `boots`, \
                       `repeats` or `mitigations` two values: { sample = X, full = Y }";
            return Err(Wrong("--full", why.to_owned()));
        }
        let extent = is_two.then_some(if full { Extent::Full } else { Extent::Sample });
        let modes = distinct("modes", self.modes.clone().unwrap_or(BootMode::ALL.to_vec()))?;
        let parts = distinct("parts", self.parts.clone().unwrap_or(GuestPart::ALL.to_vec()))?;
        let boots = self.boots(&modes, full)?;
        let time_limit = self.time_limit.as_deref().unwrap_or("10min");
        let time_limit: Nanos = time_limit
            .parse()
            .map_err(|why: <Nanos as FromStr>::Err| Wrong("time_limit", why.to_string()))?;
        let batches = self.batches.unwrap_or(9);
        if !(1..=MOST_BATCHES).contains(&batches) {
            return Err(Wrong("batches", format!("it is from 1 to {MOST_BATCHES}")));
        }
        if let Some(name) = &self.study
            && !study::names().any(|known| known == name)
        {
            return Err(Wrong("study", format!("there is no study {name}; `bakeoff studies` lists them")));
        }
        Ok(GuestPlan {
            name: name.to_owned(),
            text: text.to_owned(),
            title: self.title,
            extent,
            modes,
            parts,
            operations: operations(self.operations)?,
            batches,
            boots,
            time_limit,
            study: self.study,
            differs: self.differs,
        })
    }

    /// A round of modes for each perturbation, so that one that is broken off has something of every mode; then repeats.
    fn boots(&self, modes: &[BootMode], full: bool) -> Result<Vec<Boot>, Wrong> {
        let count = self.boots.as_ref().map_or(2, |boots| boots.of(full));
        if !(1..=MOST_BOOTS).contains(&count) {
            return Err(Wrong("boots", format!("it is from 1 to {MOST_BOOTS}")));
        }
        let repeats = self.repeats.as_ref().map_or(Vec::new(), |repeats| repeats.of(full));
        if let Some(other) = repeats.iter().find(|mode| !modes.contains(mode)) {
            return Err(Wrong("repeats", format!("{} is not among `modes`", other.word())));
        }
        let switches = self.mitigations.as_ref().map_or(vec![Switch::Off], |both| both.of(full));
        let mut boots = Vec::new();
        for mitigations in distinct("mitigations", switches)?.into_iter().map(|switch| switch == Switch::On) {
            for perturbation in 0..count {
                boots.extend(modes.iter().map(|&mode| Boot {
                    mode,
                    mitigations,
                    perturbation,
                    repeat: false,
                }));
            }
            let again = |&mode: &BootMode| Boot { mode, mitigations, perturbation: 0, repeat: true };
            boots.extend(repeats.iter().map(again));
        }
        Ok(boots)
    }
}

fn distinct<T: PartialEq>(key: &'static str, list: Vec<T>) -> Result<Vec<T>, Wrong> {
    if list.is_empty() {
        return Err(Wrong(key, "it names none".to_owned()));
    }
    match (1..list.len()).any(|at| list[..at].contains(&list[at])) {
        true => Err(Wrong(key, "it names one twice".to_owned())),
        false => Ok(list),
    }
}

fn operations(words: Option<Vec<String>>) -> Result<Vec<CallOperation>, Wrong> {
    let Some(words) = words else { return Ok(CallOperation::all().collect()) };
    let known: Vec<&str> = CallOperation::all().map(CallOperation::word).collect();
    let of = |word: &String| {
        let help = || near_miss(word, &known).unwrap_or_else(|| format!("known are {}", known.join(", ")));
        CallOperation::of_word(word)
            .ok_or_else(|| Wrong("operations", format!("there is no {word}; {}", help())))
    };
    distinct("operations", words.iter().map(of).collect::<Result<_, _>>()?)
}

/// Rows that follow from others: name, and those that must be there.
pub(crate) fn derived() -> [(&'static str, Vec<&'static str>); 2] {
    [(NULL_IO, vec!["read", "write"]), (MIX, vec!["http-500", "http-5k", "http-50k", "http-500k", "http-5m"])]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(keys: &str, full: bool) -> Result<GuestPlan, String> {
        let text = format!("[guest]\ntitle = \"T\"\n{keys}");
        GuestPlan::parse("p", "p.toml", &text, full).map_err(|why| why.to_string())
    }

    #[test]
    fn a_sample_is_less_than_the_whole() {
        let keys = "modes = [\"off\", \"enforcing\"]\nboots = { sample = 2, full = 3 }\n\
                    repeats = { sample = [\"enforcing\"], full = [\"off\", \"enforcing\"] }\n\
                    mitigations = { sample = [\"off\"], full = [\"off\", \"on\"] }";
        let (sample, full) = (parse(keys, false).unwrap(), parse(keys, true).unwrap());
        assert_eq!((sample.boots.len(), full.boots.len()), (2 * 2 + 1, 2 * (3 * 2 + 2)));
        assert_eq!((sample.extent, full.extent), (Some(Extent::Sample), Some(Extent::Full)));
        assert_eq!(sample.boots[3].in_words(), "enforcing, perturbed 1");
        assert_eq!(sample.boots[4].in_words(), "enforcing, again");
        assert!(parse("", true).unwrap_err().contains("states no sample"));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (keys, word) in [
            ("modes = [\"on\"]", "on"),
            ("modes = []", "names none"),
            ("modes = [\"off\", \"off\"]", "twice"),
            ("operations = [\"stta\"]", "did you mean `stat`?"),
            ("modes = [\"off\"]\nrepeats = [\"enforcing\"]", "not among"),
            ("boots = 0", "from 1 to 9"),
            ("batches = 0", "from 1 to 99"),
            ("time_limit = \"soon\"", "time_limit"),
            ("study = \"sel\"", "bakeoff studies"),
            ("perturbations = 3", "perturbations"),
        ] {
            let said = parse(keys, false).unwrap_err();
            assert!(said.contains("p.toml:") && said.contains(word), "{keys}: {said}");
        }
    }

    #[test]
    fn shipped_plans_are_good() {
        for plan in crate::shipped::PLANS {
            for full in [false, true] {
                let plan = GuestPlan::parse(plan.name, plan.name, plan.text, full).unwrap();
                assert!(plan.rows().len() >= 24, "{}", plan.in_words());
            }
        }
    }
}
