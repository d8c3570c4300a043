//! When the next request of an open loop is due. Pure: no clock inside.

use bakeoff_content::SplitMix64;
use bakeoff_units::{Nanos, PerSecond};

/// Gives due times as offsets from the start, not decreasing.
pub trait Pacer: Send {
    /// When the next request is due; `at` is its time in the workload's own clock.
    fn due(&mut self, at: Nanos) -> Nanos;
}

/// Equal gaps. Thread `lane` of `lanes` gets every `lanes`-th moment.
#[derive(Clone, Debug)]
pub struct Constant {
    gap_ns: f64,
    next: u64,
    step: u64,
}

impl Constant {
    /// The pacer of one thread; `rate` is that of all threads together.
    pub fn new(rate: PerSecond, lane: usize, lanes: usize) -> Self {
        Self { gap_ns: 1e9 / rate.get(), next: lane as u64, step: lanes.max(1) as u64 }
    }
}

impl Pacer for Constant {
    fn due(&mut self, _at: Nanos) -> Nanos {
        // Multiplied, not summed: no drift however long the run.
        let due = Nanos::new((self.next as f64 * self.gap_ns) as u64);
        self.next += self.step;
        due
    }
}

/// Exponential gaps. The sum of independent Poisson processes is one, so each thread draws its own.
#[derive(Clone, Debug)]
pub struct Poisson {
    mean_gap_ns: f64,
    at_ns: f64,
    random: SplitMix64,
}

impl Poisson {
    /// The pacer of one thread; `rate` is that of all threads together.
    pub fn new(rate: PerSecond, seed: u64, lane: usize, lanes: usize) -> Self {
        Self {
            mean_gap_ns: 1e9 / rate.get() * lanes.max(1) as f64,
            at_ns: 0.0,
            random: SplitMix64::for_purpose(seed, 0x9015_5017 + lane as u64),
        }
    }

    /// The same process, given that the last of `requests` comes when it does on the mean: gaps stay as independent as
    /// they can be, and two processes of one rate have that rate exactly, and end together.
    #[must_use]
    pub fn of_exactly(mut self, requests: usize) -> Self {
        let mut ahead = self.random.clone();
        let sum: f64 = (0..requests).map(|_| ahead.exponential()).sum();
        if sum > 0.0 {
            self.mean_gap_ns *= requests as f64 / sum;
        }
        self
    }
}

impl Pacer for Poisson {
    fn due(&mut self, _at: Nanos) -> Nanos {
        self.at_ns += self.random.exponential() * self.mean_gap_ns;
        Nanos::new(self.at_ns as u64)
    }
}

/// The workload's own gaps, `speed` times as fast.
#[derive(Clone, Copy, Debug)]
pub struct Original {
    speed: f64,
}

impl Original {
    /// `speed` above zero: 2 is twice as fast.
    pub const fn new(speed: f64) -> Self {
        Self { speed }
    }
}

impl Pacer for Original {
    fn due(&mut self, at: Nanos) -> Nanos {
        at.times(1.0 / self.speed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(per_second: f64) -> PerSecond {
        PerSecond::new(per_second).unwrap()
    }

    #[test]
    fn two_threads_at_constant_rate_interleave_without_drift() {
        let (mut even, mut odd) = (Constant::new(rate(1000.0), 0, 2), Constant::new(rate(1000.0), 1, 2));
        for k in 0..1_000_u64 {
            assert_eq!(even.due(Nanos::ZERO), Nanos::from_millis(2 * k));
            assert_eq!(odd.due(Nanos::ZERO), Nanos::from_millis(2 * k + 1));
        }
    }

    #[test]
    fn poisson_has_its_rate_and_variance() {
        let mut pacer = Poisson::new(rate(1000.0), 1, 0, 1);
        let n = 100_000;
        let dues: Vec<f64> = (0..n).map(|_| pacer.due(Nanos::ZERO).as_secs_f64()).collect();
        let measured = f64::from(n) / dues[n as usize - 1];
        assert!((measured / 1000.0 - 1.0).abs() < 0.02, "{measured}");
        let gaps: Vec<f64> = dues.windows(2).map(|w| (w[1] - w[0]) * 1000.0).collect();
        let variance = gaps.iter().map(|g| (g - 1.0).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((variance - 1.0).abs() < 0.05, "{variance}");
    }

    #[test]
    fn poisson_of_exactly_so_many_ends_when_it_should_and_is_one_all_the_same() {
        let n = 2000;
        let (mut ends, mut first) = (Vec::new(), Vec::new());
        for seed in 0..200 {
            let mut pacer = Poisson::new(rate(1000.0), seed, 0, 1).of_exactly(n);
            let dues: Vec<f64> = (0..n).map(|_| pacer.due(Nanos::ZERO).as_secs_f64()).collect();
            ends.push(dues[n - 1]);
            first.push(dues[n / 2 - 1] - 1.0);
        }
        assert!(ends.iter().all(|end| (end - 2.0).abs() < 1e-6), "{ends:?}");
        // In the middle it may be early or late as a Brownian bridge is: by sqrt(n / 4) gaps.
        let sd = (first.iter().map(|x| x * x).sum::<f64>() / 200.0).sqrt();
        assert!((0.018..0.027).contains(&sd), "{sd}");
        assert_eq!(Poisson::new(rate(10.0), 1, 0, 1).of_exactly(0).mean_gap_ns, 1e8);
    }

    #[test]
    fn original_gaps_shrink_with_speed() {
        assert_eq!(Original::new(4.0).due(Nanos::from_secs(2)), Nanos::from_millis(500));
    }
}
