//! Repeated POSTs at the origin: an order that comes twice might be carried out twice.
//!
//! Measuring side, cold, pure.

use super::faults::of_both_ends;
use crate::records::{PhaseLine, RunRecord};
use crate::results::FaultCount;
use bakeoff_robots::judge::RequestKind;

/// Number of POSTs at the origin beyond all that robots may have sent: answered ones and all failures. Robots send none
/// twice.
pub(super) fn repeated(runs: &[(usize, &RunRecord)]) -> Option<FaultCount> {
    let surplus = |run: &RunRecord| {
        let of_all = |of: fn(&PhaseLine) -> u64| run.phases.iter().map(of).sum::<u64>();
        let sent = of_all(|line| {
            let sums = &line.phase.sums;
            sums.kinds[RequestKind::Post.index()].count() + sums.failed
        });
        of_all(|line| line.used.origin_posts).saturating_sub(sent)
    };
    let count: u64 = runs.iter().map(|(_, run)| surplus(run)).sum();
    let meaning =
        "POSTs that came to the origin once more than they were sent: what is posted may be taken twice";
    (count > 0).then(|| of_both_ends("post-repeated", meaning, count, runs))
}
