//! The state machine: trials in, the next trial out.

use super::bracket::{Ladder, Tallies};
use super::grid::{Cell, cells_in};
use super::outcome::{self, Finding, Outcome};
use super::posterior::Posterior;
use super::{Criteria, Criterion, Judged, Observation, refine};
use bakeoff_units::{Nanos, PerSecond};

/// Where the bracket begins, as a share of the guess.
const START: f64 = 0.5;

/// Rates from 5 % of the guess on are tried ...
const FLOOR: f64 = 0.05;

/// ... up to 50 times the guess, which is too low where replies wait for something that is not work.
const TOP: f64 = 50.0;

/// The knee may lie beyond the rates that are tried.
const BEYOND: f64 = 1.3;

/// So far below a rate that the generator cannot make, the next one is tried.
const BELOW_CEILING: f64 = 1.1;

/// So many void trials of one rate, and none at or above it that was not, are the generator's end.
const VOIDS_AT_CEILING: u32 = 2;

/// Share of the knee at which it is confirmed.
const CONFIRM_AT: f64 = 0.95;

/// The curve's rates as shares of the knee: 250, 25, 225, 50, ... of 250 are 110 % of it. The order
/// goes up and down, so that what a high rate leaves behind does not look like the next one's doing.
const CURVE: [f64; 10] = [1.1, 0.11, 0.99, 0.22, 0.88, 0.352, 0.44, 0.792, 0.572, 0.704];

/// What a search is to find, and with what.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchPlan {
    /// An upper guess of the knee, from a closed loop.
    pub guess: PerSecond,
    /// What must hold at a rate.
    pub criteria: Criteria,
    /// The search ends when the 90 % interval is narrower than this share of the knee.
    pub precision: f64,
    /// When it ends at the latest.
    pub budget: Budget,
    /// Length of the first trials.
    pub shortest: Nanos,
    /// Length of the last ones: it doubles as the interval halves.
    pub longest: Nanos,
    /// Length of the trial at 0.95 of the knee; none without.
    pub confirm: Option<Nanos>,
    /// Length of each trial of the curve; none without.
    pub curve: Option<Nanos>,
    /// Which lower rates are mixed in.
    pub seed: u64,
}

impl SearchPlan {
    /// A search with the default lengths: 3 % precision, 3 to 24 s, 60 s of confirmation.
    pub fn new(guess: PerSecond, criteria: Criteria, seed: u64) -> SearchPlan {
        SearchPlan {
            guess,
            criteria,
            precision: 0.03,
            budget: Budget { trials: 60, time: Nanos::from_secs(900) },
            shortest: Nanos::from_secs(3),
            longest: Nanos::from_secs(24),
            confirm: Some(Nanos::from_secs(60)),
            curve: Some(Nanos::from_secs(5)),
            seed,
        }
    }
}

/// When a search ends at the latest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Trials before confirmation and curve.
    pub trials: u32,
    /// Time of all trials, confirmation and curve included.
    pub time: Nanos,
}

/// What a trial is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Finding two rates between which the knee lies.
    Bracket,
    /// Learning most about the knee.
    Refine,
    /// Far below the knee, in between: does the server still do there what it did?
    Lower,
    /// Three of four: whether the lower end of the interval counts as passed.
    Support,
    /// A little above the interval: is it the rate that fails, or one bad point?
    Above,
    /// One long trial at 0.95 of the knee.
    Confirm,
    /// The curve from 11 to 110 % of the knee.
    Curve,
}

impl Purpose {
    /// The word in results and tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Purpose::Bracket => "bracket",
            Purpose::Refine => "refine",
            Purpose::Lower => "lower",
            Purpose::Support => "support",
            Purpose::Above => "above",
            Purpose::Confirm => "confirm",
            Purpose::Curve => "curve",
        }
    }

    fn searches(self) -> bool {
        !matches!(self, Purpose::Confirm | Purpose::Curve)
    }
}

/// One trial: an open loop at a rate, for a time, after warm-up and from rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// Requests due per second.
    pub rate: PerSecond,
    /// For how long.
    pub time: Nanos,
    /// What for.
    pub purpose: Purpose,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Run this trial and tell what it showed.
    Trial(Trial),
    /// Nothing more.
    Done(Outcome),
}

/// A trial that was run, and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tried {
    pub(crate) trial: Trial,
    pub(crate) cell: Cell,
    pub(crate) judged: Judged,
}

/// A search for one server's knee.
#[derive(Clone, Debug)]
pub struct Search {
    pub(crate) plan: SearchPlan,
    pub(crate) tried: Vec<Tried>,
    /// Trials of the bracket only.
    rungs: Tallies,
    /// All trials but confirmation and curve.
    pub(crate) tallies: Tallies,
    pub(crate) posterior: Posterior,
    /// Time that trials took, all and their own.
    spent: Nanos,
    in_trials: Nanos,
}

