//! Status file of a daemon: its state and counters, as lines of a name and a value.
//!
//! Measured side. Written under another name and renamed, so that a reader never sees half a file; not synced, as it
//! means nothing after a crash. Written only when something changed, so that an idle daemon does nothing. It may lie
//! where others can write ([`crate::plain`]). The caller decides what it says.

use crate::plain::{FileAudience, FileLocation, open_in_tree, read_at_most};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Size limit when reading one back: it may have a line for each file of a tree.
const MOST_BYTES: u64 = 64 << 20;

/// The status file, or none.
#[derive(Debug, Default)]
pub struct StatusFile {
    place: Option<FileLocation>,
    written: String,
    /// The file written last: as long as it is open no other file has its inode.
    last: Option<File>,
}

impl StatusFile {
    /// Opens the directory of this path once, if there is to be a file; later changes to the path do not matter.
    ///
    /// # Errors
    /// There is no such directory, or somebody else could exchange a part of the path.
    pub fn open(path: Option<&Path>) -> io::Result<Self> {
        Ok(Self::at(path.map(FileLocation::guarded).transpose()?))
    }

    /// The file at this place, if there is to be one.
    pub fn at(place: Option<FileLocation>) -> Self {
        Self { place, written: String::new(), last: None }
    }

    /// Opens it and writes it for the first time, so that an unwritable path is found before anything else is done.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn begin(path: Option<&Path>, text: String) -> Result<Self, StatusError> {
        let begun = Self::open(path).and_then(|mut file| file.write(text).map(|()| file));
        begun.map_err(|error| StatusError::new(path, error))
    }

    /// Writes the file if its text changed.
    ///
    /// # Errors
    /// The I/O error; the old file stays.
    pub fn write(&mut self, text: String) -> io::Result<()> {
        let Some(place) = &self.place else { return Ok(()) };
        if text != self.written {
            self.last = Some(place.replace_by(text.as_bytes(), FileAudience::Readers)?);
            self.written = text;
        }
        Ok(())
    }

    /// Treats the present file as our own: another process of ours wrote it last.
    pub fn take_over(&mut self) {
        self.last = None;
    }

    /// Whether another process wrote it since: one that began later, under the same name.
    pub fn is_anothers(&self) -> bool {
        let (Some(place), Some(last)) = (&self.place, &self.last) else { return false };
        place.is_anothers(last)
    }
}

/// The requested status file cannot be written.
#[derive(Debug, Error)]
#[error("cannot write the status file {}: {error}", path.display())]
pub struct StatusError {
    path: PathBuf,
    error: io::Error,
}

impl StatusError {
    /// For this path.
    pub fn new(path: Option<&Path>, error: io::Error) -> Self {
        Self { path: path.unwrap_or(Path::new("")).to_owned(), error }
    }
}

/// Tests whether a status file could be written there, if there is to be one, and removes it again.
///
/// # Errors
/// It could not be written.
pub fn try_writing(path: Option<&Path>) -> io::Result<()> {
    path.map_or(Ok(()), |path| FileLocation::guarded(path)?.try_writing())
}

/// The value behind a name in a status.
pub fn value<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))
}

/// Text left by an earlier process; empty if there is no regular file.
pub fn read_back(path: &Path) -> String {
    let read = open_in_tree(path, libc::O_NOFOLLOW).and_then(|file| read_at_most(&file, MOST_BYTES));
    read.map_or(String::new(), |bytes| String::from_utf8_lossy(&bytes).into_owned())
}
