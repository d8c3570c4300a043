//! The whole rule on invented noise: how often it is wrong, and how long it takes.
//!
//! Part of the crate and not of a test, because MEASURING.md quotes what `make calibrate` prints.
//! The simulated run is judged by [`crate::judge`] at the looks of [`LookPlan`], exactly like a
//! real one.
//!
//! The model of one slice is, in logarithms,
//! `arm effect + process luck + round component + slice noise`. The luck of a process lasts from
//! start to start. The round component is shared by all slices of a round and cancels in the
//! ratios; slice noise is drawn for A, A' and each arm separately, so all arms of a round share the
//! noise of its reference, as in reality.

mod duet;

use std::num::NonZeroU32;

pub use duet::{DuetCalibration, DuetScenario, calibrate_duet};

use crate::{
    Decision, Interval, Level, LookPlan, Question, SplitMix64, Verdict, judge, log_ratio, log_ratios,
};

/// Variance of `ln s - (ln a + ln a')/2` in units of the variance of one slice: 1 + 1/2.
const PAIRED_VARIANCE: f64 = 1.5;

/// What is hit when a disturbance comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contamination {
    /// A whole round: all its slices are noisy at once.
    Rounds,
    /// Single slices, each by its own chance: more rounds are hit, each less.
    Slices,
}

/// Noise of a machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoiseModel {
    /// Sd of an undisturbed round's log ratio of an arm to the mean of A and A'; close to what a
    /// result shows as robust sd.
    pub paired_sd: f64,
    /// Sd of the component all slices of a round share.
    pub round_sd: f64,
    /// Share of rounds or slices that are disturbed, 0..1.
    pub contamination_share: f64,
    /// How many times noisier a disturbed one is.
    pub contamination_factor: f64,
    /// What is disturbed.
    pub contamination: Contamination,
    /// Log difference between A' and A that neither rounds nor starts average out. The arm is like
    /// A.
    pub aa_bias: f64,
    /// Sd of the lasting log offset that each start of each process draws.
    pub process_luck: f64,
    /// Rounds after which all processes are started anew; `None`: one start for the whole run.
    pub rounds_per_start: Option<NonZeroU32>,
    /// And before each round up to this one, as a run with quick starts does.
    pub each_until: u32,
}

impl NoiseModel {
    /// A shared machine: 10 % of the rounds with four-fold noise, whole rounds faster or slower by
    /// 20 %, equal processes equal.
    pub fn shared_machine(paired_sd: f64) -> NoiseModel {
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
}

/// How one simulated arm ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Its verdict.
    pub verdict: Verdict,
    /// Rounds at the look that gave it.
    pub rounds: u32,
    /// The estimated effect then, as a fraction.
    pub effect: f64,
    /// Its interval then.
    pub interval: Interval,
}

/// Simulates one arm with a true `effect` (a fraction), judged as one of `arms` arms.
pub fn run_rule(
    effect: f64,
    noise: &NoiseModel,
    margin: f64,
    arms: usize,
    max_rounds: u32,
    seed: u64,
) -> Outcome {
    let plan = LookPlan::new(max_rounds);
    let mut session = Session::new(noise, &[effect], seed);
    let level = plan.level(arms);
    run_to_verdict(&plan, |rounds, last| {
        session.run_until(rounds);
        session.judged(0, rounds as usize, margin, level, last)
    })
}

/// Simulates all arms of one run, which share A and A'. Each is final at its own look.
pub fn run_family(
    effects: &[f64],
    noise: &NoiseModel,
    margin: f64,
    max_rounds: u32,
    seed: u64,
) -> Vec<Outcome> {
    let plan = LookPlan::new(max_rounds);
    let level = plan.level(effects.len());
    let mut session = Session::new(noise, effects, seed);
    let one = |arm| {
        run_to_verdict(&plan, |rounds, last| {
            session.run_until(rounds);
            session.judged(arm, rounds as usize, margin, level, last)
        })
    };
    (0..effects.len()).map(one).collect()
}

