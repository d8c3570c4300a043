//! What a daemon may do: nothing but serve.
//!
//! Measured side, cold. To serve it needs descriptors that it has; to unmount is left to its keeper. So
//! the daemon's threads have no capability, and a hole in them gives away what its user may do, not
//! what root may. The user stays: status and lock are files of his.

use crate::release::SealedFile;
use bakeoff_sys::privilege::{Capability, keep_only};
use nix::unistd::Uid;
use std::fs::{self, File};
use std::io;
use std::panic::resume_unwind;
use std::path::Path;
use std::thread;

/// The capabilities that stay.
#[derive(Clone, Copy, Debug)]
pub struct Rights(Option<&'static [Capability]>);

impl Rights {
    /// Everything stays: there is nobody else who unmounts, or nothing to give up.
    pub const ALL: Self = Self(None);

    /// As few as the status file and the lock need.
    pub fn least(status: Option<&Path>, sealed: Option<&Path>) -> Self {
        if !Uid::effective().is_root() {
            return Self::ALL;
        }
        let none = Self(Some(&[]));
        match none.within(|| try_files(status, sealed)) {
            Ok(()) => none,
            // They lie in somebody else's directories.
            Err(_) => Self(Some(&[Capability::DacOverride])),
        }
    }

    /// Whether something is given up.
    pub fn are_least(self) -> bool {
        self.0.is_some()
    }

    /// Does something without the rest, as does every thread that it starts.
    ///
    /// # Errors
    /// What `work` reports, or giving up the rest.
    pub fn within<T: Send>(self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        let Some(kept) = self.0 else { return work() };
        let inside = || keep_only(kept).and_then(|()| work());
        thread::scope(|scope| scope.spawn(inside).join().unwrap_or_else(|panic| resume_unwind(panic)))
    }

    /// Gives up the rest, for the calling thread.
    ///
    /// # Errors
    /// What the kernel reports.
    pub fn give_up(self) -> io::Result<()> {
        self.0.map_or(Ok(()), keep_only)
    }
}

fn try_files(status: Option<&Path>, sealed: Option<&Path>) -> io::Result<()> {
    if let Some(status) = status {
        let mut beside = status.as_os_str().to_owned();
        beside.push(".new");
        File::create(&beside)?;
        fs::remove_file(&beside)?;
    }
    match sealed.map(SealedFile::locked) {
        Some(Err(_)) => Err(io::ErrorKind::PermissionDenied.into()),
        _ => Ok(()),
    }
}
