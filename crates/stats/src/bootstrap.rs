//! Bootstrap of quantiles: quantiles of merged counts, of all rounds and of resampled rounds.
//!
//! The rounds of each resample are drawn once ([`Resampling`]) and serve every arm and quantile. The
//! quantile of any mix of rounds lies between the least and the greatest quantile of its rounds, so
//! only the buckets between these are laid out (`Band`), as running totals: a resample is then some
//! log2(buckets) weighted sums over rounds. All numbers are counts below 2^53, which f64 holds exactly.

use crate::CountsByRound;
use bakeoff_content::SplitMix64;

/// The rounds of each resample: drawn once, used for all arms.
#[derive(Clone, Debug)]
pub struct Resampling {
    rounds: usize,
    /// Resample by resample, the weight of each round.
    weights: Vec<f64>,
}

impl Resampling {
    /// As many rounds as there are, drawn with replacement, `resamples` times. Equal seeds give equal
    /// draws.
    pub fn new(rounds: usize, resamples: u32, seed: u64) -> Resampling {
        let mut rng = SplitMix64::new(seed);
        let mut weights = vec![0.0; rounds * resamples as usize];
        for resample in weights.chunks_exact_mut(rounds.max(1)) {
            (0..rounds).for_each(|_| resample[rng.below(rounds as u64) as usize] += 1.0);
        }
        Resampling { rounds, weights }
    }

    /// Rounds that are drawn from.
    pub fn rounds(&self) -> usize {
        self.rounds
    }

    fn each(&self) -> impl Iterator<Item = &[f64]> {
        self.weights.chunks_exact(self.rounds.max(1))
    }
}

/// The `p` quantile in nanoseconds, of all rounds and of each resample: the edge of the first bucket
/// with at least the share `p` of all replies at or below it; 0 where there are no replies.
pub(crate) fn quantiles(counts: &CountsByRound<'_>, p: f64, resampling: &Resampling) -> (u64, Vec<u64>) {
    let replies: Vec<f64> = counts.rounds.iter().map(|round| replies(round) as f64).collect();
    let Some(band) = Band::of(counts, p) else {
        return (0, resampling.each().map(|_| 0).collect());
    };
    let of = |weights: &[f64]| {
        let row = band.first_with(rank(p, dot(&replies, weights)), weights);
        row.and_then(|bucket| counts.upper_ns.get(bucket)).copied().unwrap_or(0)
    };
    (of(&vec![1.0; replies.len()]), resampling.each().map(of).collect())
}

pub(crate) fn replies(round: &[(u32, u32)]) -> u64 {
    round.iter().map(|(_, count)| u64::from(*count)).sum()
}

/// Number of replies that the bucket and those below it must hold.
fn rank(p: f64, all: f64) -> f64 {
    (p * all - 1e-9).ceil().max(1.0)
}

/// The buckets that can hold the quantile of a mix of rounds.
struct Band {
    buckets: Vec<usize>,
    rounds: usize,
    /// Bucket by bucket, one entry a round: replies up to and with this bucket.
    running: Vec<f64>,
}

impl Band {
    /// `None` without replies.
    fn of(counts: &CountsByRound<'_>, p: f64) -> Option<Band> {
        let bounds = counts.rounds.iter().filter_map(|round| bounds(round, p));
        let (low, high) = bounds.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
        let mut place = vec![usize::MAX; high - low + 1];
        let inside = |round: &[(u32, u32)]| {
            let from = round.partition_point(|(bucket, _)| (*bucket as usize) < low);
            let to = round.partition_point(|(bucket, _)| *bucket as usize <= high);
            (from, to.max(from))
        };
        for round in &counts.rounds {
            let (from, to) = inside(round);
            round[from..to].iter().for_each(|(bucket, _)| place[*bucket as usize - low] = 0);
        }
        let buckets: Vec<usize> = (low..=high).filter(|bucket| place[bucket - low] == 0).collect();
        buckets.iter().enumerate().for_each(|(row, bucket)| place[bucket - low] = row);
        let rounds = counts.rounds.len();
        let mut running = vec![0.0; buckets.len() * rounds];
        for (index, round) in counts.rounds.iter().enumerate() {
            let (from, to) = inside(round);
            running[index] = replies(&round[..from]) as f64;
            for (bucket, count) in &round[from..to] {
                running[place[*bucket as usize - low] * rounds + index] += f64::from(*count);
            }
        }
        for row in 1..buckets.len() {
            let (before, this) = running.split_at_mut(row * rounds);
            let before = &before[(row - 1) * rounds..];
            this[..rounds].iter_mut().zip(before).for_each(|(total, below)| *total += below);
        }
        Some(Band { buckets, rounds, running })
    }

