//! Pacers: due times of the requests of an open loop. Pure: no clock inside.

use bakeoff_content::SplitMix64;
use bakeoff_units::{Nanos, PerSecond};
use std::ops::RangeInclusive;

/// Gives due times as offsets from the start, not decreasing.
pub trait Pacer: Send {
    /// When the next request is due; `at` is its time in the workload's own clock.
    fn due(&mut self, at: Nanos) -> Nanos;
}

/// Equal gaps. Thread `worker` of `workers` gets every `workers`-th moment.
#[derive(Clone, Debug)]
pub struct Constant {
    gap_ns: f64,
    next: u64,
    step: u64,
}

impl Constant {
    /// The pacer of one thread; `rate` is that of all threads together.
    pub fn new(rate: PerSecond, worker: usize, workers: usize) -> Self {
        Self { gap_ns: 1e9 / rate.get(), next: worker as u64, step: workers.max(1) as u64 }
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
    pub fn new(rate: PerSecond, seed: u64, worker: usize, workers: usize) -> Self {
        Self {
            mean_gap_ns: 1e9 / rate.get() * workers.max(1) as f64,
            at_ns: 0.0,
            random: SplitMix64::for_purpose(seed, 0x9015_5017 + worker as u64),
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

/// Slots of several processes that share a machine and are never busy at the same moment. In each cycle every process
/// has one slot, in an order that is drawn for that cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    /// Number of processes.
    pub of: usize,
    /// From the beginning of one slot to that of the next.
    pub every: Nanos,
    /// At the end of a slot nothing comes due for so long, so that requests in flight are answered. Less than `every`.
    pub gap: Nanos,
    /// Seed of the orders.
    pub seed: u64,
}

impl Slots {
    /// The part of a slot in which requests come due.
    fn open(&self) -> Nanos {
        self.every.since(self.gap).max(Nanos::new(1))
    }

    /// The time that all processes take for `own` of the time of each.
    pub fn time_of_all(&self, own: Nanos) -> Nanos {
        let cycles = own.get().div_ceil(self.open().get());
        Nanos::new(self.every.get().saturating_mul(self.of as u64).saturating_mul(cycles))
    }

    /// The place of a process in the order of a cycle.
    fn place(&self, process: usize, cycle: u64) -> usize {
        let mut order: Vec<usize> = (0..self.of).collect();
        SplitMix64::for_purpose(self.seed ^ 0x5107_5107, cycle).shuffle(&mut order);
        order.iter().position(|other| *other == process).unwrap_or(0)
    }
}

/// A process that goes on in its own slots and stands still in those of others.
#[derive(Clone, Debug)]
pub struct Slotted<P> {
    own: P,
    slots: Slots,
    process: usize,
    cycle: u64,
    place: usize,
}

impl<P: Pacer> Slotted<P> {
    /// Process number `process` of the slots, from 0; `own` counts the time of its slots alone.
    pub fn new(own: P, slots: Slots, process: usize) -> Self {
        let place = slots.place(process, 0);
        Self { own, slots, process, cycle: 0, place }
    }
}

impl<P: Pacer> Pacer for Slotted<P> {
    fn due(&mut self, at: Nanos) -> Nanos {
        let (own, open) = (self.own.due(at).get(), self.slots.open().get());
        let cycle = own / open;
        if cycle != self.cycle {
            (self.cycle, self.place) = (cycle, self.slots.place(self.process, cycle));
        }
        let before = cycle.saturating_mul(self.slots.of as u64).saturating_add(self.place as u64);
        Nanos::new(before.saturating_mul(self.slots.every.get()).saturating_add(own % open))
    }
}

/// Bursts of requests due at the same moment, again and again: each burst has a size of its own, every size between the
/// two as likely as any other. Each thread draws the same sizes and gets every `workers`-th request of a burst.
#[derive(Clone, Debug)]
pub struct Bursts {
    every: Nanos,
    sizes: RangeInclusive<u32>,
    random: SplitMix64,
    /// Bursts that are over.
    over: u64,
    /// Requests of this burst that are to come, those of other threads included.
    left: u64,
    /// Number of them that come before this thread's next one.
    ahead: u64,
    workers: u64,
}

impl Bursts {
    /// The pacer of one thread. A burst has one request at least; without a time between them all are due at once.
    pub fn new(sizes: RangeInclusive<u32>, every: Nanos, seed: u64, worker: usize, workers: usize) -> Self {
        let mut random = SplitMix64::for_purpose(seed, 0xb045_7507);
        let left = size(&sizes, &mut random);
        let (ahead, workers) = (worker as u64, workers.max(1) as u64);
        Self { every, sizes, random, over: 0, left, ahead, workers }
    }
}

fn size(sizes: &RangeInclusive<u32>, random: &mut SplitMix64) -> u64 {
    let (least, most) = (u64::from(*sizes.start()), u64::from(*sizes.end()));
    (least + random.below(most.saturating_sub(least) + 1)).max(1)
}

impl Pacer for Bursts {
    fn due(&mut self, _at: Nanos) -> Nanos {
        while self.ahead >= self.left {
            self.ahead -= self.left;
            self.left = size(&self.sizes, &mut self.random);
            self.over += 1;
        }
        self.left -= self.ahead;
        self.ahead = self.workers;
        Nanos::new(self.every.get().saturating_mul(self.over))
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
    fn slots_of_several_processes_never_overlap_and_nothing_is_lost() {
        let slots = Slots { of: 3, every: Nanos::from_millis(20), gap: Nanos::from_millis(1), seed: 5 };
        let mut seen: Vec<(u64, usize)> = Vec::new();
        for process in 0..3 {
            let own = || Poisson::new(rate(2000.0), process as u64, 0, 1).of_exactly(4000);
            let (mut alone, mut slotted) = (own(), Slotted::new(own(), slots, process));
            let mut last = Nanos::ZERO;
            for _ in 0..4000 {
                let (own, due) = (alone.due(Nanos::ZERO).get(), slotted.due(Nanos::ZERO));
                assert!(due >= last, "{due} after {last}");
                last = due;
                let (slot, within) = (due.get() / 20_000_000, due.get() % 20_000_000);
                assert_eq!(within, own % 19_000_000, "it is as long in its slots as it would be alone");
                assert_eq!(slot / 3, own / 19_000_000, "one slot in each cycle");
                seen.push((slot, process));
            }
            assert!(last < slots.time_of_all(Nanos::from_secs(2)) + Nanos::from_millis(60), "{last}");
        }
        seen.sort_unstable();
        seen.dedup();
        assert!(seen.windows(2).all(|two| two[0].0 != two[1].0), "a slot is one process' own");
        let firsts = |process| seen.iter().filter(|(slot, of)| slot % 3 == 0 && *of == process).count();
        assert!((0..3).all(|process| firsts(process) > 15), "each begins some cycles: {seen:?}");
    }

    #[test]
    fn the_time_of_all_is_whole_cycles() {
        let slots = Slots { of: 4, every: Nanos::from_millis(20), gap: Nanos::from_millis(2), seed: 1 };
        assert_eq!(slots.time_of_all(Nanos::from_millis(18)), Nanos::from_millis(80));
        assert_eq!(slots.time_of_all(Nanos::from_millis(19)), Nanos::from_millis(160));
        assert_eq!(slots.time_of_all(Nanos::ZERO), Nanos::ZERO);
    }

    /// Number of requests that each of `workers` threads gets at each moment, for so many bursts.
    fn bursts(seed: u64, workers: usize, count: u64) -> Vec<Vec<u64>> {
        let half = Nanos::from_millis(500);
        let of_worker = |worker| {
            let mut pacer = Bursts::new(50..=80, half, seed, worker, workers);
            let mut seen = vec![0; count as usize];
            loop {
                let due = pacer.due(Nanos::ZERO).get();
                assert_eq!(due % half.get(), 0);
                match seen.get_mut((due / half.get()) as usize) {
                    Some(burst) => *burst += 1,
                    None => break seen,
                }
            }
        };
        (0..workers).map(of_worker).collect()
    }

    #[test]
    fn bursts_have_every_size_of_their_range_and_are_the_same_from_the_same_seed() {
        let sizes = &bursts(7, 1, 3100)[0];
        for size in 50..=80 {
            let times = sizes.iter().filter(|of| **of == size).count();
            // 100 expected, standard deviation 9.8; five of them.
            assert!((51..=149).contains(&times), "{size}: {times}");
        }
        assert_eq!(sizes.iter().filter(|size| !(50..=80).contains(*size)).count(), 0);
        assert_eq!((bursts(7, 1, 20), bursts(7, 1, 20) == bursts(8, 1, 20)), (bursts(7, 1, 20), false));
    }

    #[test]
    fn threads_share_each_burst() {
        let alone = &bursts(7, 1, 200)[0];
        let three = bursts(7, 3, 200);
        for (burst, size) in alone.iter().enumerate() {
            let parts: Vec<u64> = three.iter().map(|worker| worker[burst]).collect();
            assert_eq!(parts.iter().sum::<u64>(), *size);
            assert!(parts.iter().all(|part| part.abs_diff(size / 3) <= 1), "{parts:?} of {size}");
        }
        // More threads than requests: those that get none in a burst wait for a later one.
        let mut last = Bursts::new(1..=1, Nanos::new(10), 1, 2, 3);
        assert_eq!([last.due(Nanos::ZERO), last.due(Nanos::ZERO)], [Nanos::new(20), Nanos::new(50)]);
    }

    #[test]
    fn original_gaps_shrink_with_speed() {
        assert_eq!(Original::new(4.0).due(Nanos::from_secs(2)), Nanos::from_millis(500));
    }
}
