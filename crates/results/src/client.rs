//! Client settings of an arm that differ from the default.

use bakeoff_plan::ClientPlan;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The load generator's side of one arm.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientSetup {
    /// All of it in words.
    pub words: String,
    /// HTTP/2: most requests in flight on a connection; none: HTTP/1.1.
    pub streams: Option<u16>,
    /// Most requests of a connection; none: as many as the server lets it.
    pub requests_per_connection: Option<u64>,
    /// Share of the TLS handshakes that must go on with an earlier session, 0 to 1, where the plan says
    /// one.
    pub resume: Option<f64>,
}

impl ClientSetup {
    /// `None` if all are the default.
    pub fn of(client: &ClientPlan, tls: bool) -> Option<Self> {
        let words = client.in_words(tls);
        (!words.is_empty()).then(|| Self {
            words,
            streams: client.streams(),
            requests_per_connection: client.requests_per_connection(),
            resume: client.resume.filter(|_| tls).map(|share| share.ratio().get()),
        })
    }
}
