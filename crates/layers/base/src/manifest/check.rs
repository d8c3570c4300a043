//! Comparison of a tree with a manifest, and of two manifests.
//!
//! Cold. Owns the names of the faults of a file ([`Deviation`]), which an enforcing process also uses as labels of its
//! counters.

use super::seal::{self, Scan};
use super::{Manifest, ManifestEntry};
use crate::digest::Algorithm;
use crate::{named, plain, threads};
use bakeoff_sys::inode;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

named! {
    /// What is wrong with a file.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum Deviation {
        /// Other content of the same length.
        Digest "wrong-digest",
        /// Another length.
        Size "wrong-size",
        /// Other permission bits.
        Mode "wrong-mode",
        /// Listed, and not there.
        Missing "missing",
        /// Listed, and a directory, a symbolic link or a device.
        NotAFile "not-a-file",
        /// There, and not listed.
        Unlisted "unlisted",
        /// Listed, and cannot be read.
        Unreadable "unreadable",
        /// Whoever executes it gets rights that nobody signed (`setcap`).
        Capabilities "capabilities",
        /// Users or groups whom nobody signed may read or write it (`setfacl`).
        AccessList "access-list",
        /// The tree's symbolic links are not the signed ones.
        Links "links",
    }
}

/// A file that differs from the manifest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileFinding {
    /// Below the tree's root.
    pub path: String,
    /// The fault.
    pub wrong: Deviation,
}

/// Compares a tree with a manifest; findings in the order of the paths.
///
/// # Errors
/// The tree itself cannot be listed.
pub fn tree(
    manifest: &Manifest,
    root: &Path,
    exclude: &[String],
) -> Result<Vec<FileFinding>, seal::ManifestSealError> {
    let Scan { files, links, .. } = seal::scan(root, exclude)?;
    let unlisted = files.iter().filter(|path| manifest.find(path.as_bytes()).is_none());
    let mut findings: Vec<FileFinding> =
        unlisted.map(|path| FileFinding { path: path.clone(), wrong: Deviation::Unlisted }).collect();
    findings.extend(listed(manifest, root));
    if !has_signed_links(manifest, root, links.iter().map(Path::new)) {
        findings.push(FileFinding { path: String::new(), wrong: Deviation::Links });
    }
    findings.sort();
    Ok(findings)
}

/// Whether these are the links of the tree that was signed, in the order of their paths' bytes. An older manifest has
/// none.
pub fn has_signed_links<'a>(
    manifest: &Manifest,
    root: &Path,
    links: impl Iterator<Item = &'a Path> + Clone,
) -> bool {
    match &manifest.signed().links {
        Some(signed) => seal::links_digest(root, links).is_ok_and(|is| is == *signed),
        None => links.count() == 0,
    }
}

/// Checks every listed file, on all cores.
pub fn listed(manifest: &Manifest, root: &Path) -> Vec<FileFinding> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut found = Vec::new();
        while let Some(entry) = manifest.entry(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(wrong) = file(&root.join(entry.path), &entry, manifest.algorithm()) {
                found.push(FileFinding { path: entry.path.to_owned(), wrong });
            }
        }
        found
    };
    threads::on(threads::cores(), work).concat()
}

/// Checks one file by its path; the last part may not be a symbolic link.
///
/// # Errors
/// The file's fault.
pub fn file(path: &Path, entry: &ManifestEntry<'_>, algorithm: Algorithm) -> Result<(), Deviation> {
    let file = plain::open_in_tree(path, libc::O_NOFOLLOW).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Deviation::Missing,
        kind if kind == io::ErrorKind::InvalidInput || path.is_symlink() => Deviation::NotAFile,
        _ => Deviation::Unreadable,
    })?;
    let about = file.metadata().map_err(|_| Deviation::Unreadable)?;
    if about.len() != entry.size_bytes {
        return Err(Deviation::Size);
    }
    if about.permissions().mode() & 0o7777 != u32::from(entry.mode) {
        return Err(Deviation::Mode);
    }
    more_rights(&file)?;
    let (digest, read_bytes) = algorithm.digest_reader(&file).map_err(|_| Deviation::Unreadable)?;
    match (read_bytes == entry.size_bytes, digest == entry.digest) {
        (false, _) => Err(Deviation::Size),
        (true, false) => Err(Deviation::Digest),
        (true, true) => Ok(()),
    }
}

/// Rights that permission bits do not show, and that no manifest signs.
///
/// # Errors
/// The fault.
pub fn more_rights(file: impl AsFd) -> Result<(), Deviation> {
    let refused = |found: io::Result<bool>, wrong| match found {
        Ok(false) => Ok(()),
        Ok(true) => Err(wrong),
        Err(_) => Err(Deviation::Unreadable),
    };
    refused(inode::has_capabilities(&file), Deviation::Capabilities)?;
    refused(inode::has_access_list(&file), Deviation::AccessList)
}

/// Difference between two manifests.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ManifestDifference {
    /// Path of the file.
    pub path: String,
    /// The change.
    pub change: ManifestChange,
}

named! {
    /// What became of a file from one manifest to the next.
    #[derive(PartialOrd, Ord)]
    pub enum ManifestChange {
        /// It is new.
        Added "added",
        /// It has other content.
        Content "content",
        /// It has other permissions or another action.
        Attributes "attributes",
        /// It is gone.
        Removed "removed",
    }
}

/// Differences of `new` from `old`, in the order of the paths.
pub fn diff(old: &Manifest, new: &Manifest) -> Vec<ManifestDifference> {
    let mut found = Vec::new();
    let (mut left, mut right) = (0, 0);
    loop {
        let (path, change) = match (old.entry(left), new.entry(right)) {
            (None, None) => return found,
            (Some(before), None) => {
                left += 1;
                (before.path, Some(ManifestChange::Removed))
            }
            (Some(before), Some(after)) if before.path < after.path => {
                left += 1;
                (before.path, Some(ManifestChange::Removed))
            }
            (Some(before), Some(after)) if before.path == after.path => {
                (left, right) = (left + 1, right + 1);
                (after.path, changed(old, &before, new, &after))
            }
            (_, Some(after)) => {
                right += 1;
                (after.path, Some(ManifestChange::Added))
            }
        };
        found.extend(change.map(|change| ManifestDifference { path: path.to_owned(), change }));
    }
}

fn changed(
    old: &Manifest,
    before: &ManifestEntry<'_>,
    new: &Manifest,
    after: &ManifestEntry<'_>,
) -> Option<ManifestChange> {
    let same_content = old.algorithm() == new.algorithm() && before.digest == after.digest;
    match (same_content, before.mode == after.mode && before.action == after.action) {
        (false, _) => Some(ManifestChange::Content),
        (true, false) => Some(ManifestChange::Attributes),
        (true, true) => None,
    }
}
