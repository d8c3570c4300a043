//! Specification of a link.

use bakeoff_units::{BitsPerSecond, Nanos, Ratio};
use std::path::Path;

/// The specification of a link, the same both ways.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkSpec {
    /// Ethernet frames without checksum, preamble and gap.
    pub rate: BitsPerSecond,
    /// One way.
    pub delay: Nanos,
    /// Share of frames that are lost, 0 to below 1, each by its own draw.
    pub loss: Ratio,
}

/// Settings for making a link.
#[derive(Clone, Copy, Debug)]
pub struct Making<'a> {
    /// bakeoff's own executable, for the emulator process, which runs where the caller may run.
    pub executable: &'a Path,
    /// Seed of the losses that the emulator draws.
    pub seed: u64,
    /// The mechanism that delays and loses.
    pub delay_by: DelayBy,
}

/// The mechanism that delays and loses frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DelayBy {
    /// netem where the kernel has it, else the emulator.
    #[default]
    Best,
    /// The emulator, also where the kernel has netem.
    Emulator,
}
