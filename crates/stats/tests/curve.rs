//! Trends of a cost over the load where the answer is known by arithmetic. Error rates: tests/calibration/curve.rs.

#![allow(clippy::unwrap_used)] // a test's panic is its message

use bakeoff_stats::{Curve, CurveQuestion, CurveRefusal, Level, Trend, UnknownTrend, curves};

const ROUNDS: i32 = 10;

/// Ten rounds around `middle`, in an order of no meaning. 20 % trimming keeps six, and winsorised they are -2.5 three
/// times, -1.5, -0.5, 0.5, 1.5 and 2.5 three times: the standard error is sqrt(42.5 / 30) = 1.1902 with 5 degrees.
fn around(middle: f64) -> Vec<f64> {
    (0..ROUNDS).map(|i| middle + f64::from((i * 7) % ROUNDS) - 4.5).collect()
}

/// Half-widths of such an interval: t.ppf(1 - alpha / 2, 5) of scipy 1.17.1 times the standard error.
const FIVE_PERCENT: f64 = 3.0597;
const HALF_OF_IT: f64 = 3.7652;

/// An arm that costs nothing at the decision's load, index 0, and has these amounts in the middle at the others.
fn arm(middles: &[f64]) -> Vec<Vec<f64>> {
    let flat = vec![0.0; ROUNDS as usize];
    std::iter::once(flat).chain(middles.iter().map(|middle| around(*middle))).collect()
}

fn question(arms: &[Vec<Vec<f64>>], decision: usize) -> CurveQuestion<'_> {
    // Two thirds of the error are given to the tests: 5 %.
    let level = Level::new(0.925).unwrap();
    CurveQuestion { arms, decision, starts: &[], margin: 1.0, level }
}

fn judged(arms: &[Vec<Vec<f64>>], decision: usize) -> Vec<Curve> {
    curves(&question(arms, decision)).unwrap()
}

fn significant(curve: &Curve) -> Vec<bool> {
    curve.contrasts.iter().map(|contrast| contrast.significant).collect()
}

/// Amounts that never vary, one a load.
fn exact(amounts: &[f64]) -> Vec<Vec<f64>> {
    amounts.iter().map(|amount| vec![*amount; 5]).collect()
}

#[test]
fn the_direction_is_that_of_the_cost_over_the_load() {
    use Trend::{Changes, Falls, Flat, Grows};
    for (amounts, decision, want) in [
        ([100.0, 200.0, 300.0], 1, Grows),
        ([300.0, 200.0, 100.0], 1, Falls),
        ([100.0, 200.0, 300.0], 0, Grows),
        ([100.0, 200.0, 300.0], 2, Grows),
        ([300.0, 200.0, 100.0], 2, Falls),
        ([100.0, 200.0, 200.0], 1, Grows),
        ([100.0, 200.0, 100.0], 1, Changes),
        ([300.0, 200.0, 300.0], 1, Changes),
        // A tenth of the amount is 20; the margin alone would be 1.
        ([181.0, 200.0, 219.0], 1, Flat),
        ([180.0, 200.0, 219.0], 1, Grows),
        ([-219.0, -200.0, -181.0], 1, Flat),
        ([0.9, 0.0, -0.9], 1, Flat),
        ([1.0, 0.0, -0.9], 1, Falls),
    ] {
        let got = &judged(&[exact(&amounts)], decision)[0];
        assert_eq!(got.trend, want, "{amounts:?} {decision}: {got:?}");
    }
}

#[test]
fn contrasts_are_amounts_less_that_of_the_decision() {
    let got = &judged(&[exact(&[100.0, 230.0, 300.0])], 1)[0];
    let changes: Vec<(usize, f64)> =
        got.contrasts.iter().map(|c| (c.load, c.change.as_ref().unwrap().effect)).collect();
    assert_eq!(changes, [(0, -130.0), (2, 70.0)]);
    assert_eq!(got.tolerance, 23.0);
}

#[test]
fn pairs_of_a_round_are_compared_and_what_they_share_cancels() {
    let shared = around(1000.0);
    let more = shared.iter().map(|x| x + 150.0).collect();
    let got = &judged(&[vec![shared, more]], 0)[0];
    assert_eq!(got.trend, Trend::Grows);
    assert!(got.contrasts[0].change.as_ref().unwrap().interval.half_width() < 1e-9);
}

#[test]
fn the_step_down_finds_more_once_it_has_found_something() {
    let between = (FIVE_PERCENT + HALF_OF_IT) / 2.0;
    let only = |middles: &[f64]| significant(&judged(&[arm(middles)], 0)[0]);
    assert_eq!(only(&[FIVE_PERCENT - 0.01]), [false]);
    assert_eq!(only(&[FIVE_PERCENT + 0.01]), [true]);
    assert_eq!(only(&[between, 0.0]), [false, false]);
    assert_eq!(only(&[between, between]), [false, false]);
    assert_eq!(only(&[HALF_OF_IT + 0.01, 0.0]), [true, false]);
    assert_eq!(only(&[HALF_OF_IT + 0.01, between]), [true, true]);
    assert_eq!(only(&[HALF_OF_IT + 0.01, FIVE_PERCENT - 0.01]), [true, false]);
}

