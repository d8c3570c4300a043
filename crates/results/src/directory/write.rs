//! Writer of a results directory.
//!
//! Cold, but between slices: a slice's line is synced before the next slice starts, so that a killed run loses at most
//! one. Whole files are written beside their name and renamed. One bakeoff at a time: a lock that ends with the
//! process.

use super::growing::{self, Growing};
use super::{
    DirectoryError, END, EndRecord, LOCK, LOGS, Layout, PLAN, SLICES, StopReason, StoppedBy, TRIALS,
};
use crate::{Setup, SliceRecord, TrialRecord, Warning};
use serde::Serialize;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A results directory open for writing.
#[derive(Debug)]
pub struct ResultsDir {
    path: PathBuf,
    layout: &'static Layout,
    _lock: File,
    /// Whether this run created the directory.
    made: bool,
}

impl ResultsDir {
    /// Makes or takes an empty directory, and tries whether it can be written. One in which a run
    /// ended before its first slice counts as empty: nothing was measured that could be lost.
    ///
    /// # Errors
    /// Not empty, not writable, or in use.
    pub fn create(path: &Path, layout: &'static Layout) -> Result<Self, DirectoryError> {
        let made = !path.exists();
        fs::create_dir_all(path).map_err(|why| DirectoryError::Write { path: path.to_owned(), why })?;
        let entries =
            fs::read_dir(path).map_err(|why| DirectoryError::Write { path: path.to_owned(), why })?;
        let names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
        let of_a_false_start =
            |name: &std::ffi::OsString| [PLAN, END, LOGS, LOCK].iter().any(|own| name == own);
        let false_start = names.iter().any(|name| name == LOCK) && names.iter().all(of_a_false_start);
        if !names.is_empty() && !false_start {
            // The lock is tried only in a directory that bakeoff has written to.
            if path.join(LOCK).exists() {
                Self::lock(path, layout)?;
            }
            return Err(DirectoryError::NotEmpty(path.to_owned()));
        }
        Ok(Self { made, ..Self::lock(path, layout)? })
    }

    /// Takes a directory that a run of this kind was written to.
    ///
    /// # Errors
    /// No such run, or in use.
    pub fn reopen(path: &Path, layout: &'static Layout) -> Result<Self, DirectoryError> {
        match layout.owns(path) {
            true => Self::lock(path, layout),
            false => Err(DirectoryError::NoResults(path.to_owned())),
        }
    }

