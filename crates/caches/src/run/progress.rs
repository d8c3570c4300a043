//! Listener for the progress of a bake-off.
//!
//! Measuring side, cold.

use bakeoff_robots::ledger::LedgerRecord;

/// Listener for the progress of a bake-off.
pub trait BakeoffProgress {
    /// A stage begins.
    fn stage(&mut self, words: &str);

    /// An interval or a phase has ended.
    fn record(&mut self, record: &LedgerRecord);
}
