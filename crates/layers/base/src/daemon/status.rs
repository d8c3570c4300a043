//! Status file of a daemon: its state and counters, as lines of a name and a value.
//!
//! Measured side. Written under another name and renamed, so that a reader never sees half a file; not synced, as it
//! means nothing after a crash. Written only when something changed, so that an idle daemon does nothing. It may lie
//! where others can write ([`crate::plain`]). The caller decides what it says.

use crate::plain::{FileAudience, FileLocation, PathError, open_in_tree, read_at_most};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

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
    pub fn begin(path: Option<&Path>, text: String) -> Result<Self, PathError> {
        let begun = Self::open(path).and_then(|mut file| file.write(text).map(|()| file));
        begun.map_err(PathError::written(path))
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

    /// The same unless another process wrote it since: one that began later, under the same name. It looks at the last
    /// moment, as the end of one run and the beginning of the next are often at the same time.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn write_own(&mut self, text: String) -> io::Result<()> {
        let Some(place) = &self.place else { return Ok(()) };
        if text == self.written || self.is_anothers() {
            return Ok(());
        }
        let mut file = place.begin(FileAudience::Readers)?;
        let written = file.write_all(text.as_bytes());
        if written.is_err() || self.is_anothers() {
            place.abandon();
            return written;
        }
        place.finish(&file, FileAudience::Readers)?;
        (self.written, self.last) = (text, Some(file));
        Ok(())
    }

    /// Treats the present file as our own: another process of ours wrote it last.
    pub fn take_over(&mut self) {
        self.last = None;
    }

    fn is_anothers(&self) -> bool {
        let (Some(place), Some(last)) = (&self.place, &self.last) else { return false };
        place.is_anothers(last)
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
