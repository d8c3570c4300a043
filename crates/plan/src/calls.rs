//! The checked `calls` workload: its operations, the depth of their files, the placement of their peers.

use bakeoff_calls::{CallOperation, Peers};
use bakeoff_units::Nanos;

/// A workload of single system calls and short programs.
#[derive(Clone, Debug, PartialEq)]
pub struct CallsWork {
    /// The operations, in the order of the plan; none twice.
    pub operations: Vec<CallOperation>,
    /// Depth of the files, in directories.
    pub depth: u64,
    /// Duration of a batch of the fastest arm.
    pub batch: Nanos,
    /// Placement of the two ends of a conversation.
    pub peers: Peers,
    /// A batch that takes longer ends the run.
    pub time_limit: Nanos,
}

/// An arm: only what its process is started through, and this.
#[derive(Clone, Debug, PartialEq)]
pub struct ArmCalls {
    /// Added to the environment.
    pub env: Vec<(String, String)>,
}
