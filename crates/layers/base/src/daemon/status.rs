//! The status file: what a daemon is and has counted, as lines of a name and a value.
//!
//! Measured side. Written under another name and renamed, so that a reader sees a whole one; not
//! synced, as it says nothing after a crash. Only when something changed, so that an idle daemon does
//! nothing. It may lie where others can write ([`crate::plain`]). What it says is the caller's.

use crate::plain::{self, For, Place};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The longest that is read back: one may have a line for each file of a tree.
const MOST_BYTES: u64 = 64 << 20;

/// The status file, or none.
#[derive(Debug, Default)]
pub struct StatusFile {
    place: Option<Place>,
    written: String,
    /// What was written last: as long as it is open nothing else has its inode.
    last: Option<File>,
}

impl StatusFile {
    /// At this path, if there is to be one. Its directory is opened once: what becomes of the path later
    /// does not matter.
    ///
    /// # Errors
    /// There is no such directory.
    pub fn open(path: Option<&Path>) -> io::Result<Self> {
        Ok(Self { place: path.map(Place::of).transpose()?, written: String::new(), last: None })
    }

    /// Opens it and writes it for the first time, so that a path that cannot be written is found out before anything is done.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn begin(path: Option<&Path>, text: String) -> Result<Self, StatusError> {
        let begun = Self::open(path).and_then(|mut file| file.write(text).map(|()| file));
        begun.map_err(|error| StatusError::new(path, error))
    }

    /// Writes it, if it would say something else than before.
    ///
    /// # Errors
    /// What writing reports; the old one is left.
    pub fn write(&mut self, text: String) -> io::Result<()> {
        let Some(place) = &self.place else { return Ok(()) };
        if text != self.written {
            self.last = Some(place.replace_by(text.as_bytes(), For::Readers)?);
            self.written = text;
        }
        Ok(())
    }

    /// What is there now counts as written by us: another process of ours was the last to write.
    pub fn take_over(&mut self) {
        self.last = None;
    }

    /// Whether somebody else has written it since: whoever began later, under the same name.
    pub fn is_anothers(&self) -> bool {
        let (Some(place), Some(last)) = (&self.place, &self.last) else { return false };
        place.is_anothers(last)
    }
}

/// A status file that there is to be cannot be written.
#[derive(Debug, Error)]
#[error("cannot write the status file {}: {error}", path.display())]
pub struct StatusError {
    path: PathBuf,
    error: io::Error,
}

impl StatusError {
    /// Of this path.
    pub fn new(path: Option<&Path>, error: io::Error) -> Self {
        Self { path: path.unwrap_or(Path::new("")).to_owned(), error }
    }
}

/// Whether a status file could be written there, if there is to be one: tried, and taken away again.
///
/// # Errors
/// Why not.
pub fn try_writing(path: Option<&Path>) -> io::Result<()> {
    path.map_or(Ok(()), |path| Place::of(path)?.try_writing())
}

/// The value behind a name in a status.
pub fn value<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))
}

/// What an earlier process left there; nothing where there is no regular file.
pub fn read_back(path: &Path) -> String {
    plain::read(path, MOST_BYTES).map_or(String::new(), |bytes| String::from_utf8_lossy(&bytes).into_owned())
}
