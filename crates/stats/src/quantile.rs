//! Ratio of latency quantiles of two arms, with a bootstrap over rounds.
//!
//! Replies of one round share its machine, so they are not independent; whole rounds are resampled, never replies, and
//! the same rounds for both arms, because the arms of a round were measured side by side. Quantiles are taken from the
//! merged counts and never averaged. `bootstrap` takes the quantiles of the resamples, once an arm; this file checks
//! the input, and compares two arms.

use std::cmp::Ordering;
use std::fmt;

use statrs::distribution::{ContinuousCDF, Normal};

use crate::bootstrap::{quantiles, replies};
use crate::{Interval, Level, Resampling};

/// Fewer rounds cannot show how rounds differ in their tails.
const FEWEST_ROUNDS: usize = 20;

/// Replies that must lie beyond the quantile.
const REPLIES_BEYOND: f64 = 50.0;

/// The quantiles of a [`shift_function`].
pub const SHIFT: [f64; 12] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999];

/// Histograms of one arm, one per round, as their non-empty buckets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountsByRound<'a> {
    /// Upper edges of all buckets there are in nanoseconds, ascending; the same for all arms.
    pub upper_ns: &'a [u64],
    /// Per round the bucket, as its place among the edges, and its replies (not cumulative); buckets
    /// ascend.
    pub rounds: Vec<Vec<(u32, u32)>>,
}

impl CountsByRound<'_> {
    /// Both arms' replies round by round: A and A' together are the reference. As many rounds as the
    /// shorter has.
    pub fn merged(&self, other: &Self) -> Self {
        let rounds = self.rounds.iter().zip(&other.rounds).map(|(a, b)| both(a, b)).collect();
        CountsByRound { upper_ns: self.upper_ns, rounds }
    }

    fn replies(&self) -> u64 {
        self.rounds.iter().map(|round| replies(round)).sum()
    }
}

/// The replies of two rounds together.
fn both(a: &[(u32, u32)], b: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let (mut i, mut j) = (0, 0);
    let mut all = Vec::with_capacity(a.len() + b.len());
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        all.push(match x.0.cmp(&y.0) {
            Ordering::Less => *x,
            Ordering::Equal => (x.0, x.1.saturating_add(y.1)),
            Ordering::Greater => *y,
        });
        (i, j) = (i + usize::from(x.0 <= y.0), j + usize::from(y.0 <= x.0));
    }
    all.extend(&a[i..]);
    all.extend(&b[j..]);
    all
}

/// A quantile of one arm, of all its rounds and of each resample: the input of ratios.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantile {
    p: f64,
    rounds: usize,
    replies: u64,
    all_ns: u64,
    /// None where a ratio will be refused anyway.
    resampled_ns: Vec<u64>,
}

impl Quantile {
    /// The `p` quantile. A thousand resamples leave some 6 beyond each end at 98.75 %.
    pub fn of(counts: &CountsByRound<'_>, p: f64, resampling: &Resampling) -> Quantile {
        let (rounds, replies) = (counts.rounds.len(), counts.replies());
        let wanted = allowed(p, rounds, replies).is_ok() && rounds == resampling.rounds();
        let (all_ns, resampled_ns) = if wanted { quantiles(counts, p, resampling) } else { (0, Vec::new()) };
        Quantile { p, rounds, replies, all_ns, resampled_ns }
    }

    /// The quantile in nanoseconds, and its interval from the resamples as [`quantile_ratio`] takes it.
    ///
    /// # Errors
    /// Too few rounds or replies.
    pub fn estimate(&self, level: Level) -> Result<(f64, Interval), QuantileRefusal> {
        allowed(self.p, self.rounds, self.replies)?;
        let mut resampled: Vec<f64> = self.resampled_ns.iter().map(|ns| *ns as f64).collect();
        let at = self.all_ns as f64;
        let interval = expanded_percentiles(&mut resampled, self.rounds, level);
        Ok((at, interval.unwrap_or(Interval::around(at, 0.0))))
    }
}

/// A ratio of quantiles with its interval.
#[derive(Clone, Debug, PartialEq)]
pub struct QuantileEffect {
    /// The quantile, 0..1.
    pub p: f64,
    /// Subject over reference - 1: 0.4 is 40 % more.
    pub effect: f64,
    /// Its interval; pointwise, also in a shift function.
    pub interval: Interval,
    /// The subject's quantile: the upper edge of its bucket.
    pub subject_ns: u64,
    /// The reference's.
    pub reference_ns: u64,
    /// Rounds resampled.
    pub rounds: usize,
    /// The two-sided level of the interval.
    pub level: f64,
}

