//! The rule for duets on invented noise.
//!
//! A duet loads all arms at once, which makes its rounds less noisy. Its verdict stands when the
//! effect is small; above [`DUET_CONFIRM_ABOVE`] rounds in which the arms take turns decide, at
//! one look and with their own noise.

use super::{Calibration, NoiseModel, Outcome, run_rule, tally};
use crate::{DUET_CONFIRM_ABOVE, DUET_CONFIRM_ROUNDS, Verdict};

/// A duet to simulate many times, as the only arm of its run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DuetScenario {
    /// The true effect of the arm, a fraction.
    pub effect: f64,
    /// Noise of a round of the duet.
    pub duet: NoiseModel,
    /// Noise of a round in which the arms take turns.
    pub turns: NoiseModel,
    /// The margin, a fraction.
    pub margin: f64,
    /// Where the duet ends at the latest.
    pub max_rounds: u32,
}

/// Shares over many simulated duets.
#[derive(Clone, Debug, PartialEq)]
pub struct DuetCalibration {
    /// How they ended, with the rounds of both kinds.
    pub ends: Calibration,
    /// Duets that went to be confirmed.
    pub to_confirm: u32,
}

/// Simulates duets, each from its own seed derived from `seed`.
pub fn calibrate_duet(runs: u32, scenario: &DuetScenario, seed: u64) -> DuetCalibration {
    let mut to_confirm = 0;
    let ends = tally(runs, scenario.effect, seed, |seed| {
        let (outcome, confirmed) = run_duet(scenario, seed);
        to_confirm += u32::from(confirmed);
        outcome
    });
    DuetCalibration { ends, to_confirm }
}

/// How one ended, and whether it had to be confirmed.
fn run_duet(s: &DuetScenario, seed: u64) -> (Outcome, bool) {
    let together = run_rule(s.effect, &s.duet, s.margin, 1, s.max_rounds, seed);
    let claims = matches!(together.verdict, Verdict::Costs | Verdict::Saves);
    if !claims || together.effect.abs() <= DUET_CONFIRM_ABOVE {
        return (together, false);
    }
    // Another seed, or the two would share their noise.
    let in_turns = run_rule(s.effect, &s.turns, s.margin, 1, DUET_CONFIRM_ROUNDS, !seed);
    (Outcome { rounds: together.rounds + in_turns.rounds, ..in_turns }, true)
}
