//! The peak of an entrant, and its search in words.
//!
//! Measuring side, cold, pure.

use super::words::rate;
use crate::plan::{CachePlan, PeakSource, RateSchedule};
use crate::records::TrialVerdict;
use crate::records::{RunPurpose, RunRecord};
use crate::results::Peak;

/// The peak rate, to which other rates are relative, and how it was found.
pub(super) fn peak(plan: &CachePlan, runs: &[(usize, &RunRecord)]) -> Option<Peak> {
    let RateSchedule::Shares { shares, peak, .. } = &plan.schedule else { return None };
    let (trials, confirming) = trials(runs);
    let measured = runs.iter().find_map(|(_, run)| match run.purpose {
        RunPurpose::Rate { order, rate_per_s } => {
            let share = shares.get(order.checked_sub(1)? as usize)?;
            Some(rate_per_s / share.get())
        }
        _ => None,
    });
    if measured.is_none() && trials.is_empty() {
        return None;
    }
    let elsewhere = trials.is_empty() && confirming.is_empty();
    let how = match peak {
        PeakSource::Given(_) if plan.rate_changed.is_some() => "as --rate says".to_owned(),
        PeakSource::Given(_) => "as the plan says".to_owned(),
        PeakSource::Searched { .. } if elsewhere => "as found for the other start of the baseline".to_owned(),
        PeakSource::Searched { .. } => found(&trials, &confirming, measured.is_some()),
    };
    Some(Peak { rate_per_s: measured, how, trials, confirming })
}

/// A trial: rate, mean response time in ns if there was a reply, verdict.
type Trial = (f64, Option<u64>, TrialVerdict);

/// The trials of the search, and those that confirm its result.
fn trials(runs: &[(usize, &RunRecord)]) -> (Vec<Trial>, Vec<Trial>) {
    let (mut searching, mut confirming) = (Vec::new(), Vec::new());
    for (_, run) in runs {
        let RunPurpose::Trial { rate_per_s, verdict, confirming: confirms } = &run.purpose else { continue };
        let mean = run.last_phase().and_then(|line| line.phase.sums.replies.traffic.response_ns.mean());
        let list = if *confirms { &mut confirming } else { &mut searching };
        list.push((*rate_per_s, mean.map(|ns| ns as u64), *verdict));
    }
    (searching, confirming)
}

fn counted(trials: usize) -> String {
    if trials == 1 { "one trial".to_owned() } else { format!("{trials} trials") }
}

/// Course of a search, in words.
fn found(trials: &[Trial], confirming: &[Trial], measured: bool) -> String {
    let passed = |(_, _, verdict): &Trial| *verdict == TrialVerdict::Sustained;
    let tried = trials.len();
    if !measured {
        return format!("no rate was measured in {}", counted(tried + confirming.len()));
    }
    let found = if trials.iter().any(passed) {
        format!("found in {}", counted(tried))
    } else {
        format!("not sustained in {}; half of the lowest", counted(tried))
    };
    match confirming {
        [] => found, // by a version that confirmed nothing
        [first] if passed(first) => format!("{found}, then held for a minute"),
        [first, .., last] if passed(last) => {
            format!("{found} as {}, which did not hold for a minute; this did", rate(first.0))
        }
        [.., last] => format!("{found}, but not even {} held for a minute", rate(last.0)),
    }
}
