//! First use against steady use, and where sessions of two subjects cost the same.

#![allow(clippy::unwrap_used)] // a test's panic is its message

use bakeoff_content::SplitMix64;
use bakeoff_stats::{Crossing, Level, SessionCosts, Which, break_even, first_use};

fn level() -> Level {
    Level::new(0.95).unwrap()
}

fn close(got: f64, want: f64) {
    assert!((got / want - 1.0).abs() < 1e-9, "{got}, not {want}");
}

/// Costs around the truths: rounds differ by 20 %, slices of a round by 5 %.
fn measured<const N: usize>(truths: [f64; N], rounds: usize, rng: &mut SplitMix64) -> [Vec<f64>; N] {
    let shocks: Vec<f64> = (0..rounds).map(|_| (0.2 * rng.normal()).exp()).collect();
    truths.map(|truth| shocks.iter().map(|s| truth * s * (0.05 * rng.normal()).exp()).collect())
}

fn crossing(a: (&[f64], &[f64]), b: (&[f64], &[f64])) -> Crossing {
    let costs = |(first, steady)| SessionCosts { first, steady };
    break_even(costs(a), costs(b), level()).unwrap().crossing
}

#[test]
fn by_hand() {
    // A cold request of 1200 us, 80 us from then on.
    let got = first_use(&[1_200e3; 5], &[80e3; 5], level()).unwrap();
    close(got.extra.effect, 1_120e3);
    close(1.0 + got.ratio.effect, 15.0);
    // 1120 / (1120 + 80 n) = 0.05 at n = 266; 0.5 at n = 14.
    close(got.requests_until(0.05).unwrap().at, 266.0);
    close(got.requests_until(0.5).unwrap().interval.high, 14.0);
    for wrong in [0.0, 1.0, -0.1, f64::NAN] {
        assert_eq!(got.requests_until(wrong), None);
    }
}

#[test]
fn a_first_use_that_is_not_dearer_never_matters() {
    let got = first_use(&[70.0; 4], &[80.0; 4], level()).unwrap();
    close(got.extra.effect, -10.0);
    assert_eq!(got.requests_until(0.01).unwrap().at, 0.0);
}

#[test]
fn broken_figures_have_no_first_use() {
    let ok = [1.0; 3];
    assert_eq!(first_use(&ok, &ok[..2], level()), None);
    for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(first_use(&[1.0, wrong, 1.0], &ok, level()), None);
        assert_eq!(first_use(&ok, &[1.0, wrong, 1.0], level()), None);
    }
}

#[test]
fn rounds_share_their_machine_so_the_ratio_is_tighter_than_the_extra() {
    let mut rng = SplitMix64::new(5);
    let runs = 500;
    let (mut held, mut tighter) = (0, 0);
    for _ in 0..runs {
        let [first, steady] = measured([1_200.0, 80.0], 20, &mut rng);
        let got = first_use(&first, &steady, level()).unwrap();
        held += u32::from(got.requests_until(0.05).unwrap().interval.contains(266.0));
        let relative = got.ratio.interval.half_width() / got.ratio.effect;
        tighter += u32::from(relative < got.extra.interval.half_width() / got.extra.effect);
    }
    println!("266 requests held {held} of {runs}, tighter {tighter}");
    assert!((460..=490).contains(&held) && tighter >= 490, "{held} {tighter}");
}

#[test]
fn sessions_cross_where_the_sums_are_equal() {
    // A: 1000 + 10 (n - 1), B: 100 + 25 (n - 1); equal at n = 61.
    let a: (&[f64], &[f64]) = (&[1000.0; 4], &[10.0; 4]);
    let b: (&[f64], &[f64]) = (&[100.0; 4], &[25.0; 4]);
    for (one, other, want) in [(a, b, Which::A), (b, a, Which::B)] {
        let Crossing::At { requests, longer } = crossing(one, other) else { panic!() };
        assert_eq!(longer, want);
        for got in [requests.at, requests.interval.low, requests.interval.high] {
            close(got, 61.0);
        }
    }
    // And far out: 1 + 9e11 / 15.
    let Crossing::At { requests, .. } = crossing((&[1e12; 4], a.1), (&[1e11; 4], b.1)) else { panic!() };
    assert!((requests.at / 6e10 - 1.0).abs() < 1e-4, "{requests:?}");
}

#[test]
fn one_that_is_cheaper_throughout_is_named() {
    let dear = (&[9.0, 9.1, 8.9, 9.0][..], &[5.0, 5.1, 4.9, 5.0][..]);
    let cheap = (&[8.0; 4][..], &[4.0; 4][..]);
    assert_eq!(crossing(dear, cheap), Crossing::Always { cheaper: Which::B });
    assert_eq!(crossing(cheap, dear), Crossing::Always { cheaper: Which::A });
}

#[test]
fn what_rounds_do_not_tell_is_not_told() {
    let noisy: &[f64] = &[4.0, 6.0, 5.5, 4.5, 5.2, 4.8];
    let flat: &[f64] = &[5.0; 6];
    assert_eq!(crossing((noisy, flat), (flat, noisy)), Crossing::NotResolved);
    assert_eq!(crossing((flat, flat), (flat, flat)), Crossing::NotResolved);
    // Dearer at first for sure, in steady use perhaps cheaper: no upper end.
    let slightly_less: Vec<f64> = noisy.iter().map(|x| x - 0.1).collect();
    let got = crossing((&[900.0; 6], &slightly_less), (&[100.0; 6], flat));
    let Crossing::At { requests, longer: Which::A } = got else { panic!("{got:?}") };
    assert!(requests.interval.low > 100.0 && requests.at > requests.interval.low, "{requests:?}");
    assert_eq!(requests.interval.high, f64::INFINITY);
    // And the other way round: from the first request on, but not for ever.
    let got = crossing((&slightly_less, &[900.0; 6]), (flat, &[100.0; 6]));
    let Crossing::At { requests, longer: Which::B } = got else { panic!("{got:?}") };
    assert_eq!(requests.interval.low, 1.0);
    assert!(requests.at > 1.0 && requests.interval.high < 1.01, "{requests:?}");
}

#[test]
fn the_interval_of_the_crossing_holds_it_as_often_as_it_says() {
    // Fieller's case: the difference in steady use is 1.5 with 1.4 of noise per round.
    let mut rng = SplitMix64::new(11);
    let (runs, mut held, mut open) = (1000, 0, 0);
    for _ in 0..runs {
        let [a_first, a_steady, b_first, b_steady] = measured([1_000.0, 18.5, 900.0, 20.0], 20, &mut rng);
        match crossing((&a_first, &a_steady), (&b_first, &b_steady)) {
            Crossing::At { requests, longer } => {
                assert!(requests.interval.contains(requests.at), "{requests:?}");
                let truth = 1.0 + 100.0 / 1.5;
                held += u32::from(longer == Which::A && requests.interval.contains(truth));
                open += u32::from(requests.interval.high.is_infinite());
            }
            other => println!("{other:?}"),
        }
    }
    println!("held {held} of {runs}, {open} without an upper end");
    assert!((930..=975).contains(&held), "{held}");
}

#[test]
fn broken_or_few_rounds_have_no_crossing() {
    let ok = SessionCosts { first: &[2.0; 3], steady: &[1.0; 3] };
    assert!(break_even(ok, ok, level()).is_some());
    assert_eq!(break_even(SessionCosts { first: &[2.0; 2], ..ok }, ok, level()), None);
    assert_eq!(break_even(SessionCosts { first: &[2.0, f64::NAN, 2.0], ..ok }, ok, level()), None);
}
