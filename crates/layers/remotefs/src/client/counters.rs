//! Counters of the client: requests of the kernel, bytes, breaks, sessions.
//!
//! Measured side, hot. Requests that the kernel answers from its caches never come here, which these counters prove.

use crate::counters::{Counters, counts};

counts! {
    Lookups "lookups", Attributes "attributes", Opens "opens", Lists "lists", Links "links", Reads "reads",
    BytesRead "bytes-read", Writes "writes", BytesWritten "bytes-written", Commits "commits", Changes "changes",
    Forgotten "forgotten", Breaks "breaks", Sessions "sessions", Connections "connections", Lost "sessions-lost",
    ConnectNs "connect-ns", HandshakeNs "handshake-ns", VerifyNs "verify-ns",
}

/// All of them.
#[derive(Debug)]
pub(super) struct Tally(Counters);

impl Tally {
    pub(super) fn new() -> Self {
        Self(Counters::new(Count::NAMES))
    }

    pub(super) fn add(&self, count: Count, by: u64) {
        self.0.add(count as usize, by);
    }

    /// A line for each.
    pub(super) fn text(&self) -> String {
        self.0.text("")
    }
}
