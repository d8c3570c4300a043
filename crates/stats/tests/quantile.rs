//! Quantile ratios where the truth is known.

use bakeoff_stats::QuantileRefusal::{NotAQuantile, ShapesDiffer, TooFewReplies, TooFewRounds};
use bakeoff_stats::{CountsByRound, Level, SplitMix64, quantile_ratio, shift_function};

fn level(level: f64) -> Level {
    Level::new(level).expect("between 0 and 1")
}

/// Buckets of 1 % width from 1 us on, like those of a log-linear histogram.
fn edges() -> Vec<u64> {
    (0..900).map(|i| (1000.0 * 1.01_f64.powi(i)) as u64).collect()
}

/// Log-normal latencies with median `scale` x 100 us; `tail` multiplies the slowest 2 %. Each
/// round has its own speed, taken from `speeds`.
fn arm(speeds: &[f64], replies: usize, scale: f64, tail: f64, rng: &mut SplitMix64) -> CountsByRound {
    let upper_ns = edges();
    let rounds = speeds
        .iter()
        .map(|speed| {
            let mut counts = vec![0; upper_ns.len()];
            for _ in 0..replies {
                let z = rng.normal();
                let slow = if z > 2.0537 { tail } else { 1.0 };
                let ns = 1e5 * scale * slow * (0.5 * z + speed + 0.05 * rng.normal()).exp();
                counts[upper_ns.partition_point(|&edge| (edge as f64) < ns).min(899)] += 1;
            }
            counts
        })
        .collect();
    CountsByRound { upper_ns, rounds }
}

fn speeds(rounds: usize, rng: &mut SplitMix64) -> Vec<f64> {
    (0..rounds).map(|_| 0.2 * rng.normal()).collect()
}

#[test]
fn by_hand() {
    // 20 rounds with 1 reply at 10, 8 at 20, 1 at 80; the subject takes twice as long.
    let upper_ns = vec![10, 20, 40, 80, 160];
    let reference = CountsByRound { upper_ns: upper_ns.clone(), rounds: vec![vec![1, 8, 0, 1, 0]; 20] };
    let subject = CountsByRound { upper_ns, rounds: vec![vec![0, 1, 8, 0, 1]; 20] };
    for (p, ns) in [(0.4, 20), (0.5, 20), (0.75, 20)] {
        let got = quantile_ratio(&subject, &reference, p, level(0.95), 100, 1).unwrap();
        assert_eq!((got.reference_ns, got.subject_ns, got.rounds), (ns, 2 * ns, 20));
        assert!((got.effect - 1.0).abs() < 1e-12 && got.interval.half_width() < 1e-12, "{got:?}");
    }
}

#[test]
fn the_rank_is_exact_at_the_edge_of_a_bucket() {
    let counts = |rounds| CountsByRound { upper_ns: vec![1, 2, 3], rounds };
    let arm = counts(vec![vec![50, 49, 1]; 20]);
    let at = |p| quantile_ratio(&arm, &arm, p, level(0.95), 1, 1).unwrap().subject_ns;
    assert_eq!((at(0.5), at(0.51)), (1, 2));
    let arm = counts(vec![vec![900, 90, 10]; 20]);
    let at = |p| quantile_ratio(&arm, &arm, p, level(0.95), 1, 1).unwrap().subject_ns;
    assert_eq!((at(0.9), at(0.901), at(0.99), at(0.991)), (1, 2, 2, 3));
}

