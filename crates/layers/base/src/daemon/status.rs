//! The status file: what a daemon is and has counted, as lines of a name and a value.
//!
//! Measured side. Written under another name and renamed, so that a reader sees a whole one; not
//! synced, as it says nothing after a crash. Only when something changed, so that an idle daemon does
//! nothing. What it says is the caller's.

use std::fs;
use std::io;
use std::path::PathBuf;

/// The status file, or none.
#[derive(Debug)]
pub struct StatusFile {
    path: Option<PathBuf>,
    written: String,
}

impl StatusFile {
    /// At this path, if there is to be one.
    pub fn new(path: Option<PathBuf>) -> Self {
        Self { path, written: String::new() }
    }

    /// Writes it, if it would say something else than before.
    ///
    /// # Errors
    /// What writing reports; the old one is left.
    pub fn write(&mut self, text: String) -> io::Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        if text != self.written {
            let mut temporary = path.clone().into_os_string();
            temporary.push(".new");
            fs::write(&temporary, &text)?;
            fs::rename(&temporary, path)?;
            self.written = text;
        }
        Ok(())
    }
}
