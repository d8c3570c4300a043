//! The immutable attribute: what was verified does not change, is not renamed and not removed while it
//! is guarded, whatever the way to it, by whoever does not take the attribute off first.
//!
//! It is on disk and outlives a killed machine; [`thaw`] is the way out. What was immutable before is
//! left as it was.

use crate::error::EnforceError;
use crate::leases::Key;
use bakeoff_sys::inode::{self, For, Kind};
use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Debug)]
pub(crate) struct Guard {
    /// Freezing is wanted now.
    on: AtomicBool,
    /// What is immutable already is ours: a worker before this one did it.
    adopt: bool,
    frozen: Mutex<HashSet<Key>>,
}

impl Guard {
    pub(crate) fn new(on: bool, adopt: bool) -> Self {
        Self { on: AtomicBool::new(on), adopt, frozen: Mutex::new(HashSet::new()) }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    pub(crate) fn switch(&self, on: bool) {
        self.on.store(on, Ordering::Relaxed);
    }

    /// Makes an inode immutable, if freezing is wanted and it was not done before.
    pub(crate) fn freeze(&self, file: impl AsFd, key: Key) -> io::Result<()> {
        if !self.is_on() || self.frozen().contains(&key) {
            return Ok(());
        }
        let file = file.as_fd();
        if inode::is_immutable(file)? && !self.adopt {
            return Ok(());
        }
        inode::set_immutable(file, true)?;
        self.frozen().insert(key);
        Ok(())
    }

    /// Makes it changeable again, if it was made immutable here; says whether it was.
    pub(crate) fn thaw(&self, file: impl AsFd, key: Key) -> bool {
        let was = self.frozen().remove(&key);
        if was {
            // What cannot be changed back stays as it is, and `thaw` names it.
            let _ = inode::set_immutable(file, false);
        }
        was
    }

    /// It was made immutable here.
    pub(crate) fn holds(&self, key: Key) -> bool {
        self.frozen().contains(&key)
    }

    pub(crate) fn len(&self) -> usize {
        self.frozen().len()
    }

    fn frozen(&self) -> std::sync::MutexGuard<'_, HashSet<Key>> {
        self.frozen.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Makes every file and directory of a tree changeable again, whoever froze it: for a tree whose
/// enforcement was killed. Returns how many were immutable.
///
/// # Errors
/// Something cannot be read or changed.
pub fn thaw(root: &Path) -> Result<u64, EnforceError> {
    let mut rest = vec![root.to_owned()];
    let mut thawed = 0;
    while let Some(path) = rest.pop() {
        let failed = |source| EnforceError::Root { path: path.clone(), source };
        let kind = std::fs::symlink_metadata(&path).map_err(failed)?.file_type();
        if !kind.is_dir() && !kind.is_file() {
            continue;
        }
        let parent = File::open(path.parent().unwrap_or(&path)).map_err(failed)?;
        let name = path.file_name().map_or(Path::new(""), Path::new);
        let file = inode::open_below(&parent, name, For::Reading).map_err(failed)?;
        if inode::is_immutable(&file).unwrap_or(false) {
            inode::set_immutable(&file, false).map_err(failed)?;
            thawed += 1;
        }
        if inode::facts(&file).map_err(failed)?.kind == Kind::Dir {
            let entries = std::fs::read_dir(&path).map_err(failed)?;
            rest.extend(entries.filter_map(Result::ok).map(|entry| entry.path()));
        }
    }
    Ok(thawed)
}
