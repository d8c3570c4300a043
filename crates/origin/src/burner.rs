//! The planted cost: a known amount of CPU beside each request, for tests of the method itself.
//!
//! A loop of arithmetic and no system calls: reading a clock around every request would cost as much
//! again, unseen by that clock. What the loop takes on the thread's own clock is sampled.

use bakeoff_sys::thread::cpu_time;
use bakeoff_units::Nanos;
use std::hint::black_box;

/// One request in so many is a sample of what the loop takes.
const SAMPLE: u64 = 16_384;
/// A sample burns so many times in a row: reading the clock costs as much as a short burn, and here
/// it hardly counts.
const BATCH: u64 = 64;
/// Turns of the loop that calibrate it: some tenths of a millisecond.
const TRIAL: u64 = 200_000;
/// Trials; the quickest is the one that nobody disturbed.
const TRIALS: usize = 7;

/// Burns CPU by the turn.
#[derive(Debug)]
pub(crate) struct Burner {
    turns: u64,
    burned: u64,
    clock: Nanos,
}

impl Burner {
    /// Burns about `each` at a time, on this machine when it is not disturbed.
    pub(crate) fn new(each: Nanos) -> Self {
        let quickest = (0..TRIALS).map(|_| timed(TRIAL).get()).min().unwrap_or(TRIAL).max(1);
        let turns = each.get() as f64 * TRIAL as f64 / quickest as f64;
        let clock = (0..100).map(|_| timed(0)).min().unwrap_or(Nanos::ZERO);
        Self { turns: turns.round() as u64, burned: 0, clock }
    }

    /// Burns once. Returns what is to be added to the total: a sample stands for the requests
    /// around it, the others for nothing.
    pub(crate) fn burn(&mut self) -> Nanos {
        let sampled = self.burned.is_multiple_of(SAMPLE);
        self.burned += 1;
        if sampled {
            let each = timed(self.turns * BATCH).since(self.clock).times(1.0 / BATCH as f64);
            return each.times((SAMPLE - 1 + BATCH) as f64);
        }
        spin(self.turns);
        Nanos::ZERO
    }
}

fn timed(turns: u64) -> Nanos {
    let start = cpu_time();
    spin(turns);
    cpu_time().since(start)
}

/// A chain in which each turn waits for the one before.
fn spin(turns: u64) {
    let mut x = black_box(1_u64);
    for _ in 0..turns {
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    }
    black_box(x);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wide bounds: a neighbour on the same physical core can halve or double what a turn takes.
    #[test]
    fn burning_takes_about_what_was_asked_for() {
        let mut burner = Burner::new(Nanos::from_micros(5));
        let quickest = (0..20).map(|_| timed(burner.turns * 100)).min().unwrap();
        assert!(quickest > Nanos::from_micros(100) && quickest < Nanos::from_millis(5), "{quickest}");
        let total = (0..SAMPLE).fold(Nanos::ZERO, |sum, _| sum + burner.burn());
        let each = total.times(1.0 / (SAMPLE - 1 + BATCH) as f64);
        assert!(each > Nanos::from_micros(1) && each < Nanos::from_micros(50), "{each}");
    }
}
