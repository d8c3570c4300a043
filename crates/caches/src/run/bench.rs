//! State of a bake-off while it runs: where it measures, what it writes to, and what it has found.
//!
//! Measuring side, the bakeoff process, cold.

use super::error::CachesError;
use super::origin::Origin;
use super::progress::BakeoffProgress;
use super::resume::Done;
use crate::directory::BakeoffDirectory;
use crate::plan::CachePlan;
use crate::transactions::Log;
use bakeoff_experiment::environment::Placement;
use bakeoff_units::PerSecond;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

/// State of a bake-off while it runs.
pub(super) struct Bench<'a, 'd> {
    pub(super) plan: &'a CachePlan,
    pub(super) placement: Placement,
    pub(super) connections: usize,
    pub(super) origin: Origin,
    pub(super) scratch: &'a std::path::Path,
    pub(super) dir: &'a mut BakeoffDirectory<'d>,
    /// The log of every request, if there is one.
    pub(super) transactions: Option<&'a Log>,
    pub(super) progress: &'a mut dyn BakeoffProgress,
    pub(super) interrupted: &'a AtomicBool,
    /// What was measured before it was broken off.
    pub(super) done: Done,
    /// Number of the next run.
    pub(super) run: u32,
    /// Every run asks for objects of another world.
    pub(super) world: u64,
    /// The current pass, from 1, if there are several.
    pub(super) pass: Option<u32>,
    /// The peaks that were found: both starts of a baseline, and all passes, are asked at the same rates.
    pub(super) peaks: BTreeMap<String, PerSecond>,
    /// Whether the last record gives the reason why its entrant could not go on.
    pub(super) told_failure: bool,
}

impl Bench<'_, '_> {
    /// All the room that the plan gives a store.
    pub(super) fn room_bytes(&self) -> u64 {
        self.plan.memory_bytes.saturating_add(self.plan.disk_bytes.unwrap_or(0))
    }

    pub(super) fn demand_uninterrupted(&self) -> Result<(), CachesError> {
        if self.interrupted.load(Ordering::Relaxed) { Err(CachesError::Interrupted) } else { Ok(()) }
    }
}