    /// The first bucket with `rank` replies at or below it, when round `i` counts `weights[i]` times.
    fn first_with(&self, rank: f64, weights: &[f64]) -> Option<usize> {
        let total = |row: usize| dot(&self.running[row * self.rounds..(row + 1) * self.rounds], weights);
        let (mut low, mut high) = (0, self.buckets.len());
        while low < high {
            let middle = low.midpoint(high);
            if total(middle) < rank { low = middle + 1 } else { high = middle }
        }
        self.buckets.get(low).copied()
    }
}

/// The stretch of one round in which the quantile can lie, whatever the other rounds round it to: below the first
/// bucket there is less than the share `p` of its replies, up to the second there is at least as much.
fn bounds(round: &[(u32, u32)], p: f64) -> Option<(usize, usize)> {
    let all = replies(round);
    let least = (p * all as f64) as u64;
    let (least, enough) = (least.max(1), (least + 1).min(all));
    let mut running = 0;
    let mut low = None;
    for &(bucket, count) in round {
        running += u64::from(count);
        if running >= least && low.is_none() {
            low = Some(bucket as usize);
        }
        if running >= enough && running > 0 {
            return Some((low?, bucket as usize));
        }
    }
    None
}

/// The sum of products. In four parts, which the processor adds side by side; whole numbers, so the
/// order changes nothing.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (a, b) = (a.as_chunks::<4>(), b.as_chunks::<4>());
    let mut sums = [0.0; 4];
    for (x, y) in a.0.iter().zip(b.0) {
        for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
            *sum += x * y;
        }
    }
    let rest: f64 = a.1.iter().zip(b.1).map(|(x, y)| x * y).sum();
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All buckets laid out, all rounds added up.
    fn plainly(rounds: &[Vec<(u32, u32)>], weights: &[f64], p: f64) -> u64 {
        let mut merged = [0.0; 64];
        for (round, weight) in rounds.iter().zip(weights) {
            round.iter().for_each(|(bucket, count)| merged[*bucket as usize] += weight * f64::from(*count));
        }
        let rank = rank(p, merged.iter().sum());
        let mut running = 0.0;
        let found = merged.iter().position(|count| {
            running += count;
            running >= rank
        });
        found.map_or(0, |bucket| bucket as u64 + 1)
    }

    #[test]
    fn a_band_holds_the_quantile_of_every_resample() {
        let upper_ns: Vec<u64> = (1..=64).collect();
        let mut rng = SplitMix64::new(11);
        for case in 0..600 {
            // Rounds of other places and sizes; some have nothing, some one reply.
            let rounds: Vec<Vec<(u32, u32)>> = (0..1 + case % 23)
                .map(|_| {
                    let (from, sparse) = (rng.below(40) as u32, 1 + rng.below(4));
                    let replies = |_: &u32| rng.below(sparse) == 0;
                    let buckets: Vec<u32> = (from..from + 24).filter(replies).collect();
                    buckets.into_iter().map(|bucket| (bucket, 1 + rng.below(90) as u32)).collect()
                })
                .collect();
            let counts = CountsByRound { upper_ns: &upper_ns, rounds };
            let resampling = Resampling::new(counts.rounds.len(), 20, case as u64);
            for p in [0.001, 0.1, 0.5, 0.9, 0.999] {
                let (all, resampled) = quantiles(&counts, p, &resampling);
                assert_eq!(all, plainly(&counts.rounds, &vec![1.0; counts.rounds.len()], p), "{case} {p}");
                let plain: Vec<u64> =
                    resampling.each().map(|weights| plainly(&counts.rounds, weights, p)).collect();
                assert_eq!(resampled, plain, "{case} {p}");
            }
        }
    }

    #[test]
    fn every_resample_has_as_many_rounds() {
        let resampling = Resampling::new(7, 50, 3);
        assert_eq!(resampling.each().count(), 50);
        assert!(resampling.each().all(|weights| weights.iter().sum::<f64>() == 7.0));
        assert_eq!(Resampling::new(0, 50, 3).each().count(), 0);
    }
}
