//! A line of `slices.jsonl`.

use super::ProofRecord;
use bakeoff_meter::{EncodedTimes, SliceCounters};
use bakeoff_plan::RoundDesign;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One slice: a line of `slices.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SliceRecord {
    /// Round, from 0.
    pub round: u32,
    /// Place in the round's order, from 0.
    pub position: u32,
    /// Arm.
    pub arm: String,
    /// How the slices of this round were taken.
    pub design: RoundDesign,
    /// The load, by its place in the design's loads; none: the plan's own clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<u32>,
    /// The block of a duet that the slice is of, by its place in the design's blocks.
    #[serde(default, skip_serializing_if = "is_first")]
    pub block: u32,
    /// Which start of the arms this is, from 0.
    pub start: u32,
    /// Whether the layer was on, where that was asked anew at this start.
    pub proof: Option<ProofRecord>,
    /// Start, ns since the run began.
    pub started_ns: u64,
    /// End, ns since the run began. In between other arms may have had their parts.
    pub ended_ns: u64,
    /// Duet: seed of the arm's own order and arrivals in this round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order_seed: Option<u64>,
    /// What was counted.
    pub counters: SliceCounters,
    /// Histograms of times.
    pub times: EncodedTimes,
    /// Of them what each population counted, where the plan has several: by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub populations: BTreeMap<String, PopulationRecord>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
const fn is_first(block: &u32) -> bool {
    *block == 0
}

/// What one population counted in a slice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PopulationRecord {
    /// What was counted; CPU is the generator's for it.
    pub counters: SliceCounters,
    /// Histograms of times.
    pub times: EncodedTimes,
}

impl SliceRecord {
    /// The slice as this population counted it.
    pub fn of_population(&self, name: &str) -> Option<Self> {
        let PopulationRecord { counters, times } = self.populations.get(name)?.clone();
        Some(Self {
            round: self.round,
            position: self.position,
            arm: self.arm.clone(),
            design: self.design,
            load: self.load,
            block: self.block,
            start: self.start,
            proof: None,
            started_ns: self.started_ns,
            ended_ns: self.ended_ns,
            order_seed: self.order_seed,
            counters,
            times,
            populations: BTreeMap::new(),
        })
    }
}
