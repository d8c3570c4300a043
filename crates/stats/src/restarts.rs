//! Starts of the measured processes as a second level of variance.
//!
//! The addresses of its memory give every start of a process a lasting offset, so rounds of one start are alike, and
//! more of them say nothing about the next start (Mytkowicz and others, ASPLOS 2009; Kalibera and Jones, ISMM 2013:
//! repeat at the level where the variance is). This module estimates the size of that level ([`levels`]), and takes
//! intervals by start ([`effect_of`]).
//!
//! Compared by simulation (`tests/calibration/by_start.rs`, printed by `make calibrate`): three
//! rounds a start, 10 % of the rounds with four-fold noise, level 98.75 %, luck of a start as large
//! as the noise of a round, three times as large, or none. Coverage at the worst of the three, and
//! the mean width without luck in units of Yuen's on rounds:
//!
//! | | 8 starts | 10 | 14 | 27 |
//! |---|---|---|---|---|
//! | Yuen on rounds, as if independent | 88.3, 1 | 88.0, 1 | 88.3, 1 | 88.1, 1 |
//! | block bootstrap of the trimmed mean, percentiles | 94.0, 0.83 | 95.9, 0.87 | 96.6, 0.89 | 97.3, 0.95 |
//! | block bootstrap, studentised | 98.0, 1.58 | 98.4, 1.36 | 98.1, 1.16 | 98.2, 1.06 |
//! | Student on the means of starts | 98.7, 1.53 | 98.6, 1.49 | 98.7, 1.42 | 98.7, 1.37 |
//! | Yuen on the means of starts | 98.6, 1.51 | 98.3, 1.52 | 98.4, 1.30 | 98.5, 1.21 |
//! | squares by start, starts - 1 degrees | 97.9, 1.10 | 98.0, 1.08 | 97.9, 1.04 | 98.3, 1.02 |
//! | **squares by start, degrees as Yuen's** (taken) | 98.8, 1.33 | 99.3, 1.39 | 98.6, 1.17 | 98.8, 1.11 |
//!
//! The bootstraps are too narrow or, studentised, up to 3.2 times as wide with luck; and some 20 starts resampled
//! cannot tell 99.9 % (A/A') or 99.97 % (40 arms) apart from "all of them". Means of starts spoil the purpose of
//! trimming: one disturbed round moves its whole start. The one taken keeps the estimate that a run without restarts
//! has, so a single wild round still decides nothing.
//!
//! It is taken from the second start on, not from [`STARTS_FOR_LUCK`] on. If the looks before the
//! eighth start took rounds for independent, equal arms whose starts differ by as much as their
//! rounds would end in `costs` or `saves` in 8.9 % of the runs, by start in 3.4 % (noise and margin
//! 1 %, a start every three rounds). Few starts make wide intervals: with luck three times the noise
//! they hold 96.6 % after four starts (10 rounds, the last start with one of them), 99.9 % after five.
//!
//! Starts may be of unequal length: runs with quick starts make one before each of the first ten rounds,
//! then every third. There the effective number of starts counts; with the plain one 6.0 % of the runs
//! would end in a false claim, with it 4.8 to 5.1 % (noise 1 %, luck and margin 2 %, the worst found).

use std::collections::BTreeMap;

use crate::effect::{cross_checked, estimate, usable};
use crate::trimmed::{Middle, Trimming, trimmed_away, trimmed_mean};
use crate::{Effect, Interval, Level, Scale};

/// From this many starts on, process luck counts as sampled. With fewer the interval allows for the differences seen,
/// but a claim about a small effect deserves a warning.
pub const STARTS_FOR_LUCK: usize = 8;

/// Variation of log ratios from start to start, and from round to round of one start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Levels {
    /// Standard deviation of the offset that a start adds to all of its rounds; 0 when the starts differ by no more
    /// than their rounds explain.
    pub between: f64,
    /// Standard deviation of the rounds of one start.
    pub within: f64,
    /// Number of starts.
    pub starts: usize,
    /// Number of rounds.
    pub rounds: usize,
}

