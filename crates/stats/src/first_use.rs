//! First use against steady use: the additional cost of a cold connection, a handshake or an empty cache.
//!
//! Per round the cost of the first operation of a session and of a steady one. A session of n requests costs
//! `first + (n - 1) steady`, which is `extra + n steady` with `extra = first - steady`. Owns the questions that follow from this: how
//! much more the first costs, after how many requests that no longer matters, and from which number of requests on one
//! subject's sessions are cheaper than another's.

use crate::effect::{Scale, effect, estimate, log_ratio};
use crate::trimmed::trimmed_mean;
use crate::{Effect, Interval, Level};

/// Cost of the first use.
#[derive(Clone, Debug, PartialEq)]
pub struct FirstUse {
    /// First minus steady, in the unit of the figures: ns.
    pub extra: Effect,
    /// First / steady as a fraction, like every effect: 1.5 is 2.5 times as much.
    pub ratio: Effect,
}

/// A number of requests per session, with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Requests {
    /// The estimate. Not rounded: a session has at least the next whole number.
    pub at: f64,
    /// Its interval, at the level of its inputs. `high` may be infinite.
    pub interval: Interval,
}

/// Compares first and steady costs of the same rounds, as many as the shorter series has.
///
/// `None` under three rounds or when a figure is not above 0.
pub fn first_use(first: &[f64], steady: &[f64], level: Level) -> Option<FirstUse> {
    let pairs = || first.iter().zip(steady);
    if pairs().any(|(first, steady)| !(*first > 0.0 && *steady > 0.0)) {
        return None;
    }
    let extra: Vec<f64> = pairs().map(|(first, steady)| first - steady).collect();
    let ratio: Vec<f64> = pairs().map(|(first, steady)| log_ratio(*first, *steady)).collect();
    Some(FirstUse { extra: estimate(&extra, level, Scale::Difference)?, ratio: effect(&ratio, level)? })
}

impl FirstUse {
    /// Requests per session from which on the extra is at most `share` of the session's cost.
    ///
    /// extra / (extra + n steady) = share gives n = (1 / share - 1) x (first / steady - 1): it
    /// rises with the ratio and with nothing else, so its interval is that of the ratio, mapped.
    /// 0 where the first use is not dearer. `None` unless `0 < share < 1`.
    pub fn requests_until(&self, share: f64) -> Option<Requests> {
        if !(share > 0.0 && share < 1.0) {
            return None;
        }
        let requests = |fraction: f64| (1.0 / share - 1.0) * fraction.max(0.0);
        Some(Requests { at: requests(self.ratio.effect), interval: self.ratio.interval.map(requests) })
    }
}

/// Costs of one subject, one value per round each.
#[derive(Clone, Copy, Debug)]
pub struct SessionCosts<'a> {
    /// Cost of the first operation of a session.
    pub first: &'a [f64],
    /// Cost of a later one.
    pub steady: &'a [f64],
}

/// One of two subjects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The one given first.
    A,
    /// The other.
    B,
}

/// Comparison of the sessions of two subjects by cost.
#[derive(Clone, Debug, PartialEq)]
pub struct BreakEven {
    /// A minus B at the first operation, in the unit of the figures.
    pub first: Effect,
    /// A minus B at a later one.
    pub steady: Effect,
    /// The crossing that follows for sessions.
    pub crossing: Crossing,
}

/// The point where two session costs, as functions of the number of requests, cross.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Crossing {
    /// Nowhere: one is cheaper at the first operation and at every later one.
    Always {
        /// The cheaper one.
        cheaper: Which,
    },
    /// Shorter sessions are cheaper with one, longer ones with the other.
    At {
        /// Both cost the same here. In the interval lie the numbers of requests for which the cheaper one is not known;
        /// its upper end is infinite when the two cannot be told apart in steady use, its lower end 1 when not at the
        /// first operation.
        requests: Requests,
        /// Cheaper in sessions longer than this.
        longer: Which,
    },
    /// The rounds do not tell which of these it is.
    NotResolved,
}

