//! What a bake-off writes, and reading it again.
//!
//! Measuring side, cold, but once a second while load runs: a line an interval, written as it closes, so that
//! a run that is broken off or killed can be read to its last interval.

use crate::records::{IntervalLine, RunRecord, Setup};
use bakeoff_experiment::directory::{DirectoryError, ResultsDir};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The plan's text.
pub const PLAN: &str = "plan.toml";
/// What was fixed before the first request.
pub const SETUP: &str = "bakeoff.json";
/// A line a run: a fill, a trial, a rate.
pub const RUNS: &str = "runs.jsonl";
/// A line an interval of every run.
pub const INTERVALS: &str = "intervals.jsonl";
/// How it ended.
pub const END: &str = "ended.txt";

/// A directory that is being written.
#[derive(Debug)]
pub struct Directory<'d> {
    dir: &'d ResultsDir,
    runs: File,
    intervals: File,
}

/// A directory that was read.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Its plan.
    pub plan: String,
    /// What was fixed before the first request.
    pub setup: Setup,
    /// The runs that ended.
    pub runs: Vec<RunRecord>,
    /// Every interval that closed.
    pub intervals: Vec<IntervalLine>,
    /// How it ended; `None`: it was killed.
    pub ended: Option<String>,
}

/// Whether a directory is one of a bake-off of caches.
pub fn is_one(path: &Path) -> bool {
    path.join(SETUP).is_file()
}

impl<'d> Directory<'d> {
    /// Begins to write an empty directory.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn begin(dir: &'d ResultsDir, plan: &str, setup: &Setup) -> Result<Self, DirectoryError> {
        dir.write(PLAN, plan.as_bytes())?;
        dir.write(SETUP, &json(setup))?;
        let runs = appended(&dir.path().join(RUNS))?;
        let intervals = appended(&dir.path().join(INTERVALS))?;
        Ok(Self { dir, runs, intervals })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// A run has ended. Synced: it is not lost.
    ///
    /// # Errors
    /// The disk is full.
    pub fn run(&mut self, record: &RunRecord) -> Result<(), DirectoryError> {
        let path = self.dir.path().join(RUNS);
        line(&mut self.runs, record).and_then(|()| self.runs.sync_data()).map_err(failed(path))
    }

    /// An interval has closed.
    ///
    /// # Errors
    /// The disk is full.
    pub fn interval(&mut self, record: &IntervalLine) -> Result<(), DirectoryError> {
        let path = self.dir.path().join(INTERVALS);
        line(&mut self.intervals, record).map_err(failed(path))
    }

    /// Writes a whole file.
    ///
    /// # Errors
    /// The disk is full.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<(), DirectoryError> {
        self.dir.write(name, content)
    }

    /// Says how it ended; what is written then are reports.
    ///
    /// # Errors
    /// The disk is full.
    pub fn end(self, how: &str) -> Result<(), DirectoryError> {
        self.dir.write(END, how.as_bytes())
    }
}

/// Reads a directory. Half a line at the end of a file is what a killed run leaves, and is not read.
///
/// # Errors
/// It is none, or what stands in it cannot be read.
pub fn load(path: &Path) -> Result<Stored, DirectoryError> {
    let text = |name: &str| {
        let path = path.join(name);
        fs::read_to_string(&path).map_err(|why| DirectoryError::Read { path, why: why.to_string() })
    };
    let setup = serde_json::from_str(&text(SETUP)?)
        .map_err(|why| DirectoryError::Read { path: path.join(SETUP), why: why.to_string() })?;
    Ok(Stored {
        plan: text(PLAN)?,
        setup,
        runs: lines(path.join(RUNS))?,
        intervals: lines(path.join(INTERVALS))?,
        ended: fs::read_to_string(path.join(END)).ok(),
    })
}

fn lines<T: DeserializeOwned>(path: PathBuf) -> Result<Vec<T>, DirectoryError> {
    let text = fs::read_to_string(&path)
        .map_err(|why| DirectoryError::Read { path: path.clone(), why: why.to_string() })?;
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let parse = |(at, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|why| DirectoryError::Read {
            path: path.clone(),
            why: format!("line {}: {why}", at + 1),
        })
    };
    whole.lines().enumerate().map(parse).collect()
}

fn json(value: &impl Serialize) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(value).unwrap_or_default();
    text.push(b'\n');
    text
}

fn line(file: &mut File, value: &impl Serialize) -> std::io::Result<()> {
    let mut text = serde_json::to_vec(value)?;
    text.push(b'\n');
    file.write_all(&text)
}

fn appended(path: &Path) -> Result<File, DirectoryError> {
    OpenOptions::new().create(true).append(true).open(path).map_err(failed(path.to_owned()))
}

fn failed(path: PathBuf) -> impl FnOnce(std::io::Error) -> DirectoryError {
    move |why| DirectoryError::Write { path, why }
}
