//! Suites: `run`, `check`, `plans`, `report`, `verify` and `compare-results` where several plans are run together.
//!
//! Each part is run as if its plan had been named alone, into a directory of its own inside the suite's. What a part is,
//! an experiment or something else, is decided where it is run.

mod begin;
mod show;

pub(crate) use begin::{resume, run};
pub(crate) use show::{compare, report, verify};

use super::{caches, plans};
use crate::args::SetArgs;
use crate::exit::Exit;
use crate::{Failure, terminal};
use bakeoff_experiment::plan::{Plan, Setting};
use bakeoff_experiment::shipped;
use bakeoff_experiment::suite::{BEGUN, Begun, Part, Suite};
use bakeoff_units::Nanos;
use std::path::Path;

/// Whether a file's text, or what is shipped under this name, is one.
pub(crate) fn is_suite(name: &str) -> bool {
    let path = Path::new(name);
    match std::fs::read_to_string(path) {
        Ok(text) => Suite::is_one(&text),
        Err(_) => shipped::suite(name).is_some(),
    }
}

/// Whether a suite was run into a directory.
pub(crate) fn is_directory(path: &Path) -> bool {
    path.join(BEGUN).is_file()
}

/// For a command that is for one run; `why` goes on after "a suite".
pub(crate) fn refuse_directory(path: &Path, why: &str) -> Result<(), Failure> {
    let Some(begun) = Begun::read(path).map_err(Failure::usage)? else { return Ok(()) };
    let parts: Vec<&str> = begun.parts.iter().map(|part| part.part.name.as_str()).collect();
    Err(Failure::usage(format!(
        "{}: a suite {why}; give the directory of one of its parts: {}",
        path.display(),
        parts.join(", ")
    )))
}

/// Names of the shipped suites.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    shipped::SUITES.iter().map(|suite| suite.name)
}

/// The file of this name, or a shipped suite; a file wins.
fn find(name: &str) -> Result<Suite, Failure> {
    let path = Path::new(name);
    match shipped::suite(name) {
        Some(suite) if !path.is_file() => {
            Suite::parse(suite.name, &format!("{}.toml (shipped)", suite.name), suite.text, None)
        }
        _ => Suite::load(path),
    }
    .map_err(Failure::usage)
}

/// A suite's parts with their plans, and what is set in each.
struct Checked {
    suite: Suite,
    parts: Vec<CheckedPart>,
}

struct CheckedPart {
    part: Part,
    set: SetArgs,
    /// `None`: a bake-off of caches.
    plan: Option<Plan>,
    /// It states a sample, and the whole is wanted.
    full: bool,
}

/// Every part's plan, read and checked before anything is run. `only`: these parts, all where none is named.
fn checked(name: &str, set: &SetArgs, full: bool, only: &[String]) -> Result<Checked, Failure> {
    let suite = find(name)?;
    let known = suite.names();
    if let Some(wanted) = only.iter().find(|wanted| !known.contains(&wanted.as_str())) {
        let help = bakeoff_experiment::plan::suggestion(wanted, &known);
        return Err(Failure::usage(format!("--part {wanted}: {} has no such part; {help}", suite.name)));
    }
    let all = suite.settings(set.own()).map_err(Failure::usage)?;
    let mut parts = Vec::new();
    let loads = set.loads().settings();
    for (part, own) in suite.parts.iter().zip(all) {
        if only.is_empty() || only.contains(&part.name) {
            let of = |set: Vec<Setting>| CheckedPart::of(part, SetArgs::of(set), full);
            // A part that has no such loads is run as it is.
            let with_loads =
                (!loads.is_empty()).then(|| of([own.clone(), loads.clone()].concat()).ok()).flatten();
            let checked = with_loads.map_or_else(|| of(own), Ok);
            parts.push(checked.map_err(|why| why.of_part(&suite.name, &part.name))?);
        }
    }
    let has_loads = |part: &CheckedPart| part.plan.as_ref().is_some_and(|plan| plan.loads.is_some());
    if !loads.is_empty() && !parts.iter().any(has_loads) {
        return Err(Failure::usage(format!(
            "--loads: no part of {name} can be measured at several loads; `bakeoff check` of a part's plan with --loads says why"
        )));
    }
    if full && !parts.iter().any(|part| part.full) {
        return Err(Failure::usage(format!(
            "--full: no part of {name} states a sample, so all are always run whole; take the flag out"
        )));
    }
    let mut checked = Checked { suite, parts };
    if let Some(budget) = &set.budget {
        checked.share(budget, full)?;
    }
    Ok(checked)
}

