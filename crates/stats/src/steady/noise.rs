//! Scatter of windows around their level, whatever the course of that level.
//!
//! Everything is read from differences of windows one and two apart: a shift or a drift touches
//! few of them or all alike, and the medians do not see it. A spread around the mean of the whole
//! series would call the shift itself noise.
//!
//! Windows next to each other are alike (a collection of garbage, a queue that drains), and the
//! mean of n such windows is less certain than that of n independent ones. Under AR(1) noise with
//! correlation r, differences one apart have the variance 2 v (1 - r) and two apart
//! 2 v (1 - r^2); their quotient gives r (Chakar, Lebarbier, Levy-Leduc and Robin, Bernoulli 23,
//! 2017). The long-run variance, the spectrum at frequency 0, is v (1 + r) / (1 - r).

use crate::trimmed::{median, robust_sd};

/// A correlation above this cannot be told from a level that wanders.
const MOST_CORRELATION: f64 = 0.8;

/// Differences beyond this many robust sd belong to a shift and not to the noise: 0.3 % of those of
/// normal noise do.
const CLIP: f64 = 3.0;

/// Scatter of a series; both are 0 only if it is constant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Noise {
    /// Sd of a window around its neighbours.
    pub(super) local_sd: f64,
    /// n times the variance of the mean of n windows.
    pub(super) long_run_variance: f64,
}

impl Noise {
    /// Of at least three windows.
    pub(super) fn of(series: &[f64]) -> Noise {
        let (mut one, mut two) = (robust_variance(series, 1), robust_variance(series, 2));
        if one == 0.0 || two == 0.0 {
            // Most neighbours are equal: a coarse clock, or counts. Then no median is of use.
            (one, two) = (plain_variance(series, 1), plain_variance(series, 2));
        }
        if one == 0.0 {
            return Noise { local_sd: 0.0, long_run_variance: 0.0 };
        }
        // Below 0 it would promise more than independent windows do.
        let r = (two / one - 1.0).clamp(0.0, MOST_CORRELATION);
        let variance = one / (2.0 * (1.0 - r));
        Noise { local_sd: (one / 2.0).sqrt(), long_run_variance: variance * (1.0 + r) / (1.0 - r) }
    }
}

fn differences(series: &[f64], lag: usize) -> Vec<f64> {
    series.iter().zip(&series[lag..]).map(|(before, after)| after - before).collect()
}

/// Around the median of the differences, so that a drift, which shifts all of them, is left out;
/// those beyond [`CLIP`] robust sd count as that far. The median alone would need three times the
/// windows for a correlation as certain.
fn robust_variance(series: &[f64], lag: usize) -> f64 {
    let mut differences = differences(series, lag);
    differences.sort_unstable_by(f64::total_cmp);
    let (middle, far) = (median(&differences), CLIP * robust_sd(&differences));
    let square = |d: &f64| (d - middle).clamp(-far, far).powi(2);
    differences.iter().map(square).sum::<f64>() / differences.len() as f64
}

fn plain_variance(series: &[f64], lag: usize) -> f64 {
    let differences = differences(series, lag);
    differences.iter().map(|d| d * d).sum::<f64>() / differences.len() as f64
}

/// Windows replaced because they stood alone, and where they were.
pub(super) struct Calm {
    pub(super) series: Vec<f64>,
    pub(super) outliers: Vec<usize>,
}

/// Neighbours on either side that a window is compared with. Half of the seven or more would
/// have to be wild, too, so up to three wild windows in a row are outliers and four are a level.
pub(super) const REACH: usize = 3;

/// A window this many local sd from the median of its neighbourhood stands alone: five, because
/// one in two million is so by chance, and less does not move a mean of [`super::segments`] far.
const OUTLYING: f64 = 5.0;

/// Replaces lonely windows by the median of their neighbourhood (Hampel's filter).
///
/// Not the first [`REACH`]: they are the warm-up's, which the cut removes.
pub(super) fn calm(series: &[f64]) -> Calm {
    let limit = OUTLYING * Noise::of(series).local_sd;
    let (mut calm, mut outliers) = (series.to_vec(), Vec::new());
    for at in REACH..series.len() {
        let end = series.len().min(at + REACH + 1);
        let mut around = series[at - REACH..end].to_vec();
        around.sort_unstable_by(f64::total_cmp);
        let middle = median(&around);
        if (series[at] - middle).abs() > limit {
            calm[at] = middle;
            outliers.push(at);
        }
    }
    Calm { series: calm, outliers }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_content::SplitMix64;

    /// AR(1) of variance 1 around 100.
    fn alike(r: f64, windows: usize, seed: u64) -> Vec<f64> {
        let mut rng = SplitMix64::new(seed);
        let mut now = rng.normal();
        let mut next = || {
            now = r * now + (1.0 - r * r).sqrt() * rng.normal();
            100.0 + now
        };
        (0..windows).map(|_| next()).collect()
    }

    #[test]
    fn the_long_run_variance_is_that_of_the_model() {
        for (r, want) in [(0.0, 1.0), (0.3, 1.3 / 0.7), (0.5, 3.0), (0.7, 1.7 / 0.3)] {
            let got = Noise::of(&alike(r, 20_000, 1)).long_run_variance;
            assert!((got / want - 1.0).abs() < 0.15, "{r}: {got}, not {want}");
        }
    }

    #[test]
    fn a_shift_or_a_drift_is_no_noise() {
        let still = alike(0.5, 200, 2);
        let want = Noise::of(&still).long_run_variance;
        let shifted: Vec<f64> =
            still.iter().enumerate().map(|(i, x)| x + if i < 90 { 0.0 } else { 20.0 }).collect();
        let drifting: Vec<f64> = still.iter().enumerate().map(|(i, x)| x + 0.5 * i as f64).collect();
        assert!((Noise::of(&shifted).long_run_variance / want - 1.0).abs() < 0.5);
        assert!((Noise::of(&drifting).long_run_variance / want - 1.0).abs() < 0.05);
    }

    #[test]
    fn a_coarse_clock_has_noise_and_a_constant_has_none() {
        let coarse: Vec<f64> = (0..100).map(|i| if i % 10 == 3 { 2.0 } else { 1.0 }).collect();
        assert!(Noise::of(&coarse).local_sd > 0.1);
        assert_eq!(Noise::of(&[5.0; 40]).long_run_variance, 0.0);
    }

    #[test]
    fn three_wild_windows_are_outliers_and_four_are_not() {
        let mut series = alike(0.0, 60, 3);
        for at in [20, 21, 22, 40] {
            series[at] += 50.0;
        }
        let got = calm(&series);
        assert_eq!(got.outliers, [20, 21, 22, 40]);
        assert!(got.series.iter().all(|x| (x - 100.0).abs() < 5.0));
        series[23] += 50.0;
        assert_eq!(calm(&series).outliers, [40]);
    }
}
