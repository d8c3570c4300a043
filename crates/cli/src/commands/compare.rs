//! `bakeoff compare`: two configurations, two URLs or two commands, without writing a plan.

use super::programs::Programs;
use super::sides::Sides;
use super::words::quoted;
use crate::args::{CompareArgs, GeneratorArgs};
use crate::exit::Exit;
use crate::kinds::{self, Around};
use crate::{Failure, signals, terminal};
use bakeoff_experiment::run::Generators;
use bakeoff_plan::{COMMAND_LINE, Plan};
use std::path::Path;

/// Writes the plan and runs it.
pub(crate) fn compare(args: &CompareArgs) -> Result<Exit, Failure> {
    let text = plan_text(args)?;
    let plan = Plan::parse("compare", COMMAND_LINE, &text, Path::new(".")).map_err(Failure::usage)?;
    let (interrupted, generators) = (signals::interrupted(), generators(&args.generators)?);
    let around = Around {
        output: &args.output,
        rules: &args.rules,
        interrupted: &interrupted,
        generators: &generators,
    };
    kinds::run_experiment(plan, &around)
}

/// The generators alone can be elsewhere: the configurations are those of servers here.
fn generators(args: &GeneratorArgs) -> Result<Generators, Failure> {
    let lab = args.lab().map_err(Failure::usage)?;
    if lab.subject.is_some() {
        return Err(Failure::usage(
            "--on: `at` of [subject] is for `run` and `check`; take it out, or write a plan",
        ));
    }
    Generators::of(&lab).map_err(Failure::usage)
}

fn plan_text(args: &CompareArgs) -> Result<String, Failure> {
    let experiment = |baseline: &str| {
        let loads: String =
            args.loads.keys().iter().map(|key| format!("{}\n", key.replacen('=', " = ", 1))).collect();
        let decide =
            args.decide.as_ref().map_or(String::new(), |meter| format!("primary = {}\n", quoted(meter)));
        format!(
            "[experiment]\nseed = {}\nbaseline = {}\nmargin = {}\nbudget = {}\ndesign = {}\n{decide}{loads}",
            args.seed,
            quoted(baseline),
            quoted(&args.margin),
            quoted(&args.budget),
            quoted(&args.design),
        )
    };
    if !args.commands.is_empty() {
        let programs = Programs::of(&args.commands, &args.work.names)?;
        return Ok(experiment(programs.baseline()) + &programs.sections());
    }
    let sides = Sides { sides: &args.sides, work: &args.work, urls: &args.urls, fronts: &args.fronts };
    if args.fronts.is_empty() && args.sides.len() < 2 {
        return Err(Failure::usage(
            "there is nothing to compare: give two CONFIG files (with --server), two URLs, --front twice, or -- COMMAND twice",
        ));
    }
    let arms = sides.arms()?;
    if args.output.words() {
        sides.in_words()?.iter().for_each(|line| terminal::note(line));
    }
    let robots = args.robots;
    let clock = if args.work.log.is_some() { "clock = \"shuffled\"\n" } else { "" };
    let max_age = args.max_age.as_ref().map_or(String::new(), |age| format!("max_age = {}\n", quoted(age)));
    Ok(format!(
        "{}at = {}\n\n{}{clock}robots = {robots}\n{max_age}{arms}",
        experiment(&sides.baseline()?),
        quoted(&args.at),
        sides.workload()?
    ))
}
