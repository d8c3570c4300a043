//! POSTs that came to the origin more than once: what is handed over there might be taken twice.
//!
//! Measuring side, cold, pure.

use crate::records::RunRecord;
use crate::results::Fault;
use bakeoff_robots::judge::RequestKind;

/// By how many the origin had more than all that robots may have sent: those that were answered, and whatever failed.
/// Robots send none twice.
pub(super) fn repeated(runs: &[(usize, &RunRecord)]) -> Option<Fault> {
    let surplus = |run: &RunRecord| {
        let of_all = |of: fn(&crate::records::PhaseLine) -> u64| run.phases.iter().map(of).sum::<u64>();
        let sent = of_all(|line| {
            let sums = &line.phase.sums;
            sums.kinds[RequestKind::Post.index()].count() + sums.failed
        });
        of_all(|line| line.used.origin_posts).saturating_sub(sent)
    };
    let count: u64 = runs.iter().map(|(_, run)| surplus(run)).sum();
    let finished: u64 =
        runs.iter().flat_map(|(_, run)| &run.phases).map(|line| line.phase.sums.finished).sum();
    (count > 0).then(|| Fault {
        label: "post-repeated".to_owned(),
        meaning:
            "POSTs that came to the origin once more than they were sent: what is posted may be taken twice"
                .to_owned(),
        only_counted: false,
        count,
        share: count as f64 / finished.max(1) as f64,
        first: None,
    })
}
