//! The last third of a measured phase against its first: a cache that slows down, or takes nothing more in, as it is used.
//!
//! Measuring side, cold, pure. It warns and accuses nobody: a store that is too small, or another program, do the same.

use super::words::rate;
use crate::records::RunRecord;
use bakeoff_robots::ledger::{Aggregate, LedgerRecord};
use bakeoff_units::Nanos;

/// Intervals of a third at least.
const INTERVALS: usize = 3;
/// Hits, and offered hits, of a third at least: a share of 300 is known to three points.
const FEWEST_HITS: u64 = 100;
const FEWEST_OFFERED: u64 = 300;
/// Hits that take so many times what they took, and so much more, are slower.
const SLOWER: f64 = 2.0;
const SLOWER_BY: Nanos = Nanos::from_millis(10);
/// Share of what was had of the offered hits that must still be had.
const STILL_HAD: f64 = 0.8;

/// What a third of a phase came to.
#[derive(Clone, Copy, Debug, Default)]
struct Third {
    hits: Aggregate,
    had: u64,
    offered: u64,
}

impl Third {
    fn of(intervals: &[&LedgerRecord]) -> Self {
        let mut third = Self::default();
        for sums in intervals.iter().map(|record| &record.sums) {
            third.hits.merge(&sums.hits.traffic.response_ns);
            third.had += sums.from_cache().count();
            third.offered += sums.offered_hit_bytes.count;
        }
        third
    }

    /// Share of the offered hits that were had.
    fn share(&self) -> Option<f64> {
        (self.offered >= FEWEST_OFFERED).then(|| self.had as f64 / self.offered as f64)
    }

    fn hit_ns(&self) -> Option<f64> {
        self.hits.mean().filter(|_| self.hits.count >= FEWEST_HITS)
    }
}

/// Warnings of a phase of this run, from its intervals in their order.
pub(super) fn of(run: &RunRecord, intervals: &[&LedgerRecord]) -> Vec<String> {
    let length = intervals.len() / 3;
    if length < INTERVALS {
        return Vec::new();
    }
    let (first, last) = (Third::of(&intervals[..length]), Third::of(&intervals[intervals.len() - length..]));
    let at = run.purpose.measured().and_then(|(_, asked)| asked);
    let whose =
        run.entrant.name.clone() + &at.map_or_else(String::new, |asked| format!(" at {}", rate(asked)));
    let slower = first
        .hit_ns()
        .zip(last.hit_ns())
        .filter(|(before, after)| *after > before * SLOWER && after - before > SLOWER_BY.get() as f64);
    let slower = slower.map(|(before, after)| {
        let [before, after] = [before, after].map(|ns| Nanos::new(ns as u64));
        format!("{whose}: a hit takes {after} in the last third of the phase and {before} in the first: it gets slower")
    });
    let fewer = first.share().zip(last.share()).filter(|(before, after)| after < &(before * STILL_HAD));
    let fewer = fewer.map(|(before, after)| {
        format!(
            "{whose}: {:.0} % of the offered hits are had in the last third of the phase and {:.0} % in the first: it keeps less \
             and less",
            after * 100.0,
            before * 100.0
        )
    });
    slower.into_iter().chain(fewer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::{EntrantRecord, RunPurpose};
    use bakeoff_robots::ledger::{RecordScope, Sums};

    /// 200 offered hits of which so many are had, in so long.
    fn interval(had: u64, hit_ms: u64) -> LedgerRecord {
        let mut sums = Sums::default();
        (0..200).for_each(|_| sums.offered_hit_bytes.add(1));
        for _ in 0..had {
            sums.hits.traffic.response_ns.add(Nanos::from_millis(hit_ms).get());
            sums.hits.traffic.bytes.add(1);
        }
        let (scope, phase) = (RecordScope::Interval, "meas".to_owned());
        LedgerRecord { worker: 0, scope, phase, number: 0, began_ns: 0, ended_ns: 0, progress: 0, sums }
    }

    fn warnings(of_intervals: impl Fn(u64) -> (u64, u64), count: u64) -> Vec<String> {
        let entrant = EntrantRecord { name: "mine".to_owned(), ..EntrantRecord::default() };
        let run = RunRecord::of(entrant, RunPurpose::Rate { order: 1, rate_per_s: 100.0 });
        let records: Vec<_> = (0..count).map(of_intervals).map(|(had, ms)| interval(had, ms)).collect();
        of(&run, &records.iter().collect::<Vec<_>>())
    }

    #[test]
    fn a_cache_that_gets_slower_or_keeps_less_is_told_and_a_steady_one_is_not() {
        assert_eq!(warnings(|_| (150, 5), 12), [""; 0]);
        assert_eq!(warnings(|n| (150 + n, 5 + n % 3), 12), [""; 0]);
        let slower = warnings(|n| (150, 5 * (n + 1)), 12);
        assert_eq!(
            slower,
            [
                "mine at 100/s: a hit takes 52.5 ms in the last third of the phase and 12.5 ms in the first: it gets slower"
            ]
        );
        let fewer = warnings(|n| (180 - 12 * n, 5), 12);
        assert!(fewer.len() == 1 && fewer[0].contains("keeps less and less"), "{fewer:?}");
        assert_eq!(warnings(|n| (150, 5 * (n + 1)), 8), [""; 0], "too short");
        assert_eq!(warnings(|n| (20, 5 * (n + 1)), 12), [""; 0], "too few");
    }
}
