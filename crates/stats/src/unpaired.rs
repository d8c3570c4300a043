//! Comparison of two runs, whose rounds are not pairs.
//!
//! Trimmed means with Welch's degrees of freedom: Yuen, "The two-sample trimmed t for unequal population variances",
//! Biometrika 61 (1974); Welch, Biometrika 34 (1947). The intervals know how the rounds of each run differ among
//! themselves. Differences between the two runs as a whole (another hour, another machine, other processes) are in the
//! change, and not in its interval.

use crate::restarts::middle_of;
use crate::trimmed::Middle;
use crate::{Interval, Level, Scale};

/// The rounds of one run.
#[derive(Clone, Copy, Debug)]
pub struct RunRounds<'a> {
    /// A value for each round.
    pub values: &'a [f64],
    /// The start of the servers that each round belongs to; none when there was but one.
    pub starts: &'a [u32],
}

/// A value with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The value.
    pub at: f64,
    /// Its interval.
    pub interval: Interval,
}

/// One figure or effect in an old run and in a new one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unpaired {
    /// In the old run.
    pub old: Estimate,
    /// In the new run.
    pub new: Estimate,
    /// From old to new.
    pub change: Estimate,
    /// The two-sided level of all intervals.
    pub level: f64,
}

/// Change of an effect, from the per-round values (log ratios or differences of proportions) of the two runs: the
/// effects as fractions, the change as their difference, 0.02 is two points more. Fractions that come of log ratios
/// have intervals that are longer upwards than downwards, and so has their change ([`difference`]); both are taken with
/// the degrees of freedom of the change.
/// their change ([`difference`]); both are taken with the degrees of freedom of the change.
///
/// `None` with fewer than three rounds in a run, or when a value is not finite.
pub fn change_of_effect(
    old: RunRounds<'_>,
    new: RunRounds<'_>,
    scale: Scale,
    level: Level,
) -> Option<Unpaired> {
    let (old, new) = (old.middle(level)?, new.middle(level)?);
    let steepness = |m: &Middle| match scale {
        Scale::LogRatio => m.at.exp(),
        Scale::Difference => 1.0,
    };
    let t = t_of_change([&old, &new], [&old, &new].map(|m| m.standard_error * steepness(m)), level);
    let estimate = |m: &Middle, interval: Interval| Estimate {
        at: scale.effect(m.at),
        interval: interval.map(|x| scale.effect(x)),
    };
    let alike = |m: &Middle| estimate(m, Interval::around(m.at, t * m.standard_error));
    Some(Unpaired {
        old: estimate(&old, old.interval),
        new: estimate(&new, new.interval),
        change: difference(alike(&old), alike(&new)),
        level: level.get(),
    })
}

/// Change of a figure, from its value in each round of the two runs: (trimmed) geometric means in the figure's unit,
/// the change as a fraction of the old one, 0.02 is 2 % more.
///
/// `None` with fewer than three rounds in a run, or when a value is not above 0.
pub fn change_of_figure(old: RunRounds<'_>, new: RunRounds<'_>, level: Level) -> Option<Unpaired> {
    let of_logs = |run: RunRounds<'_>| {
        let logs: Vec<f64> = run.values.iter().map(|x| x.ln()).collect();
        RunRounds { values: &logs, ..run }.middle(level)
    };
    let (old, new) = (of_logs(old)?, of_logs(new)?);
    let errors = [old.standard_error, new.standard_error];
    let half_width = t_of_change([&old, &new], errors, level) * errors[0].hypot(errors[1]);
    let interval = Interval::around(new.at - old.at, half_width);
    let estimate = |m: &Middle| Estimate { at: m.at.exp(), interval: m.interval.map(f64::exp) };
    Some(Unpaired {
        old: estimate(&old),
        new: estimate(&new),
        change: Estimate { at: (new.at - old.at).exp_m1(), interval: interval.map(f64::exp_m1) },
        level: level.get(),
    })
}

/// Change of an effect of which only the intervals are known, as that on a quantile: see [`difference`]. `level` is the
/// lower one of the two.
pub fn change_of_quantile(old: Estimate, new: Estimate, level: Level) -> Unpaired {
    Unpaired { old, new, change: difference(old, new), level: level.get() }
}

/// Difference of two independent estimates, with the ends that follow from the distances of each to its own ends
/// (MOVER: Zou and Donner, Statistics in Medicine 27, 2008).
fn difference(old: Estimate, new: Estimate) -> Estimate {
    let at = new.at - old.at;
    let low = at - (new.at - new.interval.low).hypot(old.interval.high - old.at);
    let high = at + (new.interval.high - new.at).hypot(old.at - old.interval.low);
    Estimate { at, interval: Interval { low, high } }
}

impl RunRounds<'_> {
    fn middle(&self, level: Level) -> Option<Middle> {
        middle_of(self.values, self.starts, level)
    }
}

