//! What the round loop asks of arms, be they servers or commands.

use super::RunError;
use crate::results::{SubjectSetup, WorkloadSetup};
use bakeoff_meter::{Counters, EncodedTimes};
use bakeoff_units::Nanos;

/// A slice that was measured.
pub(crate) struct Measured {
    pub(crate) counters: Counters,
    pub(crate) times: EncodedTimes,
    /// All requests of the slice were made. A slice that time or the user cut short is no slice.
    pub(crate) complete: bool,
}

/// All arms, started, by their index in `Plan::names`.
pub(crate) trait Bench {
    /// Prepares the work of a round: the same for every arm.
    fn begin_round(&mut self, round: u32, requests: usize) -> Result<(), RunError>;

    /// Measures one arm's slice. `limit`: no new requests after that long.
    fn measure(&mut self, arm: usize, limit: Nanos) -> Result<Measured, RunError>;

    /// One unmeasured slice of every arm.
    fn warm_up(&mut self, requests: usize) -> Result<(), RunError>;

    /// Wall time of `requests` requests of every arm, measured roughly; also checks every byte.
    fn try_out(&mut self, requests: usize, limit: Nanos) -> Result<Vec<Nanos>, RunError>;

    /// Whether slices are sized; a command is what it is.
    fn sized(&self) -> Sizing;

    /// Whether every arm's CPU can be read.
    fn has_cpu(&self) -> bool;

    /// Open loop: how late the generator may be.
    fn max_lateness(&self) -> Option<Nanos>;

    /// What the workload turned out to be; size and reason are filled in by the caller.
    fn workload(&self) -> WorkloadSetup;

    /// How an arm was started.
    fn subject(&self, arm: usize) -> SubjectSetup;
}

/// How many requests a slice may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sizing {
    /// As many as are good.
    Free,
    /// This many: the plan says so, or the work is what it is.
    Fixed(usize),
}