/// Variance components by one-way analysis of variance with random effects: the method of moments
/// for groups of unequal size (Searle, Casella and McCulloch, "Variance Components", 1992,
/// section 3.6). A negative component counts as 0.
///
/// `starts[i]` names the start that round i belongs to. Nothing is trimmed: a disturbed round
/// counts in `within`. `None` when a round has no start or is not finite, under two starts, and
/// when every start has one round only.
pub fn levels(d: &[f64], starts: &[u32]) -> Option<Levels> {
    let groups = by_start(d, starts)?;
    if groups.len() < 2 || d.len() == groups.len() || d.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let (n, g, grand) = (d.len() as f64, groups.len() as f64, mean(d));
    let (mut among, mut inside, mut squared_sizes) = (0.0, 0.0, 0.0);
    for group in &groups {
        let (size, mean) = (group.len() as f64, mean(group));
        among += size * (mean - grand).powi(2);
        inside += group.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
        squared_sizes += size * size;
    }
    let within = inside / (n - g);
    let rounds_per_start = (n - squared_sizes / n) / (g - 1.0);
    let between = ((among / (g - 1.0) - within) / rounds_per_start).max(0.0);
    Some(Levels { between: between.sqrt(), within: within.sqrt(), starts: groups.len(), rounds: d.len() })
}

/// The effect with an interval by start where there are two starts or more; with one, or when
/// `starts` is empty, as [`crate::effect()`] gives it.
///
/// `starts[i]` names the start that round i belongs to. `None` under three rounds, when a value is
/// not finite, and when there are starts but not one for every round.
pub fn effect_of(d: &[f64], starts: &[u32], level: Level, scale: Scale) -> Option<Effect> {
    if starts.is_empty() {
        return estimate(d, level, scale);
    }
    let groups = by_start(d, starts)?;
    if groups.len() < 2 {
        return estimate(d, level, scale);
    }
    let sorted = usable(d)?;
    let mut means: Vec<f64> = groups.iter().map(|group| mean(group)).collect();
    means.sort_unstable_by(f64::total_cmp);
    Some(cross_checked(&sorted, trimmed_mean_by_start(&sorted, &groups, level), &means, level, scale))
}

/// The trimmed mean of all rounds with Yuen's interval carried over to starts: the squares are
/// those of the winsorised sums of the starts, and the degrees of freedom are what 20 % trimming
/// leaves of the (effective) starts, less one. With one round a start it is Yuen's own; never narrower than
/// that, because a small spread between few starts is more often luck than knowledge.
///
/// The variance is that of a sum over clusters (Liang and Zeger, Biometrika 73, 1986), applied to
/// the influence of each round on the trimmed mean, which is its winsorised deviation (Huber,
/// "Robust Statistics", 1981, section 3.3).
fn trimmed_mean_by_start(sorted: &[f64], groups: &[Vec<f64>], level: Level) -> Middle {
    let as_if_independent = trimmed_mean(sorted, level);
    let Trimming { bounds, kept, untrimmed, .. } = Trimming::of(sorted);
    let winsorised = |x: &f64| x.clamp(bounds.low, bounds.high);
    let middle = sorted.iter().map(winsorised).sum::<f64>() / sorted.len() as f64;
    let sum = |group: &Vec<f64>| group.iter().map(|x| winsorised(x) - middle).sum::<f64>();
    let squares: f64 = groups.iter().map(|group| sum(group).powi(2)).sum();
    let starts = effective_number(groups);
    let kept_starts = starts - if untrimmed { 0 } else { 2 * trimmed_away(starts) };
    let freedom = kept_starts - 1;
    let standard_error = (squares * kept_starts as f64 / freedom as f64).sqrt() / kept as f64;
    let half_width = if squares > 0.0 { level.t(freedom) * standard_error } else { 0.0 };
    if half_width <= as_if_independent.interval.half_width() {
        return as_if_independent;
    }
    let interval = Interval::around(as_if_independent.at, half_width);
    Middle { interval, standard_error, freedom, ..as_if_independent }
}

