//! Removal of marks from settled directories, in which everything is right and frozen. Nothing in them can change,
//! and nothing can be added, so that the marks of the directory and its files are removed; an open there costs as
//! much as without enforcement.
//!
//! Cold. One event then goes unnoticed for some seconds, until the next walk: a process with the right to do so takes the
//! immutable attribute off. While a gap is open, and when the manifest is read again, all marks are there.

use crate::enforcer::Enforcer;
use crate::judge;
use crate::tree::{Listed, key};
use crate::walk::list;
use bakeoff_layers_base::manifest::seal::is_below_any;
use bakeoff_sys::fanotify::Mark;
use bakeoff_sys::inode::{self, OpenPurpose};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Removes marks that are not needed. Returns the number of files without one; 0 while there is a gap.
pub(crate) fn rest(enforcer: &Enforcer) -> u64 {
    let _alone = enforcer.tree.alone();
    let listed = enforcer.listed();
    if !enforcer.freezes() || !listed.exact || enforcer.gaps.any_open() {
        return 0;
    }
    let dirs = enforcer.tree.walk(&enforcer.settings.exclude, |_, _| true).dirs;
    dirs.iter().filter_map(|dir| rest_dir(enforcer, &listed, dir)).sum()
}

/// Removes the marks of a directory's files, if they need none; returns their number.
fn rest_dir(enforcer: &Enforcer, listed: &Listed, dir: &Path) -> Option<u64> {
    let top = inode::open_below(&enforcer.tree.root, dir, OpenPurpose::Listing).ok()?;
    if !enforcer.guard.holds(key(&inode::facts(&top).ok()?)) {
        return None;
    }
    let files = right_files(enforcer, listed, &top, dir)?;
    let _ = enforcer.group.remove(Mark::Children, &top);
    for path in &files {
        let file = inode::open_below(&enforcer.tree.root, path, OpenPurpose::Knowing).ok()?;
        let _ = enforcer.group.remove(Mark::File, &file);
        let _ = enforcer.group.remove(Mark::Ignored, &file);
    }
    Some(files.len() as u64)
}

/// The files of a directory, if everything in it is right and frozen. Directories below are checked by themselves; a
/// symbolic link that hides something is a gap.
fn right_files(enforcer: &Enforcer, listed: &Listed, top: &OwnedFd, dir: &Path) -> Option<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in list(top).ok()? {
        let entry = entry.ok()?;
        let kind = entry.file_type().ok()?;
        let path = dir.join(entry.file_name());
        if kind.is_dir() || kind.is_symlink() {
            continue;
        }
        if path.to_str().is_some_and(|path| is_below_any(path, &enforcer.settings.exclude)) {
            continue;
        }
        let index = listed.manifest.find(path.as_os_str().as_bytes())? as u32;
        let file = inode::open_below(&enforcer.tree.root, &path, OpenPurpose::Knowing).ok()?;
        let facts = inode::facts(&file).ok()?;
        let frozen = enforcer.guard.holds(key(&facts)) && listed.agree(key(&facts), index);
        let right = judge::remembered(enforcer, listed, &facts, index) == Some(None);
        if !frozen || !right {
            return None;
        }
        files.push(path);
    }
    Some(files)
}
