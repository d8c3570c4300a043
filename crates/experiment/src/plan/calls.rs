//! The `calls` workload, checked: which operations, where their files and partners are.

use bakeoff_calls::{Operation, Peers};
use bakeoff_units::Nanos;

/// A workload of single system calls and short programs.
#[derive(Clone, Debug, PartialEq)]
pub struct CallsWork {
    /// What is made, in the order of the plan; none twice.
    pub operations: Vec<Operation>,
    /// How many directories deep the files lie.
    pub depth: u64,
    /// How long a batch of the fastest arm is.
    pub batch: Nanos,
    /// Where the two ends of a conversation run.
    pub peers: Peers,
    /// A batch that takes longer ends the run.
    pub time_limit: Nanos,
}

/// An arm: nothing but what its process is started through, and this.
#[derive(Clone, Debug, PartialEq)]
pub struct ArmCalls {
    /// Added to the environment.
    pub env: Vec<(String, String)>,
}
