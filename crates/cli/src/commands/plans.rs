//! `bakeoff plans` and `bakeoff check`.

use super::{caches, guest, suite};
use crate::args::{CheckArgs, PlansArgs, SetArgs};
use crate::exit::Exit;
use crate::{Failure, terminal};
use bakeoff_experiment::plan::{Kind, PeakPlan, Plan, Work, near_miss};
use bakeoff_experiment::shipped;
use bakeoff_stats::Margin;
use bakeoff_units::{Nanos, Ratio};
use std::io::ErrorKind;
use std::path::Path;

/// Lists the shipped plans, or prints one.
pub(crate) fn plans(args: &PlansArgs) -> Result<Exit, Failure> {
    let Some(name) = &args.name else { return list() };
    let own = || shipped::plan(name).or_else(|| shipped::suite(name)).map(|plan| plan.text);
    let text = own().or_else(|| caches::shipped_text(name)).or_else(|| guest::shipped_text(name));
    terminal::say(text.ok_or_else(|| {
        no_such_plan(name, "no such plan is shipped", "`bakeoff plans` lists those that are")
    })?);
    Ok(Exit::Verdicts)
}

/// All shipped plans, of every language, and suites.
fn names() -> impl Iterator<Item = &'static str> {
    shipped::PLANS
        .iter()
        .map(|plan| plan.name)
        .chain(caches::names())
        .chain(guest::names())
        .chain(suite::names())
}

/// Name and text of a plan: a file's, or that of the shipped one of this name.
pub(super) fn text_of(
    name: &str,
    shipped: fn(&str) -> Option<&'static str>,
) -> Result<Option<(String, String)>, Failure> {
    let path = Path::new(name);
    match std::fs::read_to_string(path) {
        Ok(text) => {
            let stem = path.file_stem().map_or(name.to_owned(), |stem| stem.to_string_lossy().into_owned());
            return Ok(Some((stem, text)));
        }
        // A directory may have the name of a shipped plan.
        Err(why) if matches!(why.kind(), ErrorKind::NotFound | ErrorKind::IsADirectory) => (),
        Err(why) => return Err(Failure::usage(format!("{name}: {why}"))),
    }
    Ok(shipped(name).map(|text| (name.to_owned(), text.to_owned())))
}

/// Whether anything of this name is shipped.
pub(crate) fn is_shipped(name: &str) -> bool {
    names().any(|known| known == name)
}

/// With its near miss, or else with this help.
fn no_such_plan(name: &str, what: &str, help: &str) -> Failure {
    let stem = name.strip_suffix(".toml").unwrap_or(name);
    let help = near_miss(stem, &names().collect::<Vec<_>>()).unwrap_or_else(|| help.to_owned());
    Failure::usage(format!("{name}: {what}; {help}"))
}

fn list() -> Result<Exit, Failure> {
    let width = names().map(|name| name.len() + 2).max().unwrap_or(0);
    let mut lines = Vec::new();
    for plan in shipped::PLANS {
        lines.push(format!("{:<width$}{}", plan.name, plan.summary()));
        let checked = find(plan.name, &SetArgs::default())?;
        if let Some(full) = &checked.full {
            lines.push(format!("{:<width$}sample: {}; --full: {}", "", extent(&checked), extent(full)));
        }
    }
    lines.extend(caches::list(width));
    lines.extend(guest::list(width));
    lines.extend(suite::list(width)?);
    terminal::say(&lines.join("\n"));
    Ok(Exit::Verdicts)
}

/// Checks a plan and says what it would do.
pub(crate) fn check(args: &CheckArgs) -> Result<Exit, Failure> {
    if suite::is_suite(&args.plan) {
        return suite::check(&args.plan, &args.set);
    }
    if caches::is_plan(&args.plan) {
        return caches::check(&args.plan, &args.set);
    }
    if guest::is_plan(&args.plan) {
        return guest::check(&args.plan, &args.set);
    }
    let plan = find(&args.plan, &args.set)?;
    plan.here().map_err(Failure::usage)?;
    terminal::say(&in_words(&plan));
    Ok(Exit::Verdicts)
}