/// The reason for which a quantile is not printed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QuantileRefusal {
    /// Fewer rounds than the bootstrap needs.
    TooFewRounds {
        /// Number of rounds.
        have: usize,
        /// Number needed.
        need: usize,
    },
    /// An arm has too few replies beyond the quantile.
    TooFewReplies {
        /// Number of replies of the poorer arm.
        have: u64,
        /// Number needed: 50 / (1 - p), or 50 / p below the median.
        need: u64,
    },
    /// The arms have different rounds, or were not resampled alike.
    ShapesDiffer,
    /// Not strictly between 0 and 1.
    NotAQuantile(f64),
}

impl fmt::Display for QuantileRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QuantileRefusal::TooFewRounds { have, need } => {
                write!(f, "too few rounds: {have}, needs {need}")
            }
            QuantileRefusal::TooFewReplies { have, need } => {
                write!(f, "too few replies per arm: {have}, needs {need}")
            }
            QuantileRefusal::ShapesDiffer => f.write_str("the arms differ in rounds or resamples"),
            QuantileRefusal::NotAQuantile(p) => write!(f, "{p} is not between 0 and 1"),
        }
    }
}

impl std::error::Error for QuantileRefusal {}

/// The ratio of two arms' quantiles, with an interval from the resamples that both have.
///
/// The interval is the expanded percentile interval (Hesterberg, "What Teachers Should Know
/// About the Bootstrap", The American Statistician 69, 2015): the plain one is too narrow for
/// some twenty rounds, as a z interval would be.
pub fn quantile_ratio(
    subject: &Quantile,
    reference: &Quantile,
    level: Level,
) -> Result<QuantileEffect, QuantileRefusal> {
    let pairs = subject.resampled_ns.iter().zip(&reference.resampled_ns);
    if subject.rounds != reference.rounds || subject.p != reference.p {
        return Err(QuantileRefusal::ShapesDiffer);
    }
    allowed(subject.p, subject.rounds, subject.replies.min(reference.replies))?;
    if subject.resampled_ns.len() != reference.resampled_ns.len() {
        return Err(QuantileRefusal::ShapesDiffer);
    }
    let at = log_quantile_ratio(subject.all_ns, reference.all_ns);
    let mut ratios: Vec<f64> = pairs.map(|(s, r)| log_quantile_ratio(*s, *r)).collect();
    let interval = expanded_percentiles(&mut ratios, subject.rounds, level);
    Ok(QuantileEffect {
        p: subject.p,
        effect: at.exp_m1(),
        interval: interval.unwrap_or(Interval::around(at, 0.0)).map(f64::exp_m1),
        subject_ns: subject.all_ns,
        reference_ns: reference.all_ns,
        rounds: subject.rounds,
        level: level.get(),
    })
}

fn log_quantile_ratio(subject: u64, reference: u64) -> f64 {
    (subject.max(1) as f64 / reference.max(1) as f64).ln() // 0 ns is below what a clock can tell
}

/// Percentiles of the ratios, moved out as far as t with n - 1 degrees and the n - 1 of the variance
/// ask for. `None` without any ratio.
fn expanded_percentiles(ratios: &mut [f64], n: usize, level: Level) -> Option<Interval> {
    let degrees = n.saturating_sub(1);
    let errors = level.t(degrees) * (n as f64 / degrees as f64).sqrt();
    let tail = Normal::standard().cdf(-errors);
    let last = ratios.len().checked_sub(1)?;
    let cut = ((tail * ratios.len() as f64) as usize).min(last / 2);
    let mut nth = |n: usize| *ratios.select_nth_unstable_by(n, f64::total_cmp).1;
    Some(Interval { low: nth(cut), high: nth(last - cut) })
}

/// The ratios at p10 to p99.9, where there are replies enough: shows "3 % in the middle, 40 % at
/// the tail". Both arms' quantiles in the same order; empty when none is allowed.
pub fn shift_function(
    subject: &[Quantile],
    reference: &[Quantile],
    level: Level,
) -> Vec<(f64, QuantileEffect)> {
    let pairs = subject.iter().zip(reference);
    pairs.filter_map(|(s, r)| Some((s.p, quantile_ratio(s, r, level).ok()?))).collect()
}

fn allowed(p: f64, rounds: usize, replies: u64) -> Result<(), QuantileRefusal> {
    if !(p > 0.0 && p < 1.0) {
        return Err(QuantileRefusal::NotAQuantile(p));
    }
    if rounds < FEWEST_ROUNDS {
        return Err(QuantileRefusal::TooFewRounds { have: rounds, need: FEWEST_ROUNDS });
    }
    let need = (REPLIES_BEYOND / p.min(1.0 - p) - 1e-6).ceil() as u64; // 1 - 0.9 is a little under 0.1
    if replies < need { Err(QuantileRefusal::TooFewReplies { have: replies, need }) } else { Ok(()) }
}
