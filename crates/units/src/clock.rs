//! Clocks: the machine's monotonic one, and one that tests move by hand.

use crate::Nanos;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// A monotonic time source; its zero is arbitrary but fixed for the life of the clock.
pub trait Clock: Clone + Send {
    /// Time since the clock's zero. Never goes back on one thread; between threads callers
    /// must subtract saturating, which `Nanos` does.
    fn now(&self) -> Nanos;
}

/// `CLOCK_MONOTONIC`, zero at creation. Copies share the zero.
#[derive(Clone, Copy, Debug)]
pub struct MonotonicClock {
    zero: Instant,
}

impl MonotonicClock {
    /// A clock whose zero is now.
    pub fn new() -> Self {
        Self { zero: Instant::now() }
    }

    /// The clock's time at a moment; zero before its own zero.
    pub fn at(&self, moment: Instant) -> Nanos {
        Nanos::from_duration(moment.saturating_duration_since(self.zero))
    }
}

impl Default for MonotonicClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for MonotonicClock {
    fn now(&self) -> Nanos {
        Nanos::from_duration(self.zero.elapsed())
    }
}

/// A clock for tests: stands still until moved. Copies move together.
#[derive(Clone, Debug, Default)]
pub struct FakeClock {
    now: Arc<AtomicU64>,
}

impl FakeClock {
    /// Moves the clock forward.
    pub fn advance(&self, by: Nanos) {
        self.now.fetch_add(by.get(), Ordering::Relaxed);
    }
}

impl Clock for FakeClock {
    fn now(&self) -> Nanos {
        Nanos::new(self.now.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fake_clock_moves_only_by_hand_and_copies_move_together() {
        let clock = FakeClock::default();
        let copy = clock.clone();
        assert_eq!(copy.now(), Nanos::ZERO);
        clock.advance(Nanos::new(5));
        assert_eq!(copy.now(), Nanos::new(5));
    }

    #[test]
    fn the_monotonic_clock_does_not_go_back() {
        let clock = MonotonicClock::new();
        let mut last = clock.now();
        for _ in 0..1000 {
            let now = clock.now();
            assert!(now >= last);
            last = now;
        }
    }
}
