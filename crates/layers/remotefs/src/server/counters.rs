//! Counters of the server: requests by kind, bytes, breaks, refusals by name.
//!
//! Measured side, hot.

use crate::counters::{Counters, counts};
use crate::refusal::Refusal;

counts! {
    Connections "connections", Sessions "sessions", Lookups "lookups", Attributes "attributes", Lists "lists",
    Reads "reads", BytesRead "bytes-read", Writes "writes", BytesWritten "bytes-written", Commits "commits",
    Changes "changes", Pings "pings", Breaks "breaks", Decisions "decisions", Renewals "renewals",
}

/// All of them.
#[derive(Debug)]
pub(super) struct Tally {
    counts: Counters,
    refused: Counters,
}

impl Tally {
    pub(super) fn new() -> Self {
        Self { counts: Counters::new(Count::NAMES), refused: Counters::new(Refusal::LABELS) }
    }

    pub(super) fn add(&self, count: Count, by: u64) {
        self.counts.add(count as usize, by);
    }

    pub(super) fn refuse(&self, refusal: Refusal) {
        self.refused.add(refusal as usize, 1);
    }

    /// A line for each.
    pub(super) fn text(&self) -> String {
        self.counts.text("") + &self.refused.text("refused.")
    }
}
