//! Effect of per-round figures, with its interval.
//!
//! The effect is exp(20 % trimmed mean of the log ratios) - 1, a trimmed ratio of geometric
//! means; normalised numbers are averaged geometrically (Fleming and Wallace, CACM 1986). The
//! interval is Yuen's. The Hodges-Lehmann estimate stands beside it as a cross-check.

use crate::signed_rank::hodges_lehmann;
use crate::trimmed::{Middle, robust_sd, sd, trimmed_mean};
use crate::{Interval, Level};

/// Below this an interval would be a guess.
const FEWEST_ROUNDS: usize = 3;

/// The scale of the per-round values, and so of the effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Logarithms of ratios; the effect is a fraction: 0.014 is 1.4 % more.
    LogRatio,
    /// Differences of proportions; the effect is one too: 0.014 is 1.4 points more.
    Difference,
}

impl Scale {
    /// From the scale of the per-round values to that of the effect.
    pub(crate) fn effect(self, x: f64) -> f64 {
        match self {
            Scale::LogRatio => x.exp_m1(),
            Scale::Difference => x,
        }
    }
}

/// An effect, its interval, and how far both can be trusted.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// The chosen estimate: trimmed, or Hodges-Lehmann under heavy tails. On the fraction scale.
    pub effect: f64,
    /// The interval that belongs to it.
    pub interval: Interval,
    /// Number of rounds.
    pub n: usize,
    /// Standard deviation of the per-round values, on their own (log) scale.
    pub paired_sd: f64,
    /// Median absolute deviation x 1.4826 of the same: the deviation without wild rounds.
    pub robust_sd: f64,
    /// The Hodges-Lehmann estimate, on the fraction scale.
    pub hodges_lehmann: f64,
    /// Its Wilcoxon interval. With too few rounds for the level: the hull of all values and of
    /// Yuen's interval.
    pub hl_interval: Interval,
    /// Whether the two estimates disagree by more than half a half-width of Yuen's interval.
    pub heavy_tails: bool,
    /// The two-sided level of both intervals.
    pub level: f64,
}

impl Effect {
    /// |effect| / half-width, "times the noise"; infinite when the interval is a point off zero.
    pub fn times_the_noise(&self) -> f64 {
        let half_width = self.interval.half_width();
        if self.effect == 0.0 { 0.0 } else { self.effect.abs() / half_width }
    }
}

/// The effect in log ratios, one per round. `None` under three rounds or when any is not finite.
pub fn effect(d: &[f64], level: Level) -> Option<Effect> {
    estimate(d, level, Scale::LogRatio)
}

pub(crate) fn estimate(d: &[f64], level: Level, scale: Scale) -> Option<Effect> {
    let sorted = usable(d)?;
    Some(cross_checked(&sorted, trimmed_mean(&sorted, level), &sorted, level, scale))
}

/// The values in ascending order; `None` if they are too few or not all finite.
pub(crate) fn usable(d: &[f64]) -> Option<Vec<f64>> {
    if d.len() < FEWEST_ROUNDS || d.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let mut sorted = d.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    Some(sorted)
}

/// The trimmed mean of `sorted`, or the Hodges-Lehmann estimate from `units` where they disagree.
///
/// Both ascend. `units` are the values that are independent: the rounds themselves, or the means
/// of the starts they belong to.
pub(crate) fn cross_checked(
    sorted: &[f64],
    trimmed: Middle,
    units: &[f64],
    level: Level,
    scale: Scale,
) -> Effect {
    let (hl, hl_interval) = hodges_lehmann(units, level);
    let everything = Interval { low: units[0], high: units[units.len() - 1] };
    let hl_interval = hl_interval.unwrap_or(everything.hull(&trimmed.interval));
    let heavy_tails = disagree(&trimmed, hl);
    let (at, interval) = if heavy_tails { (hl, hl_interval) } else { (trimmed.at, trimmed.interval) };
    let to_effect = |x| scale.effect(x);
    Effect {
        effect: to_effect(at),
        interval: interval.map(to_effect),
        n: sorted.len(),
        paired_sd: sd(sorted),
        robust_sd: robust_sd(sorted),
        hodges_lehmann: to_effect(hl),
        hl_interval: hl_interval.map(to_effect),
        heavy_tails,
        level: level.get(),
    }
}

/// Untrimmed means are kept: they were taken because most rounds are equal, which is also where
/// the Hodges-Lehmann interval shrinks to nothing.
fn disagree(trimmed: &Middle, hl: f64) -> bool {
    let half_width = trimmed.interval.half_width();
    !trimmed.untrimmed && half_width > 0.0 && (trimmed.at - hl).abs() > half_width / 2.0
}

/// ln(subject / reference) per round, the reference being the mean of the logs of A and A'.
/// As many as the shortest of the three.
pub fn log_ratios(subject: &[f64], a: &[f64], a2: &[f64]) -> Vec<f64> {
    let rounds = subject.iter().zip(a).zip(a2);
    rounds.map(|((s, a), a2)| s.ln() - (a.ln() + a2.ln()) / 2.0).collect()
}

/// ln(subject / reference) of one round; A'/A of one round is `log_ratio(a2, a)`.
pub fn log_ratio(subject: f64, reference: f64) -> f64 {
    subject.ln() - reference.ln()
}

