//! Text form of a manifest: its header and lines.

use super::{FaultAction, ManifestEntry};
use crate::digest::Algorithm;

/// Lines before the files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestHeader {
    /// Rises with each new manifest; an older one is refused once a newer one was accepted.
    pub version: u64,
    /// Creation time, in seconds since 1970.
    pub created_unix_s: u64,
    /// Expiry, in seconds since 1970.
    pub not_after_unix_s: u64,
    /// Number of the signing key, as minisign writes it.
    pub key_id: u64,
    /// Digest algorithm of the files.
    pub algorithm: Algorithm,
}

/// The bytes to sign. The entries must be in the order of their paths.
pub fn text<'a>(
    header: &ManifestHeader,
    entries: impl ExactSizeIterator<Item = ManifestEntry<'a>>,
) -> Vec<u8> {
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
        let action = if entry.action == FaultAction::default() { "-" } else { entry.action.name() };
        text.extend_from_slice(&entry.digest.to_hex());
        let rest = format!("\t{}\t{:04o}\t{action}\t{}\n", entry.size_bytes, entry.mode, entry.path);
        text.extend_from_slice(rest.as_bytes());
    }
    text
}
