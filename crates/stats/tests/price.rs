//! Price lists with known truths: exact lines, lines in noise, and figures on no line.

#![allow(clippy::unwrap_used)] // a test's panic is its message

use bakeoff_content::SplitMix64;
use bakeoff_stats::{Level, LineFit, Price, price};

/// Rules of a filter.
const RULES: [f64; 5] = [0.0, 1.0, 10.0, 1000.0, 10_000.0];

fn level() -> Level {
    Level::new(0.95).unwrap()
}

fn priced(x: &[f64], y: &[Vec<f64>]) -> Price {
    let y: Vec<&[f64]> = y.iter().map(Vec::as_slice).collect();
    price(x, &y, level()).unwrap()
}

/// Figures around `truth`: rounds differ by 10 %, slices of a round by `noise`.
fn measured(truth: impl Fn(f64) -> f64, x: &[f64], rounds: usize, noise: f64, seed: u64) -> Vec<Vec<f64>> {
    let mut rng = SplitMix64::new(seed);
    let shocks: Vec<f64> = (0..rounds).map(|_| 1.0 + 0.1 * rng.normal()).collect();
    let mut level =
        |&x: &f64| shocks.iter().map(|shock| truth(x) * shock * (1.0 + noise * rng.normal())).collect();
    x.iter().map(&mut level).collect()
}

#[test]
fn an_exact_line_is_found_exactly() {
    let y: Vec<Vec<f64>> = RULES.iter().map(|x| vec![20_000.0 + 7.5 * x; 3]).collect();
    let got = priced(&RULES, &y);
    assert!((got.slope.effect - 7.5).abs() < 1e-9 && got.slope.interval.half_width() < 1e-9, "{got:?}");
    assert!((got.intercept.effect / 20_000.0 - 1.0).abs() < 1e-12, "{got:?}");
    assert!(matches!(got.shape, LineFit::Line { within } if within < 1e-9), "{got:?}");
    assert_eq!(got.rounds, 3);
}

#[test]
fn what_a_round_shares_is_no_bend() {
    let shocks = [1.0, 1.5, 0.7, 1.1, 0.9, 2.0];
    let y: Vec<Vec<f64>> =
        RULES.iter().map(|x| shocks.iter().map(|shock| shock * (20_000.0 + 7.5 * x)).collect()).collect();
    let got = priced(&RULES, &y);
    assert!(matches!(got.shape, LineFit::Line { within } if within < 1e-9), "{got:?}");
    assert!(got.slope.interval.contains(7.5) && got.slope.interval.half_width() > 1.0, "{got:?}");
}

#[test]
fn intervals_of_a_line_in_noise_hold_the_truth_and_it_is_rarely_called_bent() {
    let runs = 1000;
    let (mut slope, mut intercept, mut bent) = (0, 0, 0);
    for seed in 0..runs {
        let got = priced(&RULES, &measured(|x| 20_000.0 + 40.0 * x, &RULES, 20, 0.05, seed));
        slope += usize::from(got.slope.interval.contains(40.0));
        intercept += usize::from(got.intercept.interval.contains(20_000.0));
        bent += usize::from(matches!(got.shape, LineFit::Bent { .. }));
    }
    println!("of {runs}: slope held {slope}, intercept {intercept}; bent {bent}");
    assert!((930..=975).contains(&slope) && (930..=975).contains(&intercept), "{slope} {intercept}");
    assert!(bent <= 10, "{bent}");
}

#[test]
fn much_noise_is_no_bend_but_says_how_little_was_seen() {
    let runs = 300;
    let (mut bent, mut wide) = (0, 0);
    for seed in 0..runs {
        match priced(&RULES, &measured(|x| 20_000.0 + 40.0 * x, &RULES, 10, 0.2, seed)).shape {
            LineFit::Bent { .. } => bent += 1,
            LineFit::Line { within } => wide += u32::from(within > 0.1),
            LineFit::Unchecked => panic!("five levels"),
        }
    }
    println!("of {runs}: bent {bent}, wide {wide}");
    assert!(bent <= 20 && wide + bent == 300, "{bent} {wide}");
}

#[test]
fn curves_and_steps_are_flagged() {
    let curve = |x: f64| 20_000.0 + 10.0 * x * (1.0 + x).ln();
    let step = |x: f64| if x < 1000.0 { 20_000.0 } else { 26_000.0 };
    for seed in 0..50 {
        let got = priced(&RULES, &measured(curve, &RULES, 20, 0.05, seed));
        let LineFit::Bent { off, interval, .. } = got.shape else { panic!("{got:?}") };
        assert!(interval.contains(off) && !interval.contains(0.0));
        let got = priced(&RULES, &measured(step, &RULES, 20, 0.05, seed));
        let LineFit::Bent { x, off, .. } = got.shape else { panic!("{got:?}") };
        // The line passes below the step's edge.
        assert!(x == 1000.0 && off > 0.1, "{got:?}");
    }
}

#[test]
fn two_levels_have_a_price_and_no_shape() {
    let got = priced(&[0.0, 1.0], &[vec![80.0; 3], vec![1200.0; 3]]);
    assert!(
        (got.slope.effect - 1120.0).abs() < 1e-9 && (got.intercept.effect - 80.0).abs() < 1e-9,
        "{got:?}"
    );
    assert_eq!(got.shape, LineFit::Unchecked);
    let twice = priced(&[0.0, 1.0, 1.0], &[vec![80.0; 3], vec![1200.0; 3], vec![1200.0; 3]]);
    assert_eq!(twice.shape, LineFit::Unchecked);
}

#[test]
fn a_small_bend_is_let_pass_and_told() {
    // 3 % more in the middle, without noise.
    let y: Vec<Vec<f64>> = [100.0, 206.0, 300.0].iter().map(|&y| vec![y; 12]).collect();
    let got = priced(&[1.0, 2.0, 3.0], &y);
    assert!(matches!(got.shape, LineFit::Line { within } if (0.01..0.03).contains(&within)), "{got:?}");
}

#[test]
fn units_do_not_matter() {
    for unit in [1e-200, 1e200] {
        let x = [0.0, unit, 2.0 * unit];
        let got = priced(&x, &[vec![1e-100; 3], vec![2e-100; 3], vec![3e-100; 3]]);
        assert!((got.slope.effect * unit * 1e100 - 1.0).abs() < 1e-9, "{got:?}");
        assert!(matches!(got.shape, LineFit::Line { within } if within < 1e-9), "{got:?}");
    }
}
