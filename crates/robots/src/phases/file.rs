//! `[[phase]]` as it is typed, and the checks of its values.
//!
//! Cold. Each value is read into its type where it stands; combinations of values are checked here.

use super::{ErrorGoal, Goal, Lock, Phase, Ramp, outage};
use crate::spec::{SpecError, typed};
use bakeoff_units::{Bytes, Nanos, Ratio};
use serde::de::{Deserializer, Error, Visitor};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// `[[phase]]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhaseFile {
    /// Its name in reports; no two phases have the same.
    pub name: String,
    /// The goal that ends it; any one of `duration`, `transactions` and `fill` is enough.
    #[serde(default)]
    pub goal: GoalFile,
    /// The lock that holds it, whatever its goal says.
    pub lock: Option<LockFile>,
    /// Share of the rate; without a rate the share of the robots that are at work. Default 100% in the
    /// first phase, then as the phase before ended.
    #[serde(default)]
    pub load: RampFile,
    /// The same once more, multiplied with `load`: share of the robots that there are.
    #[serde(default)]
    pub population: RampFile,
    /// Factor of the robots' recurrence.
    #[serde(default)]
    pub recurrence: RampFile,
    /// Factor of the shares of special requests and methods.
    #[serde(default)]
    pub special: RampFile,
    /// Whether its figures are results. Default true, but for an outage, which cannot be measured.
    pub measured: Option<bool>,
    /// The cache's processes are killed when the phase begins, and started again when it ends. The length is given in
    /// `goal`, as a duration alone; a phase comes before it and one after.
    #[serde(default)]
    pub outage: bool,
}

impl PhaseFile {
    /// Whether its figures are results.
    pub fn is_measured(&self) -> bool {
        self.measured.unwrap_or(!self.outage)
    }

    /// The phase with this goal.
    pub(super) fn with(&self, goal: Goal) -> Phase {
        let ramp = |ramp: RampFile| Ramp { begin: ramp.begin, end: ramp.end };
        Phase {
            name: self.name.clone(),
            goal,
            load: ramp(self.load),
            population: ramp(self.population),
            recurrence: ramp(self.recurrence),
            special: ramp(self.special),
            measured: self.is_measured(),
            outage: self.outage,
        }
    }
}

/// `goal = { .. }`
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoalFile {
    /// Length, such as "54min".
    #[serde(default, deserialize_with = "typed::maybe")]
    pub duration: Option<Nanos>,
    /// Number of requests, failed ones included.
    pub transactions: Option<u64>,
    /// Bytes that went into the cache, such as "20GB" or "20GiB", or in a bake-off a share of the cache's store, such
    /// as "200%": of basic requests for cachable objects that were no hits.
    #[serde(default, deserialize_with = "typed::maybe")]
    pub fill: Option<FillGoal>,
    /// Errors that end the whole test: a share such as "30%" (or 0.3) of the phase's requests, looked at from 1000
    /// requests on, or a number of them.
    pub errors: Option<ErrorGoal>,
}

/// Amount that is to go into a cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FillGoal {
    /// A number of bytes.
    Bytes(Bytes),
    /// This share of its store.
    OfStore(Ratio),
}

impl FillGoal {
    /// In bytes, for a store of this size.
    #[must_use]
    pub fn of_store(self, store: Bytes) -> Self {
        match self {
            Self::Bytes(_) => self,
            Self::OfStore(share) => {
                Self::Bytes(Bytes::new((store.get() as f64 * share.get()).round() as u64))
            }
        }
    }
}

impl FromStr for FillGoal {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim_end().ends_with('%') {
            return text.parse().map(Self::OfStore).map_err(|why: <Ratio as FromStr>::Err| why.to_string());
        }
        text.parse().map(Self::Bytes).map_err(|why: <Bytes as FromStr>::Err| why.to_string())
    }
}

/// `lock = { .. }`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockFile {
    /// The conditions: "frozen" (the working set stopped growing), "told" (the cache is full). Left out: none, and
    /// `at_most` bounds a goal of transactions or fill.
    #[serde(default)]
    pub until: BTreeSet<Awaited>,
    /// The phase ends after this nevertheless, and says so.
    #[serde(deserialize_with = "typed::text")]
    pub at_most: Nanos,
}

/// A condition that a phase can wait for.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "kebab-case")]
pub enum Awaited {
    /// The working set stopped growing.
    Frozen,
    /// An observer of the cache says that it is enough.
    Told,
}

/// `{ begin = "10%", end = "100%" }`
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RampFile {
    /// Default: where the phase before stopped, 100% in the first.
    #[serde(default, deserialize_with = "typed::maybe")]
    pub begin: Option<Ratio>,
    /// Default: as at the beginning. A ramp goes in a straight line over the phase's duration.
    #[serde(default, deserialize_with = "typed::maybe")]
    pub end: Option<Ratio>,
}

