//! Refinement inside the bracket: the choice of the most informative trial.

use super::bracket::{self, TrialCounts};
use super::grid::{Cell, cells_in};
use super::plan::{Trial, TrialPurpose};
use super::posterior::Estimate;
use super::search::Search;
use bakeoff_content::SplitMix64;
use bakeoff_units::Nanos;
use std::ops::Range;

/// Every so many trials one is far below the knee.
const LOWER_EVERY: usize = 4;

/// Their rates, as shares of the knee.
const LOWER: [f64; 3] = [0.25, 0.5, 0.7];

/// Distances above the interval, in cells, at one of which some trial must have failed.
const ABOVE: Range<i32> = 3..13;

/// The next trial; `None` when the knee is known as precisely as the plan wants.
pub(crate) fn next(search: &Search) -> Option<Trial> {
    let estimate = search.posterior.marginal().estimate();
    let top = search.top();
    if is_precise(search, &estimate) {
        if is_supported(search, &estimate) {
            let cell = to_try_above(search, &estimate)?;
            return Some(Trial {
                rate: cell.rate(),
                time: search.plan.shortest,
                purpose: TrialPurpose::Above,
            });
        }
        if let Some(cell) = to_support(search, &estimate) {
            return Some(trial(search, &estimate, cell, TrialPurpose::Support));
        }
    }
    let is_refining = |purpose| matches!(purpose, TrialPurpose::Refine | TrialPurpose::Lower);
    let done = search.tried.iter().filter(|tried| is_refining(tried.trial.purpose)).count();
    if done % LOWER_EVERY == LOWER_EVERY - 1 {
        let pick =
            SplitMix64::new(search.plan.seed.wrapping_add(done as u64)).below(LOWER.len() as u64) as usize;
        let cell = Cell(estimate.at as i32).min(top).up(cells_in(LOWER[pick]));
        let rate = cell.rate();
        return Some(Trial { rate, time: search.plan.shortest, purpose: TrialPurpose::Lower });
    }
    Some(trial(search, &estimate, search.posterior.most_informative(top), TrialPurpose::Refine))
}

/// Whether the interval is narrow enough, or lies beyond what can be tried.
pub(crate) fn is_precise(search: &Search, estimate: &Estimate) -> bool {
    estimate.width() <= search.plan.precision.ln_1p() || estimate.low >= f64::from(search.top().0)
}

/// Whether a rate at the lower end of the interval, or higher, counts as passed.
fn is_supported(search: &Search, estimate: &Estimate) -> bool {
    let lowest = lower_end(search, estimate).up(-slack(search));
    search.tallies.range(lowest..).any(|(_, tally)| tally.counts_as_passed())
}

/// The rate near the lower end that has come furthest; `None` when all have failed too often.
fn to_support(search: &Search, estimate: &Estimate) -> Option<Cell> {
    let end = lower_end(search, estimate);
    let tally = |cell: &Cell| search.tallies.get(cell).copied().unwrap_or_default();
    let hopeful = |tally: TrialCounts| 3 * tally.failed <= tally.passed.max(3);
    let cells = (0..=slack(search)).map(|below| end.up(-below)).filter(|cell| hopeful(tally(cell)));
    cells.max_by_key(|cell| (i64::from(tally(cell).passed) - 3 * i64::from(tally(cell).failed), *cell))
}

/// A rate a little above the interval, unless one has failed there already: where one passes, it is
/// not the rate that failed.
fn to_try_above(search: &Search, estimate: &Estimate) -> Option<Cell> {
    let end = Cell(estimate.high.ceil() as i32);
    let mut tried = search.tallies.range(end.up(ABOVE.start)..end.up(ABOVE.end));
    let failed = tried.any(|(_, tally)| tally.failed > tally.passed);
    let cell = end.up((ABOVE.start + ABOVE.end) / 2);
    (!failed && cell <= search.top()).then_some(cell)
}

/// The highest cell that is wholly below the interval, and can be tried.
fn lower_end(search: &Search, estimate: &Estimate) -> Cell {
    Cell((estimate.low - 0.5).floor() as i32).min(search.top())
}

/// Distance below the interval's lower end at which a rate still speaks for it, in cells.
fn slack(search: &Search) -> i32 {
    cells_in(1.0 + search.plan.precision)
}

fn trial(search: &Search, estimate: &Estimate, cell: Cell, purpose: TrialPurpose) -> Trial {
    Trial { rate: cell.rate(), time: length(search, estimate), purpose }
}

/// Doubles each time the interval is half as wide as the bracket was.
fn length(search: &Search, estimate: &Estimate) -> Nanos {
    let halvings = (bracket::width() / estimate.width()).log2().clamp(0.0, 32.0).floor();
    search.plan.shortest.times(2.0_f64.powf(halvings)).min(search.plan.longest.max(search.plan.shortest))
}
