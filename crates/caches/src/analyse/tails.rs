//! Long tails: a few hits or misses take so much longer than most that a mean and a percentile of all hide them.
//!
//! Measuring side, cold, pure.

use super::words::named;
use crate::results::{EntrantResults, Point, Tail};
use bakeoff_units::Nanos;

/// Least number of replies: a 99th percentile of fewer is chance.
const FEWEST: u64 = 1_000;
/// Multiple of the median from which a 99th percentile is out of proportion. With exponential think times it is 6.6
/// times.
const OUT_OF_PROPORTION: u64 = 10;
/// Shorter tails are the machine's.
const SHORTEST: Nanos = Nanos::from_millis(100);
/// The 99th percentile of misses includes the origin, which may have its reasons.
const SHORTEST_OF_MISSES: Nanos = Nanos::from_secs(1);

/// Warnings of a point's tails.
pub(super) fn of(entrant: &EntrantResults, point: &Point) -> Vec<String> {
    let words = |what: &str, tail: &Tail, beside: String| {
        let [half, few, fewest] = [tail.p50_ns, tail.p99_ns, tail.p999_ns].map(Nanos::new);
        format!(
            "{}: {what} have a long tail: half of them take {half} or less, one in a hundred {few} or more, one in a \
             thousand {fewest}{beside}",
            named(entrant, point)
        )
    };
    let misses = point.miss_tail.as_ref();
    let hits = point.hit_tail.as_ref().filter(|tail| is_long(tail, SHORTEST) && !waits(tail, misses));
    let of_hits = hits.map(|tail| {
        let beside = misses
            .map(|misses| format!("; of the misses one in a hundred takes {}", Nanos::new(misses.p99_ns)));
        words("hits", tail, beside.unwrap_or_default())
    });
    let of_misses = misses.filter(|tail| is_long(tail, SHORTEST_OF_MISSES));
    let of_misses = of_misses.map(|tail| words("misses", tail, String::new()));
    of_hits.into_iter().chain(of_misses).collect()
}

fn is_long(tail: &Tail, shortest: Nanos) -> bool {
    let least = tail.p50_ns.saturating_mul(OUT_OF_PROPORTION).max(shortest.get());
    tail.replies >= FEWEST && tail.p99_ns >= least
}

/// Hits that wait for a fetch under way take its remaining time, and so no longer than misses; percentiles may be off
/// by a quarter.
fn waits(hits: &Tail, misses: Option<&Tail>) -> bool {
    misses.is_some_and(|misses| hits.p99_ns < misses.p99_ns + misses.p99_ns / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(p50_ms: u64, p99_ms: u64) -> Tail {
        let [p50_ns, p99_ns] = [p50_ms, p99_ms].map(|ms| Nanos::from_millis(ms).get());
        Tail { replies: 1_000, p50_ns, p99_ns, p999_ns: p99_ns }
    }

    #[test]
    fn a_tail_is_long_that_is_out_of_proportion_and_not_explained_by_fetches_under_way() {
        let misses = tail(3_000, 6_500);
        assert!(is_long(&tail(5, 10_000), SHORTEST) && !waits(&tail(5, 10_000), Some(&misses)));
        assert!(waits(&tail(5, 5_000), Some(&misses)), "it waited for a fetch");
        assert!(!waits(&tail(5, 5_000), None));
        for short in [tail(2_000, 10_000), tail(1, 99), Tail { replies: 999, ..tail(5, 10_000) }] {
            assert!(!is_long(&short, SHORTEST), "{short:?}");
        }
        assert!(!is_long(&misses, SHORTEST_OF_MISSES) && is_long(&tail(90, 1_000), SHORTEST_OF_MISSES));
    }
}
