//! State of a peak search: its trials so far, and their judgements.

use super::bracket::Tallies;
use super::grid::{Cell, cells_in, position};
use super::plan::{SearchPlan, Trial, TrialPurpose};
use super::posterior::Posterior;
use super::{Criterion, Observation, TrialJudgement, VoidReason};
use bakeoff_units::Nanos;

/// Rates up to so many times the guess are tried; the guess is too low where replies wait for something other than
/// work.
const TOP: f64 = 50.0;

/// The knee may lie so far beyond the rates that are tried.
const BEYOND: f64 = 1.3;

/// Factor below a rate that the generator cannot make, at which the next one is tried.
const BELOW_CEILING: f64 = 1.1;

/// Number of void trials of one rate, with none at or above it that was not void, that marks the generator's limit.
const VOIDS_AT_CEILING: u32 = 3;

/// Number of trials void because of other programs that ends a search, if they outnumber the measured ones: these, too,
/// were not measured on a quiet machine.
const FEWEST_BUSY: usize = 6;

/// A trial that was run, and its judgement.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tried {
    pub(crate) trial: Trial,
    pub(crate) cell: Cell,
    pub(crate) judged: TrialJudgement,
}

/// A search for one server's knee.
#[derive(Clone, Debug)]
pub struct Search {
    pub(crate) plan: SearchPlan,
    pub(crate) tried: Vec<Tried>,
    /// Trials of the bracket only.
    pub(crate) rungs: Tallies,
    /// All trials but confirmation and curve.
    pub(crate) tallies: Tallies,
    pub(crate) posterior: Posterior,
    /// Time that trials took, all and their own.
    pub(crate) spent: Nanos,
    pub(crate) in_trials: Nanos,
}

impl Search {
    /// A search that knows nothing yet.
    pub fn new(plan: SearchPlan) -> Search {
        let beyond = cells_in(BEYOND);
        let lowest = Cell::near(plan.lowest).up(-beyond);
        let posterior = Posterior::new(lowest, Cell::near(plan.guess).up(cells_in(TOP) + beyond));
        Search {
            plan,
            tried: Vec::new(),
            rungs: Tallies::new(),
            tallies: Tallies::new(),
            posterior,
            spent: Nanos::ZERO,
            in_trials: Nanos::ZERO,
        }
    }

    /// Takes the observation of a trial, and returns its judgement.
    pub fn observe(&mut self, trial: Trial, seen: &Observation) -> TrialJudgement {
        let judged = self.plan.criteria.judge(trial.rate, seen);
        let cell = Cell::near(trial.rate);
        self.spent += seen.took;
        self.in_trials += trial.time;
        if trial.purpose.searches() {
            count(&mut self.tallies, cell, &judged);
            if trial.purpose == TrialPurpose::Bracket {
                count(&mut self.rungs, cell, &judged);
            }
            match judged {
                TrialJudgement::Passed => self.posterior.update(cell, true),
                TrialJudgement::Failed { .. } => self.posterior.update(cell, false),
                TrialJudgement::Void(_) => {}
            }
        }
        self.tried.push(Tried { trial, cell, judged: judged.clone() });
        judged
    }

    /// The trials so far, in their order.
    pub fn trials(&self) -> impl Iterator<Item = &Trial> {
        self.tried.iter().map(|tried| &tried.trial)
    }

    /// Time that all trials took, warm-up and rest included.
    pub fn spent(&self) -> Nanos {
        self.spent
    }

    /// The highest rate that the plan lets be tried.
    pub(crate) fn allowed(&self) -> Cell {
        let range = Cell::near(self.plan.guess).up(cells_in(TOP));
        // A cell is nearest to rates up to half a step above it.
        self.plan.most.map_or(range, |most| Cell(position(most).floor() as i32).min(range))
    }

    /// The highest rate worth trying: below the rates that the generator could not make.
    pub(crate) fn top(&self) -> Cell {
        let range = self.allowed();
        self.ceiling().map_or(range, |ceiling| ceiling.up(-cells_in(BELOW_CEILING)).min(range))
    }

    /// Whether other programs had the generator's core so often that no knee can be found.
    pub(crate) fn is_disturbed(&self) -> bool {
        let busy = TrialJudgement::Void(VoidReason::MachineBusy);
        let busy = self.searched().filter(|tried| tried.judged == busy).count();
        let measured: u32 = self.tallies.values().map(|tally| tally.measured()).sum();
        busy >= FEWEST_BUSY && busy > measured as usize
    }

    /// All trials but confirmation and curve.
    pub(crate) fn searched(&self) -> impl Iterator<Item = &Tried> {
        self.tried.iter().filter(|tried| tried.trial.purpose.searches())
    }

    /// The lowest rate that the generator could not make.
    pub(crate) fn ceiling(&self) -> Option<Cell> {
        let highest_measured = self.tallies.iter().rev().find(|(_, tally)| tally.measured() > 0);
        let above = |cell: Cell| highest_measured.is_none_or(|(measured, _)| cell > *measured);
        let late = self.tallies.iter().filter(|(_, tally)| tally.void >= VOIDS_AT_CEILING);
        late.map(|(cell, _)| *cell).find(|cell| above(*cell))
    }

    pub(crate) fn passed_anywhere(&self) -> bool {
        self.tallies.values().any(|tally| tally.passed > 0)
    }

    /// Criteria that failed trials of this cell broke.
    pub(crate) fn broken_at(&self, cell: Cell) -> impl Iterator<Item = &[Criterion]> {
        let here = move |tried: &&Tried| tried.cell == cell;
        self.searched().filter(here).filter_map(|tried| match &tried.judged {
            TrialJudgement::Failed { by } => Some(by.as_slice()),
            _ => None,
        })
    }
}

fn count(tallies: &mut Tallies, cell: Cell, judged: &TrialJudgement) {
    let tally = tallies.entry(cell).or_default();
    match judged {
        TrialJudgement::Passed => tally.passed += 1,
        TrialJudgement::Failed { .. } => tally.failed += 1,
        // Says nothing of the generator, either.
        TrialJudgement::Void(VoidReason::MachineBusy) => {}
        TrialJudgement::Void(_) => tally.void += 1,
    }
}
