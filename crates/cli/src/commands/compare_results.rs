//! `bakeoff compare-results`: a stored run against a newer one.

use super::{caches, guest, suite};
use crate::args::CompareResultsArgs;
use crate::exit::Exit;
use crate::{Failure, terminal};
use bakeoff_experiment::between::{Between, Wanted, between};
use bakeoff_experiment::directory;
use std::path::Path;

/// Prints what changed. Writes nothing.
pub(crate) fn compare_results(args: &CompareResultsArgs) -> Result<Exit, Failure> {
    match [&args.old, &args.new].map(|dir| suite::is_directory(dir)) {
        [true, true] => return suite::compare(args),
        [false, false] => {}
        [true, false] => suite::refuse_directory(&args.old, "is not one run")?,
        [false, true] => suite::refuse_directory(&args.new, "is not one run")?,
    }
    let found = found(&args.old, &args.new, args)?;
    terminal::say(&match args.json {
        true => bakeoff_report::between_json(&found),
        false => bakeoff_report::between(&found, terminal::width(), terminal::colour()),
    });
    Ok(Exit::Verdicts)
}

/// Two directories held against each other.
pub(crate) fn found(old: &Path, new: &Path, args: &CompareResultsArgs) -> Result<Between, Failure> {
    for dir in [old, new] {
        guest::refuse_directory(dir, "is not an experiment, and has no arms to compare")?;
        caches::refuse_directory(dir, "is not an experiment, and has no arms to compare")?;
    }
    let [old, new] = [old, new].map(|dir| directory::load(dir).map_err(Failure::usage));
    let wanted = Wanted { arm: args.arm.clone(), meters: args.meters.clone(), anyway: args.anyway };
    between(&old?, &new?, &wanted).map_err(Failure::usage)
}
