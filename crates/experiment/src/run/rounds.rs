//! The round loop: randomised complete blocks, written down slice by slice.

use super::bench::{Bench, Measured, Part};
use super::{Run, RunError};
use crate::analyse::{self, Next, Standing};
use crate::directory::{Digests, StoppedBy, Stored};
use crate::plan::Design;
use crate::results::{Setup, SliceRecord};
use bakeoff_content::SplitMix64;
use bakeoff_units::{Nanos, PerSecond};
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
    let (plan, trials, digests) = (String::new(), Vec::new(), Digests::new());
    let stored = Stored { plan, setup, slices, trials, stopped_by: StoppedBy::Interrupted, digests };
    Rounds::new(run, bench, stored).go(progress)
}

/// Why a round is not complete.
enum Cut {
    Interrupted,
    Budget,
}

struct Rounds<'a> {
    run: &'a Run<'a>,
    bench: &'a mut dyn Bench,
    stored: Stored,
    /// Wall time of the run before it was resumed.
    offset: Nanos,
    resumed_at: Nanos,
    /// Which start of the arms this is.
    start: u32,
    /// The first round of this start is still to come or under way.
    just_started: bool,
}

impl<'a> Rounds<'a> {
    fn new(run: &'a Run<'a>, bench: &'a mut dyn Bench, stored: Stored) -> Self {
        let ends = stored.slices.iter().map(|s| s.ended_ns);
        let offset = Nanos::new(ends.max().unwrap_or(0));
        let start = stored.slices.iter().map(|slice| slice.start + 1).max().unwrap_or(0);
        Self { run, bench, stored, offset, resumed_at: run.elapsed(), start, just_started: true }
    }

    fn go(mut self, progress: &mut dyn Progress) -> Result<StoppedBy, RunError> {
        let first = next_round(&self.stored);
        let mut round = first;
        let mut longest = Nanos::ZERO;
        let mut standing = analyse::standing(&self.stored)?;
        loop {
            let design = match standing.next {
                Next::Settled => return Ok(StoppedBy::Verdicts),
                Next::NoTime => return Ok(StoppedBy::Budget),
                Next::AllRounds => return Ok(StoppedBy::Rounds),
                Next::Round(design) => design,
            };
            if longest > self.left() || self.left() == Nanos::ZERO {
                return Ok(StoppedBy::Budget);
            }
            let began = self.run.elapsed();
            self.restart_if_due(round, first)?;
            match self.measure(round, design)? {
                Some(Cut::Interrupted) => return Ok(StoppedBy::Interrupted),
                Some(Cut::Budget) => return Ok(StoppedBy::Budget),
                None => {}
            }
            longest = longest.max(self.run.elapsed().since(began));
            round += 1;
            self.just_started = false;
            standing = analyse::standing(&self.stored)?;
            progress.round(&RoundReport {
                rounds: standing.rounds,
                max_rounds: standing.max_rounds,
                elapsed: self.run.elapsed(),
                left: self.left(),
                standing: &standing,
            });
        }
    }

    /// Since the first slice, what was spent before a resumption included.
    fn spent(&self) -> Nanos {
        self.offset + self.run.elapsed().since(self.resumed_at)
    }

    /// Of the budget. A resumed run has what is left of the first one's.
    fn left(&self) -> Nanos {
        let begin = if self.offset > Nanos::ZERO { Nanos::ZERO } else { self.resumed_at };
        Nanos::new(self.stored.setup.budget_ns).since(begin + self.spent())
    }

    fn restart_if_due(&mut self, round: u32, first: u32) -> Result<(), RunError> {
        if round == first || !self.stored.setup.restarts.is_due(round) {
            return Ok(());
        }
        self.start += 1;
        self.just_started = true;
        self.bench.restart(self.start)
    }

    fn measure(&mut self, round: u32, design: Design) -> Result<Option<Cut>, RunError> {
        let setup = &self.stored.setup;
        let requests = match &setup.design.duet {
            Some(duet) if design == Design::Pairs => duet.paired_requests,
            _ => setup.workload.slice_requests,
        };
        self.bench.begin_round(round, requests as usize)?;
        match design {
            Design::Pairs => self.one_by_one(round),
            Design::Duet => self.together(round),
        }
    }

