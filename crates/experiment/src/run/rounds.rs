//! The round loop: randomised complete blocks, written down slice by slice.

use super::bench::{Bench, Measured, Pace, Part};
use super::blocks;
use super::{Run, RunError};
use bakeoff_analysis::analyse::{self, InterimState, Next};
use bakeoff_content::SplitMix64;
use bakeoff_plan::RoundDesign;
use bakeoff_results::directory::{Digests, StoppedBy, StoredExperiment};
use bakeoff_results::{LoadSetup, RoundKind, Setup, SliceRecord, SlotsSetup};
use bakeoff_units::{Nanos, PerSecond};
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

/// Seed purpose of the order of arms.
const ORDER: u64 = 0x0de2;
/// Seed purpose of the order of loads.
const LOADS: u64 = 0x10ad;
/// Time by which a slice may overrun the budget.
const GRACE: Nanos = Nanos::from_secs(10);

/// Listener for the progress of a run.
pub trait RunProgress {
    /// A stage that takes a while begins.
    fn stage(&mut self, what: &str);
    /// A round is complete.
    fn round(&mut self, report: &RoundReport<'_>);
}

/// State of a run after a round.
#[derive(Debug)]
pub struct RoundReport<'a> {
    /// Complete rounds.
    pub rounds: u32,
    /// Rounds allowed.
    pub max_rounds: u32,
    /// Time since the command began.
    pub elapsed: Nanos,
    /// Time left of the budget.
    pub left: Nanos,
    /// Time to the next look at the speed of the rounds so far; `None` if no verdict is to come.
    pub to_look: Option<Nanos>,
    /// Effects and intervals so far, unless nothing was judged in this round.
    pub standing: &'a InterimState,
}

pub(crate) fn run(
    run: &Run<'_>,
    bench: &mut dyn Bench,
    setup: Setup,
    slices: Vec<SliceRecord>,
    progress: &mut dyn RunProgress,
) -> Result<StoppedBy, RunError> {
    let (plan, trials, digests) = (String::new(), Vec::new(), Digests::new());
    let stored =
        StoredExperiment { plan, setup, slices, trials, stopped_by: StoppedBy::Interrupted, digests };
    Rounds::new(run, bench, stored).go(progress)
}

/// Reasons why a round is not complete.
enum Cut {
    Interrupted,
    Budget,
}

struct Rounds<'a> {
    run: &'a Run<'a>,
    bench: &'a mut dyn Bench,
    stored: StoredExperiment,
    /// Wall time of the run before it was resumed.
    offset: Nanos,
    resumed_at: Nanos,
    /// Number of the current start of the arms.
    start: u32,
    /// The first round of this start is still to come or under way.
    just_started: bool,
}

impl<'a> Rounds<'a> {
    fn new(run: &'a Run<'a>, bench: &'a mut dyn Bench, stored: StoredExperiment) -> Self {
        let ends = stored.slices.iter().map(|s| s.ended_ns);
        let offset = Nanos::new(ends.max().unwrap_or(0));
        let start = stored.slices.iter().map(|slice| slice.start + 1).max().unwrap_or(0);
        Self { run, bench, stored, offset, resumed_at: run.elapsed(), start, just_started: true }
    }

    fn go(mut self, progress: &mut dyn RunProgress) -> Result<StoppedBy, RunError> {
        let first = next_round(&self.stored);
        let mut round = first;
        let mut longest = Nanos::ZERO;
        let mut standing = analyse::standing(&self.stored)?;
        loop {
            let kind = match standing.next {
                Next::Settled => return Ok(StoppedBy::Verdicts),
                Next::NoTime => return Ok(StoppedBy::Budget),
                Next::AllRounds => return Ok(StoppedBy::Rounds),
                Next::Round(kind) => kind,
            };
            if longest > self.left() || self.left() == Nanos::ZERO {
                return Ok(StoppedBy::Budget);
            }
            let began = self.run.elapsed();
            self.restart_if_due(round, first)?;
            match self.measure(round, kind)? {
                Some(Cut::Interrupted) => return Ok(StoppedBy::Interrupted),
                Some(Cut::Budget) => return Ok(StoppedBy::Budget),
                None => {}
            }
            longest = longest.max(self.run.elapsed().since(began));
            round += 1;
            let each = self.run.elapsed().since(self.resumed_at).times(1.0 / f64::from(round - first));
            self.just_started = false;
            standing = analyse::standing(&self.stored)?;
            progress.round(&RoundReport {
                rounds: standing.rounds,
                max_rounds: standing.max_rounds,
                elapsed: self.run.elapsed(),
                left: self.left(),
                to_look: standing.to_look.map(|rounds| each.times(f64::from(rounds))),
                standing: &standing,
            });
        }
    }

