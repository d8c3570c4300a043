//! Counters of the server: requests by kind, bytes, breaks, refusals by name.
//!
//! Measured side, hot.

use crate::refusal::Refusal;
use bakeoff_layers_base::counters::Counters;
use bakeoff_layers_base::named;

named! {
    /// What is counted.
    pub(super) enum Count {
        Connections "connections", Sessions "sessions", Lookups "lookups", Attributes "attributes", Lists "lists",
        Reads "reads", BytesRead "bytes-read", Writes "writes", BytesWritten "bytes-written", Commits "commits",
        Changes "changes", Pings "pings", Breaks "breaks", Decisions "decisions", Renewals "renewals",
    }
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct ServerCounters {
    counts: Counters<Count>,
    refused: Counters<Refusal>,
}

impl ServerCounters {
    pub(super) fn add(&self, count: Count, by: u64) {
        self.counts.add(count, by);
    }

    pub(super) fn refuse(&self, refusal: Refusal) {
        self.refused.add(refusal, 1);
    }

    /// A line for each.
    pub(super) fn text(&self) -> String {
        self.counts.text("") + &self.refused.text("refused.")
    }
}