/// Student's t of a difference of estimates with these standard errors, with Welch's degrees of freedom; 0 where
/// nothing varies.
fn t_of_change(middles: [&Middle; 2], errors: [f64; 2], level: Level) -> f64 {
    let squares = errors.map(|error| error * error);
    let sum = squares[0] + squares[1];
    if sum == 0.0 {
        return 0.0;
    }
    let of = |side: usize| squares[side].powi(2) / middles[side].freedom as f64;
    level.t_of(sum * sum / (of(0) + of(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trimmed::tests::SAMPLE;
    use bakeoff_content::SplitMix64;

    const OTHER: [f64; 10] = [0.021, 0.047, 0.052, 0.061, 0.066, 0.071, 0.083, 0.090, 0.095, 0.240];

    fn level() -> Level {
        Level::ONCE
    }

    /// One start.
    fn run(values: &[f64]) -> RunRounds<'_> {
        RunRounds { values, starts: &[] }
    }

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-11, "{a} {b}");
    }

    #[test]
    fn yuen_s_two_sample_interval_agrees_with_scipy() {
        // scipy 1.17.1: ttest_ind(OTHER, SAMPLE, equal_var=False, trim=.2).confidence_interval(level)
        let values = |logs: &[f64]| logs.iter().map(|x| x.exp()).collect::<Vec<f64>>();
        let golden = [
            (0.95, 0.033046479500167744, 0.08295352049983228),
            (0.9875, 0.02406482313393777, 0.09193517686606226),
        ];
        for (level, low, high) in golden {
            let level = Level::new(level).unwrap();
            let got = change_of_figure(run(&values(&SAMPLE)), run(&values(&OTHER)), level).unwrap();
            close(got.change.at, 0.058_f64.exp_m1());
            close(got.change.interval.low.ln_1p(), low);
            close(got.change.interval.high.ln_1p(), high);
            let plain = change_of_effect(run(&SAMPLE), run(&OTHER), Scale::Difference, level).unwrap();
            close(plain.change.interval.low, low);
            close(plain.change.interval.high, high);
        }
    }

    #[test]
    fn effects_change_in_points_as_their_intervals_have_it() {
        // scipy 1.17.1: means and errors of both by Yuen, stats.t.ppf with Welch's degrees of freedom, expm1 of the
        // ends, and the ends of the difference.
        let got = change_of_effect(run(&SAMPLE), run(&OTHER), Scale::LogRatio, level()).unwrap();
        close(got.old.at, 0.0125_f64.exp_m1());
        close(got.change.at, 0.060466117890078594);
        close(got.change.interval.low, 0.034157759322463774);
        close(got.change.interval.high, 0.0869962545437011);
    }

    #[test]
    fn a_noisy_ratio_that_grew_by_far_is_clear_of_the_old_one() {
        // Eleven times the baseline then, forty times now, of five rounds each and one of the new ones astray:
        // the two intervals hardly overlap. The delta method, which knows one width for both sides, had -14.
        let logs = |ratios: [f64; 5]| ratios.map(f64::ln);
        let (old, new) = (logs([11.0, 12.0, 12.5, 13.0, 14.0]), logs([9.0, 30.0, 44.0, 52.0, 56.0]));
        let got = change_of_effect(run(&old), run(&new), Scale::LogRatio, level()).unwrap();
        let (change, new) = (got.change, got.new);
        assert!(change.interval.low > 0.0, "{change:?} {new:?}");
        assert!(change.interval.high - change.at > 1.5 * (change.at - change.interval.low), "{change:?}");
    }

    #[test]
    fn the_ends_of_two_intervals_make_the_ends_of_a_difference() {
        let estimate = |at, low, high| Estimate { at, interval: Interval { low, high } };
        let got = change_of_quantile(estimate(0.10, 0.06, 0.13), estimate(0.30, 0.26, 0.42), level());
        close(got.change.at, 0.2);
        close(got.change.interval.low, 0.2 - 0.05);
        close(got.change.interval.high, 0.2 + (0.12_f64.powi(2) + 0.04_f64.powi(2)).sqrt());
    }

    #[test]
    fn few_broken_and_equal_rounds() {
        assert_eq!(change_of_figure(run(&[1.0, 1.0]), run(&[1.0; 5]), level()), None);
        assert_eq!(change_of_figure(run(&[1.0; 5]), run(&[1.0, 0.0, 1.0]), level()), None);
        let got = change_of_figure(run(&[1.0; 5]), run(&[2.0; 4]), level()).unwrap();
        assert_eq!((got.change.at, got.change.interval.half_width()), (1.0, 0.0));
        let one_sided = change_of_effect(run(&[0.0; 5]), run(&OTHER), Scale::Difference, level()).unwrap();
        let own = one_sided.new.interval.half_width();
        close(one_sided.change.interval.half_width(), own);
    }

    #[test]
    fn rounds_of_one_start_count_as_much_as_the_starts_differ() {
        // Three starts whose levels are far apart, five rounds each that hardly differ.
        let values: Vec<f64> = (0..15).map(|i| f64::from(i / 5) * 0.1 + f64::from(i % 5) * 1e-4).collect();
        let starts: Vec<u32> = (0..15).map(|i| i / 5).collect();
        let one = RunRounds { values: &values, starts: &[] };
        let three = RunRounds { values: &values, starts: &starts };
        let width = |old| {
            let got = change_of_effect(old, run(&SAMPLE), Scale::Difference, level()).unwrap();
            got.change.interval.half_width()
        };
        assert!(width(three) > 2.0 * width(one), "{} {}", width(three), width(one));
    }

    /// Two runs of the same thing, of 14 and of 28 rounds with three times the noise: 95 of 100
    /// intervals hold 0. The bounds are four standard errors of 2000 draws.
    #[test]
    fn the_interval_holds_the_truth_as_often_as_it_says() {
        let mut rng = SplitMix64::new(5);
        let mut draw = |n: usize, sd: f64| (0..n).map(|_| sd * rng.normal()).collect::<Vec<f64>>();
        let held = (0..2000)
            .filter(|_| {
                let (old, new) = (draw(14, 0.01), draw(28, 0.03));
                let got = change_of_effect(run(&old), run(&new), Scale::LogRatio, level()).unwrap();
                got.change.interval.contains(0.0)
            })
            .count();
        let share = held as f64 / 2000.0;
        assert!((share - 0.95).abs() < 4.0 * (0.95_f64 * 0.05 / 2000.0).sqrt(), "{share}");
    }
}
