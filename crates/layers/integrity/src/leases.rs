//! Held leases: one descriptor a verdict.
//!
//! Taking and giving back exclude each other. The notice of a break names a descriptor's number, and comes late if
//! the file was closed meanwhile. It may then hit another file, under which a new lease was just taken. That lease
//! may be given back, too, but only together with its verdict.

use bakeoff_layers_base::locks::lock;
use bakeoff_sys::lease;
use std::collections::HashMap;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::{Arc, Mutex, MutexGuard};

/// Device and inode.
pub(crate) type Key = (u64, u64);

/// Reasons for having no lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoLease {
    /// Somebody has the file open for writing.
    Writer,
    /// The file system does not support leases.
    Unsupported,
    /// The limit on leases is reached.
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
        let taken = lease::take(file).map_err(|error| NoLease::of(&error));
        match taken {
            // The notice of an immediate break waits for the lock, and finds it.
            Ok(()) => drop(held.insert(fd, (key, file.clone()))),
            // There may be an old lease that is being broken.
            Err(_) if held.remove(&fd).is_some() => drop(lease::give_back(file)),
            Err(_) => {}
        }
        taken
    }

    /// Gives a lease back after `void` has dropped every use of it; returns whether there was one.
    pub(crate) fn give_back(&self, fd: RawFd, void: impl FnOnce(Key, &OwnedFd)) -> bool {
        let mut held = self.held();
        let Some((key, file)) = held.remove(&fd) else { return false };
        void(key, &file);
        let _ = lease::give_back(&*file);
        true
    }

    /// The same for all.
    pub(crate) fn give_all_back(&self, void: impl FnOnce(&HashMap<Key, Arc<OwnedFd>>)) {
        let mut held = self.held();
        let all: Vec<_> = held.drain().map(|(_, lease)| lease).collect();
        void(&all.iter().cloned().collect());
        for (_, file) in all {
            let _ = lease::give_back(&*file);
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.len() >= self.limit
    }

    pub(crate) fn len(&self) -> usize {
        self.held().len()
    }

    fn held(&self) -> MutexGuard<'_, HashMap<RawFd, (Key, Arc<OwnedFd>)>> {
        lock(&self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;
    use std::time::Duration;

    /// Once the late notice of a break removed a lease that was just taken anew: its verdict was kept, and a writer
    /// did not have to ask.
    #[test]
    fn a_lease_that_is_taken_while_the_last_one_goes_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "x").unwrap();
        let file = Arc::new(OwnedFd::from(std::fs::File::open(&path).unwrap()));
        let (leases, key) = (Leases::new(8), (1, 2));
        if leases.take(key, &file) == Err(NoLease::Unsupported) {
            return;
        }
        std::thread::scope(|scope| {
            let mut again = None;
            assert!(leases.give_back(file.as_raw_fd(), |_, _| {
                again = Some(scope.spawn(|| leases.take(key, &file)));
                std::thread::sleep(Duration::from_millis(50));
            }));
            assert_eq!(again.unwrap().join().unwrap(), Ok(()));
        });
        let inode = format!(":{} 0 EOF", std::fs::metadata(&path).unwrap().ino());
        let held = || {
            let locks = std::fs::read_to_string("/proc/locks").unwrap();
            locks.lines().any(|line| line.contains("LEASE") && line.ends_with(&inode))
        };
        assert!(held(), "the kernel has no lease");
        assert_eq!(leases.len(), 1);
        leases.give_all_back(|all| assert_eq!(all.len(), 1));
        assert!(!held());
        assert!(!leases.give_back(file.as_raw_fd(), |_, _| {}));
    }
}
