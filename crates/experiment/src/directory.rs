//! The results directory on disk: what is written when, and what is read back.
//!
//! Cold, but between slices: a slice's line is synced before the next slice starts, so that a
//! killed run loses at most one. Whole files are written beside their name and renamed. One
//! bakeoff at a time: a lock that ends with the process.

use crate::results::{SETUP_SCHEMA, Setup, SliceRecord};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The plan's text.
pub const PLAN: &str = "plan.toml";
/// What was fixed before the first slice.
pub const SETUP: &str = "setup.json";
/// A line a slice.
pub const SLICES: &str = "slices.jsonl";
/// How the run ended.
pub const END: &str = "end.json";
/// Figures and verdicts.
pub const RESULTS: &str = "results.json";
/// What servers and commands printed, a folder an arm.
pub const LOGS: &str = "logs";
const LOCK: &str = ".lock";

/// Why a results directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// It holds something.
    #[error("{0} is not empty; give a new or empty directory, or go on with a run by --resume")]
    NotEmpty(PathBuf),
    /// Writing failed.
    #[error(
        "{path}: cannot be written: {why}; make room or give another --out; what was measured before is kept"
    )]
    Write {
        /// File.
        path: PathBuf,
        /// The system's word.
        why: io::Error,
    },
    /// Reading failed.
    #[error("{path}: cannot be read: {why}; give a directory that `bakeoff run` wrote")]
    Read {
        /// File.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// Another bakeoff has it.
    #[error("{0} is in use by another bakeoff; wait for it, or give another --out")]
    InUse(PathBuf),
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StoppedBy {
    /// Every arm has its verdict.
    Verdicts,
    /// All rounds were run.
    Rounds,
    /// Time was up.
    Budget,
    /// Ctrl-C, or killed.
    Interrupted,
    /// A subject or the environment failed.
    Failed,
}

impl StoppedBy {
    /// As in `results.json`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Verdicts => "verdicts",
            Self::Rounds => "rounds",
            Self::Budget => "budget",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
        }
    }
}

#[derive(Serialize, Deserialize)]
struct End {
    stopped_by: StoppedBy,
}

/// What a results directory holds.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The plan's text.
    pub plan: String,
    /// What was fixed before the first slice.
    pub setup: Setup,
    /// Slices in the order they were measured.
    pub slices: Vec<SliceRecord>,
    /// How the run ended; a run that was killed counts as interrupted.
    pub stopped_by: StoppedBy,
}

/// A results directory that is being written.
#[derive(Debug)]
pub struct ResultsDir {
    path: PathBuf,
    _lock: File,
}

impl ResultsDir {
    /// Makes or takes an empty directory, and tries whether it can be written. One in which a run
    /// ended before its first slice counts as empty: nothing was measured that could be lost.
    ///
    /// # Errors
    /// Not empty, not writable, or in use.
    pub fn create(path: &Path) -> Result<Self, DirectoryError> {
        fs::create_dir_all(path).map_err(|why| DirectoryError::Write { path: path.to_owned(), why })?;
        let entries =
            fs::read_dir(path).map_err(|why| DirectoryError::Write { path: path.to_owned(), why })?;
        let names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
        let of_a_false_start =
            |name: &std::ffi::OsString| [PLAN, END, LOGS, LOCK].iter().any(|own| name == own);
        let false_start = names.iter().any(|name| name == LOCK) && names.iter().all(of_a_false_start);
        if !names.is_empty() && !false_start {
            // Only a directory that bakeoff has written to is touched to see who has it.
            if path.join(LOCK).exists() {
                Self::lock(path)?;
            }
            return Err(DirectoryError::NotEmpty(path.to_owned()));
        }
        Self::lock(path)
    }

    /// Takes a directory that a run was written to.
    ///
    /// # Errors
    /// No such run, or in use.
    pub fn reopen(path: &Path) -> Result<Self, DirectoryError> {
        let setup = path.join(SETUP);
        if !setup.is_file() {
            let why = "there is no run that could go on".to_owned();
            return Err(DirectoryError::Read { path: setup, why });
        }
        Self::lock(path)
    }

    fn lock(path: &Path) -> Result<Self, DirectoryError> {
        let file = path.join(LOCK);
        let lock = OpenOptions::new().create(true).append(true).open(&file);
        let lock = lock.map_err(|why| DirectoryError::Write { path: file.clone(), why })?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: path.to_owned(), _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(DirectoryError::InUse(path.to_owned())),
            Err(TryLockError::Error(why)) => Err(DirectoryError::Write { path: file, why }),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a whole file; readers see the old one or the new one.
    ///
    /// # Errors
    /// The disk is full or the directory gone.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<(), DirectoryError> {
        let (path, beside) = (self.path.join(name), self.path.join(format!(".{name}.new")));
        let write = || {
            let mut file = File::create(&beside)?;
            file.write_all(content)?;
            file.sync_all()?;
            fs::rename(&beside, &path)
        };
        write().map_err(|why| {
            let _ = fs::remove_file(&beside);
            DirectoryError::Write { path: path.clone(), why }
        })
    }

