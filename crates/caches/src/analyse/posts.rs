//! Repeated POSTs at the origin: an order that comes twice might be carried out twice.
//!
//! Measuring side, cold, pure.

use super::faults::of_both_ends;
use crate::records::{PhaseLine, RunRecord};
use crate::results::FaultCount;
use bakeoff_robots::judge::{RequestKind, RunFault};

/// Number of POSTs at the origin beyond all that robots sent: answered ones and failed ones. Robots send none twice.
/// Records of earlier versions do not say which failures were POSTs: all may have been.
pub(super) fn repeated(runs: &[(usize, &RunRecord)]) -> Option<FaultCount> {
    let surplus = |run: &RunRecord| {
        let of_all = |of: fn(&PhaseLine) -> u64| run.phases.iter().map(of).sum::<u64>();
        let sent = of_all(|line| {
            let sums = &line.phase.sums;
            sums.kinds[RequestKind::Post.index()].count() + sums.posts_failed.unwrap_or(sums.failed)
        });
        of_all(|line| line.used.origin_posts).saturating_sub(sent)
    };
    let count: u64 = runs.iter().map(|(_, run)| surplus(run)).sum();
    (count > 0).then(|| of_both_ends(RunFault::PostRepeated, count, runs))
}