impl Search {
    /// A search that knows nothing yet.
    pub fn new(plan: SearchPlan) -> Search {
        let guess = Cell::near(plan.guess);
        let beyond = cells_in(BEYOND);
        let lowest = guess.up(cells_in(FLOOR) - beyond);
        let posterior = Posterior::new(lowest, guess.up(cells_in(TOP) + beyond));
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

    /// What to do next. The same until something is observed.
    pub fn next(&self) -> Step {
        let searching = self.tried.iter().all(|tried| tried.trial.purpose.searches());
        let search = || if searching { self.search_trial() } else { None };
        let trial = search().or_else(|| self.confirmation()).or_else(|| self.curve());
        trial.map_or_else(|| Step::Done(self.outcome()), Step::Trial)
    }

    /// Takes what a trial showed, and says what it came to.
    pub fn observe(&mut self, trial: Trial, seen: &Observation) -> Judged {
        let judged = self.plan.criteria.judge(trial.rate, seen);
        let cell = Cell::near(trial.rate);
        self.spent += seen.took;
        self.in_trials += trial.time;
        if trial.purpose.searches() {
            count(&mut self.tallies, cell, &judged);
            if trial.purpose == Purpose::Bracket {
                count(&mut self.rungs, cell, &judged);
            }
            match judged {
                Judged::Passed => self.posterior.update(cell, true),
                Judged::Failed { .. } => self.posterior.update(cell, false),
                Judged::Void(_) => {}
            }
        }
        self.tried.push(Tried { trial, cell, judged: judged.clone() });
        judged
    }

    /// What is known now.
    pub fn outcome(&self) -> Outcome {
        outcome::of(self)
    }

    /// Time that all trials took, warm-up and rest included.
    pub fn spent(&self) -> Nanos {
        self.spent
    }

    fn search_trial(&self) -> Option<Trial> {
        let guess = Cell::near(self.plan.guess);
        let ladder =
            Ladder { start: guess.up(cells_in(START)), floor: guess.up(cells_in(FLOOR)), top: self.top() };
        let rung = ladder.next(&self.rungs);
        let trial = match rung {
            Some(cell) => Trial { rate: cell.rate(), time: self.plan.shortest, purpose: Purpose::Bracket },
            None if self.passed_anywhere() => refine::next(self)?,
            None => return None,
        };
        self.affords(&trial).then_some(trial)
    }

    /// The highest rate worth trying: below what the generator could not make.
    pub(crate) fn top(&self) -> Cell {
        let range = Cell::near(self.plan.guess).up(cells_in(TOP));
        self.ceiling().map_or(range, |ceiling| ceiling.up(-cells_in(BELOW_CEILING)).min(range))
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

    /// Whether trials and time are left for this one, with confirmation and curve to come.
    fn affords(&self, trial: &Trial) -> bool {
        let reserve = self.plan.confirm.unwrap_or(Nanos::ZERO)
            + self.plan.curve.unwrap_or(Nanos::ZERO).times(CURVE.len() as f64);
        let to_come = (trial.time + reserve).times(self.overhead());
        let searched = self.tried.iter().filter(|tried| tried.trial.purpose.searches()).count();
        searched < self.plan.budget.trials as usize && self.spent + to_come <= self.plan.budget.time
    }

    /// How much longer trials take than they last: warm-up, rest, stragglers.
    fn overhead(&self) -> f64 {
        let took = self.spent.as_secs_f64() / self.in_trials.as_secs_f64();
        if took.is_finite() { took.max(1.0) } else { 1.0 }
    }

    /// Once; a void one is tried again once.
    fn confirmation(&self) -> Option<Trial> {
        let time = self.plan.confirm?;
        let mut done = self.tried.iter().filter(|tried| tried.trial.purpose == Purpose::Confirm);
        let again = match (done.next(), done.next()) {
            (None, _) => true,
            (Some(once), None) => matches!(once.judged, Judged::Void(_)),
            _ => false,
        };
        let rate = times(self.sustained()?, CONFIRM_AT);
        again.then_some(Trial { rate, time, purpose: Purpose::Confirm })
    }

    fn curve(&self) -> Option<Trial> {
        let time = self.plan.curve?;
        let done = self.tried.iter().filter(|tried| tried.trial.purpose == Purpose::Curve).count();
        let share = *CURVE.get(done)?;
        let rate = match self.outcome().finding {
            Finding::Knee { at, .. } => times(at, share),
            // Beyond it the generator is late.
            Finding::AtLeast { rate, .. } => times(rate, share / CURVE[0]),
            _ => return None,
        };
        Some(Trial { rate, time, purpose: Purpose::Curve })
    }

    fn sustained(&self) -> Option<PerSecond> {
        match self.outcome().finding {
            Finding::Knee { at, .. } => Some(at),
            Finding::AtLeast { rate, .. } => Some(rate),
            _ => None,
        }
    }

    /// Criteria that failed trials of this cell broke.
    pub(crate) fn broken_at(&self, cell: Cell) -> impl Iterator<Item = &[Criterion]> {
        let here = move |tried: &&Tried| tried.cell == cell && tried.trial.purpose.searches();
        self.tried.iter().filter(here).filter_map(|tried| match &tried.judged {
            Judged::Failed { by } => Some(by.as_slice()),
            _ => None,
        })
    }
}

fn count(tallies: &mut Tallies, cell: Cell, judged: &Judged) {
    let tally = tallies.entry(cell).or_default();
    match judged {
        Judged::Passed => tally.passed += 1,
        Judged::Failed { .. } => tally.failed += 1,
        Judged::Void(_) => tally.void += 1,
    }
}

/// A share of a rate; a rate so small that its share is none stays.
fn times(rate: PerSecond, share: f64) -> PerSecond {
    PerSecond::new(rate.get() * share).unwrap_or(rate)
}
