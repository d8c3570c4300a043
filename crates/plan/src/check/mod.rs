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

use super::error::{Faults, suggestion};
use super::expand::Cell;
use super::file::{Extents, PlanFile};
use super::{Arm, Extent, Kind, Plan, PlanError};
use crate::file::{FileSection, Spanned};
use bakeoff_stats::{LOOKS, Margin};
use bakeoff_units::{Nanos, PerSecond, Ratio};
use std::collections::BTreeMap;
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
    /// Files that the plan brings.
    files: &'a BTreeMap<Spanned<String>, FileSection>,
}

type Checked<T> = Result<T, PlanError>;

pub(super) fn check(name: &str, origin: &str, text: &str, base: &Path, file: PlanFile) -> Checked<Plan> {
    let of = |extent| check_as(&Context { origin, text, base, extent, files: &file.file }, name, &file);
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
    let cx = Context { origin, text, base, extent: Extent::Sample, files: &file.file };
    let (_, cells) = cx.expand(&file)?;
    cx.here(&file, &cells, cores)
}

fn check_as(cx: &Context<'_>, name: &str, file: &PlanFile) -> Checked<Plan> {
    let e = &file.experiment;
    let faults = Faults::default();
    let general = cx.general(file, &faults);
    let work = faults.keep(cx.work(file, cx.pick(e.slice_requests.as_ref()).as_ref()));
    let expanded = faults.keep(cx.expand(file));
    let known = faults.keep(cx.known(file));
    let (Some(general), Some(work), Some((factors, cells)), Some(known)) = (general, work, expanded, known)
    else {
        return Err(faults.into_one());
    };
    let (cells, left_out) = cx.left_out(cells);
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
        violations: cx.violations(file.violations.as_ref(), &work, &arms, &baselines)?,
        written: cx.written(file, &work)?,
        factors,
        seed: e.seed.unwrap_or(1),
        baselines,
        margin: general.margin,
        paired_rounds: e.paired_rounds.as_ref().map(|rounds| *rounds.as_ref()),
        loads,
        at: general.at,
        budget: general.budget,
        max_rounds: general.max_rounds,
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

fn reordered<T: Clone>(all: &[T], order: &[usize]) -> Vec<T> {
    order.iter().filter_map(|old| all.get(*old).cloned()).collect()
}

/// The settings of `[experiment]` that depend on nothing else.
struct General {
    primary: Option<String>,
    study: Option<String>,
    margin: Margin,
    at: PerSecond,
    budget: Nanos,
    max_rounds: u32,
    max_errors: Ratio,
    generator_cores: Option<Vec<usize>>,
    subject_cores: Option<Vec<usize>>,
}

impl Context<'_> {
    /// `None` if any of it is wrong; all faults are kept.
    fn general(&self, file: &PlanFile, faults: &Faults) -> Option<General> {
        let e = &file.experiment;
        let primary = faults.keep(self.primary(e));
        let study = faults.keep(self.study(e));
        let margin = faults.keep(self.margin(e));
        let default_at = Spanned::new(0..0, "1000/s".to_owned());
        let at = faults.keep(self.rate_with_unit(e.at.as_ref().unwrap_or(&default_at)));
        let budget = faults.keep(self.quantity(self.pick(e.budget.as_ref()).as_ref(), "5min"));
        let max_rounds = faults.keep(self.at_least(self.pick(e.max_rounds.as_ref()).as_ref(), MAX_ROUNDS, 3));
        let max_errors = faults.keep(self.quantity(e.max_errors.as_ref(), "0.1%"));
        let generator_cores = faults.keep(self.cores(e.generator_cores.as_ref()));
        let subject_cores = faults.keep(self.cores(e.subject_cores.as_ref()));
        Some(General {
            primary: primary?,
            study: study?,
            margin: margin?,
            at: at?,
            budget: budget?,
            max_rounds: max_rounds?,
            max_errors: max_errors?,
            generator_cores: generator_cores?,
            subject_cores: subject_cores?,
        })
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
        match text.parse() {
            Ok(_) if text.parse::<f64>().is_ok() => {
                self.wrong(value.span(), format!("`{text}` has no unit"), format!("write \"{text}/s\""))
            }
            Ok(rate) => Ok(rate),
            Err(why) => self.wrong(value.span(), why.to_string(), "such as \"1000/s\""),
        }
    }

    /// The value for this extent, with its place.
    fn pick<T: Clone>(&self, value: Option<&Spanned<Extents<T>>>) -> Option<Spanned<T>> {
        value.map(|value| {
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

    /// A quantity with its unit, or the default.
    fn quantity<T: FromStr<Err: std::fmt::Display>>(
        &self,
        value: Option<&Spanned<String>>,
        default: &str,
    ) -> Checked<T> {
        let text = value.map_or(default, |value| value.as_ref());
        text.parse().or_else(|why: T::Err| {
            self.wrong(
                value.map_or(0..0, Spanned::span),
                why.to_string(),
                format!("the default is \"{default}\""),
            )
        })
    }

    fn optional<T: FromStr<Err: std::fmt::Display>>(
        &self,
        value: Option<&Spanned<String>>,
    ) -> Checked<Option<T>> {
        let read = |value: &Spanned<String>| {
            value
                .as_ref()
                .parse()
                .or_else(|why: T::Err| self.wrong(value.span(), why.to_string(), "or take the line out"))
        };
        value.map(read).transpose()
    }

    fn positive<T: FromStr<Err: std::fmt::Display> + Copy>(
        &self,
        value: Option<&Spanned<String>>,
        default: &str,
        number: fn(T) -> f64,
    ) -> Checked<T> {
        let quantity: T = self.quantity(value, default)?;
        if number(quantity) > 0.0 {
            return Ok(quantity);
        }
        self.wrong(
            value.map_or(0..0, Spanned::span),
            "this must be above zero",
            format!("the default is \"{default}\""),
        )
    }

    fn at_least<T: Copy + PartialOrd + std::fmt::Display>(
        &self,
        value: Option<&Spanned<T>>,
        default: T,
        least: T,
    ) -> Checked<T> {
        match value {
            None => Ok(default),
            Some(value) if *value.as_ref() >= least => Ok(*value.as_ref()),
            Some(value) => self.wrong(
                value.span(),
                format!("this must be {least} or more"),
                format!("the default is {default}"),
            ),
        }
    }

    fn cores(&self, cores: Option<&Spanned<Vec<usize>>>) -> Checked<Option<Vec<usize>>> {
        match cores {
            Some(list) if list.as_ref().is_empty() => {
                self.wrong(list.span(), "there must be at least one core", "such as [0]")
            }
            Some(list) => Ok(Some(list.as_ref().clone())),
            None => Ok(None),
        }
    }

    fn enough_arms(
        &self,
        baseline: Range<usize>,
        arms: &[Arm],
        cells: &[Cell],
        kind: &Kind,
        equal_allowed: bool,
    ) -> Checked<()> {
        if arms.len() < 2 && *kind == Kind::Compare && !equal_allowed {
            return self.wrong(
                baseline,
                "there is nothing to compare the baseline with",
                "add another [arm.NAME]; allow_equal_arms = true measures it alone, twice, for `compare-results`",
            );
        }
        for (index, arm) in arms.iter().enumerate() {
            if let Some(twin) = arms[..index].iter().find(|other| other.name == arm.name) {
                let what = format!("two arms are called `{}`", twin.name);
                return self.wrong(cells[index].name.span(), what, "rename a level");
            }
            let twin = arms[..index].iter().find(|other| other.is_like(arm));
            if let Some(twin) = twin.filter(|_| !equal_allowed) {
                return self.wrong(
                    cells[index].name.span(),
                    format!("the arms `{}` and `{}` are equal", twin.name, arm.name),
                    "take one out: the baseline runs twice anyway; for calibration set allow_equal_arms = true",
                );
            }
        }
        Ok(())
    }

    /// `first_use_of` names another arm, which is no first use itself.
    fn first_uses(&self, cells: &[Cell], arms: &[Arm]) -> Checked<()> {
        let known: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
        for (cell, arm) in cells.iter().zip(arms) {
            let Some(steady) = &arm.first_use_of else { continue };
            let span = cell.section.has.asked.first_use_of.as_ref().map_or(0..0, Spanned::span);
            let Some(found) = arms.iter().find(|other| other.name == *steady) else {
                return self.wrong(span, format!("there is no arm `{steady}`"), suggestion(steady, &known));
            };
            if found.name == arm.name || found.first_use_of.is_some() {
                let help = "name the arm that shows the steady use";
                return self.wrong(span, format!("`{steady}` is a first use itself"), help);
            }
        }
        Ok(())
    }
}
