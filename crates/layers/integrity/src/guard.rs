//! Immutable attribute on guarded files: a verified file cannot be changed, renamed or removed by any path, unless
//! somebody takes the attribute off first.
//!
//! The attribute is on disk and survives a crash of the machine; [`thaw`] removes it. Files that were immutable
//! before keep it, also after a worker died: its successor goes by the time of the last change.

use crate::alone::TreeLock;
use crate::error::EnforceError;
use crate::leases::Key;
use crate::tree::open_root;
use crate::walk::list;
use bakeoff_layers_base::locks::lock;
use bakeoff_sys::inode::{self, InodeKind, OpenPurpose};
use std::collections::HashSet;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Who made an inode immutable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frozen {
    /// This guard, or an earlier worker's.
    ByUs,
    /// Somebody else, before: he may make it changeable at any time.
    ByOthers,
    /// Nobody: freezing is off.
    Off,
}

#[derive(Debug)]
pub(crate) struct Guard {
    /// Whether to freeze now.
    on: AtomicBool,
    /// Files made immutable since then are ours: an earlier worker froze them.
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

    /// Makes an inode immutable, if freezing is on and it is not frozen yet.
    pub(crate) fn freeze(&self, file: impl AsFd, key: Key) -> io::Result<Frozen> {
        if !self.is_on() {
            return Ok(Frozen::Off);
        }
        if self.frozen().contains(&key) {
            return Ok(Frozen::ByUs);
        }
        let file = file.as_fd();
        if inode::is_immutable(file)? && !self.adopts(file)? {
            return Ok(Frozen::ByOthers);
        }
        inode::set_immutable(file, true)?;
        self.frozen().insert(key);
        if !self.is_on() {
            // A concurrent thaw of everything may have passed before this one was recorded.
            self.thaw(file, key);
        }
        Ok(Frozen::ByUs)
    }

    /// Forgets that an inode is frozen, as it is not any more; returns whether it was.
    pub(crate) fn forget(&self, key: Key) -> bool {
        self.frozen().remove(&key)
    }

    /// Forgets what was frozen on this device: its file system is gone, and another may have its numbers.
    pub(crate) fn forget_device(&self, device: u64) {
        self.frozen().retain(|key| key.0 != device);
    }

    /// Whether an earlier worker made it immutable: that was its last change.
    fn adopts(&self, file: impl AsFd) -> io::Result<bool> {
        let Some(since) = self.adopt_since else { return Ok(false) };
        Ok(UNIX_EPOCH + Duration::from_nanos(inode::facts(file)?.changed_unix_ns) >= since)
    }

    /// Makes it changeable again, if this guard froze it; returns whether it did.
    pub(crate) fn thaw(&self, file: impl AsFd, key: Key) -> bool {
        let was = self.forget(key);
        if was {
            // A file that cannot be changed back stays immutable, and `thaw` names it.
            let _ = inode::set_immutable(file, false);
        }
        was
    }

    /// Whether this guard made it immutable.
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

/// Makes every file and directory of a tree changeable again, whoever froze it: for a tree whose enforcement was
/// killed. Returns the number of immutable ones.
///
/// # Errors
/// A file cannot be read or changed.
pub fn thaw(root: &Path) -> Result<u64, EnforceError> {
    let failed = |source| EnforceError::Root { path: root.to_owned(), source };
    let _alone = TreeLock::take(root)?;
    let top = open_root(root).map_err(failed)?;
    let mut rest = vec![PathBuf::new()];
    let mut thawed = 0;
    while let Some(path) = rest.pop() {
        let failed = |source| EnforceError::Root { path: root.join(&path), source };
        let known = match inode::open_below(&top, &path, OpenPurpose::Knowing) {
            // Too deep to be opened, and so never frozen here; or removed meanwhile.
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENAMETOOLONG | libc::ENOENT)) => continue,
            known => known.map_err(failed)?,
        };
        let kind = inode::facts(&known).map_err(failed)?.kind;
        if kind == InodeKind::Other {
            continue;
        }
        let file = inode::open_below(&top, &path, OpenPurpose::Reading).map_err(failed)?;
        if inode::is_immutable(&file).unwrap_or(false) {
            inode::set_immutable(&file, false).map_err(failed)?;
            thawed += 1;
        }
        if kind == InodeKind::Dir {
            rest.extend(list(&file).map_err(failed)?.flatten().map(|entry| path.join(entry.file_name())));
        }
    }
    Ok(thawed)
}
