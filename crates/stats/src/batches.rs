//! Batch means: interval for a mean or a share of one run, from its stretches.
//!
//! Replies of one run are correlated: a busy second makes many slow ones. Taken one by one they would give an interval
//! that is far too narrow. The method of batch means (Law, *Simulation Modeling and Analysis*, 5th edition, section
//! 9.5.3) takes sums over stretches that are long beside the correlation, and treats those as independent. Stretches
//! have different numbers of replies, so the estimate is a ratio of sums (Cochran, *Sampling Techniques*, 3rd edition,
//! section 2.11).

use crate::{Interval, Level};

/// Fewer stretches give no interval.
pub const FEWEST_BATCHES: usize = 4;

/// A ratio of sums over a run, with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OfBatches {
    /// All numerators over all denominators.
    pub ratio: f64,
    /// `None` with fewer than [`FEWEST_BATCHES`] stretches.
    pub interval: Option<Interval>,
}

/// Numerator and denominator of each stretch, such as the sum of response times and the number of replies.
/// Stretches without a denominator say nothing; `None` when none has one.
pub fn of_batches(batches: &[(f64, f64)], level: Level) -> Option<OfBatches> {
    let told: Vec<(f64, f64)> = batches.iter().copied().filter(|(_, below)| *below > 0.0).collect();
    let (above, below) = told.iter().fold((0.0, 0.0), |(a, b), (above, below)| (a + above, b + below));
    if below <= 0.0 {
        return None;
    }
    let ratio = above / below;
    let n = told.len();
    if n < FEWEST_BATCHES {
        return Some(OfBatches { ratio, interval: None });
    }
    let squares: f64 = told.iter().map(|(above, below)| (above - ratio * below).powi(2)).sum();
    let error = (squares * n as f64 / (n - 1) as f64).sqrt() / below;
    let interval = Interval::around(ratio, level.t(n - 1) * error);
    Some(OfBatches { ratio, interval: Some(interval) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_content::SplitMix64;

    #[test]
    fn equal_batches_are_the_plain_t_interval() {
        // 1, 2, 3, 4: mean 2.5, standard deviation 1.291, t(3, 95 %) 3.1824: 2.5 -+ 2.0543.
        let batches = [(1.0, 1.0), (2.0, 1.0), (3.0, 1.0), (4.0, 1.0)];
        let found = of_batches(&batches, Level::ONCE).unwrap();
        let interval = found.interval.unwrap();
        assert_eq!(found.ratio, 2.5);
        assert!(
            (interval.low - 0.4457).abs() < 1e-3 && (interval.high - 4.5543).abs() < 1e-3,
            "{interval:?}"
        );
    }

    #[test]
    fn a_constant_ratio_has_no_width_however_uneven_the_batches() {
        let found = of_batches(&[(2.0, 1.0), (20.0, 10.0), (6.0, 3.0), (2.0, 1.0)], Level::ONCE).unwrap();
        assert_eq!((found.ratio, found.interval.unwrap().half_width()), (2.0, 0.0));
    }

    #[test]
    fn too_little_gives_no_interval_and_nothing_gives_nothing() {
        assert_eq!(of_batches(&[(1.0, 2.0)], Level::ONCE).unwrap(), OfBatches { ratio: 0.5, interval: None });
        assert_eq!(of_batches(&[(0.0, 0.0)], Level::ONCE), None);
        assert_eq!(of_batches(&[], Level::ONCE), None);
    }

    /// Replies whose level wanders from stretch to stretch, 10 stretches of some 50 replies.
    #[test]
    fn the_interval_holds_the_truth_as_often_as_it_says() {
        let mut random = SplitMix64::new(7);
        let mut unit = || random.next_u64() as f64 / u64::MAX as f64;
        let runs = 4_000;
        let held = (0..runs)
            .filter(|_| {
                let batches: Vec<(f64, f64)> = (0..10)
                    .map(|_| {
                        let (level, count) = (unit() - 0.5, 25 + (unit() * 50.0) as u32);
                        let sum: f64 = (0..count).map(|_| 10.0 + level + unit() - 0.5).sum();
                        (sum, f64::from(count))
                    })
                    .collect();
                of_batches(&batches, Level::ONCE).unwrap().interval.unwrap().contains(10.0)
            })
            .count();
        let share = held as f64 / f64::from(runs);
        assert!((0.93..0.97).contains(&share), "{share}");
    }
}
