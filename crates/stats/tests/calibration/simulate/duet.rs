//! Simulation of the rule for duets on synthetic noise.
//!
//! A duet loads all arms at once, which makes its rounds less noisy; they give the verdict. Rounds in which the arms
//! take turns follow: the baseline's own figure differs there, the amount of the cost a little, and so does the noise.
//! Where the two amounts contradict each other, the verdict is taken back. Slices at full speed may follow in the same
//! rounds; their amounts make the trend over the load and take nothing back.

use super::{Calibration, NoiseModel, Outcome, Scenario, Session, between, run_rule, tally};
use bakeoff_content::SplitMix64;
use bakeoff_stats::{
    Contradiction, CurveQuestion, Level, Scale, Trend, Verdict, contradiction, curves, effect_of, level,
};

/// A duet to simulate many times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DuetScenario {
    /// Its own rounds.
    pub(crate) duet: Scenario,
    /// The machine in the rounds that follow.
    pub(crate) turns: NoiseModel,
    /// Number of those rounds.
    pub(crate) rounds: u32,
    /// The baseline's figure there in units of that in the duet, drawn between these.
    pub(crate) baseline: (f64, f64),
    /// The amount of the cost there in units of that in the duet, drawn between these.
    pub(crate) amount: (f64, f64),
    /// The amount at full speed, in units of that in turns; `None`: there are no such slices.
    pub(crate) full_speed: Option<f64>,
}

/// Shares over many simulated duets.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DuetCalibration {
    /// The ends of the runs; rounds are the duet's.
    pub(crate) ends: Calibration,
    /// Share of the runs that were contradicted.
    pub(crate) contradicted: f64,
    /// Per trend, in the order of [`Trend::ALL`], the share of the runs with it.
    trends: [f64; 5],
}

impl DuetCalibration {
    /// Share of runs with this trend between the duet's rate and full speed.
    pub(crate) fn trend(&self, trend: Trend) -> f64 {
        self.trends[trend as usize]
    }
}

/// Simulates duets, each from its own seed derived from `seed`.
pub(crate) fn calibrate_duet(runs: u32, scenario: &DuetScenario, seed: u64) -> DuetCalibration {
    let share = 1.0 / f64::from(runs.max(1));
    let (mut contradicted, mut trends) = (0.0, [0.0; 5]);
    let ends = tally(runs, scenario.duet.effect, seed, |seed| {
        let (outcome, contradiction, trend) = run_duet(scenario, seed);
        contradicted += if contradiction.is_some() { share } else { 0.0 };
        if let Some(trend) = trend {
            trends[trend as usize] += share;
        }
        outcome
    });
    DuetCalibration { ends, contradicted, trends }
}

/// The end of one duet, its contradiction, and its trend over the load.
fn run_duet(s: &DuetScenario, seed: u64) -> (Outcome, Option<Contradiction>, Option<Trend>) {
    let mut outcome = run_rule(&s.duet, seed);
    // Another seed, or the two would share their noise.
    let turns = in_turns(s, !seed);
    let found = effect_of(&turns.amounts, &turns.starts, level(s.duet.arms, 1), Scale::Difference);
    let duet = outcome.cost.as_ref().map(|cost| &cost.amount);
    let contradiction = duet.zip(found.as_ref()).and_then(|(one, other)| contradiction(one, other));
    if contradiction.is_some() {
        outcome.verdict = Verdict::NotResolved;
    }
    let trend = turns.at_full_speed.map(|faster| {
        let arms = [vec![turns.amounts, faster]];
        let margin = s.duet.margin.size();
        let question =
            CurveQuestion { arms: &arms, decision: 0, starts: &turns.starts, margin, level: Level::ONCE };
        curves(&question).unwrap()[0].trend
    });
    (outcome, contradiction, trend)
}

/// Amounts in units of the duet's baseline, one a round.
struct Turns {
    amounts: Vec<f64>,
    at_full_speed: Option<Vec<f64>>,
    starts: Vec<u32>,
}

fn in_turns(s: &DuetScenario, seed: u64) -> Turns {
    let mut rng = SplitMix64::new(seed);
    let baseline = between(s.baseline, &mut rng);
    let amount = s.duet.effect * between(s.amount, &mut rng);
    let mut rounds_of = |amount: f64| {
        let mut session = Session::new(&s.turns, &[amount / baseline], rng.next_u64());
        for _ in 0..s.rounds {
            session.round();
        }
        let amounts: Vec<f64> = session.arms[0].amounts.iter().map(|x| x * baseline).collect();
        (amounts, session.starts)
    };
    let (amounts, starts) = rounds_of(amount);
    let at_full_speed = s.full_speed.map(|times| rounds_of(amount * times).0);
    Turns { amounts, at_full_speed, starts }
}
