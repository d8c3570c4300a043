//! Phases of a test: load factors, goals and locks after Web Polygraph's schedule.
//!
//! Measuring side, hot but cheap. Factors stay or go up and down in a straight line. Pure: time comes in as nanoseconds
//! since the start. From outside a phase is ended through a [`FillGate`] only, and held through a [`PartsGate`].

mod file;
mod gate;
mod loads;
mod outage;
mod parts_gate;
mod schedule;
mod stretch;
#[cfg(test)]
mod tests;

pub(crate) use file::check;
pub use file::{Awaited, FillGoal, GoalFile, LockFile, PhaseFile, RampFile};
pub use gate::FillGate;
pub use loads::{mean_loads, planned_loads};
pub use parts_gate::PartsGate;
pub use schedule::{EndedPhase, Finished, Schedule};

use bakeoff_units::{Nanos, Ratio};

/// One phase.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// Its name in reports.
    pub name: String,
    /// The goal that ends it.
    pub goal: Goal,
    /// Share of the rate, or of the robots that are at work where there is no rate.
    pub load: Ramp,
    /// The same once more, for workloads that speak of robots that come and go: both are multiplied.
    pub population: Ramp,
    /// Factor of the recurrence.
    pub recurrence: Ramp,
    /// Factor of the shares of special requests and methods.
    pub special: Ramp,
    /// Whether its figures are results.
    pub measured: bool,
    /// Whether the cache is away; the runner of the phases sees to that.
    pub outage: bool,
}

/// A factor from the beginning of a phase to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ramp {
    /// Left out: where the phase before stopped; 1 in the first phase.
    pub begin: Option<Ratio>,
    /// Left out: as at the beginning.
    pub end: Option<Ratio>,
}

/// The goal of a phase. One of the first three is enough, when the lock is open.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Goal {
    /// Length of time.
    pub duration: Option<Nanos>,
    /// Number of requests, failed ones included.
    pub transactions: Option<u64>,
    /// Bytes of replies that went into the cache: basic, cachable, made by the origin.
    pub fill_bytes: Option<u64>,
    /// Too many errors end the whole test.
    pub errors: Option<ErrorGoal>,
    /// The condition that must hold before the phase can end.
    pub lock: Option<Lock>,
}

impl Goal {
    /// Whether requests, not time, decide that it is reached.
    const fn counts_requests(&self) -> bool {
        self.transactions.is_some() || self.fill_bytes.is_some()
    }
}

/// Limit of errors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ErrorGoal {
    /// This share of the requests of a phase, looked at from [`ErrorGoal::RATIO_AFTER`] requests on.
    Share(Ratio),
    /// This many in a phase.
    Count(u64),
}

impl ErrorGoal {
    /// Web Polygraph's: a share of fewer requests says little.
    pub const RATIO_AFTER: u64 = 1000;
}

/// The condition that holds a phase, and how long at most. Without a condition it bounds a goal that counts requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lock {
    /// Whether the working set must have stopped growing.
    pub frozen: bool,
    /// Whether it must be told from outside to end.
    pub told: bool,
    /// After this the phase ends nevertheless.
    pub at_most: Nanos,
}

/// Factors of one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factors {
    /// [`Phase::load`] times [`Phase::population`].
    pub load: f64,
    /// [`Phase::population`] alone.
    pub population: f64,
    /// [`Phase::recurrence`].
    pub recurrence: f64,
    /// [`Phase::special`].
    pub special: f64,
}

/// The reason for which a phase ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EndReason {
    /// Its time was over.
    Duration,
    /// It had its requests.
    Transactions,
    /// It had its fill bytes.
    Fill,
    /// The working set stopped growing; there was no other goal.
    Frozen,
    /// It was told from outside; there was no other goal.
    Told,
    /// Its condition did not come within the longest time it may take.
    TookTooLong,
    /// Its goal was reached, and other parts of the run had not reached it after the longest wait.
    WithoutOthers,
    /// Too many errors: the test is over.
    TooManyErrors,
}

impl EndReason {
    /// All there are.
    pub const ALL: [Self; 8] = [
        Self::Duration,
        Self::Transactions,
        Self::Fill,
        Self::Frozen,
        Self::Told,
        Self::TookTooLong,
        Self::WithoutOthers,
        Self::TooManyErrors,
    ];

    /// The reason that has this line, also in records of earlier versions.
    pub fn of_meaning(meaning: &str) -> Option<Self> {
        let earlier = (meaning == "it was told that it was enough").then_some(Self::Told);
        Self::ALL.into_iter().find(|reason| reason.meaning() == meaning).or(earlier)
    }

    /// A line for people; records have it, too.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Duration => "its time was over",
            Self::Transactions => "it had its requests",
            Self::Fill => "enough bytes had gone into the cache",
            Self::Frozen => "the working set had stopped growing",
            Self::Told => "the store was full, or had been sent enough to be",
            Self::TookTooLong => "what it waited for had not come after the longest time it may take",
            Self::WithoutOthers => {
                "other parts of the run had not come to its end after the longest wait: it went on without them"
            }
            Self::TooManyErrors => "too many errors: the test was ended",
        }
    }
}
