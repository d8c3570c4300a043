//! The pilot: cost of a request, and time that a round takes beside its requests.
//!
//! Every part of a round is done once before the first: arms are tried, started anew, and in a duet loaded in slots.
//! The times that this took are the basis of the planned rounds (`budget`).

use super::bench::{Bench, Sizing, Tried};
use super::blocks::Block;
use super::{Run, RunError};
use bakeoff_results::{RestartSetup, SlotsSetup, Warning};
use bakeoff_units::{Clock, Nanos, PerSecond};
use std::sync::atomic::Ordering;

/// Requests of the first try.
const FIRST: usize = 200;
/// Requests of the second.
const REQUESTS: usize = 2000;
/// Time beside a slice besides its quiet points: warming up, writing it down.
const BESIDE: Nanos = Nanos::from_millis(4);
/// Wall time of a rehearsal of a duet.
const REHEARSAL: Nanos = Nanos::from_millis(400);
/// The rehearsal's round: one that no real run has.
const REHEARSAL_ROUND: u32 = u32::MAX;

/// Findings of the pilot.
#[derive(Clone, Debug)]
pub(crate) struct Pilot {
    /// Arm by arm, in the last try.
    pub(crate) tried: Vec<Tried>,
    /// Number of requests of that try.
    pub(crate) of: usize,
    /// Wall time beside the requests of a slice, or of a part of one.
    pub(crate) overhead: Nanos,
    /// Warnings for the reader.
    pub(crate) warnings: Vec<Warning>,
}

/// Tries every arm, with every byte checked.
pub(crate) fn try_arms(run: &Run<'_>, bench: &mut dyn Bench) -> Result<Pilot, RunError> {
    if run.left() == Nanos::ZERO {
        return Err(RunError::NoTime { budget: run.plan.budget, stage: "starting the arms" });
    }
    let warnings = bench.calibrate(run.left())?;
    let mut of = match bench.sized() {
        Sizing::Fixed(requests) => requests,
        Sizing::Free | Sizing::Timed(_) => FIRST,
    };
    let mut began = run.clock.now();
    let mut tried = bench.try_out(of, run.left())?;
    // A second, longer try: the first one paid for connections and cold caches.
    let longest = tried.iter().map(|arm| arm.wall).max().unwrap_or(Nanos::ZERO);
    if bench.sized() == Sizing::Free && longest.times(5.0) < run.left().times(0.1) {
        of = REQUESTS;
        began = run.clock.now();
        tried = bench.try_out(of, run.left())?;
    }
    if run.interrupted.load(Ordering::Relaxed) {
        return Err(RunError::Interrupted);
    }
    let measured: u64 = tried.iter().map(|arm| arm.wall.get()).sum();
    let beside = run.clock.now().since(began).get().saturating_sub(measured) / tried.len().max(1) as u64;
    Ok(Pilot { tried, of, overhead: Nanos::new(beside) + BESIDE, warnings })
}

/// Time to start all arms anew, if that is done at all.
pub(crate) fn rehearse_start(
    run: &Run<'_>,
    bench: &mut dyn Bench,
    restarts: &RestartSetup,
) -> Result<Nanos, RunError> {
    if restarts.every == 0 {
        return Ok(Nanos::ZERO);
    }
    let began = run.clock.now();
    bench.restart(0)?;
    Ok(run.clock.now().since(began))
}

/// Loads the arms of a block in slots at this rate for a moment: gives the time of a slice beside its slots.
pub(crate) fn rehearse_duet(
    run: &Run<'_>,
    bench: &mut dyn Bench,
    (rate, slots): (PerSecond, SlotsSetup),
    block: &Block,
) -> Result<Nanos, RunError> {
    let own = REHEARSAL.as_secs_f64() / block.arms.len().max(1) as f64;
    let requests = ((rate.get() * own) as usize).max(1);
    bench.begin_round(REHEARSAL_ROUND, None, requests)?;
    let began = run.clock.now();
    let measured = bench.measure_in_slots(block, rate, slots, run.left())?;
    let took = run.clock.now().since(began);
    if run.interrupted.load(Ordering::Relaxed) {
        return Err(RunError::Interrupted);
    }
    let wall = measured.iter().map(|arm| arm.counters.wall_ns).max().unwrap_or(0);
    Ok(took.since(Nanos::new(wall)) + BESIDE)
}
