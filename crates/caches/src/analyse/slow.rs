//! Hits that took out of all proportion, as the robots' thread found them in each run.
//!
//! Measuring side, cold, pure. They accuse nobody: another program on the machine can make them, too.

use super::faults::of_both_ends;
use crate::records::RunRecord;
use crate::results::FaultCount;
use bakeoff_robots::judge::RunFault;

/// Fewer are chance.
const FEWEST: u64 = 5;
/// Least share of a run's hits: one in a thousand.
const SHARE: u64 = 1_000;

/// Their number over all runs in which they are more than chance.
pub(super) fn of(runs: &[(usize, &RunRecord)]) -> Option<FaultCount> {
    let hits =
        |run: &RunRecord| run.phases.iter().map(|line| line.phase.sums.hits.traffic.count()).sum::<u64>();
    let is_much = |run: &&RunRecord| run.slow_hits >= FEWEST && run.slow_hits >= hits(run) / SHARE;
    let count: u64 = runs.iter().map(|(_, run)| *run).filter(is_much).map(|run| run.slow_hits).sum();
    (count > 0).then(|| of_both_ends(RunFault::SlowHits, count, runs))
}
