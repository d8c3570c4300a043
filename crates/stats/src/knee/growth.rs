//! Growth of the number in flight: a slope that single bursts do not bend, and its interval.
//!
//! Theil and Sen: the median of the slopes of all pairs (Sen, "Estimates of the regression coefficient based on
//! Kendall's tau", JASA 63, 1968), with Sen's interval from the variance of Kendall's S. Queues remember: neighbouring
//! samples are alike, and an interval that takes them for independent calls every busy spell a growth. So the variance
//! is inflated by the correlation of neighbours in the residuals of the line (Yue and Wang, "The Mann-Kendall test
//! modified by effective sample size", Water Resources Management 18, 2004).

use crate::Level;
use bakeoff_units::Nanos;

/// Samples are averaged to so many blocks: pairs stay few, and noise within a block goes.
const BLOCKS: usize = 20;

/// Correlation is not taken for stronger than this, at which 40 neighbours are worth one.
const STRONGEST: f64 = 0.95;

/// Fewer say nothing about a slope.
const FEWEST: usize = 8;

/// Change of a number per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slope {
    /// The estimate.
    pub per_second: f64,
    /// Lower bound of its interval.
    pub low: f64,
    /// Upper bound of its interval.
    pub high: f64,
}

/// Growth of the number in flight over the last half of a trial, per second.
///
/// `samples` are (moment, number), in order of time; `level` is two-sided, so that each bound of a
/// 90 % interval errs in 5 %. `None` when the last half has under 8 samples.
pub fn growth(samples: &[(Nanos, f64)], level: Level) -> Option<Slope> {
    let (first, last) = (samples.first()?.0, samples.last()?.0);
    let half = first + last.since(first).times(0.5);
    let tail = &samples[samples.partition_point(|(at, _)| *at < half)..];
    theil_sen(&blocks(tail, first), level)
}

/// Means of up to [`BLOCKS`] equal shares of the samples, as (seconds, number).
fn blocks(samples: &[(Nanos, f64)], origin: Nanos) -> Vec<(f64, f64)> {
    let count = samples.len().min(BLOCKS);
    let mean = |block: usize| {
        let share = &samples[block * samples.len() / count..(block + 1) * samples.len() / count];
        let n = share.len() as f64;
        let seconds = share.iter().map(|(at, _)| at.since(origin).as_secs_f64()).sum::<f64>() / n;
        (seconds, share.iter().map(|(_, number)| number).sum::<f64>() / n)
    };
    (0..count).map(mean).collect()
}

/// The median of all pairs' slopes with its interval; points are in order of time.
fn theil_sen(points: &[(f64, f64)], level: Level) -> Option<Slope> {
    let n = points.len();
    if n < FEWEST {
        return None;
    }
    let mut slopes = Vec::with_capacity(n * (n - 1) / 2);
    for (index, (t, y)) in points.iter().enumerate() {
        let later = points[index + 1..].iter().filter(|(later, _)| later > t);
        slopes.extend(later.map(|(later, z)| (z - y) / (later - t)));
    }
    if slopes.is_empty() {
        return None;
    }
    slopes.sort_unstable_by(f64::total_cmp);
    let middle = crate::trimmed::median(&slopes);
    let rest: Vec<f64> = points.iter().map(|(t, y)| y - middle * t).collect();
    let reach = level.z() * (variance_of_s(n) * inflation(&rest)).sqrt();
    let count = slopes.len() as f64;
    let (low, high) = ((count - reach) / 2.0, (count + reach) / 2.0);
    Some(Slope {
        per_second: middle,
        // Bounds that the pairs cannot reach are the outermost slopes.
        low: slopes[low.floor().max(0.0) as usize],
        high: slopes[(high.ceil() as usize).min(slopes.len() - 1)],
    })
}

/// Variance of Kendall's S for independent values without ties.
fn variance_of_s(n: usize) -> f64 {
    let n = n as f64;
    n * (n - 1.0) * (2.0 * n + 5.0) / 18.0
}

/// Factor by which memory inflates that variance, (1 + r) / (1 - r) for neighbours that correlate by r; at least 1. The
/// correlation of the residuals of a fitted line comes out too low by about (2 + 4 r) / n (van Giersbergen, Economics
/// Letters 89, 2005), which is put back.
fn inflation(rest: &[f64]) -> f64 {
    let n = rest.len() as f64;
    let ranks = ranks(rest);
    let mean = (n + 1.0) / 2.0;
    let square: f64 = ranks.iter().map(|r| (r - mean).powi(2)).sum();
    if square == 0.0 {
        return 1.0;
    }
    let products = ranks.iter().zip(&ranks[1..]).map(|(a, b)| (a - mean) * (b - mean));
    let seen = products.sum::<f64>() / square;
    let r = ((n * seen + 2.0) / (n - 4.0)).min(STRONGEST);
    ((1.0 + r) / (1.0 - r)).max(1.0)
}

