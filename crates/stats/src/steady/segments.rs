//! Levels of a series and the shifts between them.
//!
//! Optimal partitioning (Jackson et al., IEEE Signal Processing Letters 12, 2005): of all ways to
//! cut the series into levels, the one with the least sum of squares around the levels' means,
//! over the long-run variance, plus a penalty per level. It is the minimum that PELT (Killick,
//! Fearnhead and Eckley, JASA 107, 2012) finds; PELT's pruning needs changes to prune by, and a
//! steady series, the usual case, has none. E-divisive would need permutations and so a seed.
//! Cost: half the square of the number of windows, 0.1 s for 10 000.

use super::noise::{Noise, REACH};
use super::{Segment, Shift};

/// A level is longer than any run of outliers.
const SHORTEST: usize = REACH + 1;

/// Penalty of a level in units of ln(windows): 2 for the two numbers it takes, its mean and where
/// it begins, and 1 because the place was searched for (Zhang and Siegmund, Biometrics 63, 2007).
const PENALTY: f64 = 3.0;

/// Levels of `series[from..]` whose neighbours differ by more than `smallest_shift`, a fraction.
pub(super) fn levels(series: &[f64], from: usize, noise: Noise, smallest_shift: f64) -> Vec<Segment> {
    let rest = &series[from..];
    let segment = |(begin, end): (usize, usize)| Segment {
        from: from + begin,
        to: from + end,
        mean: rest[begin..end].iter().sum::<f64>() / (end - begin) as f64,
    };
    let mut levels: Vec<Segment> = partition(rest, noise).into_iter().map(segment).collect();
    while let Some(at) = least_shift(&levels, smallest_shift) {
        let after = levels.remove(at);
        let before = &mut levels[at - 1];
        *before = joined(before, &after);
    }
    levels
}

/// The shifts between levels.
pub(super) fn shifts(levels: &[Segment]) -> Vec<Shift> {
    levels.windows(2).map(|pair| Shift { at: pair[1].from, change: change(&pair[0], &pair[1]) }).collect()
}

fn change(before: &Segment, after: &Segment) -> f64 {
    if after.mean == before.mean { 0.0 } else { after.mean / before.mean - 1.0 }
}

/// The second of the two neighbouring levels that differ least, if that is no more than `limit`.
fn least_shift(levels: &[Segment], limit: f64) -> Option<usize> {
    let size = |at: &usize| change(&levels[at - 1], &levels[*at]).abs();
    let least = (1..levels.len()).min_by(|a, b| size(a).total_cmp(&size(b)))?;
    (size(&least) <= limit).then_some(least)
}

fn joined(before: &Segment, after: &Segment) -> Segment {
    let (n, m) = ((before.to - before.from) as f64, (after.to - after.from) as f64);
    let mean = (before.mean * n + after.mean * m) / (n + m);
    Segment { from: before.from, to: after.to, mean }
}

/// Begin and end of each level, in order.
fn partition(series: &[f64], noise: Noise) -> Vec<(usize, usize)> {
    let n = series.len();
    if noise.long_run_variance == 0.0 {
        return vec![(0, n)];
    }
    let squares = Squares::of(series);
    let penalty = PENALTY * (n as f64).ln() * noise.long_run_variance;
    // cost[end]: of the best partition of the first `end` windows; its last level begins at
    // begin[end].
    let (mut cost, mut begin) = (vec![f64::INFINITY; n + 1], vec![0; n + 1]);
    cost[0] = 0.0;
    for end in SHORTEST..=n {
        for from in 0..=end - SHORTEST {
            let with = cost[from] + squares.within(from, end) + penalty;
            if with < cost[end] {
                (cost[end], begin[end]) = (with, from);
            }
        }
    }
    let mut levels = Vec::new();
    let mut end = n;
    while end > 0 {
        levels.push((begin[end], end));
        end = begin[end];
    }
    levels.reverse();
    levels
}

/// Running sums for the sum of squares around the mean of any stretch.
struct Squares {
    sum: Vec<f64>,
    square: Vec<f64>,
}

impl Squares {
    fn of(series: &[f64]) -> Squares {
        // Around the mean, or the squares of large figures would leave no digits for the noise.
        let mean = series.iter().sum::<f64>() / series.len() as f64;
        let (mut sum, mut square) = (vec![0.0], vec![0.0]);
        let (mut all, mut squares) = (0.0, 0.0);
        for x in series {
            all += x - mean;
            squares += (x - mean).powi(2);
            sum.push(all);
            square.push(squares);
        }
        Squares { sum, square }
    }

    fn within(&self, from: usize, to: usize) -> f64 {
        let sum = self.sum[to] - self.sum[from];
        self.square[to] - self.square[from] - sum * sum / (to - from) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_content::SplitMix64;

    const UNIT: Noise = Noise { local_sd: 1.0, long_run_variance: 1.0 };

    /// The least cost over every way to cut into levels, by trying all of them.
    fn least_cost(series: &[f64], penalty: f64) -> f64 {
        let whole = cost(series, &[(0, series.len())], penalty);
        let split = |at: usize| {
            least_cost(&series[..at], penalty) + cost(&series[at..], &[(0, series.len() - at)], penalty)
        };
        (SHORTEST..).take_while(|at| at + SHORTEST <= series.len()).map(split).fold(whole, f64::min)
    }

    fn cost(series: &[f64], levels: &[(usize, usize)], penalty: f64) -> f64 {
        let one = |&(from, to): &(usize, usize)| {
            let part = &series[from..to];
            let mean = part.iter().sum::<f64>() / part.len() as f64;
            penalty + part.iter().map(|x| (x - mean).powi(2)).sum::<f64>()
        };
        levels.iter().map(one).sum()
    }

    #[test]
    fn no_way_to_cut_is_better() {
        let mut rng = SplitMix64::new(3);
        let mut sizes = [0; 4];
        for run in 0..200 {
            let jump = f64::from(run % 5);
            let series: Vec<f64> =
                (0..18).map(|i| 1e6 + jump * ((i / 6) % 2) as f64 + rng.normal()).collect();
            let got = partition(&series, UNIT);
            assert!(got.iter().all(|(from, to)| to - from >= SHORTEST));
            sizes[got.len() - 1] += 1;
            let penalty = PENALTY * 18_f64.ln();
            let (got, want) = (cost(&series, &got, penalty), least_cost(&series, penalty));
            assert!((got - want).abs() < 1e-6, "{got} {want}");
        }
        assert!(sizes[0] > 50 && sizes[2] > 30, "all of one kind: {sizes:?}");
    }

    #[test]
    fn small_shifts_are_joined_the_smallest_first() {
        // 100, 101, 104: 1 % is joined to 100.5, and from there it is 3.5 %.
        let series: Vec<f64> = [100.0, 101.0, 104.0].iter().flat_map(|&x| [x; 10]).collect();
        let fine = Noise { local_sd: 0.01, long_run_variance: 1e-4 };
        let got = levels(&series, 0, fine, 0.02);
        let want = [Segment { from: 0, to: 20, mean: 100.5 }, Segment { from: 20, to: 30, mean: 104.0 }];
        assert_eq!(got, want);
        assert_eq!(shifts(&got), [Shift { at: 20, change: 104.0 / 100.5 - 1.0 }]);
        assert_eq!(levels(&series, 0, fine, 0.005).len(), 3);
        assert_eq!(levels(&series, 20, fine, 0.02), [Segment { from: 20, to: 30, mean: 104.0 }]);
        assert_eq!(levels(&series, 0, fine, 0.05).len(), 1);
    }
}
