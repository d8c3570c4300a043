//! Buckets against two independent definitions: the law of any window, and a token bucket.

use bakeoff_layers_police::reference::Bucket;
use bakeoff_layers_police::rules::table::Rate;
use proptest::prelude::*;

prop_compose! {
    fn any_rate()(interval_ns in 1_u64..2_000, burst in 1_u64..40) -> Rate {
        Rate { interval_ns, tolerance_ns: (burst - 1) * interval_ns }
    }
}

fn passed(rate: Rate, gaps: &[u64]) -> Vec<(u64, bool)> {
    let (mut bucket, mut now) = (Bucket::default(), 1_000_000_000);
    gaps.iter()
        .map(|gap| {
            now += gap;
            (now, bucket.conforms(rate, now))
        })
        .collect()
}

proptest! {
    #[test]
    fn no_window_lets_more_through_than_burst_and_rate(rate in any_rate(), gaps in prop::collection::vec(0_u64..3_000, 1..200)) {
        let times: Vec<u64> = passed(rate, &gaps).iter().filter(|(_, passed)| *passed).map(|(at, _)| *at).collect();
        for (first, from) in times.iter().enumerate() {
            for (last, to) in times.iter().enumerate().skip(first) {
                let count = (last - first + 1) as u64;
                prop_assert!(count <= rate.burst() + (to - from) / rate.interval_ns);
            }
        }
    }

    /// Tokens in ns: a full bucket has `burst * interval`, an arrival takes an interval, and a refused one takes
    /// nothing.
    #[test]
    fn it_is_a_bucket_of_tokens(rate in any_rate(), gaps in prop::collection::vec(0_u64..3_000, 1..200)) {
        let full = rate.burst() * rate.interval_ns;
        let (mut tokens, mut before) = (full, 0);
        for (now, passed) in passed(rate, &gaps) {
            tokens = full.min(tokens + (now - before));
            before = now;
            prop_assert_eq!(passed, tokens >= rate.interval_ns);
            tokens -= if passed { rate.interval_ns } else { 0 };
        }
    }
}

#[test]
fn burst_is_exact_and_the_rate_is_kept_from_then_on() {
    let rate = Rate { interval_ns: 1_000_000, tolerance_ns: 4_000_000 };
    let mut bucket = Bucket::default();
    let mut count = |from: u64, to: u64, step: usize| {
        (from..to).step_by(step).filter(|now| bucket.conforms(rate, *now)).count()
    };
    assert_eq!(count(0, 1_000, 1), 5, "burst, however many come at once");
    assert_eq!(count(1_000, 1_000_001_001, 10_000), 1_000, "1000/s for a second, of 100,000");
    assert_eq!(count(1 << 50, (1 << 50) + 1_000, 1), 5, "idle for days is the same as fresh");
}
