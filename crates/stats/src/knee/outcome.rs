//! Outcome of a peak search.

use super::bracket::TrialCounts;
use super::grid::{Cell, STEP, rate_at};
use super::plan::TrialPurpose;
use super::posterior::{Estimate, LEVEL, Marginal};
use super::search::Search;
use super::{Criterion, TrialJudgement, VoidReason, refine};
use crate::Interval;
use bakeoff_units::PerSecond;

/// Failed trials from so many cells below the knee ...
const NEAR_BELOW: i32 = 3;

/// ... to so many above it say what binds: further up everything breaks.
const NEAR_ABOVE: i32 = 10;

/// The finding of a search.
#[derive(Clone, Debug, PartialEq)]
pub enum SearchFinding {
    /// The rate at which half of the trials pass, with its 90 % interval.
    Knee {
        /// The median of its probability.
        at: PerSecond,
        /// Lower end.
        low: PerSecond,
        /// Upper end.
        high: PerSecond,
    },
    /// No end was found: it is at least this, with 95 % confidence.
    AtLeast {
        /// The rate.
        rate: PerSecond,
        /// The limit that kept the search from going higher.
        limit: SearchLimit,
    },
    /// Not even the lowest rate that was tried passed.
    NoRatePasses {
        /// The rate.
        lowest: PerSecond,
        /// The criteria that it failed; never empty.
        by: Vec<Criterion>,
    },
    /// Every trial was void, or most of them because of other programs on the machine.
    NotMeasured {
        /// The last one's reason, or that; none without any trial.
        reason: Option<VoidReason>,
    },
}

/// Limit that kept a search from going higher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchLimit {
    /// The generator failed first.
    Generator,
    /// The plan allows no higher rate.
    Asked,
    /// 50 times the guess was sustained.
    Range,
    /// The search ended before anything failed.
    Ended,
}

/// The result of the long trial at 0.95 of the knee.
#[derive(Clone, Debug, PartialEq)]
pub enum Confirmation {
    /// All criteria held.
    Passed,
    /// Some did not.
    Failed {
        /// The failed ones; never empty.
        by: Vec<Criterion>,
    },
    /// It was void, twice.
    Void(VoidReason),
    /// There was none.
    NotTried,
}

/// A search's end.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchOutcome {
    /// The finding.
    pub finding: SearchFinding,
    /// Whether the interval is as narrow as the plan wants; if not, the budget ended first.
    pub precise: bool,
    /// The highest rate that counts as passed: in 3 of 4 trials.
    pub passed: Option<PerSecond>,
    /// Whether 0.95 of the knee held for long.
    pub confirmation: Confirmation,
    /// The criterion that failed first above the knee.
    pub binding: Option<Criterion>,
    /// Whether everything but the hit ratio held somewhere above the knee: the server kept answering, past its cache.
    pub bypass: bool,
    /// Trials of the search, void ones included.
    pub trials: u32,
    /// Void trials of all purposes.
    pub voids: u32,
}

impl SearchOutcome {
    /// Whether more time would hardly have found more.
    pub fn is_settled(&self) -> bool {
        match &self.finding {
            SearchFinding::Knee { .. } => self.precise,
            SearchFinding::AtLeast { limit, .. } => *limit != SearchLimit::Ended,
            SearchFinding::NoRatePasses { .. } => true,
            SearchFinding::NotMeasured { reason } => *reason == Some(VoidReason::MachineBusy),
        }
    }
}

impl Search {
    /// The outcome so far.
    pub fn outcome(&self) -> SearchOutcome {
        let estimate = self.posterior.marginal().estimate();
        let finding = finding(self, &estimate);
        let counted = self.tallies.iter().rev().find(|(_, tally)| tally.counts_as_passed());
        let knee = match &finding {
            SearchFinding::Knee { at, .. } => Some(Cell::near(*at)),
            _ => None,
        };
        SearchOutcome {
            precise: self.passed_anywhere() && refine::is_precise(self, &estimate),
            passed: counted.map(|(cell, _)| cell.rate()),
            confirmation: confirmation(self),
            binding: knee.and_then(|knee| binding(self, knee)),
            bypass: knee.is_some_and(|knee| bypassed(self, knee)),
            trials: self.searched().count() as u32,
            voids: self.tried.iter().filter(|tried| matches!(tried.judged, TrialJudgement::Void(_))).count()
                as u32,
            finding,
        }
    }
}

