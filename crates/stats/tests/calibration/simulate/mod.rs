//! Simulation of the whole rule on synthetic noise: how often it is wrong, and how long it takes.
//!
//! Test code; docs/method.md quotes the output of `make calibrate`. A simulated run is judged by [`judge`] at the looks
//! of [`bakeoff_stats::LookPlan`], exactly like a real one; [`run`] has the looks and the clock, [`duet`] the rounds
//! that follow a duet.
//!
//! The model of one slice is, in logarithms,
//! `arm effect + process luck + round component + slice noise`. The luck of a process lasts from
//! start to start. The round component is shared by all slices of a round and cancels in the
//! ratios, not in the amounts; slice noise is drawn for A, A' and each arm separately, so all arms of a
//! round share the noise of its reference, as in reality. A round takes as long as its slices cost together.

mod duet;
mod loads;
mod run;

use std::num::NonZeroU32;

pub(crate) use duet::{DuetScenario, calibrate_duet};
pub(crate) use loads::{LoadScenario, calibrate_loads};
pub(crate) use run::{run_family, run_rule};

use bakeoff_content::SplitMix64;
use bakeoff_stats::{Cost, Decision, Judgement, Level, Margin, Question, Rounds, Verdict, judge};

/// Variance of `ln s - (ln a + ln a')/2` in units of the variance of one slice: 1 + 1/2.
const PAIRED_VARIANCE: f64 = 1.5;

/// The part that a disturbance hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contamination {
    /// A whole round: all its slices are noisy at once.
    Rounds,
    /// Single slices, each by its own chance: more rounds are hit, each less.
    Slices,
}

/// Noise of a machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NoiseModel {
    /// Sd of an undisturbed round's log ratio of an arm to the mean of A and A'; close to the robust sd in a result.
    pub(crate) paired_sd: f64,
    /// Sd of the component all slices of a round share.
    pub(crate) round_sd: f64,
    /// Share of rounds or slices that are disturbed, 0..1.
    pub(crate) contamination_share: f64,
    /// Factor of the noise in a disturbed one.
    pub(crate) contamination_factor: f64,
    /// The part that is disturbed.
    pub(crate) contamination: Contamination,
    /// Log difference between A' and A that neither rounds nor starts average out. The arm is like
    /// A.
    pub(crate) aa_bias: f64,
    /// Sd of the lasting log offset that each start of each process draws.
    pub(crate) process_luck: f64,
    /// Rounds after which all processes are started anew; `None`: one start for the whole run.
    pub(crate) rounds_per_start: Option<NonZeroU32>,
    /// And before each round up to this one, as a run with quick starts does.
    pub(crate) each_until: u32,
}

impl NoiseModel {
    /// A shared machine: 10 % of the rounds with four-fold noise, whole rounds faster or slower by
    /// 20 %, equal processes equal.
    pub(crate) fn shared_machine(paired_sd: f64) -> NoiseModel {
        NoiseModel {
            paired_sd,
            round_sd: 0.2,
            contamination_share: 0.1,
            contamination_factor: 4.0,
            contamination: Contamination::Rounds,
            aa_bias: 0.0,
            process_luck: 0.0,
            rounds_per_start: None,
            each_until: 0,
        }
    }

    /// Each start of a process with luck of its own, started anew as runs with quick starts do: before each of the
    /// first ten rounds, then every third.
    pub(crate) fn started_anew(self, luck: f64) -> NoiseModel {
        NoiseModel { process_luck: luck, rounds_per_start: NonZeroU32::new(3), each_until: 10, ..self }
    }

    /// Sd of an undisturbed round's log ratio, with the luck of the processes.
    pub(crate) fn sd_of_a_round(&self) -> f64 {
        self.paired_sd.hypot(PAIRED_VARIANCE.sqrt() * self.process_luck)
    }
}

/// A scenario to simulate many times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scenario {
    /// The true effect of the arm: a fraction, and as the baseline's figure is 1, the amount as well.
    pub(crate) effect: f64,
    /// The machine.
    pub(crate) noise: NoiseModel,
    /// The margin.
    pub(crate) margin: Margin,
    /// Arms the level is shared among.
    pub(crate) arms: usize,
    /// The latest end of the run, in rounds.
    pub(crate) max_rounds: u32,
    /// Its budget, in ordinary rounds, drawn between these two; `None`: there is time for all.
    pub(crate) budget: Option<(f64, f64)>,
}

/// The end of one simulated arm.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outcome {
    /// Its verdict.
    pub(crate) verdict: Verdict,
    /// Rounds at the look that gave it.
    pub(crate) rounds: u32,
    /// Its estimated cost then; `None` under three rounds.
    pub(crate) cost: Option<Cost>,
}

impl Outcome {
    fn of(judgement: Judgement, rounds: u32) -> Outcome {
        Outcome { verdict: judgement.verdict().unwrap_or_default(), rounds, cost: judgement.cost }
    }
}

/// The figures of a simulated run, as far as it went.
struct Session<'a> {
    noise: &'a NoiseModel,
    /// Log of the true ratio per arm.
    truths: Vec<f64>,
    rng: SplitMix64,
    /// Of the present start: A, A', then the arms.
    luck: Vec<f64>,
    /// The start of each round.
    starts: Vec<u32>,
    null: Rounds,
    arms: Vec<Rounds>,
}