    /// Time since the first slice, including the time before a resumption.
    fn spent(&self) -> Nanos {
        self.offset + self.run.elapsed().since(self.resumed_at)
    }

    /// Time left of the budget. A resumed run has the rest of the first one's.
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

    fn measure(&mut self, round: u32, kind: RoundKind) -> Result<Option<Cut>, RunError> {
        let setup = &self.stored.setup;
        let (design, loads) = (setup.design.design, setup.design.loads.len());
        match kind {
            RoundKind::Main if loads > 0 => {
                for load in loads_in_order(setup, round) {
                    if let Some(cut) = self.at_load(round, load, design)? {
                        return Ok(Some(cut));
                    }
                }
                Ok(None)
            }
            RoundKind::InTurn => self.at_load(round, setup.design.decide_at, RoundDesign::Pairs),
            RoundKind::Main | RoundKind::FullSpeed => {
                let requests = match kind {
                    RoundKind::FullSpeed => setup.design.after.full_requests,
                    RoundKind::Main | RoundKind::InTurn => setup.workload.slice_requests,
                };
                self.bench.begin_round(round, None, requests as usize)?;
                self.one_by_one(round, None)
            }
        }
    }

    /// Measures all arms at this load, given by its index in the design's list.
    fn at_load(&mut self, round: u32, load: u32, design: RoundDesign) -> Result<Option<Cut>, RunError> {
        let setup = self.load(load)?;
        self.bench.begin_round(round, Some(load), setup.slice_requests as usize)?;
        match (design, setup.slots) {
            (RoundDesign::Duet, Some(slots)) => self.in_slots(round, load, slots),
            _ => self.one_by_one(round, Some(load)),
        }
    }

    fn load(&self, load: u32) -> Result<LoadSetup, RunError> {
        self.stored.setup.design.loads.get(load as usize).cloned().ok_or(RunError::NoDuet)
    }

    fn pace(&self, load: Option<u32>) -> Result<Pace, RunError> {
        let Some(load) = load else { return Ok(Pace::Planned) };
        PerSecond::new(self.load(load)?.rate_per_s).map(Pace::At).ok_or(RunError::NoDuet)
    }

