//! A line of `slices.jsonl`.

use super::ProofRecord;
use bakeoff_meter::{EncodedTimes, Histogram, SliceCounters, Times};
use bakeoff_plan::RoundDesign;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One slice: a line of `slices.jsonl`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// Of them what each generator on another host counted, in the order of `places` in `setup.json`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartRecord>,
}

/// The share of one generator in a slice that several sent together. Its histograms are in those of the slice, but for
/// lateness, by which it is judged itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartRecord {
    /// Number of the generator, from 1.
    pub generator: u32,
    /// Its host, as it says itself.
    pub host: String,
    /// Its first lane, from 1.
    pub first_lane: u32,
    /// Number of its lanes.
    pub lanes: u32,
    /// Requests sent or tried.
    pub requests: u64,
    /// Good replies.
    pub replies: u64,
    /// Failures by class.
    pub errors: BTreeMap<String, u64>,
    /// From its first request's due time to its last reply.
    pub wall_ns: u64,
    /// CPU of its threads.
    pub generator_cpu_ns: u64,
    /// CPU of its busiest thread as a share of the wall time, 0 to 1.
    pub generator_busy: f64,
    /// Time from the run's `go` until it heard of it: by its clock as the round trips place it.
    pub heard_ns: u64,
    /// Histogram of lateness.
    pub lateness: String,
}

impl PartRecord {
    /// Adds a further part of the same slice.
    pub fn add(&mut self, more: &Self) {
        let mut sum = self.counters();
        sum.add_part(&more.counters());
        let mut lateness = self.lateness();
        lateness.merge(&more.lateness());
        *self = Self { heard_ns: self.heard_ns.max(more.heard_ns), ..self.of(sum, &lateness) };
    }

    /// Its lateness; `verify` finds one that cannot be read.
    pub fn lateness(&self) -> Histogram {
        Histogram::decode(&self.lateness).unwrap_or_default()
    }

    /// The part of the same generator with these counts.
    #[must_use]
    pub fn of(&self, counters: SliceCounters, lateness: &Histogram) -> Self {
        let SliceCounters { requests, replies, errors, wall_ns, generator_cpu_ns, generator_busy, .. } =
            counters;
        let lateness = lateness.encode();
        let counted = Self {
            requests,
            replies,
            errors,
            wall_ns,
            generator_cpu_ns,
            generator_busy,
            lateness,
            ..Self::default()
        };
        Self {
            host: self.host.clone(),
            generator: self.generator,
            first_lane: self.first_lane,
            lanes: self.lanes,
            heard_ns: self.heard_ns,
            ..counted
        }
    }

    /// Its counts as counters of a slice.
    pub fn counters(&self) -> SliceCounters {
        SliceCounters {
            requests: self.requests,
            replies: self.replies,
            errors: self.errors.clone(),
            wall_ns: self.wall_ns,
            generator_cpu_ns: self.generator_cpu_ns,
            generator_busy: self.generator_busy,
            ..SliceCounters::default()
        }
    }
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
        Some(self.counted_by(counters, times))
    }

    /// The slice as this generator counted it, from when it heard of it: of its times only lateness.
    pub fn of_part(&self, generator: u32) -> Option<Self> {
        let part = self.parts.iter().find(|part| part.generator == generator)?;
        let times = EncodedTimes { lateness: part.lateness.clone(), ..Times::default().encode() };
        let started_ns = self.started_ns + part.heard_ns;
        Some(Self { started_ns, ..self.counted_by(part.counters(), times) })
    }

    fn counted_by(&self, counters: SliceCounters, times: EncodedTimes) -> Self {
        Self {
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
            parts: Vec::new(),
        }
    }
}
