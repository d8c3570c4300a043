//! The state of the machine as a signed manifest of its long-lived files tells it.
//!
//! Measured side, cold: reads every file of the set once. Owns nothing but the order: the signature
//! first, then the files. Rollback is the key's place's to refuse, which remembers the newest version.

use super::State;
use crate::manifest::check;
use crate::manifest::load::{LoadError, Trust, load};
use crate::manifest::signature::PublicKey;
use std::path::Path;

/// Compares the files below `root` with a manifest that `public` signed. Files that are not listed do
/// not count: the set is what the manifest names.
///
/// # Errors
/// The manifest cannot be read, or is refused by name: then nothing was measured.
pub fn measure(
    manifest: &Path,
    public: &PublicKey,
    root: &Path,
    now_unix_s: u64,
) -> Result<State, LoadError> {
    let manifest = load(manifest, &Trust { key: public, now_unix_s, seen_version: 0 })?;
    let mut wrong: Vec<String> =
        check::listed(&manifest, root).into_iter().map(|finding| finding.path).collect();
    wrong.sort();
    Ok(State::Measured { admin: public.bytes(), version: manifest.header().version, wrong })
}