/// The middle of at least three finite values, by start where there are two starts or more.
pub(crate) fn middle_of(values: &[f64], starts: &[u32], level: Level) -> Option<Middle> {
    let sorted = usable(values)?;
    let groups = if starts.is_empty() { Vec::new() } else { by_start(values, starts)? };
    Some(match groups.len() {
        0 | 1 => trimmed_mean(&sorted, level),
        _ => trimmed_mean_by_start(&sorted, &groups, level),
    })
}

/// Number of starts of equal length with as much information: n^2 / sum of squared lengths, to the nearest; at least 2.
/// Long starts among short ones carry most of the squares, and so of their chance (Carter, Schnepel and Steigerwald,
/// Review of Economics and Statistics 99, 2017).
fn effective_number(groups: &[Vec<f64>]) -> usize {
    let rounds: usize = groups.iter().map(Vec::len).sum();
    let squared: usize = groups.iter().map(|group| group.len().pow(2)).sum();
    ((rounds.pow(2) as f64 / squared as f64).round() as usize).max(2)
}

/// The values of each start, starts in ascending order. `None` when a value has no start.
fn by_start(d: &[f64], starts: &[u32]) -> Option<Vec<Vec<f64>>> {
    if starts.len() < d.len() {
        return None;
    }
    let mut groups: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (x, start) in d.iter().zip(starts) {
        groups.entry(*start).or_default().push(*x);
    }
    Some(groups.into_values().collect())
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trimmed::tests::SAMPLE;
    use bakeoff_content::SplitMix64;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-12, "{a} {b}");
    }

    fn level() -> Level {
        Level::new(0.9875).unwrap()
    }

    #[test]
    fn levels_by_hand() {
        // Means 2, 6, 10 around 6: mean squares 64 / 2 between and 6 / 3 within; (32 - 2) / 2.
        let got = levels(&[1.0, 3.0, 5.0, 7.0, 9.0, 11.0], &[0, 0, 1, 1, 2, 2]).unwrap();
        close(got.between.powi(2), 15.0);
        close(got.within.powi(2), 2.0);
        assert_eq!((got.starts, got.rounds), (3, 6));
    }

    #[test]
    fn a_last_start_cut_short_counts_by_its_size() {
        // Means 3, 9, 6 around 6: mean squares 54 / 2 and 16 / 4; (7 - 19 / 7) / 2 rounds a start.
        let got = levels(&[1.0, 3.0, 5.0, 7.0, 9.0, 11.0, 6.0], &[0, 0, 0, 1, 1, 1, 2]).unwrap();
        close(got.between.powi(2), 23.0 / (15.0 / 7.0));
        close(got.within.powi(2), 4.0);
    }

    #[test]
    fn starts_that_are_more_alike_than_their_rounds_differ_by_nothing() {
        let got = levels(&[0.0, 2.0, 0.0, 2.0], &[0, 0, 1, 1]).unwrap();
        assert_eq!((got.between, got.within), (0.0, 2_f64.sqrt()));
    }

    #[test]
    fn levels_find_what_was_planted() {
        let mut rng = SplitMix64::new(5);
        let (mut d, mut starts) = (Vec::new(), Vec::new());
        for start in 0..4000 {
            let luck = 0.7 * rng.normal();
            d.extend((0..3).map(|_| luck + rng.normal()));
            starts.extend([start; 3]);
        }
        let got = levels(&d, &starts).unwrap();
        // Four standard errors: 0.016 of the one, 0.008 of the other.
        assert!((got.between - 0.7).abs() < 0.064 && (got.within - 1.0).abs() < 0.032, "{got:?}");
    }

    #[test]
    fn what_has_no_levels() {
        assert_eq!(levels(&[], &[]), None);
        assert_eq!(levels(&[1.0, 2.0, 3.0], &[0, 0, 0]), None);
        assert_eq!(levels(&[1.0, 2.0, 3.0], &[0, 1, 2]), None);
        assert_eq!(levels(&[1.0, 2.0, 3.0], &[0, 1]), None);
        assert_eq!(levels(&[1.0, f64::NAN, 3.0], &[0, 0, 1]), None);
    }

    #[test]
    fn one_start_is_none() {
        let want = crate::effect(&SAMPLE, level());
        assert_eq!(effect_of(&SAMPLE, &[], level(), Scale::LogRatio), want);
        assert_eq!(effect_of(&SAMPLE, &[7; 14], level(), Scale::LogRatio), want);
    }

    #[test]
    fn a_start_a_round_is_yuen() {
        let starts: Vec<u32> = (0..14).collect();
        let got = effect_of(&SAMPLE, &starts, level(), Scale::LogRatio).unwrap();
        let want = crate::effect(&SAMPLE, level()).unwrap();
        close(got.effect, want.effect);
        close(got.interval.low, want.interval.low);
        close(got.interval.high, want.interval.high);
        assert_eq!(got.hl_interval, want.hl_interval);
    }

    #[test]
    fn equal_rounds_of_a_start_count_once() {
        // 1..=8, three times each. 4 of 24 are cut from either end, so 2..=7 remain; winsorised
        // sums 3 x (-2.5, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 2.5) with squares 270; six of the eight
        // starts are kept, so the standard error is sqrt(270 x 6 / 5) / 16 with 5 degrees.
        let d: Vec<f64> = (0..24).map(|i| f64::from(1 + i / 3)).collect();
        let starts: Vec<u32> = (0..24).map(|i| i / 3).collect();
        let got = effect_of(&d, &starts, level(), Scale::Difference).unwrap();
        close(got.effect, 4.5);
        assert!((got.interval.half_width() - 3.8100046998446433 * 1.125).abs() < 1e-8, "{got:?}");
        assert_eq!((got.n, got.heavy_tails), (24, false));
    }

    #[test]
    fn a_long_start_among_short_ones_counts_for_more_and_so_makes_fewer() {
        let of = |sizes: &[usize]| {
            effective_number(&sizes.iter().map(|&size| vec![0.0; size]).collect::<Vec<_>>())
        };
        assert_eq!(of(&[3; 9]), 9);
        assert_eq!(of(&[3, 3, 3, 3, 3, 3, 3, 1]), 8); // 22 x 22 / 64 = 7.6
        assert_eq!(of(&[1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 3, 3, 3, 3, 1]), 12); // 28 x 28 / 64
        assert_eq!(of(&[50, 1, 1]), 2); // 1.1
    }

    #[test]
    fn alike_starts_do_not_sharpen_the_interval() {
        // Every start has the same three rounds, so the starts do not differ at all.
        let d = [-0.01, 0.0, 0.013].repeat(9);
        let starts: Vec<u32> = (0..27).map(|i| i / 3).collect();
        let got = effect_of(&d, &starts, level(), Scale::LogRatio).unwrap();
        assert_eq!(got.interval, crate::effect(&d, level()).unwrap().interval);
    }

    #[test]
    fn rare_rounds_with_errors_are_not_trimmed_away() {
        let mut d = vec![0.0; 24];
        d[21..].fill(0.5);
        let starts: Vec<u32> = (0..24).map(|i| i / 3).collect();
        let got = effect_of(&d, &starts, level(), Scale::Difference).unwrap();
        // One start of eight: mean 1/16; the sums are 21/16 once and -3/16 seven times, their
        // squares add up to 63/32, and nothing is cut: sqrt(63/32 x 8/7) / 24 = 1/16 with 7 degrees.
        close(got.effect, 0.0625);
        close(got.interval.half_width(), level().t(7) * 0.0625);
    }

    #[test]
    fn a_round_without_a_start_has_no_effect() {
        assert_eq!(effect_of(&SAMPLE, &[0, 1, 2], level(), Scale::LogRatio), None);
        assert_eq!(effect_of(&[0.1, 0.2], &[0, 1], level(), Scale::LogRatio), None);
        assert_eq!(effect_of(&[0.1, f64::NAN, 0.2], &[0, 1, 1], level(), Scale::LogRatio), None);
        let more = [0, 0, 0, 1, 1, 1];
        assert_eq!(
            effect_of(&[0.1, 0.2, 0.3, 0.4], &more, level(), Scale::LogRatio),
            effect_of(&[0.1, 0.2, 0.3, 0.4], &more[..4], level(), Scale::LogRatio)
        );
    }
}
