//! The planted cost: a known amount of CPU beside each request, for tests of the method itself.
//!
//! A loop of arithmetic and no system calls: reading a clock around every request would cost as much
//! again, unseen by that clock. What the loop takes on the thread's own clock is sampled.

use bakeoff_sys::thread::cpu_time;
use bakeoff_units::Nanos;
use std::hint::black_box;

/// One request in so many is timed: two clock readings, spread over these.
const SAMPLE: u64 = 256;
/// Turns of the loop that calibrate it: some tenths of a millisecond.
const TRIAL: u64 = 200_000;
/// Trials; the quickest is the one that nobody disturbed.
const TRIALS: usize = 7;

/// Burns CPU by the turn.
#[derive(Debug)]
pub(crate) struct Burner {
    turns: u64,
    burned: u64,
}

impl Burner {
    /// Burns about `each` at a time, on this machine when it is not disturbed.
    pub(crate) fn new(each: Nanos) -> Self {
        let quickest = (0..TRIALS).map(|_| timed(TRIAL).get()).min().unwrap_or(TRIAL).max(1);
        let turns = each.get() as f64 * TRIAL as f64 / quickest as f64;
        Self { turns: turns.round() as u64, burned: 0 }
    }

    /// Burns once. Returns what is to be added to the total: a sample stands for the requests
    /// around it, the others for nothing.
    pub(crate) fn burn(&mut self) -> Nanos {
        let sampled = self.burned.is_multiple_of(SAMPLE);
        self.burned += 1;
        if sampled {
            return timed(self.turns).times(SAMPLE as f64);
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

    /// A loop can be disturbed and take longer, but never take less than the work does.
    #[test]
    fn burning_takes_about_what_was_asked_for() {
        let mut burner = Burner::new(Nanos::from_micros(500));
        let quickest = (0..20).map(|_| timed(burner.turns)).min().unwrap();
        assert!(quickest > Nanos::from_micros(400) && quickest < Nanos::from_millis(2), "{quickest}");
        let total = (0..SAMPLE).fold(Nanos::ZERO, |sum, _| sum + burner.burn());
        assert!(total > Nanos::from_millis(100), "one sample stands for {SAMPLE}: {total}");
    }
}
