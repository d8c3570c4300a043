//! Round trips to a far end, as its beats measure them, and the offsets of its clocks.
//!
//! Measuring side, pure.

use bakeoff_units::Nanos;
use std::time::SystemTime;

/// A beat and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trip {
    /// From one to the other.
    pub time: Nanos,
    /// The far end's monotonic clock less this one's.
    pub(super) mono_offset_ns: i64,
    /// The same of the wall clocks.
    pub wall_offset_ns: i64,
}

impl Trip {
    pub(super) fn of(sent: Nanos, now: Nanos, mono_ns: u64, wall_ns: u64) -> Self {
        let time = now.since(sent);
        let middle = sent.get() + time.get() / 2;
        let wall =
            SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
        let wall_middle = wall.saturating_sub(time.get() / 2);
        Self {
            time,
            mono_offset_ns: mono_ns.wrapping_sub(middle).cast_signed(),
            wall_offset_ns: wall_ns.wrapping_sub(wall_middle).cast_signed(),
        }
    }
}
