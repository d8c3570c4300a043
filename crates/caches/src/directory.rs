//! Results directory of a bake-off, written and read.
//!
//! Measuring side, cold, but once a second while load runs: a line an interval, written as it closes, so that a run
//! that is broken off or killed can be read to its last interval.

mod begun;

use crate::conformance::{self, StoredRecord};
use crate::records::{BakeoffSetup, End, IntervalLine, RunRecord};
use bakeoff_results::directory::{
    DirectoryError, Growing, Layout, ListEnd, PLAN, ResultsDir, end, needed, records,
};
use bakeoff_robots::Spec;
use begun::Begun;
use std::path::Path;

/// A line a run: a fill, a trial, a rate.
pub const RUNS: &str = "runs.jsonl";
/// A line an interval of every run.
pub const INTERVALS: &str = "intervals.jsonl";

/// Results directories of bake-offs.
pub const BAKEOFF: Layout =
    Layout { setup: "bakeoff.json", form: crate::results::FORM, growing: &[RUNS, INTERVALS] };

/// A directory that is being written.
#[derive(Debug)]
pub struct BakeoffDirectory<'d> {
    dir: &'d ResultsDir,
    runs: Growing,
    intervals: Growing,
}

/// A directory that was read.
#[derive(Clone, Debug)]
pub struct StoredBakeoff {
    /// Its plan.
    pub plan: String,
    /// The set-up, fixed before the first request.
    pub setup: BakeoffSetup,
    /// The runs that ended, and, rebuilt from its intervals, the one that was under way when all was killed.
    pub runs: Vec<RunRecord>,
    /// Every interval that closed.
    pub intervals: Vec<IntervalLine>,
    /// The bake-off's end; `None`: it was killed.
    pub ended: Option<End>,
    /// Results of its products in the HTTP cache suite, if that was run.
    pub conformance: Option<StoredRecord>,
}

impl<'d> BakeoffDirectory<'d> {
    /// Begins to write an empty directory.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn begin(dir: &'d ResultsDir, plan: &str, setup: &BakeoffSetup) -> Result<Self, DirectoryError> {
        dir.begin(plan, setup)?;
        Self::open(dir)
    }

    /// Goes on with a directory. A run that was under way when all was killed is written down as far as its intervals
    /// tell, so that its number is taken.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn go_on(dir: &'d ResultsDir, stored: &StoredBakeoff) -> Result<Self, DirectoryError> {
        dir.go_on()?;
        let mut directory = Self::open(dir)?;
        // What stands in the file has lost that mark.
        if let Some(killed) = stored.runs.last().filter(|run| run.of_intervals) {
            directory.run(killed)?;
        }
        Ok(directory)
    }

    fn open(dir: &'d ResultsDir) -> Result<Self, DirectoryError> {
        Ok(Self { dir, runs: dir.growing(RUNS)?, intervals: dir.growing(INTERVALS)? })
    }

    /// A run has ended. Synced: it is not lost.
    ///
    /// # Errors
    /// The disk is full.
    pub fn run(&mut self, record: &RunRecord) -> Result<(), DirectoryError> {
        self.runs.append(record)
    }

    /// Records the beginning of a run: its entrant, purpose and phases. If it does not end, its intervals can be told
    /// apart.
    ///
    /// # Errors
    /// The disk is full.
    pub fn begins(&self, number: u32, record: RunRecord, spec: &Spec) -> Result<(), DirectoryError> {
        Begun::write(self.dir, number, record, spec)
    }

    /// An interval has closed.
    ///
    /// # Errors
    /// The disk is full.
    pub fn interval(&mut self, record: &IntervalLine) -> Result<(), DirectoryError> {
        self.intervals.append_unsynced(record)
    }

    /// Writes a whole file.
    ///
    /// # Errors
    /// The disk is full.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<(), DirectoryError> {
        self.dir.write(name, content)
    }

    /// Records the bake-off's end; only reports are written after it.
    ///
    /// # Errors
    /// The disk is full.
    pub fn end(self, how: &End) -> Result<(), DirectoryError> {
        self.dir.end(ListEnd { ended: how.clone() })
    }
}

impl StoredBakeoff {
    /// The runs with their numbers, without those that were broken off and then made again.
    pub(crate) fn standing(&self) -> impl Iterator<Item = (usize, &RunRecord)> {
        let last = self.runs.len().saturating_sub(1);
        self.runs.iter().enumerate().filter(move |(number, run)| *number == last || run.is_over())
    }

    /// Number of the runs that were broken off and then made again.
    pub(crate) fn made_again(&self) -> usize {
        self.runs.len() - self.standing().count()
    }
}

/// Reads a directory. Half a line at the end of a file comes from a killed run, and is not read.
///
/// # Errors
/// It is none, it is in another version's form, or its contents cannot be read.
pub fn load(path: &Path) -> Result<StoredBakeoff, DirectoryError> {
    let (setup, mut runs): (_, Vec<RunRecord>) = (BAKEOFF.setup(path)?, records(path, RUNS)?);
    let intervals = records(path, INTERVALS)?;
    runs.extend(Begun::left(path, runs.len(), &intervals)?);
    Ok(StoredBakeoff {
        plan: needed(path, PLAN)?,
        conformance: conformance::load(path, runs.iter().map(|run| &run.entrant))?,
        setup,
        runs,
        intervals,
        ended: end::<ListEnd>(path)?.map(|end| end.how.ended),
    })
}
