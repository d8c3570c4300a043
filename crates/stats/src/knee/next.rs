//! Next step of a peak search: bracket, refinement, confirmation, curve.
//!
//! Cold path, pure.

use super::bracket::Ladder;
use super::grid::{Cell, cells_in};
use super::outcome::SearchFinding;
use super::plan::{SearchStep, Trial, TrialPurpose, times};
use super::search::Search;
use super::{TrialJudgement, refine};
use bakeoff_units::{Nanos, PerSecond};

/// Start of the bracket, as a share of the guess.
const START: f64 = 0.5;

/// Share of the knee at which it is confirmed.
const CONFIRM_AT: f64 = 0.95;

/// The curve's rates as shares of the knee: 250, 25, 225, 50, ... of 250 are 110 % of it. The order goes up and down,
/// so that the after-effects of a high rate do not look like the next one's doing.
const CURVE: [f64; 10] = [1.1, 0.11, 0.99, 0.22, 0.88, 0.352, 0.44, 0.792, 0.572, 0.704];

impl Search {
    /// The next step. The same until a trial is observed.
    pub fn next(&self) -> SearchStep {
        let searching = self.tried.iter().all(|tried| tried.trial.purpose.searches());
        let search = || if searching { self.search_trial() } else { None };
        let trial = search().or_else(|| self.confirmation()).or_else(|| self.curve());
        trial.map_or_else(|| SearchStep::Done(self.outcome()), SearchStep::Trial)
    }

    fn search_trial(&self) -> Option<Trial> {
        if self.is_disturbed() {
            return None;
        }
        let start = Cell::near(self.plan.guess).up(cells_in(START));
        let ladder = Ladder { start, floor: Cell::near(self.plan.lowest), top: self.top() };
        let rung = ladder.next(&self.rungs);
        let trial = match rung {
            Some(cell) => {
                Trial { rate: cell.rate(), time: self.plan.shortest, purpose: TrialPurpose::Bracket }
            }
            None if self.passed_anywhere() => refine::next(self)?,
            None => return None,
        };
        self.affords(&trial).then_some(trial)
    }

    /// Whether trials and time are left for this one, with confirmation and curve to come.
    fn affords(&self, trial: &Trial) -> bool {
        let reserve = self.plan.confirm.unwrap_or(Nanos::ZERO)
            + self.plan.curve.unwrap_or(Nanos::ZERO).times(CURVE.len() as f64);
        let to_come = (trial.time + reserve).times(self.overhead());
        self.searched().count() < self.plan.budget.trials as usize
            && self.spent + to_come <= self.plan.budget.time
    }

    /// Ratio of the time that trials take to their length: warm-up, rest, stragglers.
    fn overhead(&self) -> f64 {
        let took = self.spent.as_secs_f64() / self.in_trials.as_secs_f64();
        if took.is_finite() { took.max(1.0) } else { 1.0 }
    }

    /// The long trial, once; a void one is repeated once.
    fn confirmation(&self) -> Option<Trial> {
        let time = self.plan.confirm?;
        let mut done = self.tried.iter().filter(|tried| tried.trial.purpose == TrialPurpose::Confirm);
        let again = match (done.next(), done.next()) {
            (None, _) => true,
            (Some(once), None) => matches!(once.judged, TrialJudgement::Void(_)),
            _ => false,
        };
        let rate = times(self.sustained()?, CONFIRM_AT);
        again.then_some(Trial { rate, time, purpose: TrialPurpose::Confirm })
    }

    fn curve(&self) -> Option<Trial> {
        let time = self.plan.curve?;
        let done = self.tried.iter().filter(|tried| tried.trial.purpose == TrialPurpose::Curve).count();
        let share = *CURVE.get(done)?;
        let rate = match self.outcome().finding {
            SearchFinding::Knee { at, .. } => times(at, share),
            // Beyond it the generator is late.
            SearchFinding::AtLeast { rate, .. } => times(rate, share / CURVE[0]),
            _ => return None,
        };
        Some(Trial { rate: self.no_more_than_allowed(rate), time, purpose: TrialPurpose::Curve })
    }

    fn no_more_than_allowed(&self, rate: PerSecond) -> PerSecond {
        self.plan.most.map_or(rate, |most| if most < rate { most } else { rate })
    }

    fn sustained(&self) -> Option<PerSecond> {
        match self.outcome().finding {
            SearchFinding::Knee { at, .. } => Some(at),
            SearchFinding::AtLeast { rate, .. } => Some(rate),
            _ => None,
        }
    }
}
