//! The 20 % trimmed mean and its interval, and the robust spread.
//!
//! Yuen, "The two-sample trimmed t for unequal population variances", Biometrika 61 (1974);
//! Tukey and McLaughlin, Sankhya A 25 (1963).

use crate::{Interval, Level};

/// Share cut from either end.
const TRIM: f64 = 0.2;

/// The median absolute deviation of a normal distribution is sd / 1.4826.
const MAD_TO_SD: f64 = 1.4826;

/// An estimate of the middle with its interval, on the scale of the data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Middle {
    pub(crate) at: f64,
    pub(crate) interval: Interval,
    /// Standard error of `at`.
    pub(crate) standard_error: f64,
    /// Degrees of freedom of the standard error.
    pub(crate) freedom: usize,
    /// Whether nothing was cut, because trimming would have cut every deviation there is.
    pub(crate) untrimmed: bool,
}

/// Result of trimming at least two ascending values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trimming {
    /// Number of values cut from either end.
    pub(crate) cut: usize,
    /// Values outside are cut; winsorised they count as the nearer end.
    pub(crate) bounds: Interval,
    /// Number of values kept.
    pub(crate) kept: usize,
    /// Whether nothing was cut, because trimming would have cut every deviation there is.
    pub(crate) untrimmed: bool,
}

impl Trimming {
    /// Figures such as error counts are equal in most rounds. If all values left after trimming were the same, the
    /// trimmed interval would have no width and hide the rounds that differ; then nothing is cut.
    pub(crate) fn of(sorted: &[f64]) -> Trimming {
        let n = sorted.len();
        let mut cut = trimmed_away(n);
        let untrimmed = cut > 0 && sorted[cut] == sorted[n - 1 - cut] && sorted[0] != sorted[n - 1];
        if untrimmed {
            cut = 0;
        }
        let bounds = Interval { low: sorted[cut], high: sorted[n - 1 - cut] };
        Trimming { cut, bounds, kept: n - 2 * cut, untrimmed }
    }
}

/// Number of `n` values that are cut from either end.
pub(crate) fn trimmed_away(n: usize) -> usize {
    (TRIM * n as f64) as usize
}

/// Trimmed mean of at least two ascending values, with Yuen's interval; plain mean with Student's
/// where [`Trimming::of`] cuts nothing.
pub(crate) fn trimmed_mean(sorted: &[f64], level: Level) -> Middle {
    let Trimming { cut, kept, untrimmed, .. } = Trimming::of(sorted);
    let at = mean(&sorted[cut..sorted.len() - cut]);
    let squares = winsorised_squares(sorted, cut);
    let standard_error = (squares / (kept as f64 * (kept - 1) as f64)).sqrt();
    let half_width = if standard_error > 0.0 { level.t(kept - 1) * standard_error } else { 0.0 };
    Middle { at, interval: Interval::around(at, half_width), standard_error, freedom: kept - 1, untrimmed }
}

/// Sum of squared deviations from the winsorised mean: the `cut` values at either end count as
/// their innermost neighbour.
fn winsorised_squares(sorted: &[f64], cut: usize) -> f64 {
    let n = sorted.len();
    let (low, high) = (sorted[cut], sorted[n - 1 - cut]);
    if low == high {
        return 0.0; // and not the square of a rounding error
    }
    let mean = sorted.iter().map(|x| x.clamp(low, high)).sum::<f64>() / n as f64;
    sorted.iter().map(|x| (x.clamp(low, high) - mean).powi(2)).sum()
}

fn mean(values: &[f64]) -> f64 {
    match values {
        [first, .., last] if first == last => *first, // ascending, so all equal: exact
        _ => values.iter().sum::<f64>() / values.len() as f64,
    }
}

/// Standard deviation with n - 1, of ascending values.
pub(crate) fn sd(sorted: &[f64]) -> f64 {
    (winsorised_squares(sorted, 0) / (sorted.len() - 1) as f64).sqrt()
}

/// Median absolute deviation, scaled to the standard deviation of a normal distribution.
pub(crate) fn robust_sd(sorted: &[f64]) -> f64 {
    let middle = median(sorted);
    let mut deviations: Vec<f64> = sorted.iter().map(|x| (x - middle).abs()).collect();
    deviations.sort_unstable_by(f64::total_cmp);
    median(&deviations) * MAD_TO_SD
}

/// Median of ascending values.
pub(crate) fn median(sorted: &[f64]) -> f64 {
    let n = sorted.len();
    (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Fourteen log ratios with two wild ones; golden values below from numpy and scipy 1.17.1.
    pub(crate) const SAMPLE: [f64; 14] = [
        -0.122, -0.031, -0.009, -0.004, 0.001, 0.006, 0.012, 0.015, 0.019, 0.020, 0.027, 0.038, 0.044, 0.183,
    ];

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-12, "{a} {b}");
    }

    #[test]
    fn trimmed_mean_and_yuen_agree_with_scipy() {
        // trim_mean(x, .2); the standard error is 1 / |t| / sqrt(2) of
        // ttest_ind(x, x + 1, equal_var=False, trim=.2); times t.ppf(.99375, 9).
        let level = Level::new(0.9875).unwrap();
        let got = trimmed_mean(&SAMPLE, level);
        close(got.at, 0.0125);
        close(got.interval.low, -0.008484219622967182);
        close(got.interval.high, 0.03348421962296719);
        assert!(!got.untrimmed);
        // mstats.winsorize(x, limits=(2/14, 2/14)).std(ddof=1)
        close((winsorised_squares(&SAMPLE, 2) / 13.0).sqrt(), 0.0177480845584673);
    }

    #[test]
    fn spread_agrees_with_numpy() {
        close(robust_sd(&SAMPLE), 0.0229803);
        close(sd(&SAMPLE), 0.06317153518114672);
    }

    #[test]
    fn by_hand() {
        // 1..=10 with wild ends: 3..=8 are kept, mean 5.5; winsorised 3,3,3,4,5,6,7,8,8,8.
        let x = [-100.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 1000.0];
        assert_eq!(trimmed_mean(&x, Level::NULL).at, 5.5);
        close(winsorised_squares(&x, 2), 2.0 * (3.0 * 6.25 + 2.25 + 0.25));
        assert_eq!(median(&[1.0, 2.0, 4.0]), 2.0);
        assert_eq!(median(&[1.0, 2.0, 4.0, 5.0]), 3.0);
    }

    #[test]
    fn equal_values_give_a_point() {
        let got = trimmed_mean(&[0.1; 11], Level::NULL);
        assert_eq!((got.at, got.interval.half_width(), got.untrimmed), (0.1, 0.0, false));
        assert_eq!((sd(&[0.1; 11]), robust_sd(&[0.1; 11])), (0.0, 0.0));
    }

    #[test]
    fn rare_rounds_with_errors_are_not_trimmed_away() {
        let mut x = [0.0; 20];
        x[18] = 0.5;
        x[19] = 0.5;
        let got = trimmed_mean(&x, Level::new(0.95).unwrap());
        assert!(got.untrimmed);
        close(got.at, 0.05);
        assert!(got.interval.half_width() > 0.05);
    }
}
