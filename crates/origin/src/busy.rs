//! CPU saturation of a thread: its CPU clock beside the wall's.
//!
//! Warm: now and then, while there is traffic, a pair of times is noted. A server that was busy all the time while it
//! was measured was the bottleneck, and the measurement is one of the server.

use bakeoff_units::Nanos;
use std::collections::VecDeque;

/// Least distance of two pairs.
pub(crate) const APART: Nanos = Nanos::from_millis(200);
/// Number of pairs kept: 3 s of traffic.
const KEPT: usize = 16;
/// A shorter time says nothing: a burst of half a second is no load.
const AT_LEAST: Nanos = Nanos::from_millis(600);
/// From here on the thread was the bottleneck: 3 % is what the kernel may take for other threads and
/// the clocks' reading.
const LIMIT_PERCENT: u64 = 97;

/// CPU time of a thread over a wall time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy {
    /// CPU time that it used.
    pub cpu: Nanos,
    /// The wall time.
    pub wall: Nanos,
}

impl Busy {
    /// Whether it could not have done more.
    pub const fn is_at_its_limit(&self) -> bool {
        self.cpu.get() * 100 >= self.wall.get() * LIMIT_PERCENT
    }
}

/// The last pairs of times.
#[derive(Debug, Default)]
pub(crate) struct BusySamples {
    pairs: VecDeque<Busy>,
}

impl BusySamples {
    /// Notes both clocks; neither goes back.
    pub(crate) fn note(&mut self, now: Busy) {
        if self.pairs.len() == KEPT {
            self.pairs.pop_front();
        }
        self.pairs.push_back(now);
    }

    /// From the first to the last pair that is known.
    pub(crate) fn busy(&self) -> Option<Busy> {
        let (first, last) = (self.pairs.front()?, self.pairs.back()?);
        let busy = Busy { cpu: last.cpu.since(first.cpu), wall: last.wall.since(first.wall) };
        (busy.wall >= AT_LEAST).then_some(busy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy_samples(pairs: impl IntoIterator<Item = (u64, u64)>) -> BusySamples {
        let mut busy_samples = BusySamples::default();
        for (wall, cpu) in pairs {
            busy_samples.note(Busy { cpu: Nanos::from_millis(cpu), wall: Nanos::from_millis(wall) });
        }
        busy_samples
    }

    #[test]
    fn a_thread_that_did_nothing_else_was_at_its_limit_and_one_that_waited_was_not() {
        let full = busy_samples((0..5).map(|at| (at * 200, at * 195))).busy().unwrap();
        assert_eq!((full.wall, full.cpu), (Nanos::from_millis(800), Nanos::from_millis(780)));
        assert!(full.is_at_its_limit());
        assert!(!busy_samples((0..5).map(|at| (at * 200, at * 190))).busy().unwrap().is_at_its_limit());
    }

    #[test]
    fn only_the_last_seconds_count_and_a_short_burst_says_nothing() {
        let later =
            busy_samples((0..20).map(|at| (at * 200, 0)).chain((20..36).map(|at| (at * 200, at * 200))));
        assert!(later.busy().unwrap().is_at_its_limit());
        assert_eq!(busy_samples([(0, 0), (400, 400)]).busy(), None);
        assert_eq!(busy_samples([]).busy(), None);
    }
}
