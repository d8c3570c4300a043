//! Figures of users that changed beside a verdict: response time, replies a second, bytes a reply.
//!
//! Measuring side, cold, pure. A change is told only where its whole interval says that it is large, and larger than
//! what two equal servers differ by.

use super::exploratory::per_slice;
use super::row::Of;
use bakeoff_meter::catalogue::{self, BYTES_PER_REPLY, RESPONSE_P50};
use bakeoff_results::{ArmResult, Comparison};
use bakeoff_stats::{AlsoChanged, Interval};
use bakeoff_units::{Bytes, Nanos, PerSecond};
use std::collections::BTreeMap;

/// The least change that is told, relative.
const LEAST: f64 = 0.2;
/// Below so many rounds an interval of times says too little.
const LEAST_ROUNDS: u32 = 3;

/// A user's figure: its clause in a sentence.
struct Told {
    meter: &'static str,
    before: &'static str,
    more_is_worse: bool,
    in_words: fn(f64) -> String,
}

const TOLD: [Told; 3] = [
    Told {
        meter: RESPONSE_P50,
        before: "the median reply takes",
        more_is_worse: true,
        in_words: |ns| Nanos::new(ns.round() as u64).to_string(),
    },
    Told {
        meter: "replies_per_second",
        before: "it answers",
        more_is_worse: false,
        in_words: |rate| PerSecond::new(rate).map_or_else(String::new, |rate| rate.to_string()),
    },
    Told {
        meter: BYTES_PER_REPLY,
        before: "a reply has",
        more_is_worse: true,
        in_words: |bytes| Bytes::new(bytes.round() as u64).to_string(),
    },
];

/// An arm's rows of the figures that users notice, but for the one that is judged. The response time is the median of
/// each round: the interval of a quantile of all rounds needs more of them than a duet has in turn.
pub(super) fn users_rows(of: &Of<'_>, arm: &str) -> Vec<Comparison> {
    let meters = TOLD.iter().filter(|told| told.meter != of.setup.primary);
    let meters = meters.filter_map(|told| catalogue::find(told.meter));
    let rows = meters.filter_map(|meter| per_slice(&of.valid_for(meter), arm, meter));
    rows.map(|row| with_figures_of_arms(row, of.arms)).collect()
}

/// The median of all replies in place of that of the rounds, as tables show it.
fn with_figures_of_arms(row: Comparison, arms: &BTreeMap<String, ArmResult>) -> Comparison {
    let shown = |arm: &str| arms.get(arm).map(|arm| arm.response_ns).filter(|times| times.count > 0);
    match shown(&row.arm).zip(shown(&row.baseline)) {
        Some((own, base)) if row.meter == RESPONSE_P50 => {
            Comparison { value: own.p50 as f64, baseline_value: base.p50 as f64, ..row }
        }
        _ => row,
    }
}

/// What changed much, of an arm's rows. `twin`: rows of the baseline's second process. `explained`: the relative change of
/// CPU, which times and rates at full speed repeat.
pub(super) fn also_changed(
    own: &[Comparison],
    twin: &[Comparison],
    explained: Option<Interval>,
) -> Vec<AlsoChanged> {
    TOLD.iter().filter_map(|told| changed(told, own, twin, explained)).collect()
}

