//! `bakeoff prices`: the runs of several directories as one list of what layers cost.

use crate::args::PricesArgs;
use crate::exit::Exit;
use crate::{Failure, kinds, terminal};
use bakeoff_report::{PriceList, ReportInput};
use std::path::Path;

/// Prints the list. Only of directories that are as they were written, and of a machine that had nothing else to do,
/// unless that is told to be known.
pub(crate) fn prices(args: &PricesArgs) -> Result<Exit, Failure> {
    let mut runs = Vec::new();
    for dir in &args.dirs {
        for own in kinds::runs_in(dir)? {
            match run(&own)? {
                Ok(run) => runs.push(run),
                Err(altered) => return Ok(altered),
            }
        }
    }
    let list = PriceList::of(&runs).map_err(Failure::usage)?;
    if let (Some(busy), false) = (list.busy().first(), args.anyway) {
        let (count, all) = (list.busy().len(), runs.len());
        return Err(Failure::usage(format!(
            "{count} of {all} runs shared the machine with other work, as {busy}\nMeasure them again on a quiet machine, or \
             give --anyway: the list then says so of each"
        )));
    }
    terminal::say(&match (args.json, args.markdown) {
        (true, _) => bakeoff_report::prices_json(&list),
        (_, true) => bakeoff_report::prices_markdown(&list),
        _ => bakeoff_report::prices(&list, terminal::width(), terminal::colour()),
    });
    Ok(Exit::Verdicts)
}

/// A directory's run; the exit code where it is not as it was written, which is complained of.
fn run(dir: &Path) -> Result<Result<ReportInput, Exit>, Failure> {
    let kind = kinds::of_directory(dir)?;
    let found = kind.bundle(dir)?.ok_or_else(|| {
        Failure::usage(format!("{}: {} has no costs of arms; leave it out", dir.display(), kind.noun()))
    })?;
    let altered = kinds::checked_directory(kind, dir)?.verified.findings.into_iter().next();
    Ok(altered.map_or(Ok(found), |finding| {
        let shown = dir.display();
        terminal::complain(&format!(
            "{shown}: not as it was written: {finding}; `bakeoff verify {shown}` says all"
        ));
        Err(Exit::Altered)
    }))
}
