//! Listener for the progress of a bake-off.
//!
//! Measuring side, cold.

use bakeoff_robots::ledger::{Beat, LedgerRecord};

/// Listener for the progress of a bake-off.
pub trait BakeoffProgress {
    /// A stage begins.
    fn stage(&mut self, words: &str);

    /// A beat, an interval or a phase has ended.
    fn record(&mut self, record: &LedgerRecord);

    /// Length of a beat; `None`: nobody listens to any.
    fn beat(&self) -> Option<Beat> {
        None
    }
}
