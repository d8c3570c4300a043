//! The pilot: how much work a slice is, and how many rounds fit the budget.

use super::bench::{Bench, Sizing, Tried};
use super::{Run, RunError};
use crate::results::Warning;
use bakeoff_units::Nanos;
use std::sync::atomic::Ordering;

/// The fastest arm needs at least this long for a slice.
pub(super) const SLICE: Nanos = Nanos::from_millis(200);
/// Room for a machine that is faster later than in the pilot.
pub(super) const RESERVE: f64 = 1.25;
/// Fewest requests of a slice, unless the budget cannot bear it.
const REQUESTS: usize = 2000;
/// Most requests of a slice.
const MOST: usize = 500_000;
/// Fewest requests of a slice whatever the budget.
const LEAST: usize = 50;
/// Requests of the first try.
const FIRST: usize = 200;
/// Rounds that should fit the budget: the second look.
pub(super) const ROUNDS: f64 = 14.0;
/// Wall time of a slice beside its requests: warming, quiet points, writing it down.
const OVERHEAD: Nanos = Nanos::from_millis(40);
/// Share of the remaining budget that rounds may take.
pub(super) const USABLE: f64 = 0.95;

/// What the pilot settled.
#[derive(Clone, Debug)]
pub(crate) struct Pilot {
    pub(crate) requests: usize,
    pub(crate) reason: String,
    pub(crate) max_rounds: u32,
    pub(crate) warnings: Vec<Warning>,
    /// What the last try saw, arm by arm.
    pub(crate) tried: Vec<Tried>,
    /// For so many requests.
    pub(crate) of: usize,
}

pub(crate) fn size(run: &Run<'_>, bench: &mut dyn Bench) -> Result<Pilot, RunError> {
    let too_late = || RunError::NoTime { budget: run.plan.budget, stage: "starting the arms" };
    if run.left() == Nanos::ZERO {
        return Err(too_late());
    }
    let found = bench.calibrate(run.left())?;
    let first = match bench.sized() {
        Sizing::Fixed(requests) => requests,
        Sizing::Free => FIRST,
    };
    let mut tried = first;
    let mut seen = bench.try_out(first, run.left())?;
    // A second, longer try: the first one paid for connections and cold caches.
    let quick = seen
        .iter()
        .map(|arm| arm.wall)
        .max()
        .is_some_and(|longest| longest.times(5.0) < run.left().times(0.1));
    if bench.sized() == Sizing::Free && quick {
        tried = REQUESTS;
        seen = bench.try_out(REQUESTS, run.left())?;
    }
    if run.interrupted.load(Ordering::Relaxed) {
        return Err(RunError::Interrupted);
    }
    let times: Vec<Nanos> = seen.iter().map(|arm| arm.wall).collect();
    let arms = Arms { times: &times, tried, own: &bench.own_slices() };
    let mut pilot = decide(bench.sized(), &arms, run.left(), run.plan.max_rounds);
    pilot.warnings.extend(found);
    pilot.tried = seen;
    pilot.of = tried;
    Ok(pilot)
}

/// What is known of the arms.
struct Arms<'a> {
    /// Their wall times for `tried` requests.
    times: &'a [Nanos],
    tried: usize,
    /// Sizes that the plan gives single arms; may be shorter.
    own: &'a [Option<usize>],
}

impl Arms<'_> {
    /// Time of a request of each arm in ns, with the arm's own size.
    fn per_request(&self) -> impl Iterator<Item = (f64, Option<usize>)> {
        let own = self.own.iter().copied().chain(std::iter::repeat(None));
        self.times.iter().map(|time| time.get().max(1) as f64 / self.tried.max(1) as f64).zip(own)
    }
}

