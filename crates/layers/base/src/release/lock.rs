//! Lock of a sealed key, and the answer of the mounts that obey it.
//!
//! Measured side, cold. Owns the file `NAME.locked` beside the sealed key, whose mere presence refuses. Every mount holds
//! a shared lock (`flock`) on the sealed key until it has dropped the store's keys, so a lock is answered when nobody
//! holds that: a daemon that was stopped or does not look holds it still, and one that was killed does not. Only its
//! owner can open it.

use super::ReleaseRefusal;
use crate::plain::{self, FileAudience, FileLocation, FileOwner, PathError};
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Size limit when reading the reason of a lock.
const MOST_BYTES: u64 = 4096;
/// Longest wait for the mounts: they look for a lock ten times a second.
pub const ANSWER: Duration = Duration::from_secs(1);
/// Between two looks for their answer.
const LOOK: Duration = Duration::from_millis(20);

/// Place of the lock of one sealed key: its directory, opened once.
#[derive(Debug)]
pub struct StoreLock {
    sealed: PathBuf,
    key: FileLocation,
    lock: FileLocation,
}

/// Hold of a mount on the store: given up once the keys are dropped.
#[derive(Debug)]
pub struct StoreHold(#[allow(dead_code, reason = "open for as long as it is held")] File);

impl StoreLock {
    /// The place of the lock of this sealed key. A link to the key is followed, so that all its names have one lock.
    ///
    /// # Errors
    /// There is no such directory, or somebody else could exchange it.
    pub fn of(sealed: &Path) -> Result<Self, ReleaseRefusal> {
        let key = FileLocation::followed(sealed).map_err(failed(sealed))?;
        Ok(Self { sealed: sealed.to_owned(), lock: key.beside(".locked").map_err(failed(sealed))?, key })
    }

    /// Locks, without the secret.
    ///
    /// # Errors
    /// There is no sealed key to lock; or the lock cannot be written.
    pub fn lock(&self, reason: &str) -> Result<(), ReleaseRefusal> {
        self.demand_key()?;
        let text = format!("{}\n", reason.replace('\n', " "));
        self.lock.replace(text.as_bytes(), FileAudience::Owner).map_err(failed(&self.sealed))
    }

    /// Tests whether it could be locked.
    ///
    /// # Errors
    /// As [`lock`](Self::lock).
    pub fn try_locking(&self) -> Result<(), ReleaseRefusal> {
        self.demand_key()?;
        self.lock.try_writing().map_err(failed(&self.sealed))
    }

    fn demand_key(&self) -> Result<(), ReleaseRefusal> {
        match self.key.is_there().map_err(failed(&self.sealed))? {
            true => Ok(()),
            false => Err(ReleaseRefusal::NothingToLock(self.sealed.clone())),
        }
    }

    /// Takes the lock away.
    ///
    /// # Errors
    /// It is there and cannot be removed.
    pub(super) fn unlock(&self) -> Result<(), ReleaseRefusal> {
        match self.lock.remove() {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(&self.sealed)(error)),
            _ => Ok(()),
        }
    }

    /// Whether there is a lock: any file of that name is one. Opens nothing, so nothing in its place can block us. If
    /// that cannot be determined it counts as locked.
    pub fn is_locked(&self) -> bool {
        self.lock.is_there().unwrap_or(true)
    }

    /// The reason of the lock, if there is one.
    pub fn reason(&self) -> Option<String> {
        let read = || plain::read_at_most(&self.lock.open(FileOwner::Anybody)?, MOST_BYTES);
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim_end().to_owned();
        self.is_locked().then(|| read().map_or_else(|error| error.to_string(), text))
    }

    /// Holds the store for a mount. What is locked from now on waits until the mount has let go.
    ///
    /// # Errors
    /// It is locked already; or the file cannot be kept.
    pub fn hold(&self) -> Result<StoreHold, ReleaseRefusal> {
        let file = self.key.open(FileOwner::Trusted);
        let hold = file.and_then(|file| file.lock_shared().map(|()| StoreHold(file)));
        let hold = hold.map_err(failed(&self.sealed))?;
        // Only now: a lock that is written after this look finds the hold.
        self.reason().map_or(Ok(hold), |reason| Err(ReleaseRefusal::Locked(reason)))
    }

    /// Whether no mount holds the store.
    ///
    /// # Errors
    /// That cannot be determined.
    pub fn is_let_go(&self) -> io::Result<bool> {
        match self.key.open(FileOwner::Trusted)?.try_lock() {
            Err(TryLockError::Error(error)) => Err(error),
            Err(TryLockError::WouldBlock) => Ok(false),
            Ok(()) => Ok(true),
        }
    }

    /// Waits until no mount holds the store, for [`ANSWER`] at most.
    ///
    /// # Errors
    /// One does still; or that cannot be determined.
    pub fn wait_for_mounts(&self) -> Result<(), ReleaseRefusal> {
        let began = Instant::now();
        while !self.is_let_go().map_err(failed(&self.sealed))? {
            if began.elapsed() >= ANSWER {
                return Err(ReleaseRefusal::StillMounted(self.sealed.clone()));
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }
}

fn failed(sealed: &Path) -> impl Fn(io::Error) -> ReleaseRefusal {
    move |error| PathError::written(sealed)(error).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn place() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let sealed = dir.path().join("v.key");
        fs::write(&sealed, "a key").unwrap();
        (dir, sealed)
    }

    #[test]
    fn a_lock_is_answered_once_every_mount_has_let_go() {
        let (_dir, sealed) = place();
        let lock = StoreLock::of(&sealed).unwrap();
        assert!(lock.is_let_go().unwrap(), "there was no mount yet");
        let holds = [StoreLock::of(&sealed).unwrap().hold().unwrap(), lock.hold().unwrap()];
        lock.lock("why\nnot").unwrap();
        assert_eq!((lock.is_locked(), lock.reason().as_deref()), (true, Some("why not")));
        assert!(matches!(lock.hold(), Err(ReleaseRefusal::Locked(_))), "mounted after the lock");
        for hold in holds {
            assert!(!lock.is_let_go().unwrap());
            drop(hold);
        }
        lock.wait_for_mounts().unwrap();
    }

    #[test]
    fn all_names_of_a_key_and_of_its_directory_have_one_lock() {
        let (dir, sealed) = place();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("v.key", &link).unwrap();
        let mount = StoreLock::of(&link).unwrap();
        let _hold = mount.hold().unwrap();
        let moved = dir.path().with_extension("moved");
        fs::rename(dir.path(), &moved).unwrap();
        let lock = StoreLock::of(&moved.join(sealed.file_name().unwrap())).unwrap();
        lock.lock("moved").unwrap();
        assert!(mount.is_locked() && !lock.is_let_go().unwrap());
        fs::rename(moved, dir.path()).unwrap();
    }

    #[test]
    fn nothing_is_locked_where_there_is_no_key() {
        let (dir, _) = place();
        let lock = StoreLock::of(&dir.path().join("mistyped")).unwrap();
        assert!(matches!(lock.try_locking(), Err(ReleaseRefusal::NothingToLock(_))));
        assert!(matches!(lock.lock("x"), Err(ReleaseRefusal::NothingToLock(_))));
        assert!(!lock.is_locked());
    }
}
