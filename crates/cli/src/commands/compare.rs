//! `bakeoff compare`: two configurations or two URLs, without writing a plan.

use super::run;
use super::sides::{Sides, quoted};
use crate::args::CompareArgs;
use crate::exit::Exit;
use crate::{Failure, signals};
use bakeoff_experiment::plan::Plan;
use std::path::Path;

/// Writes the plan and runs it.
pub(crate) fn compare(args: &CompareArgs) -> Result<Exit, Failure> {
    let text = plan_text(args)?;
    let plan = Plan::parse("compare", "the plan made from the command line", &text, Path::new("."))
        .map_err(Failure::usage)?;
    run::experiment(&plan, &args.output, &args.rules, &signals::interrupted())
}

fn plan_text(args: &CompareArgs) -> Result<String, Failure> {
    let sides = Sides { sides: &args.sides, work: &args.work, urls: &args.urls, fronts: &args.fronts };
    if args.fronts.is_empty() && args.sides.len() < 2 {
        return Err(Failure::usage(
            "there is nothing to compare: give two CONFIG files (with --server), two URLs, or --front twice",
        ));
    }
    let arms = sides.arms()?;
    let robots = args.robots;
    let clock = if args.work.log.is_some() { "clock = \"shuffled\"\n" } else { "" };
    let max_age = args.max_age.as_ref().map_or(String::new(), |age| format!("max_age = {}\n", quoted(age)));
    Ok(format!(
        "[experiment]\nseed = {}\nbaseline = {}\nmargin = {}\nbudget = {}\ndesign = {}\nat = {}\n\n{}{clock}robots = {robots}\n{max_age}{arms}",
        args.seed,
        quoted(&sides.baseline()?),
        quoted(&args.margin),
        quoted(&args.budget),
        quoted(&args.design),
        quoted(&args.at),
        sides.workload()?
    ))
}
