//! Table of the stamps that have been answered, for telling repeated requests of robots.
//!
//! Hot: one exchange in a table of fixed size that all threads share; a stamp is a random number, its own place. A
//! stamp that comes back after so many others that its place was taken counts as new: a client that asks twice does so
//! at once.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Places, a power of two: 8 MB.
const PLACES: u64 = 1 << 20;

/// The latest stamp of each place; made when the first one comes.
#[derive(Debug, Default)]
pub(crate) struct LatestStamps(OnceLock<Box<[AtomicU64]>>);

impl LatestStamps {
    /// Notes a request's stamp, 0 for a request without one. Returns whether it is the first with it.
    pub(crate) fn is_first(&self, ask: u64) -> bool {
        let places = self.0.get_or_init(|| (0..PLACES).map(|_| AtomicU64::default()).collect());
        ask != 0 && places[(ask % PLACES) as usize].swap(ask, Relaxed) != ask
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_first_once_and_none_never_is() {
        let asked = LatestStamps::default();
        assert!(asked.is_first(7) && !asked.is_first(7) && !asked.is_first(7));
        assert!(asked.is_first(8) && !asked.is_first(7), "another one is none of its affair");
        assert!(!asked.is_first(0) && !asked.is_first(0));
    }
}