#[test]
fn each_interval_has_the_level_that_it_was_judged_at() {
    let got = &judged(&[arm(&[HALF_OF_IT + 0.01, 2.0])], 0)[0];
    let level = |load: usize| got.contrasts[load].change.as_ref().unwrap().level;
    assert!((level(0) - 0.975).abs() < 1e-12 && (level(1) - 0.95).abs() < 1e-12, "{got:?}");
    let width = |load: usize| got.contrasts[load].change.as_ref().unwrap().interval.half_width();
    assert!((width(0) - HALF_OF_IT).abs() < 1e-4 && (width(1) - FIVE_PERCENT).abs() < 1e-4, "{got:?}");
}

#[test]
fn all_arms_are_one_family() {
    let between = (FIVE_PERCENT + HALF_OF_IT) / 2.0;
    let of = |other: f64| significant(&judged(&[arm(&[between]), arm(&[other])], 0)[0]);
    assert_eq!(of(0.0), [false]);
    assert_eq!(of(100.0), [true], "the other arm's is found first, and then this one's");
}

#[test]
fn flat_is_judged_at_the_level_of_all_contrasts_and_first() {
    let flat = |margin: f64, arms: &[Vec<Vec<f64>>]| {
        curves(&CurveQuestion { margin, ..question(arms, 0) }).unwrap()[0].trend
    };
    let (sharp, alone) = (arm(&[0.0]), arm(&[0.0, 0.0]));
    assert_eq!(flat(FIVE_PERCENT + 0.01, std::slice::from_ref(&sharp)), Trend::Flat);
    assert_eq!(flat(FIVE_PERCENT - 0.01, std::slice::from_ref(&sharp)), Trend::NotResolved);
    assert_eq!(flat(HALF_OF_IT - 0.01, std::slice::from_ref(&alone)), Trend::NotResolved);
    assert_eq!(flat(HALF_OF_IT + 0.01, &[alone]), Trend::Flat);
    // Another arm's contrast does not sharpen it.
    assert_eq!(flat(HALF_OF_IT - 0.01, &[sharp.clone(), arm(&[100.0])]), Trend::NotResolved);
    let got = &curves(&CurveQuestion { margin: 20.0, ..question(&[arm(&[10.0])], 0) }).unwrap()[0];
    assert_eq!((got.trend, significant(got)), (Trend::Flat, vec![true]));
    // Clear of 0, and too small to be a direction.
    let got = &curves(&CurveQuestion { margin: 11.0, ..question(&[arm(&[10.0])], 0) }).unwrap()[0];
    assert_eq!((got.trend, significant(got)), (Trend::NotResolved, vec![true]));
}

#[test]
fn rounds_of_two_starts_are_no_claim() {
    let arms = [vec![vec![0.0; 20], [[2.0; 10], [3.0; 10]].concat()]];
    let starts = [[0_u32; 10], [1; 10]].concat();
    assert_eq!(judged(&arms, 0)[0].trend, Trend::Grows);
    let told = CurveQuestion { starts: &starts, ..question(&arms, 0) };
    assert_eq!(curves(&told).unwrap()[0].trend, Trend::NotResolved);
}

#[test]
fn what_has_no_effect_is_not_resolved() {
    let mut broken = exact(&[1.0, 100.0, 100.0]);
    broken[2][1] = f64::NAN;
    let got = &judged(&[broken], 0)[0];
    assert_eq!(got.trend, Trend::Grows, "the other load still says so: {got:?}");
    assert_eq!(got.contrasts[1].change, None);
    let short = vec![vec![1.0; 2], vec![100.0; 2]];
    let got = &judged(&[short, exact(&[1.0, 1.0])], 0);
    assert_eq!((got[0].trend, got[1].trend), (Trend::NotResolved, Trend::Flat));
}

#[test]
fn what_is_no_curve_is_refused() {
    let refused = |arms: &[Vec<Vec<f64>>], decision| curves(&question(arms, decision)).unwrap_err();
    assert_eq!(curves(&question(&[], 0)), Ok(Vec::new()));
    assert_eq!(refused(&[exact(&[1.0])], 0), CurveRefusal::Loads { have: 1 });
    assert_eq!(refused(&[exact(&[1.0; 9])], 0), CurveRefusal::Loads { have: 9 });
    let uneven = [exact(&[1.0; 3]), exact(&[1.0; 2])];
    assert_eq!(refused(&uneven, 0), CurveRefusal::Mismatch { arm: 1, have: 2, need: 3 });
    let beyond = refused(&[exact(&[1.0; 3])], 3);
    assert_eq!(beyond, CurveRefusal::Decision { decision: 3, loads: 3 });
    assert_eq!(beyond.to_string(), "the decision's load 3 is none of 3 loads, counted from 0");
}

#[test]
fn words_round_trip_and_strangers_are_refused() {
    for trend in Trend::ALL {
        assert_eq!(trend.as_str().parse(), Ok(trend));
    }
    for stranger in ["", "Flat", "not resolved", "flat "] {
        assert_eq!(stranger.parse::<Trend>(), Err(UnknownTrend(stranger.to_owned())));
    }
    assert_eq!(format!("{:<6}|", Trend::Flat), "flat  |");
}
