//! Roll: list of the keys that may get leafs and statuses from an agent.
//!
//! Measured side, cold. A text beside the agent's key, not beside the CA's: a thief of the CA's key alone can certify
//! names, but no agent gives them a leaf. A line a key: a name, and the key's thumbprint in hexadecimal. Read anew
//! for each question, as entries are added while the agent runs.

use crate::files::FileError;
use bakeoff_layers_base::hex::to_hex;
use bakeoff_layers_base::plain::{self, FileLocation, FileOwner, PathError};
use bakeoff_layers_credentials::key::PublicKey;
use bakeoff_layers_credentials::name::PrincipalName;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Longest roll.
const MOST_BYTES: u64 = 64 << 20;

/// The file in an agent's directory.
#[derive(Debug)]
pub(crate) struct Roll(PathBuf);

impl Roll {
    /// The roll of an agent's directory.
    pub(crate) fn of(agent: &Path) -> Self {
        Self(agent.join("roll"))
    }

    /// Whether the roll has this key for this name. An unreadable roll counts as empty.
    pub(crate) fn has(&self, name: &PrincipalName, key: PublicKey) -> bool {
        let sought = line(name, key);
        let text = plain::read_text(&self.0, FileOwner::Trusted, MOST_BYTES);
        text.is_ok_and(|text| text.lines().any(|line| line.trim() == sought))
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn add(&self, name: &PrincipalName, key: PublicKey) -> Result<(), FileError> {
        let opened = FileLocation::guarded(&self.0).and_then(|place| place.keep(true, 0o600));
        let added = opened.and_then(|mut file| writeln!(file, "{}", line(name, key)));
        Ok(added.map_err(PathError::written(&*self.0))?)
    }
}

/// Line of an entry.
pub(crate) fn line(name: &PrincipalName, key: PublicKey) -> String {
    format!("{name} {}", to_hex(&key.thumbprint()))
}
