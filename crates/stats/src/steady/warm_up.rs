//! End of the warm-up.
//!
//! MSER-5 (White, "An effective truncation heuristic for bias reduction in simulation output",
//! Simulation 69, 1997; in batches of five: White, Cobb and Spratt, Winter Simulation Conference
//! 2000): of all cuts take the one after which the mean of the rest has the least standard error.
//! Cutting removes the bias of the warm-up and costs windows; the minimum is where one more batch
//! costs more than it brings.

use super::Segment;

/// Windows per batch, as in the name.
const BATCH: usize = 5;

/// Batches that must be left: the spread of fewer is chance.
const FEWEST_LEFT: usize = 3;

/// A stretch of the series is a level of its own from this many windows on ...
const LEVEL_WINDOWS: usize = 10;

/// ... and from this share of the series on.
const LEVEL_SHARE: f64 = 0.2;

/// Number of windows that MSER-5 cuts, a multiple of five; 0 for under 20 windows.
pub(super) fn mser5(series: &[f64]) -> usize {
    let batches: Vec<f64> =
        series.chunks_exact(BATCH).map(|batch| batch.iter().sum::<f64>() / BATCH as f64).collect();
    let last = batches.len().saturating_sub(FEWEST_LEFT);
    let (mut best, mut least) = (0, f64::INFINITY);
    for cut in 0..=last {
        let error = squared_standard_error(&batches[cut..]);
        if error < least {
            (best, least) = (cut, error);
        }
    }
    best * BATCH
}

/// Sum of squares / n^2, as the heuristic has it.
fn squared_standard_error(batches: &[f64]) -> f64 {
    let n = batches.len() as f64;
    let mean = batches.iter().sum::<f64>() / n;
    batches.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n * n)
}

/// Takes the cut back if it removes a level.
///
/// A warm-up is a passage. MSER-5 only minimises, so it also cuts away a first level that lasted
/// for 40 of 100 windows, which is a shift that must be reported, and by chance it cuts far into
/// a series that never changes. So if a fifth of the series, at one level, falls to the cut,
/// the cut is set before that level.
pub(super) fn spare_levels(cut: usize, segments: &[Segment], windows: usize) -> usize {
    let enough = LEVEL_WINDOWS.max((LEVEL_SHARE * windows as f64) as usize);
    let falls = |segment: &&Segment| cut.min(segment.to).saturating_sub(segment.from) >= enough;
    segments.iter().find(falls).map_or(cut, |level| level.from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        // Batches 9, 5, 1, 0, 1, 0, 1, 0: sums of squares over n^2 are 1.14 for all, 0.38 without
        // the first, 0.042 without two, 0.048 without three, and more from there.
        let series: Vec<f64> =
            [9.0, 5.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0].iter().flat_map(|&x| [x; 5]).collect();
        assert_eq!(mser5(&series), 10);
        assert!((squared_standard_error(&[1.0, 0.0, 1.0, 0.0, 1.0, 0.0]) - 1.5 / 36.0).abs() < 1e-12);
        assert_eq!(mser5(&[7.0; 100]), 0);
        assert_eq!(mser5(&[1.0; 4]), 0);
    }

    #[test]
    fn a_level_is_spared_and_a_passage_is_not() {
        let segment = |from, to| Segment { from, to, mean: 1.0 };
        let shift = [segment(0, 41), segment(41, 100)];
        assert_eq!(spare_levels(40, &shift, 100), 0);
        assert_eq!(spare_levels(45, &shift, 100), 0);
        let passage = [segment(0, 4), segment(4, 12), segment(12, 100)];
        assert_eq!(spare_levels(15, &passage, 100), 15);
        assert_eq!(spare_levels(60, &passage, 100), 12);
        // Of 30 windows a fifth would be six, and that is no level.
        assert_eq!(spare_levels(9, &[segment(0, 30)], 30), 9);
        assert_eq!(spare_levels(10, &[segment(0, 30)], 30), 0);
    }
}
