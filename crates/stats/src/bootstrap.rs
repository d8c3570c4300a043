//! Resampling of rounds for the ratio of two quantiles.
//!
//! The interval is the expanded percentile interval (Hesterberg, "What Teachers Should Know
//! About the Bootstrap", The American Statistician 69, 2015): the plain one is too narrow for
//! some twenty rounds, as a z interval would be. Cost: resamples x rounds x log2(buckets).

use statrs::distribution::{ContinuousCDF, Normal};

use crate::{CountsByRound, Interval, Level, QuantileEffect, SplitMix64};

/// Running totals per round over the buckets that hold anything in this arm: a quantile of any
/// mix of rounds is then a binary search.
pub(crate) struct Cumulative {
    upper_ns: Vec<u64>,
    /// Bucket by bucket, one entry per round.
    by_bucket: Vec<Vec<u64>>,
}

impl Cumulative {
    pub(crate) fn of(counts: &CountsByRound) -> Cumulative {
        let mut running = vec![0; counts.rounds.len()];
        let (mut upper_ns, mut by_bucket) = (Vec::new(), Vec::new());
        for (bucket, &edge) in counts.upper_ns.iter().enumerate() {
            let mut any = false;
            for (total, round) in running.iter_mut().zip(&counts.rounds) {
                *total += round[bucket];
                any |= round[bucket] > 0;
            }
            if any {
                upper_ns.push(edge);
                by_bucket.push(running.clone());
            }
        }
        Cumulative { upper_ns, by_bucket }
    }

    /// The `p` quantile when round `i` counts `weights[i]` times: the edge of the first bucket
    /// with at least the share `p` of all replies at or below it.
    fn quantile(&self, weights: &[u64], p: f64) -> u64 {
        let total = |bucket: &Vec<u64>| bucket.iter().zip(weights).map(|(n, w)| n * w).sum::<u64>();
        let all = self.by_bucket.last().map_or(0, total);
        let rank = (p * all as f64 - 1e-9).ceil().max(1.0) as u64;
        let at = self.by_bucket.partition_point(|bucket| total(bucket) < rank);
        self.upper_ns.get(at).copied().unwrap_or(0)
    }
}

fn log_quantile_ratio(subject: u64, reference: u64) -> f64 {
    (subject.max(1) as f64 / reference.max(1) as f64).ln() // 0 ns is below what a clock can tell
}

/// The effect at `p` with its interval; both arms hold the same rounds.
pub(crate) fn bootstrap(
    subject: &Cumulative,
    reference: &Cumulative,
    p: f64,
    level: Level,
    resamples: u32,
    seed: u64,
) -> QuantileEffect {
    let rounds = subject.by_bucket.first().map_or(0, Vec::len);
    let mut weights = vec![1; rounds];
    let (subject_ns, reference_ns) = (subject.quantile(&weights, p), reference.quantile(&weights, p));
    let at = log_quantile_ratio(subject_ns, reference_ns);
    let mut rng = SplitMix64::new(seed);
    let mut ratios: Vec<f64> = (0..resamples)
        .map(|_| {
            weights.fill(0);
            (0..rounds).for_each(|_| weights[rng.below(rounds)] += 1);
            log_quantile_ratio(subject.quantile(&weights, p), reference.quantile(&weights, p))
        })
        .collect();
    ratios.sort_unstable_by(f64::total_cmp);
    let interval = expanded_percentiles(&ratios, rounds, level).unwrap_or(Interval::around(at, 0.0));
    QuantileEffect {
        p,
        effect: at.exp_m1(),
        interval: interval.map(f64::exp_m1),
        subject_ns,
        reference_ns,
        rounds,
        level: level.get(),
    }
}

/// Percentiles of the ascending ratios, moved out as far as t with n - 1 degrees and the n - 1
/// of the variance ask for. `None` without any ratio.
fn expanded_percentiles(ratios: &[f64], n: usize, level: Level) -> Option<Interval> {
    let degrees = n.saturating_sub(1);
    let errors = level.t(degrees) * (n as f64 / degrees as f64).sqrt();
    let tail = Normal::standard().cdf(-errors);
    let last = ratios.len().checked_sub(1)?;
    let cut = ((tail * ratios.len() as f64) as usize).min(last / 2);
    Some(Interval { low: ratios[cut], high: ratios[last - cut] })
}
