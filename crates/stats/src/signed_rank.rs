//! The Hodges-Lehmann estimate with the interval of the Wilcoxon signed-rank test.
//!
//! Hollander, Wolfe and Chicken, "Nonparametric Statistical Methods" (2014), 3.2 and 3.3: the
//! estimate is the median of all averages of two values (a value with itself included), the
//! interval runs between two of these averages, counted in from either end.

use crate::{Interval, Level};

/// Below this many values the distribution is summed exactly, above it is taken as normal.
/// R's `wilcox.test` draws the line at the same place.
const EXACT_BELOW: usize = 50;

/// The estimate and its interval; the interval is `None` when so few values cannot reach the
/// level at all (99.9 % needs eleven).
pub(crate) fn hodges_lehmann(sorted: &[f64], level: Level) -> (f64, Option<Interval>) {
    let mut averages = pairwise_averages(sorted);
    let count = averages.len();
    let depth = depth(sorted.len(), level);
    let mut nth = |i: usize| *averages.select_nth_unstable_by(i, f64::total_cmp).1;
    let at = (nth((count - 1) / 2) + nth(count / 2)) / 2.0;
    let interval = (depth > 0).then(|| Interval { low: nth(depth - 1), high: nth(count - depth) });
    (at, interval)
}

fn pairwise_averages(values: &[f64]) -> Vec<f64> {
    let n = values.len();
    let mut averages = Vec::with_capacity(n * (n + 1) / 2);
    for (i, x) in values.iter().enumerate() {
        averages.extend(values[i..].iter().map(|y| (x + y) / 2.0));
    }
    averages
}

/// Which average, counted from either end, bounds the interval; 0 when none does.
///
/// The largest `c` with P(T <= c - 1) <= alpha / 2 for the signed-rank sum T.
fn depth(n: usize, level: Level) -> usize {
    if n < EXACT_BELOW { exact_depth(n, level) } else { normal_depth(n, level) }
}

fn exact_depth(n: usize, level: Level) -> usize {
    // ways[s]: subsets of the ranks 1..=n with sum s; at most 2^49, so exact. Only the lower half
    // of the sums is needed, the distribution is symmetric.
    let half = n * (n + 1) / 4;
    let mut ways = vec![0_u64; half + 1];
    ways[0] = 1;
    for rank in 1..=n {
        let largest = half.min(rank * (rank + 1) / 2);
        for sum in (rank..=largest).rev() {
            ways[sum] += ways[sum - rank];
        }
    }
    let all = (1_u64 << n) as f64;
    let mut tail = 0;
    let in_tail = |&&count: &&u64| {
        tail += count;
        tail as f64 / all <= level.alpha() / 2.0
    };
    ways.iter().take_while(in_tail).count()
}

fn normal_depth(n: usize, level: Level) -> usize {
    let n = n as f64;
    let mean = n * (n + 1.0) / 4.0;
    let sd = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
    // 0.5: correction for continuity. A negative result (an extreme level) saturates to 0.
    (mean + 0.5 - level.z() * sd) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trimmed::tests::SAMPLE;

    #[test]
    fn depths_agree_with_the_exact_distribution() {
        // Counted in python from the generating function of the ranks, at the levels
        // 0.95, 0.9875, 0.999, 0.9996875. (10, 0.95) -> 9 also stands in printed tables.
        let golden = [
            (6, [1, 0, 0, 0]),
            (8, [4, 1, 0, 0]),
            (10, [9, 4, 0, 0]),
            (14, [22, 14, 5, 2]),
            (20, [53, 40, 22, 16]),
            (28, [117, 95, 65, 54]),
            (40, [265, 226, 173, 152]),
            (49, [416, 364, 290, 262]),
        ];
        for (n, row) in golden {
            for (level, want) in [0.95, 0.9875, 0.999, 0.9996875].into_iter().zip(row) {
                assert_eq!(depth(n, Level::new(level).unwrap()), want, "n {n} level {level}");
            }
        }
    }

    #[test]
    fn the_normal_approximation_errs_a_little_to_the_wide_side() {
        // Exact at n = 80: 1212, 1102, 944, 883, of 3240 averages.
        for (level, exact) in [(0.95, 1212), (0.9875, 1102), (0.999, 944), (0.9996875, 883)] {
            let got = depth(80, Level::new(level).unwrap());
            assert!(got <= exact && exact - got <= 20, "{level}: {got}, exact {exact}");
        }
    }

    #[test]
    fn estimate_and_interval_agree_with_a_count_by_hand() {
        // The sorted averages of SAMPLE, number 14 from either end of 105.
        let (at, interval) = hodges_lehmann(&SAMPLE, Level::new(0.9875).unwrap());
        let interval = interval.unwrap();
        for (got, want) in [(at, 0.0125), (interval.low, -0.031), (interval.high, 0.044)] {
            assert!((got - want).abs() < 1e-12, "{got} {want}");
        }
        let (at, interval) = hodges_lehmann(&[1.0, 2.0, 6.0], Level::new(0.7).unwrap());
        // 1 1.5 2 3.5 4 6
        assert_eq!((at, interval), (2.75, Some(Interval { low: 1.0, high: 6.0 })));
    }

    #[test]
    fn too_few_values_for_the_level_have_no_interval() {
        let ten: Vec<f64> = (0..10).map(f64::from).collect();
        let eleven: Vec<f64> = (0..11).map(f64::from).collect();
        assert_eq!(hodges_lehmann(&ten, Level::NULL).1, None);
        assert_eq!(hodges_lehmann(&eleven, Level::NULL).1, Some(Interval { low: 0.0, high: 10.0 }));
    }
}