/// Compares the costs of sessions of two subjects measured in the same rounds, as many as the
/// shortest of the four series. `None` under three rounds or when a figure is not finite.
///
/// The number of requests at which they cross is a quotient of two differences, whose interval
/// no quotient per round gives (its divisor may be near 0 in some rounds). It is found as Fieller
/// does (J. R. Statist. Soc. B 16, 1954): the numbers for which the difference of the session
/// costs has an interval with 0 in it.
pub fn break_even(a: SessionCosts<'_>, b: SessionCosts<'_>, level: Level) -> Option<BreakEven> {
    let rounds = [a.first, a.steady, b.first, b.steady].map(<[f64]>::len).into_iter().min()?;
    let minus = |a: &[f64], b: &[f64]| -> Vec<f64> { (0..rounds).map(|i| a[i] - b[i]).collect() };
    let sessions = Sessions { first: minus(a.first, b.first), steady: minus(a.steady, b.steady), level };
    Some(BreakEven {
        first: estimate(&sessions.first, level, Scale::Difference)?,
        steady: estimate(&sessions.steady, level, Scale::Difference)?,
        crossing: sessions.crossing(),
    })
}

/// Differences A - B per round.
struct Sessions {
    first: Vec<f64>,
    steady: Vec<f64>,
    level: Level,
}

/// The difference A - B of sessions of one length.
struct Difference {
    at: f64,
    /// The cheaper one, where the interval excludes 0.
    cheaper: Option<Which>,
}

impl Sessions {
    /// Per request, so that it stays finite for endless sessions: with the share s = 1 / n of the
    /// first request, s x first + (1 - s) x steady.
    ///
    /// The plain trimmed mean and not [`estimate`], which may change to another estimator between
    /// two lengths: the bisection below needs a curve without a step.
    fn difference(&self, share: f64) -> Difference {
        let per_request = |(first, steady): (&f64, &f64)| share * first + (1.0 - share) * steady;
        let mut values: Vec<f64> = self.first.iter().zip(&self.steady).map(per_request).collect();
        values.sort_unstable_by(f64::total_cmp);
        let middle = trimmed_mean(&values, self.level);
        let cheaper = match middle.interval {
            Interval { low, .. } if low > 0.0 => Some(Which::B),
            Interval { high, .. } if high < 0.0 => Some(Which::A),
            _ => None,
        };
        Difference { at: middle.at, cheaper }
    }

    fn crossing(&self) -> Crossing {
        let (first, steady) = (self.difference(1.0), self.difference(0.0));
        match (first.cheaper, steady.cheaper) {
            (Some(short), Some(long)) if short == long => Crossing::Always { cheaper: short },
            (None, None) => Crossing::NotResolved,
            (_, long) if first.at * steady.at < 0.0 => {
                let longer = if steady.at < 0.0 { Which::A } else { Which::B };
                Crossing::At { requests: self.requests(first.cheaper, long, longer), longer }
            }
            _ => Crossing::NotResolved,
        }
    }

    /// The crossing, and the ends of the stretch around it in which the cheaper one is not known.
    fn requests(&self, short: Option<Which>, long: Option<Which>, longer: Which) -> Requests {
        let a_is_dearer_in_the_end = longer == Which::B;
        let at = bisect(0.0, 1.0, |share| (self.difference(share).at > 0.0) == a_is_dearer_in_the_end);
        let told = |share: f64, which: Which| self.difference(share).cheaper == Some(which);
        let low = short.map_or(1.0, |which| bisect(at, 1.0, |share| !told(share, which)));
        let high = long.map_or(0.0, |which| bisect(0.0, at, |share| told(share, which)));
        Requests { at: 1.0 / at, interval: Interval { low: 1.0 / low, high: 1.0 / high } }
    }
}

/// The end, between `low` and `high`, of a condition that holds at `low` and not at `high`.
fn bisect(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    // As many halvings as a double has bits; sessions of 10^9 requests keep seven digits.
    for _ in 0..f64::MANTISSA_DIGITS {
        let middle = f64::midpoint(low, high);
        if holds(middle) { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}
