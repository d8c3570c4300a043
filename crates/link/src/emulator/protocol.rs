//! Protocol between bakeoff and the emulator: one JSON object a line, over a socket pair.
//!
//! bakeoff: `Open` first, then any number of `Hinder` and `Record`. The emulator answers each once.

use bakeoff_meter::Histogram;
use bakeoff_units::Nanos;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "kebab-case")]
pub(super) enum Order {
    /// Make a device in each of these namespaces and join them.
    Open { namespaces: [PathBuf; 2], device: String },
    /// Set delay and loss from now on, both ways.
    Hinder(Way),
    /// Send the record since the last time.
    Record,
}

/// Delay and loss of frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Way {
    pub(crate) delay_ns: u64,
    /// Share of frames.
    pub(crate) loss: f64,
    /// Seed of the draws.
    pub(crate) seed: u64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub(super) enum Answer {
    /// The devices are there.
    Opened { goes_first: bool },
    /// Nothing is made, and the emulator ends.
    Failed { doing: String, error: String },
    /// Delay and loss are set.
    Hindered,
    /// The record, both ways together.
    Record { delays: String, packets: u64, lost: u64, refused: u64, cpu_ns: u64 },
}

/// Record of the emulator.
#[derive(Clone, Debug, Default)]
pub struct EmulatorRecord {
    /// From read to written, of every frame that was delivered.
    pub delays: Histogram,
    /// Frames that came, both ways.
    pub packets: u64,
    /// Of them lost as the plan says.
    pub lost: u64,
    /// Of them not taken by the other end.
    pub refused: u64,
    /// CPU that the emulator used. Receiving a frame is done in its writing of it, so TCP's work on
    /// both sides is in here.
    pub cpu: Nanos,
}

impl EmulatorRecord {
    /// Adds a later record.
    pub(crate) fn add(&mut self, later: &Self) {
        self.delays.merge(&later.delays);
        self.packets += later.packets;
        self.lost += later.lost;
        self.refused += later.refused;
        self.cpu += later.cpu;
    }
}
