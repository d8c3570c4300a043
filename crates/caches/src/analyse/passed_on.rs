//! Requests as they come to the origin: what a cache has to change in them and did not, or changed and must not.
//!
//! Measuring side, cold, pure. Looks at whole runs: the origin counts for all.

use super::faults::of_both_ends;
use super::phases;
use crate::records::{OriginHeard, RunRecord};
use crate::results::FaultCount;
use bakeoff_robots::judge::RunFault;

/// Faults over all runs against a cache.
pub(super) fn of(runs: &[(usize, &RunRecord)]) -> Vec<FaultCount> {
    let heard = || phases(runs).filter_map(|line| line.used.origin_heard);
    let sum = |of: fn(&OriginHeard) -> u64| heard().map(|heard| of(&heard)).sum::<u64>();
    let counts = [
        (RunFault::HopPassed, sum(|heard| heard.hop_passed)),
        (RunFault::HostChanged, sum(|heard| heard.other_host)),
        (RunFault::NoVia, sum(|heard| heard.without_via)),
    ];
    let found = counts.into_iter().filter(|(_, count)| *count > 0);
    found.map(|(fault, count)| of_both_ends(fault, count, runs)).collect()
}