/// Pure.
fn decide(sizing: Sizing, arms: &Arms<'_>, left: Nanos, max_rounds: u32) -> Pilot {
    let free = || arms.per_request().filter(|(_, own)| own.is_none()).map(|(time, _)| time);
    let fastest = free().fold(f64::INFINITY, f64::min);
    let round_per_request: f64 = free().sum();
    let planned: f64 = arms.per_request().filter_map(|(time, own)| Some(time * own? as f64)).sum();
    let overhead = OVERHEAD.get() as f64 * arms.times.len() as f64 + planned;
    let usable = left.get() as f64 * USABLE;
    let mut warnings = Vec::new();
    let sizing = match arms.own.iter().copied().collect::<Option<Vec<usize>>>() {
        // No arm is left to be sized.
        Some(own) if own.len() == arms.times.len() => Sizing::Fixed(own.into_iter().max().unwrap_or(1)),
        _ => sizing,
    };
    let (requests, reason) = match sizing {
        Sizing::Fixed(requests) => (requests, "as the plan says".to_owned()),
        Sizing::Free => {
            let wanted = ((SLICE.get() as f64 * RESERVE / fastest).ceil() as usize).clamp(REQUESTS, MOST);
            let affordable = ((usable / ROUNDS - overhead) / round_per_request).max(0.0) as usize;
            let requests = wanted.min(affordable.max(LEAST));
            if requests < wanted {
                warnings.push(Warning {
                    label: "small-slices".to_owned(),
                    sentence: format!(
                        "slices have {requests} requests in place of {wanted}, so that {ROUNDS:.0} rounds fit the \
                         budget: expect wider intervals, or give a larger budget"
                    ),
                });
            }
            let wall = Nanos::new((fastest * requests as f64) as u64);
            (requests, format!("the fastest arm takes {wall} for it"))
        }
    };
    let round = round_per_request * requests as f64 + overhead;
    let fit = (usable / round) as u32;
    let max_rounds = if fit < 10 { fit.clamp(3, max_rounds) } else { max_rounds };
    if fit < 10 {
        warnings.push(Warning {
            label: "few-rounds".to_owned(),
            sentence: format!(
                "a round takes {}: only about {max_rounds} fit the budget, judged once at the end; a larger budget \
                 allows sharper intervals",
                Nanos::new(round as u64)
            ),
        });
    }
    let own = arms.own.iter().flatten().count();
    let reason = match own {
        0 => reason,
        1 => format!("{reason}; 1 arm has as many as the plan says for it"),
        _ => format!("{reason}; {own} arms have as many as the plan says for them"),
    };
    Pilot { requests, reason, max_rounds, warnings, tried: Vec::new(), of: arms.tried }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arms<'a>(times: &'a [Nanos], tried: usize, own: &'a [Option<usize>]) -> Arms<'a> {
        Arms { times, tried, own }
    }

    #[test]
    fn arms_with_a_size_of_their_own_leave_the_others_what_time_there_is() {
        // 20 us a request, and one arm of 1 ms a request that takes 1 s of each of 14 rounds.
        let times = [Nanos::from_millis(40), Nanos::from_millis(40), Nanos::from_secs(2)];
        let own = [None, None, Some(1000)];
        let pilot = decide(Sizing::Free, &arms(&times, 2000, &own), Nanos::from_secs(90), 80);
        assert_eq!((pilot.requests, pilot.max_rounds), (12_500, 80));
        assert_eq!(
            pilot.reason,
            "the fastest arm takes 250 ms for it; 1 arm has as many as the plan says for it"
        );
        // 17 s: 1.15 s a round, of which 0.03 s are left for two arms.
        let pilot = decide(Sizing::Free, &arms(&times, 2000, &own), Nanos::from_secs(17), 80);
        assert!((700..850).contains(&pilot.requests), "{}", pilot.requests);
        let all = [Some(500), Some(500), Some(1000)];
        let pilot = decide(Sizing::Free, &arms(&times, 2000, &all), Nanos::from_secs(8), 80);
        // A round: 10 ms + 10 ms + 1 s + 3 x 40 ms.
        assert_eq!((pilot.requests, pilot.max_rounds), (1000, 6));
        assert_eq!(pilot.warnings[0].label, "few-rounds");
    }

    #[test]
    fn a_slice_takes_the_fastest_arm_long_enough() {
        // 20 us and 50 us a request, 90 s left.
        let times = [Nanos::from_millis(40), Nanos::from_millis(40), Nanos::from_millis(100)];
        let pilot = decide(Sizing::Free, &arms(&times, 2000, &[]), Nanos::from_secs(90), 80);
        assert_eq!((pilot.requests, pilot.max_rounds), (12_500, 80));
        assert!(pilot.warnings.is_empty());
    }

    #[test]
    fn slow_arms_get_small_slices_so_that_rounds_fit() {
        // 10 ms a request and arm, 60 s left: 14 rounds of 2 arms.
        let times = [Nanos::from_secs(2), Nanos::from_secs(2)];
        let pilot = decide(Sizing::Free, &arms(&times, 200, &[]), Nanos::from_secs(60), 80);
        assert!((180..=204).contains(&pilot.requests), "{}", pilot.requests);
        assert_eq!(pilot.warnings[0].label, "small-slices");
        assert_eq!(pilot.max_rounds, 80);
    }

    #[test]
    fn few_rounds_are_planned_as_one_look() {
        let times = [Nanos::from_secs(10); 3];
        let pilot = decide(Sizing::Fixed(1), &arms(&times, 1, &[]), Nanos::from_secs(180), 80);
        assert_eq!((pilot.requests, pilot.max_rounds), (1, 5));
        assert_eq!(pilot.warnings[0].label, "few-rounds");
    }
}
