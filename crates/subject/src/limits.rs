//! Resource limits of a subject, and their translation to the machine's devices.
//!
//! Measuring side, cold path. Turns a plan's limits into what the supervisor writes into cgroups (`cgroup`); `device`
//! finds the block device below a path. A limit that cannot be put on the subject is an error with its reason: a run
//! with less than what was asked for would lie.

mod device;

use crate::SubjectError;
use crate::cgroup::{Ceiling, Throttle};
use bakeoff_units::{Bytes, BytesPerSecond};
use std::path::Path;

/// The most that a subject, all its processes together, may use; none: what the machine has.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// Memory, with the page cache that its own reads and writes fill. Files that were in the page
    /// cache before it came are not counted.
    pub memory: Option<Bytes>,
    /// CPU time in cores, above 0: with 0.5 it stands still for the rest of every 100 ms in which
    /// it has used 50 ms.
    pub cpus: Option<f64>,
    /// Read from the devices that the site and its private directory are on, each. What is in the
    /// page cache is not read.
    pub read: Option<BytesPerSecond>,
    /// Written to those devices. With cgroup version 1 only what it writes through (`O_DIRECT`, `fsync`): the kernel
    /// writes the rest later, and does not know for which process.
    pub write: Option<BytesPerSecond>,
}

impl Limits {
    /// Nothing is limited.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// The limits as the kernel takes them, for a subject with its files in these directories.
    pub(crate) fn ceiling(&self, arm: &str, dirs: [&Path; 2]) -> Result<Ceiling, SubjectError> {
        let mut ceiling =
            Ceiling { memory_bytes: self.memory.map(Bytes::get), cpus: self.cpus, throttles: Vec::new() };
        if self.read.is_none() && self.write.is_none() {
            return Ok(ceiling);
        }
        for path in dirs {
            let device = device::below(path)
                .map_err(|reason| SubjectError::Limit { arm: arm.to_owned(), reason: reason.to_string() })?;
            if ceiling.throttles.iter().all(|throttle| throttle.device != device) {
                let rate = |limit: Option<BytesPerSecond>| limit.map(BytesPerSecond::get);
                ceiling.throttles.push(Throttle { device, read: rate(self.read), write: rate(self.write) });
            }
        }
        Ok(ceiling)
    }
}
