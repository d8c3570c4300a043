//! Verdict on an entrant: the worst that is known of it, before what its rates came to.
//!
//! Measuring side, cold, pure.

use super::books::{cheats, is_cheat};
use crate::records::RunRecord;
use crate::results::{CutShort, EntrantResults, Point};
use bakeoff_results::entrant::EntrantVerdict;
use bakeoff_robots::judge::Harm;

/// The verdict, from everything else that is known.
pub(super) fn of(entrant: &EntrantResults) -> EntrantVerdict {
    let accusations = || entrant.faults.iter().filter(|fault| !fault.only_counted);
    if accusations().any(|fault| is_cheat(&fault.label)) {
        EntrantVerdict::Cheat
    } else if let Some(verdict) = accusations().map(|fault| fault.harm).min().and_then(of_harm) {
        verdict
    } else if entrant.failed.is_some() {
        EntrantVerdict::NotFinished
    } else {
        match of_rates(entrant) {
            EntrantVerdict::Passes if accusations().next().is_some() => EntrantVerdict::PassesWithFaults,
            verdict => verdict,
        }
    }
}

/// The worst of one run by itself, where that alone decides: a cheat, a leak, wrong content. Of a part of a run the
/// origin's counts say nothing, as it counts for all parts.
pub fn worst_of(run: &RunRecord, is_part: bool) -> Option<EntrantVerdict> {
    let counts = run.phases.iter().flat_map(|line| &line.phase.sums.faults);
    if !is_part && !cheats(run).is_empty() {
        return Some(EntrantVerdict::Cheat);
    }
    counts.filter(|(_, count)| **count > 0).map(|(fault, _)| fault.row().harm).min().and_then(of_harm)
}

/// The verdict that the worst harm gives at any count.
const fn of_harm(worst: Harm) -> Option<EntrantVerdict> {
    match worst {
        Harm::Leak => Some(EntrantVerdict::Leak),
        Harm::WrongContent => Some(EntrantVerdict::WrongContent),
        _ => None,
    }
}

fn of_rates(entrant: &EntrantResults) -> EntrantVerdict {
    let broken_off = |point: &Point| point.cut_short == Some(CutShort::BrokenOff);
    let is_judged = entrant.points.iter().any(|point| point.rule.is_some());
    match entrant.came_back() {
        Some(true) => EntrantVerdict::CameBack,
        Some(false) => EntrantVerdict::NotBack,
        None if entrant.passed_up_to_per_s.is_some() => EntrantVerdict::Passes,
        None if entrant.points.is_empty() => EntrantVerdict::NoRate,
        None if entrant.points.iter().all(broken_off) => EntrantVerdict::BrokenOff,
        None if !is_judged => EntrantVerdict::Measured,
        None if entrant.failed_from_per_s.is_none() => EntrantVerdict::BrokenOff,
        None => EntrantVerdict::Fails,
    }
}