/// That it is good, and what it would do.
pub(crate) fn in_words(plan: &Plan) -> String {
    let said = match &plan.kind {
        Kind::Compare => comparison(plan),
        Kind::Peak(peak) => search(plan, peak),
    };
    let mut said = format!("{}: good\n{said}, seed {}", plan.name, plan.seed);
    if let Some(full) = &plan.full {
        said += &format!("\n  a sample: {}\n  with --full: {}", extent(plan), extent(full));
    }
    for (arm, program) in &plan.left_out {
        said += &format!("\n  left out here: {arm}, for there is no program `{program}`");
    }
    said
}

fn comparison(plan: &Plan) -> String {
    let load = match &plan.work {
        Work::Requests(work) => format!("{}, {}", work.kind(), plan.load_in_words()),
        Work::Command(_) => "command".to_owned(),
        Work::Calls(work) => {
            format!("calls, {} operations, batches of {}", work.operations.len(), work.batch)
        }
        Work::Files(work) => {
            let operations: Vec<&str> = work.operations.iter().map(|operation| operation.as_str()).collect();
            format!("files, {}, {}", operations.join(", "), work.cache.as_str())
        }
    };
    format!(
        "  workload: {load}\n  arms: {} ({})\n  margin {}, budget {}, at most {} rounds",
        arms(plan),
        baselines(plan),
        margin(plan.margin),
        plan.budget,
        plan.max_rounds
    )
}

fn search(plan: &Plan, peak: &PeakPlan) -> String {
    let kind = match &plan.work {
        Work::Requests(work) => work.kind(),
        Work::Command(_) => "command",
        Work::Files(_) => "files",
        Work::Calls(_) => "calls",
    };
    let slo = match peak.slo {
        Some(slo) => slo.to_string(),
        None => format!("5 times that of {} at low load, at least 50 ms", plan.baseline_name()),
    };
    format!(
        "  workload: {kind}, rates chosen by the search\n  arms: {}\n  highest rate: p{} of the response time at most \
         {slo}\n  precision {}, confirmed for {}, budget {}",
        arms(plan),
        peak.quantile * 100.0,
        peak.precision,
        peak.confirm,
        plan.budget
    )
}

/// What a sample and the whole differ in.
fn extent(plan: &Plan) -> String {
    let mut words = format!("budget {}", plan.budget);
    if plan.kind == Kind::Compare {
        words += &format!(", at most {} rounds", plan.max_rounds);
    }
    let counts = || plan.arms.iter().filter_map(|arm| plan.slice_requests(arm));
    match (counts().min(), counts().max()) {
        (Some(least), Some(most)) if least == most => words += &format!(", {least} requests a slice"),
        (Some(least), Some(most)) => words += &format!(", {least} to {most} requests a slice"),
        _ => {}
    }
    words
}

/// Which arms run twice.
fn baselines(plan: &Plan) -> String {
    let names: Vec<&str> = plan.baselines.all().map(|index| plan.arms[index].name.as_str()).collect();
    match names.as_slice() {
        [one] => format!("baseline {one}, runs twice"),
        several => format!("baselines {}, each runs twice", several.join(", ")),
    }
}

fn arms(plan: &Plan) -> String {
    plan.arms.iter().map(|arm| arm.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// The plan of a file, or a shipped one by name, with what was set in it; a file wins.
pub(crate) fn find(name: &str, set: &SetArgs) -> Result<Plan, Failure> {
    let path = Path::new(name);
    let settings = set.settings();
    match shipped::plan(name) {
        // A directory may have the name of a shipped plan.
        Some(plan) if !path.exists() || path.is_dir() => {
            let origin = format!("{}.toml (shipped)", plan.name);
            Plan::with(plan.name, &origin, plan.text, Path::new("."), &settings)
        }
        None if !path.exists() && path.components().count() == 1 => {
            let help = "give a plan file, or a name that `bakeoff plans` lists";
            return Err(no_such_plan(name, "there is no such plan, shipped or here", help));
        }
        _ => Plan::load(path, &settings),
    }
    .map_err(Failure::usage)
}

/// `1 %`, `500 ns`
fn margin(margin: Margin) -> String {
    match margin {
        Margin::Share(share) => Ratio::new(share).unwrap_or_default().to_string(),
        Margin::Amount(ns) => Nanos::new(ns as u64).to_string(),
    }
}
