//! The rule for duets on invented noise.
//!
//! A duet loads all arms at once, which makes its rounds less noisy; they give the verdict. Rounds in which the arms
//! take turns follow, at another load: the baseline's own figure is another there and the amount of the cost a
//! little, so is the noise. Where the two amounts contradict each other, the verdict is taken back.

use super::{Calibration, NoiseModel, Outcome, Scenario, Session, between, run_rule, tally};
use bakeoff_content::SplitMix64;
use bakeoff_stats::{Contradiction, Effect, Scale, Verdict, contradiction, effect_of, level};

/// A duet to simulate many times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DuetScenario {
    /// Its own rounds.
    pub(crate) duet: Scenario,
    /// The machine in the rounds that follow.
    pub(crate) turns: NoiseModel,
    /// How many of them.
    pub(crate) rounds: u32,
    /// The baseline's figure there in units of that in the duet, drawn between these.
    pub(crate) baseline: (f64, f64),
    /// The amount of the cost there in units of that in the duet, drawn between these.
    pub(crate) amount: (f64, f64),
}

/// Shares over many simulated duets.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DuetCalibration {
    /// How they ended; rounds are the duet's.
    pub(crate) ends: Calibration,
    /// Share of those that were contradicted.
    pub(crate) contradicted: f64,
}

/// Simulates duets, each from its own seed derived from `seed`.
pub(crate) fn calibrate_duet(runs: u32, scenario: &DuetScenario, seed: u64) -> DuetCalibration {
    let mut contradicted = 0;
    let ends = tally(runs, scenario.duet.effect, seed, |seed| {
        let (outcome, contradiction) = run_duet(scenario, seed);
        contradicted += u32::from(contradiction.is_some());
        outcome
    });
    DuetCalibration { ends, contradicted: f64::from(contradicted) / f64::from(runs) }
}

/// How one ended, and what contradicted it.
fn run_duet(s: &DuetScenario, seed: u64) -> (Outcome, Option<Contradiction>) {
    let mut outcome = run_rule(&s.duet, seed);
    // Another seed, or the two would share their noise.
    let (duet, turns) = (outcome.cost.as_ref().map(|cost| &cost.amount), amount_in_turns(s, !seed));
    let contradiction = duet.zip(turns.as_ref()).and_then(|(one, other)| contradiction(one, other));
    if contradiction.is_some() {
        outcome.verdict = Verdict::NotResolved;
    }
    (outcome, contradiction)
}

/// The cost in units of the duet's baseline.
fn amount_in_turns(s: &DuetScenario, seed: u64) -> Option<Effect> {
    let mut rng = SplitMix64::new(seed);
    let baseline = between(s.baseline, &mut rng);
    let amount = s.duet.effect * between(s.amount, &mut rng);
    let mut session = Session::new(&s.turns, &[amount / baseline], rng.next_u64());
    for _ in 0..s.rounds {
        session.round();
    }
    let amounts: Vec<f64> = session.arms[0].amounts.iter().map(|x| x * baseline).collect();
    let level = level(s.duet.arms);
    effect_of(&amounts, &session.starts, level, Scale::Difference)
}
