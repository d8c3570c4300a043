//! Rate limiter buckets: the generic cell rate algorithm with one word of state.
//!
//! Measured side, pure. The word is the theoretical arrival time (TAT) of the next arrival, in ns: a bucket that was
//! idle for years is the same as a fresh one, so nothing is ever refilled. ITU-T I.371; a token bucket of `burst`
//! tokens.

use crate::rules::table::Rate;

/// A bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bucket {
    tat_ns: u64,
}

impl Bucket {
    /// Whether an arrival conforms; only one that does changes the bucket.
    pub fn conforms(&mut self, rate: Rate, now_ns: u64) -> bool {
        let due_ns = self.tat_ns.max(now_ns);
        let conforms = due_ns - now_ns <= rate.tolerance_ns;
        if conforms {
            self.tat_ns = due_ns.saturating_add(rate.interval_ns);
        }
        conforms
    }
}
