//! The planted cost: a known amount of CPU beside each request, for tests of the method itself.
//!
//! A loop of arithmetic and no system calls: reading a clock around every request would cost as much
//! again, unseen by that clock. What the loop takes is sampled, on the clock of the wall, which costs no system call
//! either: the thread's own does, and one that comes out of the blue costs more than those it was calibrated by.

use bakeoff_units::Nanos;
use std::collections::VecDeque;
use std::hint::black_box;
use std::time::Instant;

/// No burn is shorter: one that is asked for is done for several requests at once. Of a hundred nanoseconds the
/// processor does a quarter beside what it waits for anyway, and nobody can say what that cost.
const SHORTEST: Nanos = Nanos::from_micros(2);
/// One burn in so many is timed.
const SAMPLE: u64 = 4;
/// So many samples are kept. The mean of their middle half is what a burn takes: whatever else was done in a sample, by
/// others or for their packets, is no cost of burning.
const KEPT: usize = 32;
/// Turns of the loop that calibrate it: some tenths of a millisecond.
const TRIAL: u64 = 200_000;
/// Trials; the quickest is the one that nobody disturbed.
const TRIALS: usize = 7;

/// Burns CPU by the turn.
#[derive(Debug)]
pub(crate) struct Burner {
    turns: u64,
    /// Requests that one burn is for.
    batch: u64,
    requests: u64,
    burned: u64,
    clock: Nanos,
    /// The last samples.
    samples: VecDeque<Nanos>,
    /// What a burn takes.
    each: Nanos,
}

impl Burner {
    /// Burns about `each` a request, on this machine when it is not disturbed.
    pub(crate) fn new(each: Nanos) -> Self {
        let quickest = (0..TRIALS).map(|_| timed(TRIAL).get()).min().unwrap_or(TRIAL).max(1);
        let batch = SHORTEST.get().div_ceil(each.get().max(1)).max(1);
        let each = each.times(batch as f64);
        let turns = each.get() as f64 * TRIAL as f64 / quickest as f64;
        let clock = (0..100).map(|_| timed(0)).min().unwrap_or(Nanos::ZERO);
        let turns = turns.round() as u64;
        Self { turns, batch, requests: 0, burned: 0, clock, samples: VecDeque::new(), each }
    }

    /// For a request: burns, or leaves it to a later one. Returns what that took, as far as samples tell.
    pub(crate) fn burn(&mut self) -> Nanos {
        self.requests += 1;
        if !self.requests.is_multiple_of(self.batch) {
            return Nanos::ZERO;
        }
        self.burned += 1;
        if !self.burned.is_multiple_of(SAMPLE) {
            spin(self.turns);
            return self.each;
        }
        self.samples.push_back(timed(self.turns).since(self.clock));
        if self.samples.len() > KEPT {
            self.samples.pop_front();
        }
        self.each = middle(self.samples.iter().copied().collect());
        self.each
    }
}

/// The mean of the middle half.
fn middle(mut samples: Vec<Nanos>) -> Nanos {
    samples.sort_unstable();
    let quarter = samples.len() / 4;
    let half = &samples[quarter..samples.len() - quarter];
    Nanos::new(half.iter().map(|sample| sample.get()).sum::<u64>() / half.len().max(1) as u64)
}

fn timed(turns: u64) -> Nanos {
    let start = Instant::now();
    spin(turns);
    Nanos::new(start.elapsed().as_nanos() as u64)
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

    #[test]
    fn what_else_was_done_in_a_sample_is_no_cost_of_burning() {
        let samples = [5, 4, 900, 6, 5, 4, 1, 6].map(Nanos::new).to_vec();
        assert_eq!(middle(samples), Nanos::new(5));
        assert_eq!(middle(vec![Nanos::new(7)]), Nanos::new(7));
    }

    #[test]
    fn short_burns_are_done_for_several_requests_at_once() {
        let mut burner = Burner::new(Nanos::new(300));
        assert_eq!(burner.batch, 7);
        let burns: Vec<bool> = (0..21).map(|_| burner.burn() > Nanos::ZERO).collect();
        let at: Vec<usize> = (0..21).filter(|&request| burns[request]).collect();
        assert_eq!(at, [6, 13, 20]);
    }

    /// Wide bounds: a neighbour on the same physical core can halve or double what a turn takes. What the middle half of
    /// many samples took, as the machine may stand still in one of them.
    #[test]
    fn burning_takes_about_what_was_asked_for() {
        let mut burner = Burner::new(Nanos::from_micros(5));
        let quickest = (0..20).map(|_| timed(burner.turns * 100)).min().unwrap();
        assert!(quickest > Nanos::from_micros(100) && quickest < Nanos::from_millis(5), "{quickest}");
        let each = (0..SAMPLE * KEPT as u64).fold(Nanos::ZERO, |_, _| burner.burn());
        assert!(each > Nanos::from_micros(1) && each < Nanos::from_micros(50), "{each}");
    }
}
