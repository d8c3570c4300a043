//! Counters of the client: requests of the kernel, bytes, breaks, sessions.
//!
//! Measured side, hot. Requests that the kernel answers from its caches never come here, which these counters prove.

use bakeoff_layers_base::counters::Counters;
use bakeoff_layers_base::named;

named! {
    /// What is counted.
    pub(super) enum Count {
        Lookups "lookups", Attributes "attributes", Opens "opens", Lists "lists", Links "links", Reads "reads",
        BytesRead "bytes-read", Writes "writes", BytesWritten "bytes-written", Commits "commits", Changes "changes",
        Forgotten "forgotten", Breaks "breaks", Sessions "sessions", Connections "connections", Lost "sessions-lost",
        ConnectNs "connect-ns", HandshakeNs "handshake-ns", VerifyNs "verify-ns",
    }
}

/// All of them.
pub(super) type ClientCounters = Counters<Count>;
