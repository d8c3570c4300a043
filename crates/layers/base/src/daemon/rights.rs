//! What a daemon may do: nothing but serve.
//!
//! Measured side, cold. To serve it needs descriptors that it has; what needs more is left to another
//! process. So its threads have as few capabilities as can be, and a hole in them gives away what its user
//! may do, not what root may. The user stays: status and lock are files of his.

use bakeoff_sys::privilege::{Capability, keep_only};
use std::io;
use std::panic::resume_unwind;
use std::thread;

/// The capabilities that stay.
#[derive(Clone, Debug)]
pub struct Rights(Option<Vec<Capability>>);

impl Rights {
    /// Everything stays: there is nobody else who unmounts, or nothing to give up.
    pub const ALL: Self = Self(None);

    /// These, and the one to write to others' directories if `tries` fails without it.
    pub fn least(kept: &[Capability], tries: impl FnOnce() -> io::Result<()> + Send) -> Self {
        let least = Self(Some(kept.to_vec()));
        match least.within(tries) {
            Ok(()) => least,
            Err(_) => Self(Some([kept, &[Capability::DacOverride]].concat())),
        }
    }

    /// Does something without the rest, as does every thread that it starts.
    ///
    /// # Errors
    /// What `work` reports, or giving up the rest.
    pub fn within<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        let Some(kept) = &self.0 else { return work() };
        let inside = || keep_only(kept).and_then(|()| work());
        thread::scope(|scope| scope.spawn(inside).join().unwrap_or_else(|panic| resume_unwind(panic)))
    }

    /// Gives up the rest, for the calling thread.
    ///
    /// # Errors
    /// What the kernel reports.
    pub fn give_up(&self) -> io::Result<()> {
        self.0.as_deref().map_or(Ok(()), keep_only)
    }
}

/// Keeps the process's memory out of core dumps, and of the reach of debuggers without root.
pub fn forbid_dumps() {
    // Where it cannot be said the memory is as safe as that of any other process of its user.
    let _ = nix::sys::prctl::set_dumpable(false);
}
