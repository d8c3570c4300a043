//! Quantile ratios where the truth is known.

use bakeoff_content::SplitMix64;
use bakeoff_stats::QuantileRefusal::{NotAQuantile, ShapesDiffer, TooFewReplies, TooFewRounds};
use bakeoff_stats::{
    CountsByRound, Level, Quantile, QuantileEffect, QuantileRefusal, Resampling, SHIFT, quantile_ratio,
    shift_function,
};
use std::sync::LazyLock;

fn level(level: f64) -> Level {
    Level::new(level).expect("between 0 and 1")
}

/// Buckets of 1 % width from 1 us on, like those of a log-linear histogram.
static EDGES: LazyLock<Vec<u64>> =
    LazyLock::new(|| (0..900).map(|i| (1000.0 * 1.01_f64.powi(i)) as u64).collect());

fn counts<'a>(upper_ns: &'a [u64], rounds: Vec<Vec<u32>>) -> CountsByRound<'a> {
    let filled = |round: Vec<u32>| (0..).zip(round).filter(|(_, count)| *count > 0).collect();
    CountsByRound { upper_ns, rounds: rounds.into_iter().map(filled).collect() }
}

fn ratio(
    subject: &CountsByRound<'_>,
    reference: &CountsByRound<'_>,
    p: f64,
    level: Level,
    resamples: u32,
    seed: u64,
) -> Result<QuantileEffect, QuantileRefusal> {
    let of = |counts: &CountsByRound<'_>| {
        Quantile::of(counts, p, &Resampling::new(counts.rounds.len(), resamples, seed))
    };
    quantile_ratio(&of(subject), &of(reference), level)
}

/// Log-normal latencies with median `scale` x 100 us; `tail` multiplies the slowest 2 %. Each
/// round has its own speed, taken from `speeds`.
fn arm(
    speeds: &[f64],
    replies: usize,
    scale: f64,
    tail: f64,
    rng: &mut SplitMix64,
) -> CountsByRound<'static> {
    let rounds = speeds
        .iter()
        .map(|speed| {
            let mut counts = vec![0; EDGES.len()];
            for _ in 0..replies {
                let z = rng.normal();
                let slow = if z > 2.0537 { tail } else { 1.0 };
                let ns = 1e5 * scale * slow * (0.5 * z + speed + 0.05 * rng.normal()).exp();
                counts[EDGES.partition_point(|&edge| (edge as f64) < ns).min(899)] += 1;
            }
            counts
        })
        .collect();
    counts(&EDGES, rounds)
}

fn speeds(rounds: usize, rng: &mut SplitMix64) -> Vec<f64> {
    (0..rounds).map(|_| 0.2 * rng.normal()).collect()
}

#[test]
fn by_hand() {
    // 20 rounds with 1 reply at 10, 8 at 20, 1 at 80; the subject takes twice as long.
    let upper_ns = [10, 20, 40, 80, 160];
    let reference = counts(&upper_ns, vec![vec![1, 8, 0, 1, 0]; 20]);
    let subject = counts(&upper_ns, vec![vec![0, 1, 8, 0, 1]; 20]);
    for (p, ns) in [(0.4, 20), (0.5, 20), (0.75, 20)] {
        let got = ratio(&subject, &reference, p, level(0.95), 100, 1).unwrap();
        assert_eq!((got.reference_ns, got.subject_ns, got.rounds), (ns, 2 * ns, 20));
        assert!((got.effect - 1.0).abs() < 1e-12 && got.interval.half_width() < 1e-12, "{got:?}");
    }
}

#[test]
fn the_rank_is_exact_at_the_edge_of_a_bucket() {
    let counts = |rounds| counts(&[1, 2, 3], rounds);
    let arm = counts(vec![vec![50, 49, 1]; 20]);
    let at = |p| ratio(&arm, &arm, p, level(0.95), 1, 1).unwrap().subject_ns;
    assert_eq!((at(0.5), at(0.51)), (1, 2));
    let arm = counts(vec![vec![900, 90, 10]; 20]);
    let at = |p| ratio(&arm, &arm, p, level(0.95), 1, 1).unwrap().subject_ns;
    assert_eq!((at(0.9), at(0.901), at(0.99), at(0.991)), (1, 2, 2, 3));
}

#[test]
fn refusals() {
    let arm = |rounds: usize, replies: u64| counts(&[1, 2], vec![vec![replies as u32, 0]; rounds]);
    let ask =
        |a: &CountsByRound<'_>, b: &CountsByRound<'_>, p| ratio(a, b, p, level(0.95), 10, 1).map(|_| ());
    assert_eq!(ask(&arm(19, 1000), &arm(19, 1000), 0.5), Err(TooFewRounds { have: 19, need: 20 }));
    // 50 / (1 - p): p90 500, p99 5000, p99.9 50 000
    for (p, need) in [(0.5, 100), (0.9, 500), (0.99, 5000), (0.999, 50_000), (0.1, 500)] {
        assert_eq!(ask(&arm(20, need / 20), &arm(20, need / 20), p), Ok(()), "{p}");
        let have = need - 20;
        assert_eq!(ask(&arm(20, need), &arm(20, have / 20), p), Err(TooFewReplies { have, need }), "{p}");
    }
    assert_eq!(ask(&arm(20, 100), &arm(21, 100), 0.5), Err(ShapesDiffer));
    let drawn = |resamples| Quantile::of(&arm(20, 100), 0.5, &Resampling::new(20, resamples, 1));
    assert_eq!(quantile_ratio(&drawn(10), &drawn(11), level(0.95)), Err(ShapesDiffer));
    let other = Quantile::of(&arm(20, 100), 0.4, &Resampling::new(20, 10, 1));
    assert_eq!(quantile_ratio(&drawn(10), &other, level(0.95)), Err(ShapesDiffer));
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
    let a = counts(&[1, 2, 3], vec![vec![1, 2, 0], vec![3, 0, 4]]);
    let b = counts(&[1, 2, 3], vec![vec![0, 5, 6], vec![7, 8, 0]]);
    assert_eq!(a.merged(&b), counts(&[1, 2, 3], vec![vec![1, 7, 6], vec![10, 8, 4]]));
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
        let got = ratio(&s, &a, 0.95, level(0.95), 300, seed).unwrap();
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
    let got = ratio(&s, &a, 0.5, level(0.9875), 1000, 1).unwrap();
    assert!(got.interval.contains(0.1) && got.interval.half_width() < 0.03, "{got:?}");
}

#[test]
fn the_shift_function_sees_the_tail() {
    let mut rng = SplitMix64::new(5);
    let speeds = speeds(20, &mut rng);
    let a = arm(&speeds, 1000, 1.0, 1.0, &mut rng);
    let s = arm(&speeds, 1000, 1.03, 1.4, &mut rng);
    let resampling = Resampling::new(20, 500, 1);
    let of = |counts: &CountsByRound<'_>| SHIFT.map(|p| Quantile::of(counts, p, &resampling));
    let shift = shift_function(&of(&s), &of(&a), level(0.9875));
    assert_eq!(shift.len(), 11, "p99.9 needs 50 000 replies");
    assert!((shift[4].1.effect - 0.03).abs() < 0.02, "{:?}", shift[4]);
    assert!((shift[10].1.effect - 0.44).abs() < 0.12, "{:?}", shift[10]);
    let few = of(&counts(&[1], vec![vec![1]; 20]));
    assert!(shift_function(&few, &few, level(0.95)).is_empty());
}
