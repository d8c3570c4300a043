//! Ratio of latency quantiles of two arms, with a bootstrap over rounds.
//!
//! Replies of one round share its machine, so they are not independent; whole rounds are
//! resampled, never replies, and the same rounds for both arms, because the arms of a round were
//! measured side by side. Quantiles are taken from the merged counts and never averaged.
//! `bootstrap` does the resampling; this file says what may be asked.

use std::fmt;

use crate::bootstrap::{Cumulative, bootstrap};
use crate::{Interval, Level};

/// Fewer rounds cannot show how rounds differ in their tails.
const FEWEST_ROUNDS: usize = 20;

/// Replies that must lie beyond the quantile.
const REPLIES_BEYOND: f64 = 50.0;

/// The quantiles of a [`shift_function`].
const SHIFT: [f64; 12] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999];

/// Histograms of one arm, one per round, over buckets shared by all rounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountsByRound {
    /// Upper edges of the buckets in nanoseconds, ascending; the same for all arms.
    pub upper_ns: Vec<u64>,
    /// Per round the replies per bucket (not cumulative), as many as there are edges.
    pub rounds: Vec<Vec<u64>>,
}

impl CountsByRound {
    /// Both arms' replies round by round: A and A' together are the reference.
    pub fn merged(&self, other: &CountsByRound) -> Result<CountsByRound, QuantileRefusal> {
        check_shapes(self, other)?;
        let add = |(a, b): (&Vec<u64>, &Vec<u64>)| a.iter().zip(b).map(|(x, y)| x + y).collect();
        let rounds = self.rounds.iter().zip(&other.rounds).map(add).collect();
        Ok(CountsByRound { upper_ns: self.upper_ns.clone(), rounds })
    }

    fn replies(&self) -> u64 {
        self.rounds.iter().flatten().sum()
    }
}

/// A ratio of quantiles with its interval.
#[derive(Clone, Debug, PartialEq)]
pub struct QuantileEffect {
    /// Which quantile, 0..1.
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

/// Why a quantile is not printed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QuantileRefusal {
    /// Fewer rounds than the bootstrap needs.
    TooFewRounds {
        /// Rounds there are.
        have: usize,
        /// Rounds it takes.
        need: usize,
    },
    /// An arm has too few replies beyond the quantile.
    TooFewReplies {
        /// Replies of the poorer arm.
        have: u64,
        /// Replies it takes: 50 / (1 - p), or 50 / p below the median.
        need: u64,
    },
    /// The arms have different rounds or buckets, or edges that do not ascend.
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
            QuantileRefusal::ShapesDiffer => f.write_str("the arms differ in rounds or buckets"),
            QuantileRefusal::NotAQuantile(p) => write!(f, "{p} is not between 0 and 1"),
        }
    }
}

impl std::error::Error for QuantileRefusal {}

/// The ratio of the `p` quantiles of all replies, with an interval from `resamples` bootstraps
/// over rounds. A thousand resamples leave some 6 beyond each end at 98.75 %. Equal seeds give equal results.
pub fn quantile_ratio(
    subject: &CountsByRound,
    reference: &CountsByRound,
    p: f64,
    level: Level,
    resamples: u32,
    seed: u64,
) -> Result<QuantileEffect, QuantileRefusal> {
    check(subject, reference, p)?;
    Ok(bootstrap(&Cumulative::of(subject), &Cumulative::of(reference), p, level, resamples, seed))
}

/// The ratio at p10 to p99.9, where there are replies enough: shows "3 % in the middle, 40 % at
/// the tail". Empty when no quantile is allowed.
pub fn shift_function(
    subject: &CountsByRound,
    reference: &CountsByRound,
    level: Level,
    resamples: u32,
    seed: u64,
) -> Vec<(f64, QuantileEffect)> {
    let allowed: Vec<f64> = SHIFT.into_iter().filter(|&p| check(subject, reference, p).is_ok()).collect();
    if allowed.is_empty() {
        return Vec::new();
    }
    let (s, r) = (Cumulative::of(subject), Cumulative::of(reference));
    allowed.into_iter().map(|p| (p, bootstrap(&s, &r, p, level, resamples, seed))).collect()
}

fn check_shapes(a: &CountsByRound, b: &CountsByRound) -> Result<(), QuantileRefusal> {
    let same = a.upper_ns == b.upper_ns && a.rounds.len() == b.rounds.len();
    let full = a.rounds.iter().chain(&b.rounds).all(|round| round.len() == a.upper_ns.len());
    let ascending = a.upper_ns.is_sorted_by(|x, y| x < y);
    if same && full && ascending { Ok(()) } else { Err(QuantileRefusal::ShapesDiffer) }
}

fn check(subject: &CountsByRound, reference: &CountsByRound, p: f64) -> Result<(), QuantileRefusal> {
    check_shapes(subject, reference)?;
    if !(p > 0.0 && p < 1.0) {
        return Err(QuantileRefusal::NotAQuantile(p));
    }
    let have = subject.rounds.len();
    if have < FEWEST_ROUNDS {
        return Err(QuantileRefusal::TooFewRounds { have, need: FEWEST_ROUNDS });
    }
    let need = (REPLIES_BEYOND / p.min(1.0 - p) - 1e-6).ceil() as u64; // 1 - 0.9 is a little under 0.1
    let have = subject.replies().min(reference.replies());
    if have < need { Err(QuantileRefusal::TooFewReplies { have, need }) } else { Ok(()) }
}
