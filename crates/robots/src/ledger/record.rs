//! Record of a closed period, as the ledger sends it and as it is stored, printed and extracted.

use super::sums::Sums;
use bakeoff_units::Nanos;
use serde::{Deserialize, Serialize};

/// The scope of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecordScope {
    /// A part of an interval, for a console; never stored.
    Beat,
    /// A few seconds of one phase.
    Interval,
    /// A phase.
    Phase,
    /// The whole run.
    Run,
}

/// The sums of one period of one worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LedgerRecord {
    /// The worker.
    #[serde(rename = "lane")]
    pub worker: u32,
    /// Its scope.
    pub scope: RecordScope,
    /// The phase; empty for the run.
    pub phase: String,
    /// Intervals closed so far in the run, this one included.
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

impl LedgerRecord {
    /// Its length.
    pub const fn span(&self) -> Nanos {
        Nanos::new(self.ended_ns.saturating_sub(self.began_ns))
    }

    /// Requests that were handed out a second, if it has a length.
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
}
