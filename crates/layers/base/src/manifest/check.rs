//! Comparison of a tree with a manifest, and of two manifests.
//!
//! Cold. Owns the names of the faults of a file ([`Wrong`]), which an enforcing process also uses as labels of its
//! counters.

use super::seal::{self, Scan};
use super::{Entry, Manifest};
use crate::digest::Algorithm;
use crate::{named, threads};
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

named! {
    /// What is wrong with a file.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum Wrong {
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
    }
}

/// A file that differs from the manifest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Below the tree's root.
    pub path: String,
    /// The fault.
    pub wrong: Wrong,
}

/// Compares a tree with a manifest; findings in the order of the paths.
///
/// # Errors
/// The tree itself cannot be listed.
pub fn tree(manifest: &Manifest, root: &Path, exclude: &[String]) -> Result<Vec<Finding>, seal::SealError> {
    let Scan { files, .. } = seal::scan(root, exclude)?;
    let unlisted = files.iter().filter(|path| manifest.find(path.as_bytes()).is_none());
    let mut findings: Vec<Finding> =
        unlisted.map(|path| Finding { path: path.clone(), wrong: Wrong::Unlisted }).collect();
    findings.extend(listed(manifest, root));
    findings.sort();
    Ok(findings)
}

/// Checks every listed file, on all cores.
pub fn listed(manifest: &Manifest, root: &Path) -> Vec<Finding> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut found = Vec::new();
        while let Some(entry) = manifest.entry(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(wrong) = file(&root.join(entry.path), &entry, manifest.algorithm()) {
                found.push(Finding { path: entry.path.to_owned(), wrong });
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
pub fn file(path: &Path, entry: &Entry<'_>, algorithm: Algorithm) -> Result<(), Wrong> {
    // Without O_NONBLOCK a FIFO in the file's place would block us.
    let flags = libc_flags();
    let opened = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file: File = opened.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Wrong::Missing,
        _ if path.is_symlink() => Wrong::NotAFile,
        _ => Wrong::Unreadable,
    })?;
    about(&file.metadata().map_err(|_| Wrong::Unreadable)?, entry)?;
    match bakeoff_sys::inode::has_capabilities(&file) {
        Ok(false) => {}
        Ok(true) => return Err(Wrong::Capabilities),
        Err(_) => return Err(Wrong::Unreadable),
    }
    let (digest, read_bytes) = algorithm.digest_reader(&file).map_err(|_| Wrong::Unreadable)?;
    match (read_bytes == entry.size_bytes, digest == entry.digest) {
        (false, _) => Err(Wrong::Size),
        (true, false) => Err(Wrong::Digest),
        (true, true) => Ok(()),
    }
}

/// Faults that the metadata alone shows.
fn about(metadata: &Metadata, entry: &Entry<'_>) -> Result<(), Wrong> {
    if !metadata.is_file() {
        return Err(Wrong::NotAFile);
    }
    if metadata.len() != entry.size_bytes {
        return Err(Wrong::Size);
    }
    if metadata.permissions().mode() & 0o7777 != u32::from(entry.mode) {
        return Err(Wrong::Mode);
    }
    Ok(())
}

/// `O_NOFOLLOW | O_NONBLOCK`.
const fn libc_flags() -> i32 {
    libc::O_NOFOLLOW | libc::O_NONBLOCK
}

/// Difference between two manifests.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    /// Path of the file.
    pub path: String,
    /// The change.
    pub change: Change,
}

named! {
    /// What became of a file from one manifest to the next.
    #[derive(PartialOrd, Ord)]
    pub enum Change {
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
pub fn diff(old: &Manifest, new: &Manifest) -> Vec<Difference> {
    let mut found = Vec::new();
    let (mut left, mut right) = (0, 0);
    loop {
        let (path, change) = match (old.entry(left), new.entry(right)) {
            (None, None) => return found,
            (Some(before), None) => {
                left += 1;
                (before.path, Some(Change::Removed))
            }
            (Some(before), Some(after)) if before.path < after.path => {
                left += 1;
                (before.path, Some(Change::Removed))
            }
            (Some(before), Some(after)) if before.path == after.path => {
                (left, right) = (left + 1, right + 1);
                (after.path, changed(old, &before, new, &after))
            }
            (_, Some(after)) => {
                right += 1;
                (after.path, Some(Change::Added))
            }
        };
        found.extend(change.map(|change| Difference { path: path.to_owned(), change }));
    }
}

fn changed(old: &Manifest, before: &Entry<'_>, new: &Manifest, after: &Entry<'_>) -> Option<Change> {
    let same_content = old.algorithm() == new.algorithm() && before.digest == after.digest;
    match (same_content, before.mode == after.mode && before.action == after.action) {
        (false, _) => Some(Change::Content),
        (true, false) => Some(Change::Attributes),
        (true, true) => None,
    }
}
