//! The round loop: randomised complete blocks, written down slice by slice.

use super::bench::Bench;
use super::{Run, RunError};
use crate::analyse::{self, Standing};
use crate::directory::{StoppedBy, Stored};
use crate::plan::Design;
use crate::results::{Setup, SliceRecord};
use bakeoff_content::SplitMix64;
use bakeoff_units::Nanos;
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

/// Seed purpose of the order of arms.
const ORDER: u64 = 0x0de2;
/// What a slice may overrun the budget by.
const GRACE: Nanos = Nanos::from_secs(10);

/// Told of how a run goes.
pub trait Progress {
    /// Something that takes a while begins.
    fn stage(&mut self, what: &str);
    /// A round is complete.
    fn round(&mut self, report: &RoundReport<'_>);
}

/// Where a run stands after a round.
#[derive(Debug)]
pub struct RoundReport<'a> {
    /// Complete rounds.
    pub rounds: u32,
    /// Rounds allowed.
    pub max_rounds: u32,
    /// Since the command began.
    pub elapsed: Nanos,
    /// Of the budget.
    pub left: Nanos,
    /// Effects and intervals so far, unless nothing was judged in this round.
    pub standing: &'a Standing,
}

pub(crate) fn run(
    run: &Run<'_>,
    bench: &mut dyn Bench,
    setup: Setup,
    slices: Vec<SliceRecord>,
    progress: &mut dyn Progress,
) -> Result<StoppedBy, RunError> {
    let mut stored = Stored { plan: String::new(), setup, slices, stopped_by: StoppedBy::Interrupted };
    let offset = stored.slices.iter().map(|s| s.started_ns + s.counters.wall_ns).max().unwrap_or(0);
    let resumed_at = run.elapsed();
    let budget = Nanos::new(stored.setup.budget_ns);
    // A resumed run has what is left of the first one's budget.
    let spent = |now: Nanos| Nanos::new(offset) + now.since(resumed_at);
    let begin = if offset > 0 { Nanos::ZERO } else { resumed_at };
    let mut longest = Nanos::ZERO;
    let mut round = next_round(&stored);
    loop {
        if round > 0 && stored.setup.looks.contains(&round) || round >= stored.setup.max_rounds {
            let standing = analyse::standing(&stored)?;
            if standing.settled {
                return Ok(StoppedBy::Verdicts);
            }
            if round >= stored.setup.max_rounds {
                return Ok(StoppedBy::Rounds);
            }
        }
        let used = begin + spent(run.elapsed());
        if used + longest > budget {
            return Ok(StoppedBy::Budget);
        }
        let round_began = run.elapsed();
        bench.begin_round(round, stored.setup.workload.slice_requests as usize)?;
        for (position, arm) in order(&stored.setup, round).into_iter().enumerate() {
            let name = stored.setup.arms[arm].clone();
            if stored.slices.iter().any(|slice| slice.round == round && slice.arm == name) {
                continue; // measured before the run was resumed
            }
            let started_ns = spent(run.elapsed()).get();
            let limit = budget.since(begin + spent(run.elapsed())) + GRACE;
            let measured = bench.measure(arm, limit)?;
            if run.interrupted.load(Ordering::Relaxed) {
                return Ok(StoppedBy::Interrupted);
            }
            if !measured.complete {
                return Ok(StoppedBy::Budget);
            }
            let (counters, times) = (measured.counters, measured.times);
            let slice = SliceRecord {
                round,
                position: position as u32,
                arm: name,
                design: Design::Pairs,
                start: 0,
                proof: None,
                started_ns,
                counters,
                times,
            };
            run.dir.append(&slice)?;
            stored.slices.push(slice);
        }
        longest = longest.max(run.elapsed().since(round_began));
        round += 1;
        report(run, &stored, round, budget.since(begin + spent(run.elapsed())), progress)?;
    }
}

/// Tells of the round. Costs a few milliseconds, between slices.
fn report(
    run: &Run<'_>,
    stored: &Stored,
    round: u32,
    left: Nanos,
    progress: &mut dyn Progress,
) -> Result<(), RunError> {
    let standing = analyse::standing(stored)?;
    progress.round(&RoundReport {
        rounds: round,
        max_rounds: stored.setup.max_rounds,
        elapsed: run.elapsed(),
        left,
        standing: &standing,
    });
    Ok(())
}

/// The first round that is not complete.
fn next_round(stored: &Stored) -> u32 {
    (0..)
        .find(|round| {
            let there: BTreeSet<&str> = stored
                .slices
                .iter()
                .filter(|slice| slice.round == *round)
                .map(|slice| slice.arm.as_str())
                .collect();
            there.len() < stored.setup.arms.len()
        })
        .unwrap_or(0)
}

/// The order of a round: drawn from the seed, the same however often it is asked.
fn order(setup: &Setup, round: u32) -> Vec<usize> {
    let mut arms: Vec<usize> = (0..setup.arms.len()).collect();
    SplitMix64::for_purpose(setup.seed ^ ORDER, u64::from(round)).shuffle(&mut arms);
    arms
}
