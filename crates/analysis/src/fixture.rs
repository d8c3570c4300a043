//! Records that tests of this crate begin with.

use bakeoff_meter::{EncodedTimes, SliceCounters};
use bakeoff_plan::RoundDesign;
use bakeoff_results::SliceRecord;
use std::collections::BTreeMap;

/// The first slice of an arm, which took a nanosecond, with these counts.
pub(crate) fn slice(arm: &str, counters: SliceCounters, times: EncodedTimes) -> SliceRecord {
    SliceRecord {
        round: 0,
        position: 0,
        arm: arm.to_owned(),
        design: RoundDesign::Pairs,
        load: None,
        block: 0,
        start: 0,
        proof: None,
        started_ns: 0,
        ended_ns: 1,
        order_seed: None,
        counters,
        times,
        populations: BTreeMap::new(),
        parts: Vec::new(),
    }
}