impl<'a> Session<'a> {
    fn new(noise: &'a NoiseModel, effects: &[f64], seed: u64) -> Session<'a> {
        Session {
            noise,
            truths: effects.iter().map(|e| e.ln_1p()).collect(),
            rng: SplitMix64::new(seed),
            luck: vec![0.0; effects.len() + 2],
            starts: Vec::new(),
            null: Rounds::default(),
            arms: vec![Rounds::default(); effects.len()],
        }
    }

    fn rounds(&self) -> u32 {
        self.starts.len() as u32
    }

    /// One round, as figures (CPU per request, say) that go through the real log ratios and differences. Returns its
    /// cost in time: one for an ordinary slice.
    fn round(&mut self) -> f64 {
        let noise = self.noise;
        self.start();
        let level = noise.round_sd * self.rng.normal();
        let whole = noise.contamination == Contamination::Rounds && self.disturbed();
        let a = (level + self.luck[0] + self.slice(whole)).exp();
        let a2 = (level + self.luck[1] + noise.aa_bias + self.slice(whole)).exp();
        append(&mut self.null, Rounds::of_twins(&[a2], &[a]));
        let mut took = a + a2;
        for arm in 0..self.truths.len() {
            let s = (level + self.luck[arm + 2] + self.truths[arm] + self.slice(whole)).exp();
            append(&mut self.arms[arm], Rounds::of(&[s], &[a], &[a2]));
            took += s;
        }
        took
    }

    /// Starts the processes before the next round, if it is time.
    fn start(&mut self) {
        let round = self.rounds();
        let is_first = match self.noise.rounds_per_start {
            Some(rounds) => round < self.noise.each_until || round % rounds == 0,
            None => round == 0,
        };
        let start = self.starts.last().map_or(0, |last| last + u32::from(is_first));
        self.starts.push(start);
        if is_first && self.noise.process_luck > 0.0 {
            self.luck.iter_mut().for_each(|luck| *luck = self.noise.process_luck * self.rng.normal());
        }
    }

    fn disturbed(&mut self) -> bool {
        self.rng.unit() < self.noise.contamination_share
    }

    fn slice(&mut self, round_disturbed: bool) -> f64 {
        let alone = self.noise.contamination == Contamination::Slices && self.disturbed();
        let factor = if round_disturbed || alone { self.noise.contamination_factor } else { 1.0 };
        factor * self.noise.paired_sd / PAIRED_VARIANCE.sqrt() * self.rng.normal()
    }

    fn judged(
        &self,
        arm: usize,
        rounds: u32,
        margin: Margin,
        level: Level,
        last: bool,
    ) -> (Decision, Outcome) {
        let first = |all: &Rounds| all.clone().first(rounds as usize);
        let (null, arm) = (first(&self.null), first(&self.arms[arm]));
        let starts = &self.starts[..rounds as usize];
        let question =
            Question { margin, invalid: None, null: &null, arm: &arm, starts, level, last_look: last };
        let judgement = judge(&question);
        (judgement.decision, Outcome::of(judgement, rounds))
    }
}

fn append(all: &mut Rounds, more: Rounds) {
    all.ratios.extend(more.ratios);
    all.amounts.extend(more.amounts);
}

/// Drawn between two bounds, each doubling as likely as any other.
fn between((least, most): (f64, f64), rng: &mut SplitMix64) -> f64 {
    least * (most / least).powf(rng.unit())
}

/// Shares over many simulated runs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Calibration {
    /// Runs simulated.
    pub(crate) runs: u32,
    /// Per verdict, in the order of [`Verdict::ALL`], the number of runs that ended in it.
    counts: [u32; 7],
    /// Runs whose final interval holds the truth: of the share, of the amount.
    held: [u32; 2],
    /// Median number of rounds at the verdict.
    pub(crate) median_rounds: u32,
}

impl Calibration {
    /// Share of runs that ended in `verdict`.
    pub(crate) fn share(&self, verdict: Verdict) -> f64 {
        self.of_runs(self.counts[verdict as usize])
    }

    /// Share of runs that ended in `costs` or `saves`.
    pub(crate) fn differs(&self) -> f64 {
        self.share(Verdict::Costs) + self.share(Verdict::Saves)
    }

    /// Share of final intervals that hold the truth: of the share, of the amount.
    pub(crate) fn coverage(&self) -> [f64; 2] {
        self.held.map(|held| self.of_runs(held))
    }

    fn of_runs(&self, count: u32) -> f64 {
        f64::from(count) / f64::from(self.runs.max(1))
    }
}

/// Simulates a scenario `runs` times, each run from its own seed derived from `seed`.
pub(crate) fn calibrate(runs: u32, scenario: &Scenario, seed: u64) -> Calibration {
    tally(runs, scenario.effect, seed, |seed| run_rule(scenario, seed))
}

/// Counts the ends of `runs` runs of an arm with a true `effect`.
fn tally(runs: u32, effect: f64, seed: u64, mut run: impl FnMut(u64) -> Outcome) -> Calibration {
    let mut seeds = SplitMix64::new(seed);
    let (mut counts, mut held, mut rounds) = ([0; 7], [0; 2], Vec::new());
    for _ in 0..runs {
        let Outcome { verdict, rounds: n, cost } = run(seeds.next_u64());
        counts[verdict as usize] += 1;
        for (held, margin) in held.iter_mut().zip([Margin::Share(0.0), Margin::Amount(0.0)]) {
            *held += u32::from(cost.as_ref().is_none_or(|cost| cost.on(margin).interval.contains(effect)));
        }
        rounds.push(n);
    }
    rounds.sort_unstable();
    let median_rounds = rounds.get(rounds.len() / 2).copied().unwrap_or(0);
    Calibration { runs, counts, held, median_rounds }
}