/// Checks phases in their order: a factor begins where it ended in the phase before.
pub(crate) fn check(files: &[PhaseFile]) -> Result<Vec<Phase>, SpecError> {
    let mut names = BTreeSet::new();
    let mut before = [1.0; 4];
    let phases = files.iter().map(|file| {
        if file.name.trim().is_empty() || !names.insert(&file.name) {
            let what = format!("there are two phases `{}`, or it has no name", file.name);
            return Err(SpecError::new("phase", what, "give each phase a name of its own"));
        }
        let phase = file.with(goal(file)?);
        before = ramps(&phase, before)?;
        Ok(phase)
    });
    let phases: Vec<Phase> = phases.collect::<Result<_, _>>()?;
    if phases.is_empty() {
        let help = "write [[phase]] with a name and goal = { duration = \"1min\" }";
        return Err(SpecError::new("phase", "there is no phase", help));
    }
    outage::check(files)?;
    Ok(phases)
}

fn goal(file: &PhaseFile) -> Result<Goal, SpecError> {
    let refuse = |key: &str, what: &str, help: &str| {
        Err(SpecError::new(&format!("phase `{}`, {key}", file.name), what, help))
    };
    let lock = file.lock.as_ref().map(|lock| Lock {
        frozen: lock.until.contains(&Awaited::Frozen),
        told: lock.until.contains(&Awaited::Told),
        at_most: lock.at_most,
    });
    if let Some(lock) = lock {
        let bounds = file.goal.transactions.is_some() || file.goal.fill.is_some();
        if !lock.frozen && !lock.told && !bounds {
            let help = "write until = [\"frozen\"] or [\"told\"], or a goal of transactions or fill";
            return refuse("lock", "it waits for nothing", help);
        }
        if lock.at_most == Nanos::ZERO {
            return refuse("lock", "it may take no time", "write at_most = \"4h\"");
        }
    }
    let GoalFile { duration, transactions, fill, errors } = file.goal.clone();
    let fill_bytes = match fill {
        Some(FillGoal::OfStore(_)) => {
            return refuse("goal.fill", "of which store is not known here", "write bytes, such as \"20GB\"");
        }
        Some(FillGoal::Bytes(bytes)) => Some(bytes.get()),
        None => None,
    };
    if duration == Some(Nanos::ZERO) || transactions == Some(0) || fill_bytes == Some(0) {
        return refuse("goal", "it is reached before it begins", "write more than nothing, or leave it out");
    }
    if duration.is_none() && transactions.is_none() && fill_bytes.is_none() && lock.is_none() {
        return refuse("goal", "it never ends", "write goal = { duration = \"10min\" }");
    }
    Ok(Goal { duration, transactions, fill_bytes, errors, lock })
}

/// Checks the factors of a phase; returns where it leaves them, if it runs to its end.
fn ramps(phase: &Phase, before: [f64; 4]) -> Result<[f64; 4], SpecError> {
    let names = ["load", "population", "recurrence", "special"];
    let ramps = [phase.load, phase.population, phase.recurrence, phase.special];
    let mut ends = [0.0; 4];
    let mut begins = [0.0; 4];
    for (at, (name, ramp)) in names.into_iter().zip(ramps).enumerate() {
        let refuse = |what: &str, help: &str| {
            Err(SpecError::new(&format!("phase `{}`, {name}", phase.name), what, help))
        };
        begins[at] = ramp.begin.map_or(before[at], Ratio::get);
        ends[at] = ramp.end.map_or(begins[at], Ratio::get);
        if !(0.0..=1.0).contains(&begins[at]) || !(0.0..=1.0).contains(&ends[at]) {
            return refuse("it is more than 100%", "set the rate to the highest that is wanted");
        }
        if begins[at] != ends[at] && phase.goal.duration.is_none() {
            let help = "give goal a duration, or begin and end the same value";
            return refuse("it changes in a straight line over a time that is not given", help);
        }
    }
    let idle = begins[0].max(ends[0]) * begins[1].max(ends[1]) == 0.0;
    if idle && phase.goal.duration.is_none() && phase.goal.lock.is_none() {
        let help = "give goal a duration, or more load";
        return Err(SpecError::new(&format!("phase `{}`", phase.name), "nothing is asked in it", help));
    }
    Ok(ends)
}

impl<'de> Deserialize<'de> for ErrorGoal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ErrorGoalVisitor)
    }
}

struct ErrorGoalVisitor;

impl Visitor<'_> for ErrorGoalVisitor {
    type Value = ErrorGoal;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a share such as \"30%\" or 0.3, or a number of errors from 1 on")
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<ErrorGoal, E> {
        match Ratio::new(number) {
            Some(share) if number > 0.0 && number < 1.0 => Ok(ErrorGoal::Share(share)),
            Some(_) if number >= 1.0 && number.fract() == 0.0 => Ok(ErrorGoal::Count(number as u64)),
            _ => Err(E::custom(format_args!("{number} is not {}", "a share below 1 or a whole number"))),
        }
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<ErrorGoal, E> {
        self.visit_f64(number as f64)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<ErrorGoal, E> {
        self.visit_f64(number as f64)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<ErrorGoal, E> {
        let share: Ratio = text.parse().map_err(E::custom)?;
        if share.get() > 0.0 && share.get() <= 1.0 {
            return Ok(ErrorGoal::Share(share));
        }
        let help = "a share above 0% and at most 100%; write a number of errors without quotes";
        Err(E::custom(format_args!("`{text}` is not {help}")))
    }
}