/// Ranks from 1, ties share their mean.
fn ranks(values: &[f64]) -> Vec<f64> {
    let below = |x: f64| values.iter().filter(|v| **v < x).count() as f64;
    let equal = |x: f64| values.iter().filter(|v| **v == x).count() as f64;
    values.iter().map(|&x| below(x) + (equal(x) + 1.0) / 2.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_content::SplitMix64;

    fn level() -> Level {
        Level::new(0.9).unwrap()
    }

    fn series(n: u64, number: impl Fn(f64) -> f64) -> Vec<(Nanos, f64)> {
        (0..n).map(|i| (Nanos::from_millis(20 * i), number(i as f64 * 0.02))).collect()
    }

    #[test]
    fn a_line_has_its_slope_and_a_burst_does_not_bend_it() {
        let line = growth(&series(150, |t| 3.0 + 7.0 * t), level()).unwrap();
        assert!((line.per_second - 7.0).abs() < 1e-9 && (line.high - line.low).abs() < 1e-9, "{line:?}");
        let burst = growth(&series(150, |t| if (2.0..2.2).contains(&t) { 500.0 } else { 4.0 }), level());
        let burst = burst.unwrap();
        assert!(burst.per_second == 0.0 && burst.low <= 0.0 && burst.high >= 0.0, "{burst:?}");
    }

    #[test]
    fn only_the_last_half_counts() {
        let filling = growth(&series(200, |t| if t < 1.9 { 100.0 * t } else { 190.0 }), level()).unwrap();
        assert_eq!(filling.high, 0.0, "{filling:?}");
    }

    #[test]
    fn too_few_samples_say_nothing() {
        assert_eq!(growth(&[], level()), None);
        assert_eq!(growth(&series(14, |t| t), level()), None);
        assert!(growth(&series(16, |t| t), level()).is_some());
        assert_eq!(growth(&[(Nanos::ZERO, 1.0); 40], level()), None);
    }

    #[test]
    fn by_hand() {
        // Eight points of slope 1 with the last one 8 off: 21 pairs of slope 1, and 7 with
        // (16 - i) / (8 - i), from 15/7 on. The median stays. S has variance 8 x 7 x 21 / 18 = 65.33.
        // What the line leaves has ranks 4 (seven times) and 8: r = -0.25/14 as seen, 0.4643 as mended,
        // which inflates by 2.733. So C = 1.645 x 13.36 = 21.98, and the bounds are the 4th slope (index
        // 3) and the 26th (25), which is that of i = 5.
        let points: Vec<(f64, f64)> =
            (1..=8).map(|i| (f64::from(i), f64::from(i) + if i == 8 { 8.0 } else { 0.0 })).collect();
        let slope = theil_sen(&points, level()).unwrap();
        assert_eq!((slope.per_second, slope.low), (1.0, 1.0));
        assert!((slope.high - 11.0 / 3.0).abs() < 1e-12, "{slope:?}");
    }

    #[test]
    fn growth_beside_a_noisy_queue_is_seen() {
        let mut rng = SplitMix64::new(6);
        let mut state = 0.0;
        let mut samples = series(300, |t| 20.0 * t);
        for (_, number) in &mut samples {
            state = 0.9 * state + rng.normal();
            *number += state;
        }
        let slope = growth(&samples, level()).unwrap();
        assert!(slope.low > 0.0 && slope.low < 20.0 && slope.high > 20.0, "{slope:?}");
    }

    /// Share of intervals above zero while nothing grows: 5 % are meant.
    #[test]
    fn noise_with_and_without_memory_rarely_grows() {
        for memory in [0.0, 0.5, 0.8, 0.95, 0.98] {
            let mut rng = SplitMix64::new(5);
            let runs = 400;
            let mut grows = 0;
            for _ in 0..runs {
                let mut state = 0.0;
                let samples: Vec<(Nanos, f64)> = (0..300)
                    .map(|i| {
                        state = memory * state + rng.normal();
                        (Nanos::from_millis(20 * i), state)
                    })
                    .collect();
                grows += u32::from(growth(&samples, level()).unwrap().low > 0.0);
            }
            let share = f64::from(grows) / f64::from(runs);
            assert!(share <= 0.08, "memory {memory}: {share}");
        }
    }
}
