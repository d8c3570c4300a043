//! `bakeoff compare-results`: a stored run against a newer one.

use super::{caches, guest};
use crate::args::CompareResultsArgs;
use crate::exit::Exit;
use crate::{Failure, terminal};
use bakeoff_experiment::between::{Wanted, between};
use bakeoff_experiment::directory;

/// Prints what changed. Writes nothing.
pub(crate) fn compare_results(args: &CompareResultsArgs) -> Result<Exit, Failure> {
    for dir in [&args.old, &args.new] {
        guest::refuse_directory(dir, "is not an experiment, and has no arms to compare")?;
        caches::refuse_directory(dir, "is not an experiment, and has no arms to compare")?;
    }
    let [old, new] = [&args.old, &args.new].map(|dir| directory::load(dir).map_err(Failure::usage));
    let wanted = Wanted { arm: args.arm.clone(), meters: args.meters.clone(), anyway: args.anyway };
    let found = between(&old?, &new?, &wanted).map_err(Failure::usage)?;
    if args.json {
        terminal::say(&bakeoff_report::between_json(&found));
    } else {
        terminal::say(&bakeoff_report::between(&found, terminal::width(), terminal::colour()));
    }
    Ok(Exit::Verdicts)
}