impl CheckedPart {
    fn of(part: &Part, set: SetArgs, full: bool) -> Result<Self, Failure> {
        if is_suite(&part.plan) {
            let what = format!("{} is a suite itself", part.plan);
            return Err(Failure::usage(format!("{what}; name its parts in its place")));
        }
        let plan = match caches::is_plan(&part.plan) {
            true => caches::with_settings(&part.plan, &set).map(|()| None)?,
            false => Some(plans::find(&part.plan, &set)?),
        };
        let full = full && plan.as_ref().is_some_and(|plan| plan.full.is_some());
        Ok(Self { part: part.clone(), set, plan, full })
    }

    /// The plan as much of which will be run.
    fn chosen(&self) -> Option<&Plan> {
        let plan = self.plan.as_ref()?;
        if self.full { plan.full.as_deref() } else { Some(plan) }
    }
}

impl Checked {
    /// Shares a wall time out among the parts, as their plans' own budgets are to each other.
    fn share(&mut self, budget: &str, full: bool) -> Result<(), Failure> {
        let whole: Nanos =
            budget.parse().map_err(|why| Failure::usage(format!("--budget {budget}: {why}")))?;
        if let Some(part) = self.parts.iter().find(|part| part.plan.is_none()) {
            return Err(Failure::usage(format!(
                "--budget is for experiments, and the part {} is a bake-off of caches; leave it out by --part",
                part.part.name
            )));
        }
        let own = |part: &CheckedPart| part.chosen().map_or(0, |plan| plan.budget.get());
        let all: u64 = self.parts.iter().map(own).sum();
        for part in &mut self.parts {
            let share = (whole.get() as u128 * own(part) as u128 / all.max(1) as u128) as u64;
            part.set.budget = Some(format!("{}ms", (share / 1_000_000).max(1)));
            *part = CheckedPart::of(&part.part, std::mem::take(&mut part.set), full)?;
        }
        Ok(())
    }

    /// Whether everything that the parts name is on this machine: all that is missing is told at once.
    fn here(&self) -> Result<(), Failure> {
        let missing = |part: &CheckedPart| {
            let why = part.plan.as_ref()?.here().err()?;
            Some(format!("part {}: {why}", part.part.name))
        };
        let missing: Vec<String> = self.parts.iter().filter_map(missing).collect();
        match missing.is_empty() {
            true => Ok(()),
            false => Err(Failure::usage(missing.join("\n\n"))),
        }
    }
}

/// A line a shipped suite, and how long its parts take together.
pub(crate) fn list(width: usize) -> Result<Vec<String>, Failure> {
    let mut lines = Vec::new();
    for suite in shipped::SUITES {
        lines.push(format!("{:<width$}{}", suite.name, suite.summary()));
        let Checked { suite, parts } = checked(suite.name, &SetArgs::default(), false, &[])?;
        lines.push(format!("{:<width$}{}", "", takes(&suite, &parts)));
    }
    Ok(lines)
}

/// `a suite: compile, calls; sample: budget 25 min; --full: 3 h`
fn takes(suite: &Suite, parts: &[CheckedPart]) -> String {
    let sum = |of: fn(&Plan) -> Nanos| {
        Nanos::new(parts.iter().filter_map(|part| part.plan.as_ref()).map(|plan| of(plan).get()).sum())
    };
    let sample = sum(|plan| plan.budget);
    let full = sum(|plan| plan.full.as_ref().map_or(plan.budget, |full| full.budget));
    let names = suite.names().join(", ");
    match sample == full {
        true => format!("a suite: {names}; budget {sample}"),
        false => format!("a suite: {names}; sample: budget {sample}; --full: budget {full}"),
    }
}

/// Checks a suite and says what it would do.
pub(crate) fn check(name: &str, set: &SetArgs) -> Result<Exit, Failure> {
    let checked = checked(name, set, false, &[])?;
    checked.here()?;
    let mut said = format!("{}: good\n  {}", checked.suite.name, takes(&checked.suite, &checked.parts));
    for part in &checked.parts {
        said += &match &part.plan {
            Some(plan) => format!("\n\n{}, {}", part.part.name, plans::in_words(plan)),
            None => format!(
                "\n\n{}, a bake-off of caches: `bakeoff check {}` says more",
                part.part.name, part.part.plan
            ),
        };
    }
    terminal::say(&said);
    Ok(Exit::Verdicts)
}