fn run_to_verdict(plan: &LookPlan, mut look: impl FnMut(u32, bool) -> (Decision, Outcome)) -> Outcome {
    let mut rounds = 0;
    loop {
        rounds = plan.next_after(rounds).unwrap_or(plan.last());
        let last = rounds == plan.last();
        match look(rounds, last) {
            (Decision::Final(_), outcome) => return outcome,
            (Decision::GoOn, outcome) if last => return outcome, // judge() never goes on here
            (Decision::GoOn, _) => {}
        }
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
    null_d: Vec<f64>,
    /// Log ratios per arm and round.
    d: Vec<Vec<f64>>,
}

impl<'a> Session<'a> {
    fn new(noise: &'a NoiseModel, effects: &[f64], seed: u64) -> Session<'a> {
        Session {
            noise,
            truths: effects.iter().map(|e| e.ln_1p()).collect(),
            rng: SplitMix64::new(seed),
            luck: vec![0.0; effects.len() + 2],
            starts: Vec::new(),
            null_d: Vec::new(),
            d: vec![Vec::new(); effects.len()],
        }
    }

    fn run_until(&mut self, rounds: u32) {
        while self.null_d.len() < rounds as usize {
            self.round();
        }
    }

    /// One round, as figures (CPU per request, say) that go through the real log ratios.
    fn round(&mut self) {
        let noise = self.noise;
        self.start();
        let level = noise.round_sd * self.rng.normal();
        let whole = noise.contamination == Contamination::Rounds && self.disturbed();
        let a = (level + self.luck[0] + self.slice(whole)).exp();
        let a2 = (level + self.luck[1] + noise.aa_bias + self.slice(whole)).exp();
        self.null_d.push(log_ratio(a2, a));
        for arm in 0..self.truths.len() {
            let s = (level + self.luck[arm + 2] + self.truths[arm] + self.slice(whole)).exp();
            self.d[arm].extend(log_ratios(&[s], &[a], &[a2]));
        }
    }

    /// Starts the processes before the next round, if it is time.
    fn start(&mut self) {
        let round = self.starts.len() as u32;
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

    fn judged(&self, arm: usize, n: usize, margin: f64, level: Level, last: bool) -> (Decision, Outcome) {
        let (null_d, d) = (&self.null_d[..n], &self.d[arm][..n]);
        let starts = &self.starts[..n];
        let j = judge(&Question { margin, invalid: None, null_d, d, starts, level, last_look: last });
        let (effect, interval) = match &j.effect {
            Some(e) => (e.effect, e.interval),
            None => (0.0, Interval { low: -1.0, high: f64::INFINITY }), // under three rounds
        };
        let verdict = j.verdict().unwrap_or(Verdict::NotResolved);
        (j.decision, Outcome { verdict, rounds: n as u32, effect, interval })
    }
}

/// What to simulate many times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scenario {
    /// The true effect of the arm, a fraction.
    pub effect: f64,
    /// The machine.
    pub noise: NoiseModel,
    /// The margin, a fraction.
    pub margin: f64,
    /// Arms the level is shared among.
    pub arms: usize,
    /// Where the run ends at the latest.
    pub max_rounds: u32,
}

/// Shares over many simulated runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// Runs simulated.
    pub runs: u32,
    /// Per verdict, in the order of [`Verdict::ALL`], how many runs ended in it.
    pub counts: [u32; 7],
    /// Runs whose final interval holds the true effect.
    pub covered: u32,
    /// Median number of rounds at the verdict.
    pub median_rounds: u32,
}

impl Calibration {
    /// Share of runs that ended in `verdict`.
    pub fn share(&self, verdict: Verdict) -> f64 {
        f64::from(self.counts[verdict as usize]) / f64::from(self.runs.max(1))
    }

    /// Share of final intervals that hold the truth.
    pub fn coverage(&self) -> f64 {
        f64::from(self.covered) / f64::from(self.runs.max(1))
    }
}

/// Simulates a scenario `runs` times, each run from its own seed derived from `seed`.
pub fn calibrate(runs: u32, scenario: &Scenario, seed: u64) -> Calibration {
    let Scenario { effect, noise, margin, arms, max_rounds } = *scenario;
    tally(runs, effect, seed, |seed| run_rule(effect, &noise, margin, arms, max_rounds, seed))
}

/// Counts what becomes of `runs` runs of an arm with a true `effect`.
fn tally(runs: u32, effect: f64, seed: u64, mut run: impl FnMut(u64) -> Outcome) -> Calibration {
    let mut seeds = SplitMix64::new(seed);
    let mut counts = [0; 7];
    let (mut covered, mut rounds) = (0, Vec::new());
    for _ in 0..runs {
        let outcome = run(seeds.next_u64());
        counts[outcome.verdict as usize] += 1;
        covered += u32::from(outcome.interval.contains(effect));
        rounds.push(outcome.rounds);
    }
    rounds.sort_unstable();
    let median_rounds = rounds.get(rounds.len() / 2).copied().unwrap_or(0);
    Calibration { runs, counts, covered, median_rounds }
}
