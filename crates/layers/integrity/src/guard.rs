//! The immutable attribute: what was verified does not change, is not renamed and not removed while it
//! is guarded, whatever the way to it, by whoever does not take the attribute off first.
//!
//! It is on disk and outlives a killed machine; [`thaw`] is the way out. What was immutable before is
//! left as it was, also by a worker that comes after one that died: it goes by the time of the last change.

use crate::error::EnforceError;
use crate::leases::Key;
use crate::walk::list;
use bakeoff_layers_base::locks::lock;
use bakeoff_sys::inode::{self, For, Kind};
use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[derive(Debug)]
pub(crate) struct Guard {
    /// Freezing is wanted now.
    on: AtomicBool,
    /// What became immutable since then is ours: a worker before this one did it.
    adopt_since: Option<SystemTime>,
    frozen: Mutex<HashSet<Key>>,
}

impl Guard {
    pub(crate) fn new(on: bool, adopt_since: Option<SystemTime>) -> Self {
        Self { on: AtomicBool::new(on), adopt_since, frozen: Mutex::new(HashSet::new()) }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.on.load(Ordering::SeqCst)
    }

    pub(crate) fn switch(&self, on: bool) {
        self.on.store(on, Ordering::SeqCst);
    }

    /// Makes an inode immutable, if freezing is wanted and it was not done before.
    pub(crate) fn freeze(&self, file: impl AsFd, key: Key) -> io::Result<()> {
        if !self.is_on() || self.frozen().contains(&key) {
            return Ok(());
        }
        let file = file.as_fd();
        if inode::is_immutable(file)? && !self.adopts(file)? {
            return Ok(());
        }
        inode::set_immutable(file, true)?;
        self.frozen().insert(key);
        if !self.is_on() {
            // Whoever thaws everything may have passed here before it was noted.
            self.thaw(file, key);
        }
        Ok(())
    }

    /// Whether a worker before this one made it immutable: that was the last change.
    fn adopts(&self, file: impl AsFd) -> io::Result<bool> {
        let Some(since) = self.adopt_since else { return Ok(false) };
        Ok(UNIX_EPOCH + Duration::from_nanos(inode::facts(file)?.changed_unix_ns) >= since)
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
        lock(&self.frozen)
    }
}

/// Makes every file and directory of a tree changeable again, whoever froze it: for a tree whose
/// enforcement was killed. Returns how many were immutable.
///
/// # Errors
/// Something cannot be read or changed.
pub fn thaw(root: &Path) -> Result<u64, EnforceError> {
    let failed = |source| EnforceError::Root { path: root.to_owned(), source };
    let top = File::open(root).map_err(failed)?;
    let mut rest = vec![PathBuf::new()];
    let mut thawed = 0;
    while let Some(path) = rest.pop() {
        let failed = |source| EnforceError::Root { path: root.join(&path), source };
        let known = match inode::open_below(&top, &path, For::Knowing) {
            // Too deep to be opened, and so never frozen here; or removed meanwhile.
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENAMETOOLONG | libc::ENOENT)) => continue,
            known => known.map_err(failed)?,
        };
        let kind = inode::facts(&known).map_err(failed)?.kind;
        if kind == Kind::Other {
            continue;
        }
        let file = inode::open_below(&top, &path, For::Reading).map_err(failed)?;
        if inode::is_immutable(&file).unwrap_or(false) {
            inode::set_immutable(&file, false).map_err(failed)?;
            thawed += 1;
        }
        if kind == Kind::Dir {
            rest.extend(list(&file).map_err(failed)?.flatten().map(|entry| path.join(entry.file_name())));
        }
    }
    Ok(thawed)
}
