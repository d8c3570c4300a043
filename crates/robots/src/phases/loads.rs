//! Mean load factors of phases, as shares of the rate.
//!
//! Measuring side, cold, pure: for judging the load that a run made, and for planning its length. Owns no factor; the
//! lines are [`Stretch`]'s.

use super::stretch::{Handover, Stretch};
use super::{Goal, Phase, PhaseFile};
use bakeoff_units::Nanos;

/// Length assumed for a phase without a time limit. Its factors stay as they are, so that any length does.
const ANY: Nanos = Nanos::from_secs(1);

/// The mean share of the rate that each of these phases asked for, in their order, each with when it began and ended:
/// load times population. A phase goes on where the one before it stopped.
pub fn mean_loads<'p>(phases: impl Iterator<Item = (&'p Phase, Nanos, Nanos)>) -> Vec<f64> {
    let mut before = Handover::FULL;
    phases
        .map(|(phase, began, ended)| {
            let stretch = Stretch::new(phase, began, before);
            before = stretch.handover(ended);
            match ended.since(began) {
                Nanos::ZERO => stretch.factors(ended).load,
                span => stretch.work(began, ended) / span.as_secs_f64(),
            }
        })
        .collect()
}

/// The same of phases that go to their ends as planned.
pub fn planned_loads(phases: &[PhaseFile]) -> Vec<f64> {
    // Its duration alone, without the other goals.
    let timed = |file: &PhaseFile| file.with(Goal { duration: file.goal.duration, ..Goal::default() });
    let phases: Vec<Phase> = phases.iter().map(timed).collect();
    let mut now = Nanos::ZERO;
    let spans = phases.iter().map(|phase| {
        let began = now;
        now += phase.goal.duration.unwrap_or(ANY);
        (phase, began, now)
    });
    mean_loads(spans)
}
