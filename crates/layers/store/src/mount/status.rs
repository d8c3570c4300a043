//! What the status file says of a mount.
//!
//! Measured side, cold.

use super::{Counters, MountError};
use crate::vault::Vault;
use bakeoff_layers_base::daemon::status::StatusFile;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How late the status file may be, and how often the lock is looked for. Ten wake-ups a second cost
/// about a ten-thousandth of a core.
pub const STATUS_DELAY: Duration = Duration::from_millis(100);

/// What it says, and where.
pub(super) struct Status {
    file: StatusFile,
    vault: Arc<Vault>,
    counters: Arc<Counters>,
    state: &'static str,
}

impl Status {
    /// Writes the first one, so that a path that cannot be written is found out before mounting.
    pub(super) fn new(
        path: Option<PathBuf>,
        vault: Arc<Vault>,
        counters: Arc<Counters>,
    ) -> Result<Self, MountError> {
        let named = path.clone().unwrap_or_default();
        let mut status = Self { file: StatusFile::new(path), vault, counters, state: "starting" };
        match status.write() {
            Ok(()) => Ok(status),
            Err(error) => Err(MountError::Status { path: named, error }),
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
        self.file.write(format!(
            "state {}\nsequence {}\nfiles {}\n{}",
            self.state,
            self.vault.header().sequence,
            self.vault.tree().len(),
            self.counters.text()
        ))
    }
}
