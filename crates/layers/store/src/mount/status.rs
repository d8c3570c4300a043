//! The status file: what the daemon is and has counted, as lines of a name and a value.
//!
//! Measured side. Written under another name and renamed, so that a reader sees a whole one; not
//! synced, as it says nothing after a crash. Only when something changed, so that an idle mount does
//! nothing.

use super::{Counters, MountError};
use crate::vault::Vault;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How late the status file may be, and how often the lock is looked for. Ten wake-ups a second cost
/// about a ten-thousandth of a core.
pub const STATUS_DELAY: Duration = Duration::from_millis(100);

/// The status file, or none.
pub(super) struct Status {
    path: Option<PathBuf>,
    vault: Arc<Vault>,
    counters: Arc<Counters>,
    state: &'static str,
    written: String,
}

impl Status {
    /// Writes the first one, so that a path that cannot be written is found out before mounting.
    pub(super) fn new(
        path: Option<PathBuf>,
        vault: Arc<Vault>,
        counters: Arc<Counters>,
    ) -> Result<Self, MountError> {
        let mut status = Self { path, vault, counters, state: "starting", written: String::new() };
        match status.write() {
            Ok(()) => Ok(status),
            Err(error) => Err(MountError::Status { path: status.path.unwrap_or_default(), error }),
        }
    }

    /// Changes the first line.
    pub(super) fn state(&mut self, state: &'static str) {
        self.state = state;
    }

    /// Writes it again if it would say something else. A disk that is full leaves the old one.
    pub(super) fn write_if_changed(&mut self) {
        let _ = self.write();
    }

    fn write(&mut self) -> io::Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let text = format!(
            "state {}\nsequence {}\nfiles {}\n{}",
            self.state,
            self.vault.header().sequence,
            self.vault.tree().len(),
            self.counters.text()
        );
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
