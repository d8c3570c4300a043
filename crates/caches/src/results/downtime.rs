//! Results of an outage in `results.json`.

use super::EntrantResults;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An outage: the cache was killed, and started again after a while. Times run to the end of a reply, and say when
/// robots found it back. They ask now and then, and it may have been back since the request before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Downtime {
    /// Index of its run's rate in the plan, from 1.
    pub order: u32,
    /// Number of its pass, from 1, if there are several.
    #[serde(default)]
    pub pass: Option<u32>,
    /// The rate that was asked for.
    pub rate_per_s: f64,
    /// The outage's phase.
    pub phase: String,
    /// From the kill to the moment when it was started again.
    pub away_ns: Option<u64>,
    /// From the kill to the end of the first reply of any kind.
    pub first_reply_ns: Option<u64>,
    /// From the start on: its port took a connection.
    pub ready_ns: Option<u64>,
    /// From the start to the end of the first good reply.
    pub first_good_ns: Option<u64>,
    /// From the start to the end of the first hit.
    pub first_hit_ns: Option<u64>,
    /// From the start to the end of the first miss.
    pub first_miss_ns: Option<u64>,
    /// Time between the due moments of the last request that failed and the first that did not: it may have been back
    /// this much earlier.
    pub known_to_ns: Option<u64>,
    /// Requests that failed from the kill to the first good reply, by class of failure or fault.
    pub lost: BTreeMap<String, u64>,
    /// Hit ratio of the phase before.
    pub hit_ratio_before: Option<f64>,
    /// Hit ratio of the phase after.
    pub hit_ratio_after: Option<f64>,
    /// Objects that it might have kept from before the kill and that were asked for again after the start.
    pub known_asked: u64,
    /// Number of objects whose first such request was a hit: those that survived.
    pub known_hits: u64,
}

impl Downtime {
    /// Number of requests that were lost.
    pub fn lost_in_all(&self) -> u64 {
        self.lost.values().sum()
    }

    /// Share of the objects it might have kept that was still there.
    pub fn survived(&self) -> Option<f64> {
        (self.known_asked > 0).then(|| self.known_hits as f64 / self.known_asked as f64)
    }
}

impl EntrantResults {
    /// Whether it gave good replies after each of its outages; `None` if there was none.
    pub fn came_back(&self) -> Option<bool> {
        let back = self.downtime.iter().all(|downtime| downtime.first_good_ns.is_some());
        (!self.downtime.is_empty()).then_some(back)
    }
}
