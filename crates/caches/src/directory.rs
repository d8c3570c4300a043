//! Results directory of a bake-off, written and read.
//!
//! Measuring side, cold, but once a second while load runs: a line an interval, written as it closes, so that a run
//! that is broken off or killed can be read to its last interval.

mod begun;

use crate::conformance::{self, Kept};
use crate::records::{End, IntervalLine, RunRecord, Setup};
use crate::results::FORMAT;
use bakeoff_experiment::directory::{DirectoryError, ResultsDir};
use bakeoff_robots::Spec;
use begun::Begun;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt::Display;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// The plan's text.
pub const PLAN: &str = "plan.toml";
/// The set-up, fixed before the first request.
pub const SETUP: &str = "bakeoff.json";
/// A line a run: a fill, a trial, a rate.
pub const RUNS: &str = "runs.jsonl";
/// A line an interval of every run.
pub const INTERVALS: &str = "intervals.jsonl";
/// The bake-off's end.
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
    /// The set-up, fixed before the first request.
    pub setup: Setup,
    /// The runs that ended, and, rebuilt from its intervals, the one that was under way when all was killed.
    pub runs: Vec<RunRecord>,
    /// Every interval that closed.
    pub intervals: Vec<IntervalLine>,
    /// The bake-off's end; `None`: it was killed.
    pub ended: Option<End>,
    /// Results of its products in the HTTP cache suite, if that was run.
    pub conformance: Option<Kept>,
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

    /// A run has ended. Synced: it is not lost.
    ///
    /// # Errors
    /// The disk is full.
    pub fn run(&mut self, record: &RunRecord) -> Result<(), DirectoryError> {
        let path = self.dir.path().join(RUNS);
        line(&mut self.runs, record).and_then(|()| self.runs.sync_data()).map_err(failed(path))
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

    /// Records the bake-off's end; only reports are written after it.
    ///
    /// # Errors
    /// The disk is full.
    pub fn end(self, how: &End) -> Result<(), DirectoryError> {
        self.dir.write(END, how.to_string().as_bytes())
    }
}

/// Reads a directory. Half a line at the end of a file comes from a killed run, and is not read.
///
/// # Errors
/// It is none, it is in another version's form, or its contents cannot be read.
pub fn load(path: &Path) -> Result<Stored, DirectoryError> {
    let (setup, mut runs): (_, Vec<RunRecord>) = (setup(path)?, lines(path, RUNS)?);
    let intervals = lines(path, INTERVALS)?;
    runs.extend(Begun::left(path, runs.len(), &intervals)?);
    Ok(Stored {
        plan: text(path, PLAN)?,
        conformance: conformance::load(path, runs.iter().map(|run| &run.entrant))?,
        setup,
        runs,
        intervals,
        ended: match fs::read_to_string(path.join(END)) {
            Err(why) if why.kind() == ErrorKind::NotFound => None,
            other => Some(other.map_err(|why| unreadable(path, END, why))?.into()),
        },
    })
}

/// Checks its form first: a file of another version may lack members that this one needs.
fn setup(dir: &Path) -> Result<Setup, DirectoryError> {
    #[derive(Deserialize)]
    struct Form {
        format: u32,
        bakeoff: String,
    }
    let text = text(dir, SETUP)?;
    let damaged = |why: serde_json::Error| unreadable(dir, SETUP, why);
    let Form { format, bakeoff } = serde_json::from_str(&text).map_err(damaged)?;
    if format != FORMAT {
        let why = format!(
            "bakeoff {bakeoff} wrote it in the form {format}, and this bakeoff ({}) reads {FORMAT}; use the bakeoff \
             that wrote it",
            env!("CARGO_PKG_VERSION")
        );
        return Err(unreadable(dir, SETUP, why));
    }
    serde_json::from_str(&text).map_err(damaged)
}

/// The whole lines of a file; the rest behind the last of them may end anywhere, within a character too.
fn lines<T: DeserializeOwned>(dir: &Path, name: &str) -> Result<Vec<T>, DirectoryError> {
    let damaged = |why: std::io::Error| unreadable(dir, name, why);
    let mut file = BufReader::new(File::open(dir.join(name)).map_err(damaged)?);
    let (mut line, mut records) = (Vec::new(), Vec::new());
    loop {
        line.clear();
        file.read_until(b'\n', &mut line).map_err(damaged)?;
        let Some(whole) = line.strip_suffix(b"\n") else { return Ok(records) };
        let wrong = |why| unreadable(dir, name, format!("line {}: {why}", records.len() + 1));
        records.push(serde_json::from_slice(whole).map_err(wrong)?);
    }
}

pub(crate) fn text(dir: &Path, name: &str) -> Result<String, DirectoryError> {
    fs::read_to_string(dir.join(name)).map_err(|why| unreadable(dir, name, why))
}

pub(crate) fn unreadable(dir: &Path, name: &str, why: impl Display) -> DirectoryError {
    DirectoryError::Read { path: dir.join(name), why: why.to_string() }
}

fn json(value: &impl Serialize) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(value).unwrap_or_default();
    text.push(b'\n');
    text
}

/// Appends a whole line or none: half of one, as a full disk leaves it, would spoil the next.
fn line(file: &mut File, value: &impl Serialize) -> std::io::Result<()> {
    let mut text = serde_json::to_vec(value)?;
    text.push(b'\n');
    let before = file.metadata()?.len();
    file.write_all(&text).inspect_err(|_| {
        let _ = file.set_len(before); // the error of the writing is what is told
    })
}

fn appended(path: &Path) -> Result<File, DirectoryError> {
    OpenOptions::new().create(true).append(true).open(path).map_err(failed(path.to_owned()))
}

fn failed(path: PathBuf) -> impl FnOnce(std::io::Error) -> DirectoryError {
    move |why| DirectoryError::Write { path, why }
}
