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
    let count = sorted.len() * (sorted.len() + 1) / 2;
    let depth = depth(sorted.len(), level);
    let nth = |i: usize| nth_average(sorted, i);
    let at = (nth((count - 1) / 2) + nth(count / 2)) / 2.0;
    let interval = (depth > 0).then(|| Interval { low: nth(depth - 1), high: nth(count - depth) });
    (at, interval)
}

/// After so many halvings of the distance the values lie powers of ten apart, or are equal: then the numbers between
/// them are halved, of which there are at most 2^64.
const BY_DISTANCE: u32 = 40;

/// The `k`th smallest, from 0, of the averages of two ascending values.
///
/// The range that holds it is halved until so few averages are left that they can be written down: about ten counts of
/// n steps each, where 250 values have 31,375 averages.
fn nth_average(sorted: &[f64], k: usize) -> f64 {
    let n = sorted.len();
    // More than `k` do not exceed `high`, at most `k` do not exceed `low`.
    let (mut low, mut high) = (sorted[0].next_down(), sorted[n - 1]);
    let (mut up_to_low, mut up_to_high) = (0, n * (n + 1) / 2);
    let mut halvings = 0;
    while up_to_high - up_to_low > 2 * n {
        let inside = |x: &f64| low < *x && *x < high;
        let by_distance = Some(low / 2.0 + high / 2.0).filter(|x| halvings < BY_DISTANCE && inside(x));
        let middle = by_distance.unwrap_or_else(|| middle_rank(low, high));
        if !inside(&middle) {
            return high; // there is no number between them
        }
        let up_to_middle = averages_up_to(sorted, middle);
        if up_to_middle > k {
            (high, up_to_high) = (middle, up_to_middle);
        } else {
            (low, up_to_low) = (middle, up_to_middle);
        }
        halvings += 1;
    }
    let mut left = averages_between(sorted, low, high);
    left.sort_unstable_by(f64::total_cmp);
    left.get(k - up_to_low).copied().unwrap_or(high)
}

/// The averages above `low` that do not exceed `high`.
fn averages_between(sorted: &[f64], low: f64, high: f64) -> Vec<f64> {
    let (mut from, mut to) = (sorted.len(), sorted.len());
    let mut found = Vec::new();
    for (i, x) in sorted.iter().enumerate() {
        let average = |end: usize| (x + sorted[end - 1]) / 2.0;
        while to > i && average(to) > high {
            to -= 1;
        }
        while from > i && average(from) > low {
            from -= 1;
        }
        found.extend((from.max(i)..to).map(|end| average(end + 1)));
    }
    found
}

/// Number of averages that do not exceed `most`. As the first value grows, fewer second ones do.
fn averages_up_to(sorted: &[f64], most: f64) -> usize {
    let mut end = sorted.len();
    let mut count = 0;
    for (i, x) in sorted.iter().enumerate() {
        while end > i && (x + sorted[end - 1]) / 2.0 > most {
            end -= 1;
        }
        if end <= i {
            break;
        }
        count += end - i;
    }
    count
}

/// The number in the middle of all numbers between two.
fn middle_rank(low: f64, high: f64) -> f64 {
    let (low, high) = (rank(low), rank(high));
    of_rank(low + (high - low) / 2)
}

/// The rank of a number among all numbers: ascending as they are. Both zeros have one.
fn rank(x: f64) -> u64 {
    let bits = (x + 0.0).to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

fn of_rank(rank: u64) -> f64 {
    let bits = if rank >> 63 == 1 { rank & !(1 << 63) } else { !rank };
    f64::from_bits(bits) + 0.0
}

/// The average, counted from either end, that bounds the interval; 0 when none does.
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

    /// Every average that there is, by writing them all down; ties, zeros and both signs among them.
    #[test]
    fn the_search_finds_what_sorting_finds() {
        let mut rng = bakeoff_content::SplitMix64::new(3);
        let some_alike: fn(&mut bakeoff_content::SplitMix64, usize) -> f64 =
            |rng, i| if i % 3 == 0 { (rng.normal() * 3.0).round() / 4.0 } else { rng.normal() };
        let of_all_sizes: fn(&mut bakeoff_content::SplitMix64, usize) -> f64 =
            |rng, i| if i % 4 == 0 { 0.0 } else { rng.normal() * (rng.normal() * 100.0).exp() };
        let in_two_heaps: fn(&mut bakeoff_content::SplitMix64, usize) -> f64 =
            |rng, i| if i % 2 == 0 { 1.0 } else { -1e9 * (1.0 + rng.normal().round()) };
        for (n, of) in (1..40).flat_map(|n| [some_alike, of_all_sizes, in_two_heaps].map(|of| (n, of))) {
            let mut values: Vec<f64> = (0..n).map(|i| of(&mut rng, i)).collect();
            values.sort_unstable_by(f64::total_cmp);
            let pairs = |i: usize| values[i..].iter().map(move |y| (i, y));
            let mut averages: Vec<f64> = (0..n).flat_map(pairs).map(|(i, y)| (values[i] + y) / 2.0).collect();
            averages.sort_unstable_by(f64::total_cmp);
            for (k, average) in averages.iter().enumerate() {
                assert_eq!(nth_average(&values, k), *average, "{n} {k}");
            }
        }
    }

    #[test]
    fn too_few_values_for_the_level_have_no_interval() {
        let ten: Vec<f64> = (0..10).map(f64::from).collect();
        let eleven: Vec<f64> = (0..11).map(f64::from).collect();
        assert_eq!(hodges_lehmann(&ten, Level::NULL).1, None);
        assert_eq!(hodges_lehmann(&eleven, Level::NULL).1, Some(Interval { low: 0.0, high: 10.0 }));
    }
}
