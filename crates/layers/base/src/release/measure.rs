//! Measurement of the machine's state: its long-lived files compared with their signed manifest.
//!
//! Measured side, cold: reads every file of the set once. Owns only the order: first the signature, then the files.
//! Refusing a rollback is the job of the key's place, which remembers the newest version.

use super::{MeasuredState, ReleaseRefusal};
use crate::manifest::check;
use crate::manifest::load::{TrustConditions, load};
use crate::manifest::signature::AdminPublicKey;
use crate::name::EscapedName;
use crate::plain::PathError;
use std::path::Path;

/// Compares the files below `root` with a manifest that `public` signed. Files that are not listed do not count: the
/// manifest defines the set, and an empty one proves nothing.
///
/// # Errors
/// The manifest cannot be read, is refused by name, is empty, or does not name its tree: then nothing was measured.
pub fn measure(
    manifest: &Path,
    public: &AdminPublicKey,
    root: &Path,
    now_unix_s: u64,
) -> Result<MeasuredState, ReleaseRefusal> {
    let trust = TrustConditions { key: public, now_unix_s, seen_version: 0 };
    let found = load(manifest, &trust)?;
    if found.is_empty() {
        return Err(ReleaseRefusal::EmptyManifest(manifest.to_owned()));
    }
    let name =
        found.signed().name.clone().ok_or_else(|| ReleaseRefusal::NamelessManifest(manifest.to_owned()))?;
    let root = root.canonicalize().map_err(PathError::read(root))?;
    let mut wrong: Vec<String> =
        check::listed(&found, &root).into_iter().map(|finding| finding.path).collect();
    wrong.sort();
    let version = found.header().version;
    Ok(MeasuredState::Measured { admin: public.bytes(), name, root: EscapedName::of(&root), version, wrong })
}
