//! Simulation of amounts at several loads on synthetic noise.
//!
//! Each load of a round has a speed, disturbances and process luck of its own, so nothing that spoils a contrast
//! cancels in it. All loads of a round share the start.

use super::{NoiseModel, Session};
use bakeoff_content::SplitMix64;
use bakeoff_stats::{Curve, CurveQuestion, Level, Trend, curves};

/// Arms at several loads, to simulate many times.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LoadScenario {
    /// The machine, at every load.
    pub(crate) noise: NoiseModel,
    /// The baseline's figure at each load, in units of that at the decision's.
    pub(crate) baseline: Vec<f64>,
    /// Additional cost of each arm at each load, in the same unit.
    pub(crate) arms: Vec<Vec<f64>>,
    /// The index of the decision's load.
    pub(crate) decision: usize,
    /// Rounds of all loads.
    pub(crate) rounds: u32,
    /// The margin, in the same unit.
    pub(crate) margin: f64,
}

/// Shares over many simulated runs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LoadCalibration {
    runs: u32,
    /// Per arm and trend, in the order of [`Trend::ALL`], the number of runs that called it so.
    counts: Vec<[u32; 5]>,
    /// Runs in which any of the arms that are the same at all loads is said to differ.
    wrong: u32,
}

impl LoadCalibration {
    /// Share of runs that call this arm so.
    pub(crate) fn share(&self, arm: usize, trend: Trend) -> f64 {
        f64::from(self.counts[arm][trend as usize]) / f64::from(self.runs)
    }

    /// Share of runs in which any arm that is the same at all loads is called `grows`, `falls` or `changes`.
    pub(crate) fn wrong(&self) -> f64 {
        f64::from(self.wrong) / f64::from(self.runs)
    }
}

/// Simulates a scenario `runs` times, each run from its own seed derived from `seed`.
pub(crate) fn calibrate_loads(runs: u32, s: &LoadScenario, seed: u64) -> LoadCalibration {
    let mut seeds = SplitMix64::new(seed);
    let mut all = LoadCalibration { runs, counts: vec![[0; 5]; s.arms.len()], wrong: 0 };
    for _ in 0..runs {
        let curves = run_loads(s, seeds.next_u64());
        let mut wrong = false;
        for ((curve, counts), amounts) in curves.iter().zip(&mut all.counts).zip(&s.arms) {
            counts[curve.trend as usize] += 1;
            let same = amounts.iter().all(|amount| amount == &amounts[0]);
            wrong |= same && !matches!(curve.trend, Trend::Flat | Trend::NotResolved);
        }
        all.wrong += u32::from(wrong);
    }
    all
}

/// One run.
pub(crate) fn run_loads(s: &LoadScenario, seed: u64) -> Vec<Curve> {
    let mut seeds = SplitMix64::new(seed);
    let mut arms = vec![Vec::new(); s.arms.len()];
    let mut starts = Vec::new();
    for (load, baseline) in s.baseline.iter().enumerate() {
        let effects: Vec<f64> = s.arms.iter().map(|amounts| amounts[load] / baseline).collect();
        let mut session = Session::new(&s.noise, &effects, seeds.next_u64());
        for _ in 0..s.rounds {
            session.round();
        }
        for (arm, rounds) in arms.iter_mut().zip(&session.arms) {
            arm.push(rounds.amounts.iter().map(|amount| amount * baseline).collect());
        }
        starts = session.starts;
    }
    let question = CurveQuestion {
        arms: &arms,
        decision: s.decision,
        starts: &starts,
        margin: s.margin,
        level: Level::ONCE,
    };
    curves(&question).unwrap()
}
