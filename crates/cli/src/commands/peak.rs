//! `bakeoff peak`: the highest rate of a server, or of several in turn, without writing a plan.

use super::sides::Sides;
use super::words::quoted;
use crate::args::{PeakArgs, RuleArgs};
use crate::exit::Exit;
use crate::kinds::{self, Around};
use crate::{Failure, signals, terminal};
use bakeoff_experiment::run::Generators;
use bakeoff_plan::{COMMAND_LINE, Plan};
use std::path::Path;

/// Writes the plan and runs it.
pub(crate) fn peak(args: &PeakArgs) -> Result<Exit, Failure> {
    let text = plan_text(args)?;
    let plan = Plan::parse("peak", COMMAND_LINE, &text, Path::new(".")).map_err(Failure::usage)?;
    let (rules, interrupted, generators) =
        (RuleArgs::default(), signals::interrupted(), Generators::at(Vec::new(), None));
    let around =
        Around { output: &args.output, rules: &rules, interrupted: &interrupted, generators: &generators };
    kinds::run_experiment(plan, &around)
}

fn plan_text(args: &PeakArgs) -> Result<String, Failure> {
    let sides = Sides { sides: &args.sides, work: &args.work, urls: &args.urls, fronts: &[] };
    let arms = sides.arms()?;
    if args.output.words() {
        sides.in_words()?.iter().for_each(|line| terminal::note(line));
    }
    let key = |name: &str, value: &Option<String>| {
        value.as_ref().map_or_else(String::new, |value| format!("{name} = {}\n", quoted(value)))
    };
    Ok(format!(
        "[experiment]\nkind = \"peak\"\nseed = {}\nbaseline = {}\nbudget = {}\n\n[peak]\n{}precision = {}\nconfirm = {}\n{}\n{}{arms}",
        args.seed,
        quoted(&sides.baseline()?),
        quoted(&args.budget),
        key("slo", &args.slo),
        quoted(&args.precision),
        quoted(&args.confirm),
        key("max_rate", &args.max_rate),
        sides.workload()?
    ))
}
