//! Programs and maps in the kernel.
//!
//! Measured side, cold.

use super::{Counters, KernelError, Missing, Runs};
use crate::rules::table::Table;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// What is done with what is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It is done.
    Enforce,
    /// It is counted, and nothing is refused.
    Log,
    /// Nothing is decided: every packet passes at once. Classes are not steered either.
    Off,
}

/// One of the server's listening sockets.
#[derive(Clone, Copy, Debug)]
pub struct Listener<'s> {
    /// The public port that it is one of.
    pub public: u16,
    /// The class.
    pub class: u8,
    /// The socket, of whatever process.
    pub socket: BorrowedFd<'s>,
}

/// Programs in the kernel. Dropped: all gone.
#[derive(Debug)]
pub struct Programs {}

/// What is missing here. Makes nothing that stays.
///
/// # Errors
/// The first that is missing.
pub fn probe() -> Result<(), Missing> {
    Err(Missing::Bpf)
}

/// Has the kernel measure how long all BPF programs of the machine run, while the descriptor is held. Needs `CAP_SYS_ADMIN`.
///
/// # Errors
/// What the kernel says.
pub fn count_time() -> Result<OwnedFd, KernelError> {
    Err(KernelError::Missing(Missing::Bpf))
}

impl Programs {
    /// Loads everything and fills the maps. Nothing is attached. Sockets are looked up in the calling thread's network namespace.
    ///
    /// # Errors
    /// What is missing, what the verifier said, or a table that does not fit.
    pub fn load(_table: &Table, _mode: Mode) -> Result<Self, KernelError> {
        Err(KernelError::Missing(Missing::Bpf))
    }

    /// Which sockets take connections of which class, all of them anew: what is not named any more is forgotten. The first of a
    /// public port and class is given the connections; the lengths of all queues of a class are added.
    ///
    /// # Errors
    /// Too many sockets, or what the kernel says of one.
    pub fn steer(&mut self, _sockets: &[Listener<'_>]) -> Result<(), KernelError> {
        Err(KernelError::Missing(Missing::Bpf))
    }

    /// Gives new connections to the sockets of their class, in a network namespace (`/proc/self/ns/net`).
    ///
    /// # Errors
    /// What the kernel says.
    pub fn attach_classes(&mut self, _namespace: impl AsFd) -> Result<(), KernelError> {
        Err(KernelError::Missing(Missing::Bpf))
    }

    /// Looks at what comes in through an interface of the calling thread's network namespace: both stages, by tcx.
    ///
    /// # Errors
    /// No such interface, one that is not Ethernet's, or what the kernel says.
    pub fn attach(&mut self, _interface: &str) -> Result<(), KernelError> {
        Err(KernelError::Missing(Missing::Bpf))
    }

    /// As [`Self::attach`], and SYNs whose rule drops them are refused in the driver, by native XDP.
    ///
    /// # Errors
    /// As there, or the driver has no native XDP: nothing is attached then.
    pub fn attach_xdp(&mut self, _interface: &str) -> Result<(), KernelError> {
        Err(KernelError::Missing(Missing::Bpf))
    }

    /// Puts another table in force: each packet is decided by the old one or by the new one. Buckets and counters stay with the
    /// name of their rule.
    ///
    /// # Errors
    /// A table that does not fit, or what the kernel says of a map: the old table is in force then.
    pub fn swap(&mut self, _table: &Table) -> Result<(), KernelError> {
        Err(KernelError::Missing(Missing::Bpf))
    }

    /// Another mode, from the next packet on.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn set_mode(&mut self, _mode: Mode) -> Result<(), KernelError> {
        Err(KernelError::Missing(Missing::Bpf))
    }

    /// How many may wait when one of a class comes, in its queue and those above it; 0 and `u32::MAX`: no bound.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn set_bounds(&mut self, _bounds: &[u32]) -> Result<(), KernelError> {
        Err(KernelError::Missing(Missing::Bpf))
    }

    /// The time by which buckets are decided, in ns, in place of the kernel's `CLOCK_MONOTONIC`; for tests.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn set_clock(&mut self, _now_ns: Option<u64>) -> Result<(), KernelError> {
        Err(KernelError::Missing(Missing::Bpf))
    }

    /// What was counted so far.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn counters(&self) -> Result<Counters, KernelError> {
        Err(KernelError::Missing(Missing::Bpf))
    }

    /// Runs of all programs, as the kernel counted them while [`count_time`] was held.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn runs(&self) -> Result<Runs, KernelError> {
        Err(KernelError::Missing(Missing::Bpf))
    }
}
