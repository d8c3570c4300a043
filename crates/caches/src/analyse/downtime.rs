//! Downtime figures of an outage, from its run.

use crate::records::{Moments, Outage, PhaseLine, RunPurpose, RunRecord};
use crate::results::Downtime;

/// Outages of a rate; none for other runs.
pub(super) fn of(run: &RunRecord) -> Vec<Downtime> {
    let RunPurpose::Rate { order, rate_per_s } = run.purpose else { return Vec::new() };
    let seen = run.outages.iter().map(|outage| {
        let (before, after) = around(run, outage);
        let hit_ratio = |line: Option<&PhaseLine>| line.and_then(|line| line.phase.sums.document_hit_ratio());
        let since_start =
            |moments: Option<Moments>| Some(moments?.done_ns.saturating_sub(outage.started_ns?));
        let since_kill = |ns: Option<u64>| Some(ns?.saturating_sub(outage.killed_ns));
        Downtime {
            order,
            pass: run.pass,
            rate_per_s,
            phase: outage.phase.clone(),
            away_ns: since_kill(outage.started_ns),
            first_reply_ns: since_kill(outage.first_reply.map(|reply| reply.done_ns)),
            ready_ns: outage
                .ready_ns
                .zip(outage.started_ns)
                .map(|(ready, start)| ready.saturating_sub(start)),
            first_good_ns: since_start(outage.first_good),
            first_hit_ns: since_start(outage.first_hit),
            first_miss_ns: since_start(outage.first_miss),
            known_to_ns: outage
                .first_good
                .zip(outage.last_failed)
                .map(|(good, failed)| good.due_ns.saturating_sub(failed.due_ns)),
            lost: outage.lost.clone(),
            hit_ratio_before: hit_ratio(before),
            hit_ratio_after: hit_ratio(after),
            known_asked: outage.known_asked,
            known_hits: outage.known_hits,
        }
    });
    seen.collect()
}

/// The phases before and after it.
fn around<'r>(run: &'r RunRecord, outage: &Outage) -> (Option<&'r PhaseLine>, Option<&'r PhaseLine>) {
    let Some(at) = run.phases.iter().position(|line| line.phase.phase == outage.phase) else {
        return (None, None);
    };
    let after = run.phases.get(at + 1).filter(|line| line.is_of_the_plan());
    (at.checked_sub(1).and_then(|before| run.phases.get(before)), after)
}