    /// Takes a directory, whatever was written to it, unless it is in use.
    fn lock(path: &Path, layout: &'static Layout) -> Result<Self, DirectoryError> {
        let file = path.join(LOCK);
        let lock = OpenOptions::new().create(true).append(true).open(&file);
        let lock = lock.map_err(|why| DirectoryError::Write { path: file.clone(), why })?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: path.to_owned(), layout, _lock: lock, made: false }),
            Err(TryLockError::WouldBlock) => Err(DirectoryError::InUse(path.to_owned())),
            Err(TryLockError::Error(why)) => Err(DirectoryError::Write { path: file, why }),
        }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether measuring has begun, so that there may be something measured.
    pub fn has_begun(&self) -> bool {
        self.layout.owns(&self.path)
    }

    /// Whether it holds output of servers.
    pub fn has_logs(&self) -> bool {
        self.path.join(LOGS).exists()
    }

    /// Removes the files of a run that measured nothing, and the directory if it was made for it. Returns whether it
    /// did.
    pub fn take_back(&self) -> bool {
        let _ = fs::remove_dir_all(self.path.join(LOGS));
        for name in [PLAN, END, LOCK] {
            let _ = fs::remove_file(self.path.join(name));
        }
        self.made && fs::remove_dir(&self.path).is_ok()
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

    /// Writes a whole file of JSON, for people to read too.
    ///
    /// # Errors
    /// As [`ResultsDir::write`].
    pub fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), DirectoryError> {
        let mut text = serde_json::to_vec_pretty(value).unwrap_or_default();
        text.push(b'\n');
        self.write(name, &text)
    }

    /// Writes plan and setup: all that is fixed from now on.
    ///
    /// # Errors
    /// As [`ResultsDir::write`].
    pub fn begin(&self, plan: &str, setup: &impl Serialize) -> Result<(), DirectoryError> {
        self.write_plan(plan)?;
        self.write_json(self.layout.setup, setup)
    }

    /// Writes the plan's text.
    ///
    /// # Errors
    /// As [`ResultsDir::write`].
    pub fn write_plan(&self, text: &str) -> Result<(), DirectoryError> {
        self.write(PLAN, text.as_bytes())
    }

    /// Writes the set-up, fixed from now on.
    ///
    /// # Errors
    /// As [`ResultsDir::write`].
    pub fn write_setup(&self, setup: &Setup) -> Result<(), DirectoryError> {
        self.write_json(self.layout.setup, setup)
    }

    /// Writes how the run ended, and what the other files are at that moment.
    ///
    /// # Errors
    /// As [`ResultsDir::write`].
    pub fn end(&self, how: impl Serialize) -> Result<(), DirectoryError> {
        let digests = self.layout.digests(&self.path)?;
        self.write_json(END, &EndRecord { how, digests })
    }

    /// Writes how an experiment ended, and who measured beside it.
    ///
    /// # Errors
    /// As [`ResultsDir::write`].
    pub fn write_end(&self, stopped_by: StoppedBy, others: Vec<Warning>) -> Result<(), DirectoryError> {
        self.end(StopReason { stopped_by, others })
    }

    /// Appends a slice and waits until it is on disk.
    ///
    /// # Errors
    /// As [`ResultsDir::append_line`].
    pub fn append(&self, slice: &SliceRecord) -> Result<(), DirectoryError> {
        self.append_line(SLICES, slice)
    }

    /// Appends a trial and waits until it is on disk.
    ///
    /// # Errors
    /// As [`ResultsDir::append`].
    pub fn append_trial(&self, trial: &TrialRecord) -> Result<(), DirectoryError> {
        self.append_line(TRIALS, trial)
    }

    /// Appends a record as a line with its check, and waits until it is on disk.
    ///
    /// # Errors
    /// As [`Growing::append`]. Or the file does not end with a line that this one could follow.
    pub fn append_line(&self, name: &str, record: &impl Serialize) -> Result<(), DirectoryError> {
        self.growing(name)?.append(record)
    }

    /// A file that grows, open for more lines; the setup must be there.
    ///
    /// # Errors
    /// It cannot be opened, or does not end with a line that another could follow.
    pub fn growing(&self, name: &str) -> Result<Growing, DirectoryError> {
        Growing::open(self.path.join(name), &self.path.join(self.layout.setup))
    }

    /// Prepares the directory of an unfinished run for `--resume`: removes half a line that a killed run left, and the
    /// record of its end.
    ///
    /// # Errors
    /// As [`ResultsDir::write`].
    pub fn go_on(&self) -> Result<(), DirectoryError> {
        self.layout.growing.iter().try_for_each(|name| growing::mend(self.path.join(name)))?;
        let path = self.path.join(END);
        match fs::remove_file(&path) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => Err(DirectoryError::Write { path, why }),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::EXPERIMENT;
    use super::*;

    #[test]
    fn a_directory_is_taken_once_and_only_empty() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("results");
        let first = ResultsDir::create(&path, &EXPERIMENT).unwrap();
        assert!(matches!(ResultsDir::create(&path, &EXPERIMENT), Err(DirectoryError::InUse(_))));
        first.write_plan("x").unwrap();
        assert!(matches!(ResultsDir::create(&path, &EXPERIMENT), Err(DirectoryError::InUse(_))));
        drop(first);
        assert!(
            ResultsDir::create(&path, &EXPERIMENT).is_ok(),
            "a run that never began left nothing to lose"
        );
        fs::write(path.join(SLICES), "").unwrap();
        assert!(matches!(ResultsDir::create(&path, &EXPERIMENT), Err(DirectoryError::NotEmpty(_))));
        assert!(matches!(ResultsDir::reopen(&path, &EXPERIMENT), Err(DirectoryError::NoResults(_))));
    }

    #[test]
    fn half_a_line_is_taken_away() {
        let dir = tempfile::tempdir().unwrap();
        let results = ResultsDir::create(dir.path(), &EXPERIMENT).unwrap();
        fs::write(dir.path().join(SLICES), "{\"a\":1}\n{\"b").unwrap();
        results.write_end(StoppedBy::Budget, Vec::new()).unwrap();
        results.go_on().unwrap();
        assert_eq!(fs::read_to_string(dir.path().join(SLICES)).unwrap(), "{\"a\":1}\n");
        assert!(!dir.path().join(END).exists());
        results.go_on().unwrap();
    }

    #[test]
    fn a_directory_that_cannot_be_written_says_so() {
        let error = ResultsDir::create(Path::new("/proc/bakeoff-results"), &EXPERIMENT).unwrap_err();
        assert!(error.to_string().contains("give another --out"), "{error}");
    }
}