    /// Writes the plan's text.
    ///
    /// # Errors
    /// As [`ResultsDir::write`].
    pub fn write_plan(&self, text: &str) -> Result<(), DirectoryError> {
        self.write(PLAN, text.as_bytes())
    }

    /// Writes what is fixed from now on.
    ///
    /// # Errors
    /// As [`ResultsDir::write`].
    pub fn write_setup(&self, setup: &Setup) -> Result<(), DirectoryError> {
        self.write(SETUP, &pretty(setup))
    }

    /// Writes how the run ended.
    ///
    /// # Errors
    /// As [`ResultsDir::write`].
    pub fn write_end(&self, stopped_by: StoppedBy) -> Result<(), DirectoryError> {
        self.write(END, &pretty(&End { stopped_by }))
    }

    /// Appends a slice and waits until it is on disk.
    ///
    /// # Errors
    /// The disk is full: what stood there before still stands there.
    pub fn append(&self, slice: &SliceRecord) -> Result<(), DirectoryError> {
        let path = self.path.join(SLICES);
        let mut line = serde_json::to_vec(slice).unwrap_or_default();
        line.push(b'\n');
        let append = || {
            let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
            let before = file.metadata()?.len();
            file.write_all(&line).and_then(|()| file.sync_data()).inspect_err(|_| {
                let _ = file.set_len(before); // half a line is none
            })
        };
        append().map_err(|why| DirectoryError::Write { path: path.clone(), why })
    }

    /// Takes away half a line that a killed run left, so that lines can be appended again.
    ///
    /// # Errors
    /// As [`ResultsDir::write`].
    pub fn mend(&self) -> Result<(), DirectoryError> {
        let path = self.path.join(SLICES);
        let Ok(text) = fs::read(&path) else { return Ok(()) };
        let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        if whole == text.len() {
            return Ok(());
        }
        let cut = OpenOptions::new().write(true).open(&path).and_then(|file| file.set_len(whole as u64));
        cut.map_err(|why| DirectoryError::Write { path, why })
    }
}

/// Reads a results directory.
///
/// # Errors
/// A file is missing, damaged, or of another version; which and where.
pub fn load(path: &Path) -> Result<Stored, DirectoryError> {
    let read = |name: &str| {
        let file = path.join(name);
        fs::read_to_string(&file).map_err(|why| DirectoryError::Read { path: file, why: why.to_string() })
    };
    let damaged = |name: &str, why: String| DirectoryError::Read { path: path.join(name), why };
    let setup: Setup = serde_json::from_str(&read(SETUP)?).map_err(|why| damaged(SETUP, why.to_string()))?;
    if setup.schema != SETUP_SCHEMA {
        let why = format!("it is of schema {}, this bakeoff reads {SETUP_SCHEMA}", setup.schema);
        return Err(damaged(SETUP, why));
    }
    let text = if path.join(SLICES).exists() { read(SLICES)? } else { String::new() };
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut slices = Vec::new();
    for (number, line) in whole.lines().enumerate() {
        let slice = serde_json::from_str(line)
            .map_err(|why| damaged(SLICES, format!("line {}: {why}", number + 1)))?;
        slices.push(slice);
    }
    let end: Option<End> =
        fs::read_to_string(path.join(END)).ok().and_then(|text| serde_json::from_str(&text).ok());
    Ok(Stored {
        plan: read(PLAN)?,
        setup,
        slices,
        stopped_by: end.map_or(StoppedBy::Interrupted, |end| end.stopped_by),
    })
}

fn pretty(value: &impl Serialize) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(value).unwrap_or_default();
    text.push(b'\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_taken_once_and_only_empty() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("results");
        let first = ResultsDir::create(&path).unwrap();
        assert!(matches!(ResultsDir::create(&path), Err(DirectoryError::InUse(_))));
        first.write_plan("x").unwrap();
        assert!(matches!(ResultsDir::create(&path), Err(DirectoryError::InUse(_))));
        drop(first);
        assert!(ResultsDir::create(&path).is_ok(), "a run that never began left nothing to lose");
        fs::write(path.join(SLICES), "").unwrap();
        assert!(matches!(ResultsDir::create(&path), Err(DirectoryError::NotEmpty(_))));
        assert!(matches!(ResultsDir::reopen(&path), Err(DirectoryError::Read { .. })));
    }

    #[test]
    fn half_a_line_is_taken_away() {
        let dir = tempfile::tempdir().unwrap();
        let results = ResultsDir::create(dir.path()).unwrap();
        fs::write(dir.path().join(SLICES), "{\"a\":1}\n{\"b").unwrap();
        results.mend().unwrap();
        assert_eq!(fs::read_to_string(dir.path().join(SLICES)).unwrap(), "{\"a\":1}\n");
    }

    #[test]
    fn a_directory_that_cannot_be_written_says_so() {
        let error = ResultsDir::create(Path::new("/proc/bakeoff-results")).unwrap_err();
        assert!(error.to_string().contains("give another --out"), "{error}");
    }
}
