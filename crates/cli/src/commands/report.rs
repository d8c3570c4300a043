//! `bakeoff report`: every output again, from what is stored.

use crate::args::ReportArgs;
use crate::exit::Exit;
use crate::{Failure, terminal};
use bakeoff_experiment::analyse;
use bakeoff_experiment::directory::{self, RESULTS, ResultsDir, Stored};
use bakeoff_experiment::results::Results;
use bakeoff_report::Bundle;
use bakeoff_stats::Verdict;
use std::path::Path;

/// Makes `results.json`, `slices.csv` and `report.html` again and prints the table.
pub(crate) fn report(args: &ReportArgs) -> Result<Exit, Failure> {
    let dir = ResultsDir::reopen(&args.dir).map_err(Failure::usage)?;
    let stored = directory::load(&args.dir).map_err(Failure::usage)?;
    let outputs = write(&dir, stored)?;
    terminal::say(&outputs.text);
    say_where(&args.dir);
    Ok(outputs.exit)
}

/// What a finished run shows.
pub(crate) struct Outputs {
    pub(crate) text: String,
    pub(crate) exit: Exit,
}

/// Writes every output file of a run.
pub(crate) fn write(dir: &ResultsDir, stored: Stored) -> Result<Outputs, Failure> {
    let results = analyse::analyse(&stored).map_err(Failure::failed)?;
    let exit = exit(&results);
    let bundle = Bundle { results, setup: stored.setup, slices: stored.slices, plan: stored.plan };
    let write = |name: &str, text: String| dir.write(name, text.as_bytes()).map_err(Failure::failed);
    write(RESULTS, bakeoff_report::json(&bundle.results))?;
    write("slices.csv", bakeoff_report::csv(&bundle))?;
    write("report.html", bakeoff_report::html(&bundle))?;
    Ok(Outputs { text: bakeoff_report::text(&bundle, terminal::width(), terminal::colour()), exit })
}

/// The last line of standard output, always.
pub(crate) fn say_where(dir: &Path) {
    terminal::say(&format!("results: {}", dir.display()));
}

fn exit(results: &Results) -> Exit {
    let invalid = |row: &&bakeoff_experiment::results::Comparison| row.primary && row.verdict == Verdict::Invalid;
    if results.comparisons.iter().any(|row| invalid(&row)) { Exit::Invalid } else { Exit::Verdicts }
}
