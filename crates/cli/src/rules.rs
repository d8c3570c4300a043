//! `--fail-if`: what its rules come to, in words and in the exit code.

use crate::Failure;
use crate::args::RuleArgs;
use crate::exit::Exit;
use bakeoff_analysis::rule::{Ruled, Ruling};
use bakeoff_results::Results;
use bakeoff_results::entrant::EntrantFigures;

/// Before anything is measured: whether each rule is about an arm that it can be about.
pub(crate) fn fit(args: &RuleArgs, compared: &[&str], baselines: &[&str]) -> Result<(), Failure> {
    args.fail_if.iter().try_for_each(|rule| rule.fits(compared, baselines)).map_err(Failure::usage)
}

/// A line for each rule, and how the command ends. A broken rule decides that; one that cannot be
/// judged only where all else is well: that a comparison is invalid says more.
pub(crate) fn judge(args: &RuleArgs, results: &Results, exit: Exit) -> (Vec<String>, Exit) {
    ended(args, args.fail_if.iter().map(|rule| rule.judge(results)).collect(), exit)
}

/// The same before a bake-off.
pub(crate) fn fit_entrants(args: &RuleArgs, names: &[&str]) -> Result<(), Failure> {
    args.fail_if.iter().try_for_each(|rule| rule.fits_entrants(names)).map_err(Failure::usage)
}

/// The same of a bake-off.
pub(crate) fn judge_entrants(
    args: &RuleArgs,
    entrants: &[EntrantFigures],
    exit: Exit,
) -> (Vec<String>, Exit) {
    ended(args, args.fail_if.iter().map(|rule| rule.judge_entrants(entrants)).collect(), exit)
}

fn ended(args: &RuleArgs, rulings: Vec<Ruling>, exit: Exit) -> (Vec<String>, Exit) {
    let worst = rulings.iter().map(|ruling| ruling.ruled).max().unwrap_or(Ruled::Held);
    let exit = match (worst, exit) {
        (Ruled::Broken, _) => Exit::Broken,
        (Ruled::NotJudged, Exit::Verdicts) => Exit::NotJudged,
        (Ruled::Open, Exit::Verdicts) if args.strict => Exit::NotJudged,
        (_, exit) => exit,
    };
    (rulings.into_iter().map(|ruling| format!("fail-if: {}", ruling.line)).collect(), exit)
}
