//! Number of replies that wait at once, over all threads.
//!
//! Warm: touched twice for a reply that waits, never for one that does not.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Shared by all threads.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    now: AtomicU64,
    at_most: AtomicU64,
}

impl Waiting {
    /// Most that waited at once since the start.
    pub(crate) fn at_most(&self) -> u64 {
        self.at_most.load(Relaxed)
    }
}

/// A reply that waits; it is counted as long as this is held.
#[derive(Debug)]
pub(crate) struct WaitingReply(Arc<Waiting>);

impl WaitingReply {
    pub(crate) fn take(waiting: &Arc<Waiting>) -> Self {
        let now = waiting.now.fetch_add(1, Relaxed) + 1;
        waiting.at_most.fetch_max(now, Relaxed);
        Self(waiting.clone())
    }
}

impl Drop for WaitingReply {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_at_once_stays_when_they_are_gone() {
        let waiting = Arc::new(Waiting::default());
        let two = [WaitingReply::take(&waiting), WaitingReply::take(&waiting)];
        drop(two);
        let _one = WaitingReply::take(&waiting);
        assert_eq!((waiting.at_most(), waiting.now.load(Relaxed)), (2, 1));
    }
}
