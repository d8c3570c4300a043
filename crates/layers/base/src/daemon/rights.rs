//! Capabilities of a daemon, reduced to what serving needs.
//!
//! Measured side, cold. Serving needs only descriptors that the daemon already has; another process does what needs
//! more. So its threads keep as few capabilities as possible, and a hole in them gives away what its user may do, not
//! what root may. The user id stays: status and lock are files of that user.

use bakeoff_sys::privilege::{Capability, keep_only};
use std::io;
use std::panic::resume_unwind;
use std::thread;

/// Capabilities that stay.
#[derive(Clone, Debug)]
pub struct DaemonRights(Option<Vec<Capability>>);

impl DaemonRights {
    /// All of them stay: no other process could unmount, or there is nothing to give up.
    pub const ALL: Self = Self(None);

    /// These, and the one to write to others' directories if `tries` fails without it.
    pub fn least(kept: &[Capability], tries: impl FnOnce() -> io::Result<()> + Send) -> Self {
        let least = Self(Some(kept.to_vec()));
        match least.within(tries) {
            Ok(()) => least,
            Err(_) => Self(Some([kept, &[Capability::DacOverride]].concat())),
        }
    }

    /// Runs `work` without the others; so does every thread that it starts.
    ///
    /// # Errors
    /// The error of `work`, or of giving up the rest.
    pub fn within<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        let Some(kept) = &self.0 else { return work() };
        let inside = || keep_only(kept).and_then(|()| work());
        thread::scope(|scope| scope.spawn(inside).join().unwrap_or_else(|panic| resume_unwind(panic)))
    }

    /// Gives up the others, for the calling thread.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn give_up(&self) -> io::Result<()> {
        self.0.as_deref().map_or(Ok(()), keep_only)
    }
}

/// Keeps the process's memory out of core dumps, and out of reach of debuggers without root.
pub fn forbid_dumps() {
    // If this fails, the memory is as safe as that of any other process of its user.
    let _ = nix::sys::prctl::set_dumpable(false);
}