fn finding(search: &Search, estimate: &Estimate) -> SearchFinding {
    if search.is_disturbed() {
        return SearchFinding::NotMeasured { reason: Some(VoidReason::MachineBusy) };
    }
    let measured = |(_, tally): &(&Cell, &TrialCounts)| tally.measured() > 0;
    let Some((&lowest, _)) = search.tallies.iter().find(measured) else {
        let reason = search.tried.iter().rev().find_map(|tried| match tried.judged {
            TrialJudgement::Void(reason) => Some(reason),
            _ => None,
        });
        return SearchFinding::NotMeasured { reason };
    };
    let passed = search.tallies.iter().rev().find(|(_, tally)| tally.passed > 0);
    let Some((&highest_passed, _)) = passed else {
        let by = search.broken_at(lowest).last().unwrap_or_default().to_vec();
        return SearchFinding::NoRatePasses { lowest: lowest.rate(), by };
    };
    let any_failed = search.tallies.values().any(|tally| tally.failed > 0);
    let highest = search.tallies.iter().rev().find(measured).map_or(lowest, |(cell, _)| *cell);
    let out_of_reach = estimate.low >= f64::from(search.top().0);
    if any_failed && !out_of_reach && estimate.at <= f64::from(highest.0) + 0.5 {
        let [at, low, high] = [estimate.at, estimate.low, estimate.high].map(rate_at);
        return SearchFinding::Knee { at, low, high };
    }
    let limit = match (search.ceiling(), out_of_reach) {
        (Some(_), _) => SearchLimit::Generator,
        (None, true) if search.plan.most.is_some() => SearchLimit::Asked,
        (None, true) => SearchLimit::Range,
        (None, false) => SearchLimit::Ended,
    };
    SearchFinding::AtLeast { rate: rate_at(estimate.low.min(f64::from(highest_passed.0))), limit }
}

fn confirmation(search: &Search) -> Confirmation {
    let last = search.tried.iter().rev().find(|tried| tried.trial.purpose == TrialPurpose::Confirm);
    match last.map(|tried| &tried.judged) {
        None => Confirmation::NotTried,
        Some(TrialJudgement::Passed) => Confirmation::Passed,
        Some(TrialJudgement::Failed { by }) => Confirmation::Failed { by: by.clone() },
        Some(TrialJudgement::Void(reason)) => Confirmation::Void(*reason),
    }
}

/// The criterion that most failed trials near the knee failed; without any there, that of the lowest failed rate above
/// it.
fn binding(search: &Search, knee: Cell) -> Option<Criterion> {
    let from = knee.up(-NEAR_BELOW);
    let near: Vec<Cell> = search.tallies.range(from..=knee.up(NEAR_ABOVE)).map(|(cell, _)| *cell).collect();
    most_broken(search, &near).or_else(|| {
        let mut above = search.tallies.range(from..).filter(|(_, tally)| tally.failed > 0);
        above.next().and_then(|(cell, _)| most_broken(search, &[*cell]))
    })
}

fn most_broken(search: &Search, cells: &[Cell]) -> Option<Criterion> {
    let broken: Vec<Criterion> =
        cells.iter().flat_map(|cell| search.broken_at(*cell)).flatten().copied().collect();
    let times = |criterion: Criterion| broken.iter().filter(|one| **one == criterion).count();
    // The last of equals is taken: from the back, that is the first in the order of `ALL`.
    let most = Criterion::ALL.into_iter().rev().max_by_key(|criterion| times(*criterion));
    most.filter(|criterion| times(*criterion) > 0)
}

fn bypassed(search: &Search, knee: Cell) -> bool {
    let above = search.tallies.range(knee..).map(|(cell, _)| *cell);
    above.flat_map(|cell| search.broken_at(cell)).any(|by| by == [Criterion::HitRatio])
}

/// One knee against another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatioOfKnees {
    /// Subject over reference, less 1: -0.12 is a knee that is 12 % lower.
    pub effect: f64,
    /// Its interval, at the level of the knees' own.
    pub interval: Interval,
    /// The level.
    pub level: f64,
}

/// The ratio of two knees; `None` unless both were found. The two searches know nothing of each
/// other, so their probabilities multiply.
pub fn ratio_of_knees(subject: &Search, reference: &Search) -> Option<RatioOfKnees> {
    let found = |search: &Search| matches!(search.outcome().finding, SearchFinding::Knee { .. });
    if !found(subject) || !found(reference) {
        return None;
    }
    let estimate = difference(&subject.posterior.marginal(), &reference.posterior.marginal()).estimate();
    let effect = |cells: f64| (cells * STEP).exp_m1();
    let interval = Interval { low: effect(estimate.low), high: effect(estimate.high) };
    Some(RatioOfKnees { effect: effect(estimate.at), interval, level: LEVEL })
}

/// Probabilities of all differences in cells.
fn difference(subject: &Marginal, reference: &Marginal) -> Marginal {
    let (n, m) = (subject.weights.len(), reference.weights.len());
    let lowest = Cell(subject.lowest.0 - reference.lowest.0 - (m as i32 - 1));
    let mut weights = vec![0.0; n + m - 1];
    for (i, a) in subject.weights.iter().enumerate() {
        for (j, b) in reference.weights.iter().enumerate() {
            weights[i + m - 1 - j] += a * b;
        }
    }
    Marginal { lowest, weights }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_of_known_weights() {
        let subject = Marginal { lowest: Cell(10), weights: vec![0.5, 0.5] };
        let reference = Marginal { lowest: Cell(4), weights: vec![0.0, 1.0] };
        let got = difference(&subject, &reference);
        // 10 or 11 less 5 (weight 1) or 4 (weight 0).
        assert_eq!((got.lowest, got.weights), (Cell(5), vec![0.5, 0.5, 0.0]));
    }
}
