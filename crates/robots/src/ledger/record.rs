//! A closed period: what leaves the ledger, is stored, printed and extracted.

use super::sums::Sums;
use bakeoff_units::Nanos;
use serde::{Deserialize, Serialize};

/// What a record covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// A few seconds of one phase.
    Interval,
    /// A phase.
    Phase,
    /// Everything.
    Run,
}

/// The sums of one period of one lane, or of several lanes joined.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Which lane; of joined records the first.
    pub lane: u32,
    /// What it covers.
    pub scope: Scope,
    /// The phase; empty for the run.
    pub phase: String,
    /// Intervals closed so far in the run, this one included: joins the lanes' records of one interval.
    pub number: u64,
    /// Since the start of the run.
    pub began_ns: u64,
    /// Since the start of the run.
    pub ended_ns: u64,
    /// Good replies so far in the run.
    pub progress: u64,
    /// The sums.
    pub sums: Sums,
}

impl Record {
    /// How long it is.
    pub const fn span(&self) -> Nanos {
        Nanos::new(self.ended_ns.saturating_sub(self.began_ns))
    }

    /// Requests that came due a second, if it has a length.
    pub fn asked_per_second(&self) -> Option<f64> {
        self.per_second(self.sums.asked)
    }

    /// Good replies a second, if it has a length.
    pub fn replies_per_second(&self) -> Option<f64> {
        self.per_second(self.sums.good)
    }

    fn per_second(&self, count: u64) -> Option<f64> {
        let span = self.span();
        (span > Nanos::ZERO).then(|| count as f64 / span.as_secs_f64())
    }

    /// Takes in another lane's record of the same period.
    pub fn join(&mut self, other: &Self) {
        self.began_ns = self.began_ns.min(other.began_ns);
        self.ended_ns = self.ended_ns.max(other.ended_ns);
        self.progress += other.progress;
        self.sums.join(&other.sums);
    }
}