#[test]
fn refusals() {
    let arm = |rounds: usize, replies: u64| CountsByRound {
        upper_ns: vec![1, 2],
        rounds: vec![vec![replies, 0]; rounds],
    };
    let ask =
        |a: &CountsByRound, b: &CountsByRound, p| quantile_ratio(a, b, p, level(0.95), 10, 1).map(|_| ());
    assert_eq!(ask(&arm(19, 1000), &arm(19, 1000), 0.5), Err(TooFewRounds { have: 19, need: 20 }));
    // 50 / (1 - p): p90 500, p99 5000, p99.9 50 000
    for (p, need) in [(0.5, 100), (0.9, 500), (0.99, 5000), (0.999, 50_000), (0.1, 500)] {
        assert_eq!(ask(&arm(20, need / 20), &arm(20, need / 20), p), Ok(()), "{p}");
        let have = need - 20;
        assert_eq!(ask(&arm(20, need), &arm(20, have / 20), p), Err(TooFewReplies { have, need }), "{p}");
    }
    assert_eq!(ask(&arm(20, 100), &arm(21, 100), 0.5), Err(ShapesDiffer));
    let mut broken = arm(20, 100);
    broken.rounds[3].pop();
    assert_eq!(ask(&broken, &arm(20, 100), 0.5), Err(ShapesDiffer));
    broken = arm(20, 100);
    broken.upper_ns = vec![2, 1];
    assert_eq!(ask(&broken, &broken, 0.5), Err(ShapesDiffer));
    for p in [0.0, 1.0, -1.0] {
        assert_eq!(ask(&arm(20, 100), &arm(20, 100), p), Err(NotAQuantile(p)));
    }
    assert_eq!(
        TooFewReplies { have: 4980, need: 5000 }.to_string(),
        "too few replies per arm: 4980, needs 5000"
    );
}

#[test]
fn merging_adds_round_by_round() {
    let a = CountsByRound { upper_ns: vec![1, 2], rounds: vec![vec![1, 2], vec![3, 4]] };
    let merged = a.merged(&a).unwrap();
    assert_eq!(merged.rounds, [[2, 4], [6, 8]]);
    let other = CountsByRound { upper_ns: vec![1, 3], ..a.clone() };
    assert_eq!(a.merged(&other), Err(ShapesDiffer));
}

#[test]
fn the_interval_holds_the_truth_about_as_often_as_it_says() {
    // 95 % over 200 sessions of 24 rounds: fewer than 178 would be a chance under 1 in 1000.
    let mut rng = SplitMix64::new(3);
    let mut held = 0;
    for seed in 0..200 {
        let speeds = speeds(24, &mut rng);
        let a = arm(&speeds, 150, 1.0, 1.0, &mut rng);
        let s = arm(&speeds, 150, 1.1, 1.0, &mut rng);
        let got = quantile_ratio(&s, &a, 0.95, level(0.95), 300, seed).unwrap();
        held += u32::from(got.interval.contains(0.1));
    }
    assert!((178..=200).contains(&held), "{held} of 200");
}

#[test]
fn rounds_are_paired() {
    // The speed of a round varies by 20 % but is shared: the interval stays narrow.
    let mut rng = SplitMix64::new(4);
    let speeds = speeds(40, &mut rng);
    let a = arm(&speeds, 1000, 1.0, 1.0, &mut rng);
    let s = arm(&speeds, 1000, 1.1, 1.0, &mut rng);
    let got = quantile_ratio(&s, &a, 0.5, level(0.9875), 1000, 1).unwrap();
    assert!(got.interval.contains(0.1) && got.interval.half_width() < 0.03, "{got:?}");
}

#[test]
fn the_shift_function_sees_the_tail() {
    let mut rng = SplitMix64::new(5);
    let speeds = speeds(20, &mut rng);
    let a = arm(&speeds, 1000, 1.0, 1.0, &mut rng);
    let s = arm(&speeds, 1000, 1.03, 1.4, &mut rng);
    let shift = shift_function(&s, &a, level(0.9875), 500, 1);
    assert_eq!(shift.len(), 11, "p99.9 needs 50 000 replies");
    assert!((shift[4].1.effect - 0.03).abs() < 0.02, "{:?}", shift[4]);
    assert!((shift[10].1.effect - 0.44).abs() < 0.12, "{:?}", shift[10]);
    let few = CountsByRound { upper_ns: vec![1], rounds: vec![vec![1]; 20] };
    assert!(shift_function(&few, &few, level(0.95), 10, 1).is_empty());
}
