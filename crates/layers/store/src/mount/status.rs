//! Status file of a mount: its text, and when to write it.
//!
//! Measured side, cold.

use super::Counters;
use super::locking::Dropped;
use crate::vault::Vault;
use bakeoff_layers_base::daemon::status::{StatusError, StatusFile};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// State and path of the status file.
pub(super) struct Status {
    file: StatusFile,
    vault: Arc<Vault>,
    counters: Arc<Counters>,
    state: &'static str,
    /// Progress of a lock.
    pub(super) dropped: Dropped,
}

impl Status {
    /// Writes the first status, so that an unwritable path is found before mounting.
    pub(super) fn new(
        path: Option<&Path>,
        vault: Arc<Vault>,
        counters: Arc<Counters>,
    ) -> Result<Self, StatusError> {
        let failed = |error| StatusError::new(path, error);
        let file = StatusFile::open(path).map_err(failed)?;
        let dropped = Dropped::default();
        let mut status = Self { file, vault, counters, state: "starting", dropped };
        status.write().map_err(failed)?;
        Ok(status)
    }

    /// Changes the first line.
    pub(super) fn state(&mut self, state: &'static str) {
        self.state = state;
    }

    /// Writes it again if its text changed. A full disk leaves the old one.
    pub(super) fn write_if_changed(&mut self) {
        let _ = self.write();
    }

    fn write(&mut self) -> io::Result<()> {
        self.file.write(format!(
            "state {}\ndropped {}\nsequence {}\nfiles {}\n{}",
            self.state,
            self.dropped.word(),
            self.vault.header().sequence,
            self.vault.tree().len(),
            self.counters.text()
        ))
    }
}
