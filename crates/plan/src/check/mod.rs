//! Check of a plan, from the typed keys to a runnable plan. Every key is either used or refused with a reason.

mod arm;
mod arm_settings;
mod baselines;
mod calls;
mod client;
mod curve;
mod factors;
mod files;
mod fronts;
mod here;
mod layers;
mod link;
mod loads;
mod method;
mod named;
mod peak;
mod populations;
mod refusals;
mod slices;
#[cfg(test)]
mod tests;
mod timed;
mod workload;
mod wraps;
mod written;

use super::error::Faults;
use super::expand::Cell;
use super::file::{ExperimentSection, Extents, PlanFile, place_of};
use super::{Arm, DEFAULT_MARGIN, ExperimentGoal, Extent, Plan, PlanError};
use crate::file::{FileSection, Spanned};
use bakeoff_stats::{LOOKS, Margin};
use bakeoff_units::{Nanos, PerSecond, Ratio};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::Range;
use std::path::Path;
use std::str::FromStr;

/// Most rounds of a plan that does not set a limit. The budget is meant to end a run: with the shortest rounds, two
/// short commands in 11 ms, 15 s allow at most about as many. Error rates are simulated up to here.
const MAX_ROUNDS: u32 = LOOKS[LOOKS.len() - 1];

struct Context<'a> {
    origin: &'a str,
    text: &'a str,
    base: &'a Path,
    /// Selects one of two values.
    extent: Extent,
    /// The servers are on another machine, with all that arms need.
    elsewhere: bool,
    /// Files that the plan brings.
    files: &'a BTreeMap<Spanned<String>, FileSection>,
}

type Checked<T> = Result<T, PlanError>;
/// A key whose text is read here.
type Typed = Option<Spanned<String>>;

pub(super) fn check(name: &str, origin: &str, text: &str, base: &Path, file: &PlanFile) -> Checked<Plan> {
    check_on((name, origin, text), base, file, false)
}

/// The same where the servers are on another machine.
pub(super) fn check_for_elsewhere(name: &str, origin: &str, text: &str, file: &PlanFile) -> Checked<Plan> {
    check_on((name, origin, text), Path::new("."), file, true)
}

fn check_on(
    (name, origin, text): (&str, &str, &str),
    base: &Path,
    file: &PlanFile,
    elsewhere: bool,
) -> Checked<Plan> {
    let of = |extent| {
        let cx = Context { origin, text, base, extent, elsewhere, files: &file.file };
        check_as(&cx, name, file)
    };
    let sample = of(Extent::Sample)?;
    if !file.has_extents() {
        return Ok(sample);
    }
    let full = Plan { extent: Some(Extent::Full), ..of(Extent::Full)? };
    Ok(Plan { extent: Some(Extent::Sample), full: Some(Box::new(full)), ..sample })
}

/// Checks that this machine has everything that the plan of this text names.
pub(super) fn here(origin: &str, text: &str, base: &Path, cores: &[usize]) -> Checked<()> {
    let file = PlanFile::parse(origin, text)?;
    let extent = Extent::Sample;
    let cx = Context { origin, text, base, extent, elsewhere: false, files: &file.file };
    let (factors, cells) = cx.expand(&file)?;
    let (cells, _) = cx.left_out(&file, cells, &factors);
    cx.here(&file, &cells, cores)
}

fn check_as(cx: &Context<'_>, name: &str, file: &PlanFile) -> Checked<Plan> {
    let e = &file.experiment;
    let faults = Faults::default();
    let general = cx.general(e, &faults);
    let work = faults.keep(cx.work(file, cx.pick(&e.slice_requests).as_ref()));
    let expanded = faults.keep(cx.expand(file));
    let known = faults.keep(cx.known(file));
    let (Some(at), Some(work), Some((factors, cells)), Some(known)) = (general.at, work, expanded, known)
    else {
        return Err(faults.into_one());
    };
    let (cells, left_out) = cx.left_out(file, cells, &factors);
    let mut arms: Vec<Arm> =
        cells.iter().filter_map(|cell| faults.keep(cx.arm(cell, file, &work, &known))).collect();
    if !faults.is_empty() {
        return Err(faults.into_one());
    }
    let work = cx.timed(file, work, &cells)?;
    let work = cx.for_caches(&file.workload, work, &arms)?;
    cx.loads(file, &work, &cells, &mut arms)?;
    cx.some_arm_speaks_tls(&file.workload, &arms)?;
    cx.one_list_of_urls(file, &arms)?;
    let baselines = cx.baselines(&e.baseline, &factors, &cells, &arms)?;
    let order = baselines.by_stratum();
    let (cells, arms) = (reordered(&cells, &order), reordered(&arms, &order));
    let baselines = baselines.reordered(&order);
    let kind = cx.kind(file, &work, &cells)?;
    cx.enough_arms(e.baseline.span(), &arms, &cells, &kind, e.allow_equal_arms.unwrap_or(false))?;
    cx.first_uses(&cells, &arms)?;
    let loads = cx.curve(e, &kind, &work, &arms)?;
    let plan = Plan {
        name: name.to_owned(),
        origin: cx.origin.to_owned(),
        text: cx.text.to_owned(),
        base_dir: cx.base.to_owned(),
        kind,
        design: cx.design(e, &work)?,
        restart_every: e.restart_every.as_ref().map(|every| *every.as_ref()),
        primary: general.primary,
        link: cx.link(e, &work, &arms)?,
        study: general.study,
        violations: cx.violations(file.violations.as_ref(), &work, (&arms, &left_out), &baselines)?,
        written: cx.written(file, &work)?,
        factors,
        seed: e.seed.unwrap_or(1),
        baselines,
        margin: general.margin,
        paired_rounds: e.paired_rounds.as_ref().map(|rounds| *rounds.as_ref()),
        loads,
        at,
        budget: general.budget,
        max_rounds: general.max_rounds,
        precision: general.precision,
        max_errors: general.max_errors,
        generator_cores: general.generator_cores,
        subject_cores: general.subject_cores,
        work,
        arms,
        left_out,
        extent: None,
        full: None,
    };
    cx.slices(&plan, &cells)?;
    cx.refusals_fit(e, &file.workload, &plan.work, plan.violations.as_ref())?;
    Ok(plan)
}

