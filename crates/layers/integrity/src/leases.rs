//! The leases that are held: one descriptor a verdict.
//!
//! A lease is noted before it is taken, so that a break which arrives at once finds it.

use bakeoff_sys::lease;
use std::collections::HashMap;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::{Arc, Mutex, MutexGuard};

/// Device and inode.
pub(crate) type Key = (u64, u64);

/// Why there is no lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoLease {
    /// Somebody can write to the file.
    Writer,
    /// The file system has none.
    Unsupported,
    /// As many are held as may be.
    Full,
}

impl NoLease {
    pub(crate) fn of(error: &std::io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::EAGAIN) => Self::Writer,
            _ => Self::Unsupported,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Leases {
    held: Mutex<HashMap<RawFd, (Key, Arc<OwnedFd>)>>,
    limit: usize,
}

impl Leases {
    pub(crate) fn new(limit: usize) -> Self {
        Self { held: Mutex::new(HashMap::new()), limit }
    }

    /// Takes a lease; the file stays open until it is given back.
    pub(crate) fn take(&self, key: Key, file: &Arc<OwnedFd>) -> Result<(), NoLease> {
        let fd = file.as_raw_fd();
        let mut held = self.held();
        if held.len() >= self.limit {
            return Err(NoLease::Full);
        }
        held.insert(fd, (key, file.clone()));
        drop(held);
        lease::take(file).map_err(|error| {
            self.held().remove(&fd);
            NoLease::of(&error)
        })
    }

    /// Forgets the lease on this descriptor; it ends when the file is given back or closed.
    pub(crate) fn remove(&self, fd: RawFd) -> Option<(Key, Arc<OwnedFd>)> {
        self.held().remove(&fd)
    }

    /// Forgets all.
    pub(crate) fn drain(&self) -> Vec<(Key, Arc<OwnedFd>)> {
        self.held().drain().map(|(_, lease)| lease).collect()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.len() >= self.limit
    }

    pub(crate) fn len(&self) -> usize {
        self.held().len()
    }

    fn held(&self) -> MutexGuard<'_, HashMap<RawFd, (Key, Arc<OwnedFd>)>> {
        self.held.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