    /// The arms in turn, part by part, each part in an order of its own. The arm's place is that of its first part.
    fn one_by_one(&mut self, round: u32) -> Result<Option<Cut>, RunError> {
        let of = self.stored.setup.design.parts.max(1);
        let places = order(&self.stored.setup, round, 0);
        let mut taken: Vec<Option<(Nanos, Measured)>> = places.iter().map(|_| None).collect();
        for index in 0..of {
            for arm in order(&self.stored.setup, round, index) {
                if self.has(round, arm) {
                    continue; // measured before the run was resumed
                }
                let started = self.spent();
                let measured = self.bench.measure(arm, Part { index, of }, self.left() + GRACE)?;
                if let Some(cut) = self.cut(&measured) {
                    return Ok(Some(cut));
                }
                match &mut taken[arm] {
                    Some((_, slice)) => slice.add(&measured),
                    new => *new = Some((started, measured)),
                }
                if index + 1 == of
                    && let Some((started, slice)) = taken[arm].take()
                {
                    let place = places.iter().position(|of| *of == arm).unwrap_or(arm);
                    self.file(round, place, arm, Design::Pairs, started, slice)?;
                }
            }
        }
        Ok(None)
    }

    fn has(&self, round: u32, arm: usize) -> bool {
        let name = &self.stored.setup.arms[arm];
        self.stored.slices.iter().rev().any(|slice| slice.round == round && slice.arm == *name)
    }

    fn together(&mut self, round: u32) -> Result<Option<Cut>, RunError> {
        let duet = self.stored.setup.design.duet.as_ref();
        let rate = duet.and_then(|duet| PerSecond::new(duet.rate_per_s)).ok_or(RunError::NoDuet)?;
        let started = self.spent();
        let all = self.bench.measure_together(rate, self.left() + GRACE)?;
        if let Some(cut) = all.iter().find_map(|measured| self.cut(measured)) {
            return Ok(Some(cut));
        }
        for (arm, measured) in all.into_iter().enumerate() {
            self.file(round, arm, arm, Design::Duet, started, measured)?;
        }
        Ok(None)
    }

    fn cut(&self, measured: &Measured) -> Option<Cut> {
        if self.run.interrupted.load(Ordering::Relaxed) {
            return Some(Cut::Interrupted);
        }
        (!measured.complete).then_some(Cut::Budget)
    }

    fn file(
        &mut self,
        round: u32,
        position: usize,
        arm: usize,
        design: Design,
        started: Nanos,
        measured: Measured,
    ) -> Result<(), RunError> {
        let slice = SliceRecord {
            round,
            position: position as u32,
            arm: self.stored.setup.arms[arm].clone(),
            design,
            start: self.start,
            proof: self.bench.proof(arm).filter(|_| self.just_started),
            started_ns: started.get(),
            ended_ns: self.spent().get(),
            order_seed: measured.order_seed,
            counters: measured.counters,
            times: measured.times.encode(),
            populations: measured.populations,
        };
        self.run.dir.append(&slice)?;
        self.stored.slices.push(slice);
        Ok(())
    }
}

/// The first round that is not complete. A duet's round is measured as a whole or not at all, so one
/// that was cut while it was written down stays as it is.
fn next_round(stored: &Stored) -> u32 {
    let arms_of = |round: u32| -> BTreeSet<&str> {
        stored.slices.iter().filter(|s| s.round == round).map(|s| s.arm.as_str()).collect()
    };
    let is_duet = |round: u32| stored.slices.iter().any(|s| s.round == round && s.design == Design::Duet);
    (0..).find(|round| arms_of(*round).len() < stored.setup.arms.len() && !is_duet(*round)).unwrap_or(0)
}

/// The order of a round's part: drawn from the seed, the same however often it is asked.
pub(crate) fn order(setup: &Setup, round: u32, part: u32) -> Vec<usize> {
    let mut arms: Vec<usize> = (0..setup.arms.len()).collect();
    let purpose = u64::from(round) | u64::from(part) << 32;
    SplitMix64::for_purpose(setup.seed ^ ORDER, purpose).shuffle(&mut arms);
    arms
}