fn names(arms: &[Arm]) -> Vec<&str> {
    arms.iter().map(|arm| arm.name.as_str()).collect()
}

fn reordered<T: Clone>(all: &[T], order: &[usize]) -> Vec<T> {
    order.iter().filter_map(|old| all.get(*old).cloned()).collect()
}

/// The settings of `[experiment]` that depend on nothing else.
struct General {
    primary: Option<String>,
    study: Option<String>,
    margin: Margin,
    at: Option<PerSecond>,
    budget: Nanos,
    max_rounds: u32,
    precision: Option<Ratio>,
    max_errors: Ratio,
    generator_cores: Option<Vec<usize>>,
    subject_cores: Option<Vec<usize>>,
}

impl Context<'_> {
    /// All faults are kept; a wrong key has some value.
    fn general(&self, e: &ExperimentSection, faults: &Faults) -> General {
        let default_at = Spanned::new(0..0, "1000/s".to_owned());
        let rounds = self.pick(&e.max_rounds);
        General {
            primary: faults.keep(self.primary(e)).flatten(),
            study: faults.keep(self.study(e)).flatten(),
            margin: faults.keep(self.margin(e)).unwrap_or(Margin::Share(DEFAULT_MARGIN)),
            at: faults.keep(self.rate_with_unit(e.at.as_ref().unwrap_or(&default_at))),
            budget: faults.keep(self.budget(e)).unwrap_or_default(),
            max_rounds: faults.keep(self.at_least(rounds.as_ref(), MAX_ROUNDS, 3)).unwrap_or(MAX_ROUNDS),
            precision: faults.keep(self.precision(&e.precision)).flatten(),
            max_errors: faults.keep(self.max_errors(&e.max_errors)).unwrap_or_default(),
            generator_cores: faults.keep(self.cores(&e.generator_cores)).flatten(),
            subject_cores: faults.keep(self.cores(&e.subject_cores)).flatten(),
        }
    }

    fn budget(&self, e: &ExperimentSection) -> Checked<Nanos> {
        self.quantity(&self.pick(&e.budget), "5min")
    }

    fn precision(&self, key: &Typed) -> Checked<Option<Ratio>> {
        let precision: Option<Ratio> = self.optional(key)?;
        precision.as_ref().map_or(Ok(()), |share| self.above_zero(key, share, "or take the line out"))?;
        Ok(precision)
    }

    fn max_errors(&self, key: &Typed) -> Checked<Ratio> {
        self.quantity(key, "0.1%")
    }

    fn known(&self, file: &PlanFile) -> Checked<arm::Known> {
        Ok(arm::Known {
            layers: self.own_layers(file)?,
            fronts: self.own_fronts(file)?,
            wraps: self.own_wraps(file)?,
        })
    }

    /// A rate must have its unit, which is easily forgotten: a number alone would be taken for one a second.
    fn rate_with_unit(&self, value: &Spanned<String>) -> Checked<PerSecond> {
        let text = value.as_ref().trim();
        let rate = self.read(value, "such as \"1000/s\"")?;
        let bare = value.when(text.parse::<f64>().is_ok());
        self.refuse(bare, format!("`{text}` has no unit"), format!("write \"{text}/s\""))?;
        Ok(rate)
    }

    /// The value for this extent, with its place.
    fn pick<T: Clone>(&self, value: &Option<Spanned<Extents<T>>>) -> Option<Spanned<T>> {
        value.as_ref().map(|value| {
            let picked = match (value.as_ref(), self.extent) {
                (Extents::One(value), _) => value,
                (Extents::Two(two), Extent::Sample) => &two.sample,
                (Extents::Two(two), Extent::Full) => &two.full,
            };
            Spanned::new(value.span(), picked.clone())
        })
    }

    fn wrong<T>(&self, span: Range<usize>, what: impl AsRef<str>, help: impl AsRef<str>) -> Checked<T> {
        Err(PlanError::at(self.origin, self.text, span, what.as_ref(), Some(help.as_ref())))
    }

    /// Refuses a key that was typed.
    fn refuse<T>(
        &self,
        key: Option<&Spanned<T>>,
        what: impl AsRef<str>,
        help: impl AsRef<str>,
    ) -> Checked<()> {
        key.map_or(Ok(()), |key| self.wrong(key.span(), what, help))
    }

    /// A quantity with its unit, or the default.
    fn quantity<T: FromStr<Err: Display>>(&self, key: &Typed, default: &str) -> Checked<T> {
        let at_default = Spanned::new(0..0, default.to_owned());
        self.read(key.as_ref().unwrap_or(&at_default), format!("the default is \"{default}\""))
    }

    fn optional<T: FromStr<Err: Display>>(&self, key: &Typed) -> Checked<Option<T>> {
        key.as_ref().map(|key| self.read(key, "or take the line out")).transpose()
    }

    fn read<T: FromStr<Err: Display>>(&self, key: &Spanned<String>, help: impl AsRef<str>) -> Checked<T> {
        key.as_ref().parse().or_else(|why: T::Err| self.wrong(key.span(), why.to_string(), help))
    }

    fn positive<T: FromStr<Err: Display> + Default + PartialOrd>(
        &self,
        key: &Typed,
        default: &str,
    ) -> Checked<T> {
        let quantity: T = self.quantity(key, default)?;
        self.above_zero(key, &quantity, format!("the default is \"{default}\""))?;
        Ok(quantity)
    }

    fn above_zero<T: Default + PartialOrd>(
        &self,
        key: &Typed,
        quantity: &T,
        help: impl AsRef<str>,
    ) -> Checked<()> {
        let not_above = key.as_ref().filter(|_| *quantity <= T::default());
        self.refuse(not_above, "this must be above zero", help)
    }

    fn at_least<T: Copy + PartialOrd + Display>(
        &self,
        key: Option<&Spanned<T>>,
        default: T,
        least: T,
    ) -> Checked<T> {
        let below = key.filter(|key| *key.as_ref() < least);
        self.refuse(below, format!("this must be {least} or more"), format!("the default is {default}"))?;
        Ok(key.map_or(default, |key| *key.as_ref()))
    }

    fn cores(&self, cores: &Option<Spanned<Vec<usize>>>) -> Checked<Option<Vec<usize>>> {
        let none = cores.as_ref().filter(|list| list.as_ref().is_empty());
        self.refuse(none, "there must be at least one core", "such as [0]")?;
        Ok(cores.as_ref().map(|list| list.as_ref().clone()))
    }

    fn enough_arms(
        &self,
        baseline: Range<usize>,
        arms: &[Arm],
        cells: &[Cell],
        kind: &ExperimentGoal,
        equal_allowed: bool,
    ) -> Checked<()> {
        if arms.len() < 2 && *kind == ExperimentGoal::Compare && !equal_allowed {
            let help = "add another [arm.NAME]; allow_equal_arms = true measures it alone, twice, for `compare-results`";
            return self.wrong(baseline, "there is nothing to compare the baseline with", help);
        }
        for (index, arm) in arms.iter().enumerate() {
            let of = |is_twin: &dyn Fn(&Arm) -> bool| arms[..index].iter().find(|other| is_twin(other));
            let own = &cells[index].name;
            let namesake = of(&|other| other.name == arm.name).map(|_| own);
            self.refuse(namesake, format!("two arms are called `{}`", arm.name), "rename a level")?;
            if let Some(twin) = of(&|other| !equal_allowed && other.is_like(arm)) {
                let help = "take one out: the baseline runs twice anyway; for calibration set allow_equal_arms = true";
                let what = format!("the arms `{}` and `{}` are equal", twin.name, arm.name);
                return self.wrong(own.span(), what, help);
            }
        }
        Ok(())
    }

    /// `first_use_of` names another arm, which is no first use itself.
    fn first_uses(&self, cells: &[Cell], arms: &[Arm]) -> Checked<()> {
        let known = names(arms);
        for (cell, arm) in cells.iter().zip(arms) {
            let Some(steady) = &arm.first_use_of else { continue };
            let key = &cell.section.has.asked.first_use_of;
            let Some(found) = arms.iter().find(|other| other.name == *steady) else {
                return self.unknown(place_of(key), "arm", steady, &known);
            };
            let itself = key.as_ref().filter(|_| found.name == arm.name || found.first_use_of.is_some());
            let help = "name the arm that shows the steady use";
            self.refuse(itself, format!("`{steady}` is a first use itself"), help)?;
        }
        Ok(())
    }
}