    /// Measures the arms in turn, part by part, each part in an order of its own. The arm's place is that of its first
    /// part.
    fn one_by_one(&mut self, round: u32, load: Option<u32>) -> Result<Option<Cut>, RunError> {
        let of = match load {
            Some(load) => self.load(load)?.parts,
            None => self.stored.setup.design.parts,
        };
        let (of, pace) = (of.max(1), self.pace(load)?);
        let places = order(&self.stored.setup, round, 0);
        let mut taken: Vec<Option<(Nanos, Measured)>> = places.iter().map(|_| None).collect();
        for index in 0..of {
            for arm in order(&self.stored.setup, round, index) {
                if self.has(round, load, arm) {
                    continue; // measured before the run was resumed
                }
                let started = self.spent();
                let measured = self.bench.measure(arm, pace, Part { index, of }, self.left() + GRACE)?;
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
                    let design = RoundDesign::Pairs;
                    self.file(Taken { round, position: place, arm, design, load, block: 0, started }, slice)?;
                }
            }
        }
        Ok(None)
    }

    fn has(&self, round: u32, load: Option<u32>, arm: usize) -> bool {
        let name = &self.stored.setup.arms[arm];
        let mut slices = self.stored.slices.iter().rev();
        slices.any(|slice| slice.round == round && slice.load == load && slice.arm == *name)
    }

    /// Block by block. A block's slice is measured as a whole or not at all: one that was cut while it was written stays
    /// as it is.
    fn in_slots(&mut self, round: u32, load: u32, slots: SlotsSetup) -> Result<Option<Cut>, RunError> {
        let rate = PerSecond::new(self.load(load)?.rate_per_s).ok_or(RunError::NoDuet)?;
        let Setup { design, arms, seed, .. } = &self.stored.setup;
        let blocks = blocks::in_turn(blocks::indexed(&design.blocks, arms), *seed, round);
        let mut position = 0;
        for block in blocks {
            let first = position;
            position += block.arms.len();
            if self.has_block(round, load, block.index) {
                continue; // measured before the run was resumed
            }
            let started = self.spent();
            let all = self.bench.measure_in_slots(&block, rate, slots, self.left() + GRACE)?;
            if let Some(cut) = all.iter().find_map(|measured| self.cut(measured)) {
                return Ok(Some(cut));
            }
            for (place, (arm, measured)) in block.arms.iter().zip(all).enumerate() {
                let (design, load, block) = (RoundDesign::Duet, Some(load), block.index);
                let position = first + place;
                self.file(Taken { round, position, arm: *arm, design, load, block, started }, measured)?;
            }
        }
        Ok(None)
    }

    fn has_block(&self, round: u32, load: u32, block: u32) -> bool {
        let mut slices = self.stored.slices.iter().rev();
        slices.any(|slice| slice.round == round && slice.load == Some(load) && slice.block == block)
    }

    fn cut(&self, measured: &Measured) -> Option<Cut> {
        if self.run.interrupted.load(Ordering::Relaxed) {
            return Some(Cut::Interrupted);
        }
        (!measured.complete).then_some(Cut::Budget)
    }

    fn file(&mut self, taken: Taken, measured: Measured) -> Result<(), RunError> {
        let Taken { round, position, arm, design, load, block, started } = taken;
        let slice = SliceRecord {
            round,
            position: position as u32,
            arm: self.stored.setup.arms[arm].clone(),
            design,
            load,
            block,
            start: self.start,
            proof: self.bench.proof(arm).filter(|_| self.just_started),
            started_ns: started.get(),
            ended_ns: self.spent().get(),
            order_seed: measured.order_seed,
            counters: measured.counters,
            times: measured.times.encode(),
            populations: measured.populations,
            parts: measured.parts,
        };
        self.run.dir.append(&slice)?;
        self.stored.slices.push(slice);
        Ok(())
    }
}

/// Place of a slice in the run.
struct Taken {
    round: u32,
    position: usize,
    arm: usize,
    design: RoundDesign,
    load: Option<u32>,
    block: u32,
    started: Nanos,
}

/// The first round that is not complete.
fn next_round(stored: &StoredExperiment) -> u32 {
    (0..).find(|round| !is_complete(stored, *round)).unwrap_or(0)
}

/// A block is complete if any slice of it was written.
fn is_complete(stored: &StoredExperiment, round: u32) -> bool {
    let design = &stored.setup.design;
    let slices: Vec<&SliceRecord> = stored.slices.iter().filter(|slice| slice.round == round).collect();
    let Some(kind) = slices.first().map(|slice| design.kind_of(slice)) else { return false };
    let loads: Vec<Option<u32>> = match kind {
        RoundKind::Main if !design.loads.is_empty() => (0..design.loads.len() as u32).map(Some).collect(),
        RoundKind::InTurn => vec![Some(design.decide_at)],
        RoundKind::Main | RoundKind::FullSpeed => vec![None],
    };
    let of_load = |load: &Option<u32>| {
        let of: Vec<_> = slices.iter().filter(|slice| slice.load == *load).collect();
        match of.first().map(|slice| slice.design) {
            Some(RoundDesign::Duet) => {
                let blocks: BTreeSet<u32> = of.iter().map(|slice| slice.block).collect();
                blocks.len() as u32 == design.blocks()
            }
            _ => {
                let arms: BTreeSet<&str> = of.iter().map(|slice| slice.arm.as_str()).collect();
                arms.len() == stored.setup.arms.len()
            }
        }
    };
    loads.iter().all(of_load)
}

/// The loads of a round in an order that is drawn for it.
fn loads_in_order(setup: &Setup, round: u32) -> Vec<u32> {
    let mut loads: Vec<u32> = (0..setup.design.loads.len() as u32).collect();
    SplitMix64::for_purpose(setup.seed ^ LOADS, u64::from(round)).shuffle(&mut loads);
    loads
}

/// The order of a round's part: drawn from the seed, the same at each call.
pub(crate) fn order(setup: &Setup, round: u32, part: u32) -> Vec<usize> {
    let mut arms: Vec<usize> = (0..setup.arms.len()).collect();
    let purpose = u64::from(round) | u64::from(part) << 32;
    SplitMix64::for_purpose(setup.seed ^ ORDER, purpose).shuffle(&mut arms);
    arms
}
