//! `bakeoff plans` and `bakeoff check`.

use crate::args::CheckArgs;
use crate::exit::Exit;
use crate::{Failure, terminal};
use bakeoff_experiment::plan::{Plan, Work};
use bakeoff_experiment::shipped;
use std::path::Path;

/// Lists the shipped plans.
pub(crate) fn list() -> Result<Exit, Failure> {
    let width = shipped::PLANS.iter().map(|plan| plan.name.len() + 2).max().unwrap_or(0);
    let lines: Vec<String> =
        shipped::PLANS.iter().map(|plan| format!("{:<width$}{}", plan.name, plan.summary())).collect();
    terminal::say(&lines.join("\n"));
    Ok(Exit::Verdicts)
}

/// Checks a plan and says what it would do.
pub(crate) fn check(args: &CheckArgs) -> Result<Exit, Failure> {
    let plan = find(&args.plan)?;
    let arms: Vec<&str> = plan.arms.iter().map(|arm| arm.name.as_str()).collect();
    let load = match &plan.work {
        Work::Requests(work) => format!("{}, {}", work.kind(), work.clock.in_words()),
        Work::Command(_) => "command".to_owned(),
        Work::Files(work) => {
            let operations: Vec<&str> = work.operations.iter().map(|operation| operation.as_str()).collect();
            format!("files, {}, {}", operations.join(", "), work.cache.as_str())
        }
    };
    terminal::say(&format!(
        "{}: good\n  workload: {load}\n  arms: {} (baseline {}, runs twice)\n  margin {}, budget {}, at most {} rounds, seed {}",
        plan.name,
        arms.join(", "),
        plan.baseline_name(),
        plan.margin,
        plan.budget,
        plan.max_rounds,
        plan.seed
    ));
    Ok(Exit::Verdicts)
}

/// The plan of a file, or a shipped one by name; a file wins.
pub(crate) fn find(name: &str) -> Result<Plan, Failure> {
    let path = Path::new(name);
    match shipped::plan(name) {
        Some(plan) if !path.exists() => {
            Plan::parse(plan.name, &format!("{}.toml (shipped)", plan.name), plan.text, Path::new("."))
                .map_err(Failure::usage)
        }
        _ => Plan::load(path).map_err(Failure::usage),
    }
}
