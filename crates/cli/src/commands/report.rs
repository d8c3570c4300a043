//! `bakeoff report`: every output again, from what is stored.

use super::{caches, conformance, guest, suite};
use crate::args::{ReportArgs, RuleArgs};
use crate::exit::Exit;
use crate::{Failure, rules, terminal};
use bakeoff_experiment::analyse;
use bakeoff_experiment::directory::{self, DirectoryError, RESULTS, ResultsDir, StoppedBy, Stored};
use bakeoff_experiment::results::{NOT_MEASURED, Results};
use bakeoff_report::Bundle;
use bakeoff_stats::Verdict;
use std::path::Path;

/// The table of slices with types and units.
pub(crate) const SLICES_PARQUET: &str = "slices.parquet";

/// Makes `results.json`, `slices.csv` (`trials.csv` after a search for peaks) and `report.html` again
/// and prints the table.
pub(crate) fn report(args: &ReportArgs) -> Result<Exit, Failure> {
    if caches::is_directory(&args.dir) {
        return caches::report(args);
    }
    if guest::is_directory(&args.dir) {
        return guest::report(args);
    }
    if conformance::is_directory(&args.dir) {
        return conformance::report(args);
    }
    if suite::is_directory(&args.dir) {
        return suite::report(args);
    }
    let outputs = remade(args)?;
    terminal::say(&outputs.text);
    outputs.say_lines();
    say_where(&args.dir, false);
    Ok(outputs.exit)
}

/// Makes every output of an experiment again and prints what its rules came to alone.
pub(crate) fn again(args: &ReportArgs) -> Result<Exit, Failure> {
    let outputs = remade(args)?;
    outputs.say_lines();
    Ok(outputs.exit)
}

fn remade(args: &ReportArgs) -> Result<Outputs, Failure> {
    let dir = reopen(&args.dir)?;
    let stored = directory::load(&args.dir).map_err(Failure::usage)?;
    let (compared, baselines): (Vec<&str>, Vec<&str>) =
        (stored.setup.judged().collect(), stored.setup.baselines().collect());
    rules::fit(&args.rules, &compared, &baselines)?;
    let wanted = wanted(args, &stored)?;
    let outputs = make(stored, &args.rules, wanted)?;
    outputs.write(&dir)?;
    Ok(outputs)
}

/// A directory that a run was written to. That somebody else has it is no wrong command line.
pub(crate) fn reopen(path: &Path) -> Result<ResultsDir, Failure> {
    ResultsDir::reopen(path).map_err(|why| match why {
        DirectoryError::InUse(_) => Failure::failed(why),
        other => Failure::usage(other),
    })
}

/// What a finished run shows, before any of it is on disk.
pub(crate) struct Outputs {
    pub(crate) text: String,
    pub(crate) exit: Exit,
    /// What each rule came to, and that there is nothing to judge.
    lines: Vec<String>,
    /// By name.
    pub(crate) files: Vec<(&'static str, Vec<u8>)>,
}

/// Which files are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Files {
    /// Those that every run leaves.
    Usual,
    /// And the slices as Parquet.
    #[cfg(feature = "parquet")]
    WithParquet,
}

impl Files {
    /// As a directory has them.
    pub(crate) fn there(dir: &Path) -> Self {
        match dir.join(SLICES_PARQUET).exists() {
            #[cfg(feature = "parquet")]
            true => Self::WithParquet,
            _ => Self::Usual,
        }
    }
}

#[cfg(feature = "parquet")]
fn wanted(args: &ReportArgs, stored: &Stored) -> Result<Files, Failure> {
    match args.parquet {
        false => Ok(Files::Usual),
        true if stored.slices.is_empty() => {
            Err(Failure::usage("--parquet is for slices, and this run has none"))
        }
        true => Ok(Files::WithParquet),
    }
}

#[cfg(not(feature = "parquet"))]
fn wanted(_: &ReportArgs, _: &Stored) -> Result<Files, Failure> {
    Ok(Files::Usual)
}

/// Makes every output of a run, and judges the rules.
pub(crate) fn make(stored: Stored, rules: &RuleArgs, files: Files) -> Result<Outputs, Failure> {
    let results = analyse::analyse(&stored).map_err(Failure::failed)?;
    let (mut lines, exit) = rules::judge(rules, &results, exit(&results));
    if has_no_round(&results) {
        lines.push("bakeoff: the budget ended before the first round was complete: nothing is known; give a larger one".to_owned());
    }
    Ok(Outputs { lines, exit, ..print(stored, results, files) })
}

/// The same where the figures are known.
pub(crate) fn print(stored: Stored, results: Results, wanted: Files) -> Outputs {
    let exit = exit(&results);
    let bundle = Bundle { results, setup: stored.setup, slices: stored.slices, plan: stored.plan };
    let table = match &bundle.results.peak {
        Some(peak) => ("trials.csv", bakeoff_report::trials_csv(peak).into_bytes()),
        None => ("slices.csv", bakeoff_report::csv(&bundle).into_bytes()),
    };
    let document = bakeoff_report::experiment(&bundle);
    let files = [
        Some((RESULTS, bakeoff_report::json(&bundle.results).into_bytes())),
        Some(table),
        Some(("report.html", document.html().into_bytes())),
        match wanted {
            Files::Usual => None,
            #[cfg(feature = "parquet")]
            Files::WithParquet => Some((SLICES_PARQUET, bakeoff_report::parquet(&bundle))),
        },
    ];
    let files = files.into_iter().flatten().collect();
    let text = document.text(terminal::width(), terminal::colour());
    Outputs { text, exit, lines: Vec::new(), files }
}

impl Outputs {
    /// On standard error: `--quiet` promises that nothing else is on the other.
    pub(crate) fn say_lines(&self) {
        self.lines.iter().for_each(|line| terminal::note(line));
    }

    /// `results.json`.
    pub(crate) fn json(&self) -> String {
        let bytes = self.files.iter().find(|(name, _)| *name == RESULTS).map(|(_, bytes)| bytes.as_slice());
        String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned()
    }

    /// Writes the files.
    pub(crate) fn write(&self, dir: &ResultsDir) -> Result<(), Failure> {
        self.files.iter().try_for_each(|(name, bytes)| dir.write(name, bytes).map_err(Failure::failed))
    }
}

/// The last line of standard output; of standard error where the other has JSON.
pub(crate) fn say_where(dir: &Path, json: bool) {
    let line = format!("results: {}", dir.display());
    if json { terminal::note(&line) } else { terminal::say(&line) }
}

fn exit(results: &Results) -> Exit {
    let invalid =
        |row: &&bakeoff_experiment::results::Comparison| row.primary && row.verdict == Verdict::Invalid;
    let peaks = results.peak.iter().flat_map(|peak| peak.arms.values());
    let not_measured = peaks.into_iter().any(|arm| arm.finding == NOT_MEASURED);
    if not_measured || has_no_round(results) || results.comparisons.iter().any(|row| invalid(&row)) {
        Exit::Invalid
    } else {
        Exit::Verdicts
    }
}

/// Whether the budget was too small for a single round.
fn has_no_round(results: &Results) -> bool {
    results.peak.is_none() && results.rounds == 0 && results.stopped_by == StoppedBy::Budget.as_str()
}