/// Sum over all rounds of the subject against the mean of A's and A''s sums, as a fraction.
///
/// Stands beside the effect, never in its place: trimming discards exactly the rounds that hold
/// rare large replies, so a value outside the effect's interval is worth a warning. `None` when
/// the reference adds up to nothing.
pub fn ratio_of_sums(subject: &[f64], a: &[f64], a2: &[f64]) -> Option<f64> {
    let reference = (a.iter().sum::<f64>() + a2.iter().sum::<f64>()) / 2.0;
    let ratio = subject.iter().sum::<f64>() / reference - 1.0;
    ratio.is_finite().then_some(ratio)
}

/// Hits of replies, or errors of requests, of one arm in one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proportion {
    /// Number with the property.
    pub part: u64,
    /// Number in all.
    pub of: u64,
}

impl Proportion {
    /// Not finite when the total is 0.
    fn value(self) -> f64 {
        self.part as f64 / self.of as f64
    }
}

/// Subject minus the mean of A and A', per round. As many as the shortest of the three.
pub fn proportion_differences(subject: &[Proportion], a: &[Proportion], a2: &[Proportion]) -> Vec<f64> {
    let rounds = subject.iter().zip(a).zip(a2);
    rounds.map(|((s, a), a2)| s.value() - (a.value() + a2.value()) / 2.0).collect()
}

/// The effect on a proportion, in the plain scale: 0.02 is two points more.
///
/// `None` under three rounds or when a round counted nothing.
pub fn difference_of_proportions(
    subject: &[Proportion],
    a: &[Proportion],
    a2: &[Proportion],
    level: Level,
) -> Option<Effect> {
    estimate(&proportion_differences(subject, a, a2), level, Scale::Difference)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trimmed::tests::SAMPLE;

    fn level() -> Level {
        Level::new(0.9875).unwrap()
    }

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-12, "{a} {b}");
    }

    #[test]
    fn golden_sample_on_the_fraction_scale() {
        let got = effect(&SAMPLE, level()).unwrap();
        close(got.effect, 0.0125_f64.exp() - 1.0);
        close(got.interval.low, (-0.008484219622967182_f64).exp() - 1.0);
        close(got.interval.high, 0.03348421962296719_f64.exp() - 1.0);
        close(got.hl_interval.low, (-0.031_f64).exp() - 1.0);
        assert_eq!((got.n, got.heavy_tails, got.level), (14, false, 0.9875));
    }

    #[test]
    fn few_or_broken_rounds_have_no_effect() {
        assert_eq!(effect(&[0.1, 0.2], level()), None);
        assert!(effect(&[0.1, 0.2, 0.3], level()).is_some());
        assert_eq!(effect(&[0.1, f64::NAN, 0.3, 0.4], level()), None);
        assert_eq!(effect(&[0.1, f64::NEG_INFINITY, 0.3, 0.4], level()), None);
    }

    #[test]
    fn equal_rounds_give_a_point() {
        let got = effect(&[2_f64.ln(); 12], level()).unwrap();
        close(got.effect, 1.0);
        assert_eq!((got.interval.half_width(), got.heavy_tails), (0.0, false));
        assert_eq!(got.times_the_noise(), f64::INFINITY);
        assert_eq!(effect(&[0.0; 12], level()).unwrap().times_the_noise(), 0.0);
    }

    #[test]
    fn heavy_tails_take_hodges_lehmann() {
        // Two clusters, 24 near 0 and 16 near 1: the inner 24 average 1/3, half of the pairwise
        // averages lie at 1/2, and Yuen's half-width is 0.28.
        let d: Vec<f64> = (0..40).map(|i| f64::from(i32::from(i >= 24)) + f64::from(i) * 1e-6).collect();
        let got = effect(&d, Level::new(0.95).unwrap()).unwrap();
        assert!(got.heavy_tails, "{got:?}");
        assert_eq!((got.effect, got.interval), (got.hodges_lehmann, got.hl_interval));
    }

    #[test]
    fn an_interval_the_ranks_cannot_reach_is_the_hull() {
        let d: Vec<f64> = (0..10).map(|i| f64::from(i) * 0.01).collect();
        let got = effect(&d, Level::NULL).unwrap();
        assert!(got.hl_interval.low <= 0.0 && got.hl_interval.low <= got.interval.low);
        assert!(got.hl_interval.high >= got.interval.high);
    }

    #[test]
    fn log_ratios_take_the_geometric_mean_of_the_baselines() {
        let d = log_ratios(&[6.0, 8.0], &[2.0, 4.0], &[4.5, 4.0]);
        close(d[0], 2_f64.ln());
        close(d[1], 2_f64.ln());
        close(log_ratio(3.0, 2.0), 1.5_f64.ln());
        assert_eq!(log_ratios(&[1.0, 1.0], &[1.0], &[1.0, 1.0]).len(), 1);
    }

    #[test]
    fn sums_weigh_the_large_rounds() {
        close(ratio_of_sums(&[1.0, 100.0], &[1.0, 49.0], &[1.0, 49.0]).unwrap(), 1.02);
        assert_eq!(ratio_of_sums(&[1.0], &[0.0], &[0.0]), None);
        assert_eq!(ratio_of_sums(&[], &[], &[]), None);
    }

    #[test]
    fn proportions_differ_in_points() {
        let of = |part| Proportion { part, of: 1000 };
        let (s, a) = ([of(570), of(569), of(571)], [of(550); 3]);
        let got = difference_of_proportions(&s, &a, &a, level()).unwrap();
        close(got.effect, 0.02);
        let nothing = [Proportion { part: 0, of: 0 }; 3];
        assert_eq!(difference_of_proportions(&nothing, &a, &a, level()), None);
    }
}