fn changed(
    told: &Told,
    own: &[Comparison],
    twin: &[Comparison],
    explained: Option<Interval>,
) -> Option<AlsoChanged> {
    let row = own.iter().find(|row| row.meter == told.meter)?;
    let by_rounds = told.meter == BYTES_PER_REPLY || row.rounds >= LEAST_ROUNDS;
    if row.verdict == bakeoff_stats::Verdict::Invalid || !by_rounds {
        return None;
    }
    let ends = |row: &Comparison| Some(Interval { low: row.low?, high: row.high? });
    let interval = ends(row)?;
    let floor =
        twin.iter().find(|row| row.meter == told.meter).and_then(ends).map_or(0.0, |floor| floor.reach());
    let repeats = row.load.is_none() && told.meter != BYTES_PER_REPLY;
    // Twice what the cost alone makes of it.
    let by_cpu = explained.filter(|_| repeats).map_or(0.0, |cost| 2.0 * (1.0 + cost.reach()) - 1.0);
    if distance(interval) <= LEAST.max(floor).max(by_cpu) {
        return None;
    }
    let (now, before) = ((told.in_words)(row.value), (told.in_words)(row.baseline_value));
    let worse = (interval.low > 0.0) == told.more_is_worse;
    let clause = format!("{} {now} in place of {before}", told.before);
    (now != before).then_some(AlsoChanged { clause, worse })
}

/// Distance of an interval from no change; a fall counts as the rise that would undo it, so that half is as much as twice.
fn distance(interval: Interval) -> f64 {
    match interval {
        Interval { low, .. } if low > 0.0 => low,
        Interval { high, .. } if high < 0.0 && high > -1.0 => 1.0 / (1.0 + high) - 1.0,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_stats::Verdict;

    fn row(meter: &str, [value, base]: [f64; 2], [low, high]: [f64; 2]) -> Comparison {
        Comparison {
            meter: meter.to_owned(),
            value,
            baseline_value: base,
            low: Some(low),
            high: Some(high),
            rounds: 10,
            verdict: Verdict::NotResolved,
            ..Comparison::default()
        }
    }

    fn said(own: &[Comparison], twin: &[Comparison], explained: Option<Interval>) -> Vec<String> {
        also_changed(own, twin, explained).into_iter().map(|also| also.clause).collect()
    }

    #[test]
    fn a_large_change_is_told_and_a_small_or_open_one_is_not() {
        let slow = row(RESPONSE_P50, [21e6, 0.9e6], [15.0, 30.0]);
        assert_eq!(said(&[slow], &[], None), ["the median reply takes 21 ms in place of 900 us"]);
        for [low, high] in [[0.05, 0.4], [-0.3, 0.9], [0.19, 0.8]] {
            assert!(said(&[row(RESPONSE_P50, [2e6, 1e6], [low, high])], &[], None).is_empty());
        }
    }

    #[test]
    fn two_equal_servers_that_differ_as_much_silence_it() {
        let own = [row(RESPONSE_P50, [2e6, 1e6], [0.5, 1.4])];
        assert!(said(&own, &[row(RESPONSE_P50, [1e6, 1e6], [-0.1, 0.6])], None).is_empty());
        assert_eq!(said(&own, &[row(RESPONSE_P50, [1e6, 1e6], [-0.1, 0.2])], None).len(), 1);
    }

    #[test]
    fn times_at_full_speed_that_repeat_the_cpu_are_not_told_twice() {
        let cost = Some(Interval { low: 0.8, high: 1.2 });
        let own = |low, high| [row(RESPONSE_P50, [2e6, 1e6], [low, high])];
        assert!(said(&own(0.7, 1.3), &[], cost).is_empty());
        assert!(said(&own(2.5, 3.3), &[], cost).is_empty(), "the generator's and the kernel's share of it");
        assert_eq!(said(&own(5.0, 9.0), &[], cost).len(), 1);
        let at_a_load = own(0.7, 1.3).map(|row| Comparison { load: Some(0), ..row });
        assert_eq!(said(&at_a_load, &[], cost).len(), 1);
    }

    #[test]
    fn fewer_bytes_are_better_and_half_counts_as_twice() {
        let packed = row(BYTES_PER_REPLY, [5_000.0, 18_000.0], [-0.73, -0.71]);
        let also = also_changed(&[packed], &[], None);
        assert_eq!(also[0].clause, "a reply has 5 KB in place of 18 KB");
        assert!(!also[0].worse);
        assert_eq!(distance(Interval { low: -0.6, high: -0.5 }), 1.0);
    }
}
