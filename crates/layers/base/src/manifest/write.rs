//! A manifest as text.

use super::{Action, Entry};
use crate::digest::Algorithm;

/// What stands before the files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Counts up with each new manifest; an older one is refused once a newer one was taken.
    pub version: u64,
    /// When it was made, in seconds since 1970.
    pub created_unix_s: u64,
    /// Until when it is good, in seconds since 1970.
    pub not_after_unix_s: u64,
    /// Number of the key that signs it, as minisign writes it.
    pub key_id: u64,
    /// How the files are digested.
    pub algorithm: Algorithm,
}

/// The bytes that are signed. The entries must be in the order of their paths.
pub fn text<'a>(header: &Header, entries: impl ExactSizeIterator<Item = Entry<'a>>) -> Vec<u8> {
    let mut text = format!(
        "bakeoff-manifest 1\nversion {}\ncreated {}\nnot-after {}\nkey {:016X}\ndigest {}\nfiles {}\n",
        header.version,
        header.created_unix_s,
        header.not_after_unix_s,
        header.key_id,
        header.algorithm,
        entries.len()
    )
    .into_bytes();
    for entry in entries {
        let action = if entry.action == Action::default() { "-" } else { entry.action.name() };
        text.extend_from_slice(&entry.digest.to_hex());
        let rest = format!("\t{}\t{:04o}\t{action}\t{}\n", entry.size_bytes, entry.mode, entry.path);
        text.extend_from_slice(rest.as_bytes());
    }
    text
}
