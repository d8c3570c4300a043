//! Settings of the generator's work, the same for all its jobs.
//!
//! Measuring side, cold.

use crate::refusals::Refusals;
use bakeoff_units::Nanos;

/// Settings of the generator's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Engine {
    /// Whether replies may gather, with stamps of the kernel, before they are looked at.
    pub batching: bool,
    /// Whether it profiles its own time.
    pub profile: bool,
    /// A connection that does not stand after this long has failed; `None`: the request's time limit.
    pub connect_timeout: Option<Nanos>,
    /// Endings that count as refused, not as failed.
    pub refusals: Refusals,
}

impl Default for Engine {
    fn default() -> Self {
        Self { batching: true, profile: false, connect_timeout: None, refusals: Refusals::default() }
    }
}
