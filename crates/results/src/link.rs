//! The link between generator and subjects: as asked for, as made, as it was in the run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How long frames took, one way, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OneWay {
    /// Shortest.
    pub min_ns: u64,
    /// Median.
    pub median_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// Longest.
    pub max_ns: u64,
    /// How many.
    pub count: u64,
}

/// A link as it was asked for, and as it was measured before the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkSetup {
    /// Rate asked for, bits of Ethernet frames a second.
    pub rate_bps: u64,
    /// TCP payload that one connection carried, bits a second, the slower direction, before delay
    /// and loss were set.
    pub carried_bps: u64,
    /// Delay asked for, one way, ns.
    pub delay_ns: u64,
    /// Of single packets towards the subject, socket to socket.
    pub probes: OneWay,
    /// Share of frames that the link was asked to lose.
    pub loss: f64,
    /// What shapes it.
    pub mechanism: String,
}

/// The same with what happened in complete rounds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkResult {
    /// As it was asked for and made.
    #[serde(flatten)]
    pub setup: LinkSetup,
    /// Frames that reached the link.
    pub packets: u64,
    /// Of them lost as the plan says.
    pub lost: u64,
    /// Packets thrown away because the queue in front of the link was full.
    pub overflowed: u64,
    /// Where a process of ours delays frames: how long they were on their way in the run.
    pub delays: Option<OneWay>,
    /// CPU of that process, ns. It is in nobody's cost.
    pub line_cpu_ns: Option<u64>,
}
