//! Length of a simulated run: looks planned, planned again, and ended by the clock.
//!
//! A run ends like a real one: after its last look, or before a round when the longest one so far would not fit the
//! rest of the budget. The length of rounds goes along with their noise, so the clock is part of the rule.

use super::{Outcome, Scenario, Session, between};
use bakeoff_stats::{Decision, Level, LookPlan, level};

/// A pilot's estimate of the cost of a round, in units of the true one.
const PILOT: (f64, f64) = (0.5, 2.0);
/// A pilot plans so many rounds at least.
const LEAST: f64 = 3.0;
/// Number of rounds after which the looks are planned again.
const AGAIN_AFTER: u32 = 3;
/// Share of the rest of the budget that rounds may take.
const USABLE: f64 = 0.95;

/// Simulates one arm.
pub(crate) fn run_rule(scenario: &Scenario, seed: u64) -> Outcome {
    Run::new(scenario, &[scenario.effect], seed).ends(0)
}

/// Simulates so many arms of one run, which share A and A'. Each is final at its own look.
pub(crate) fn run_family(scenario: &Scenario, seed: u64) -> Vec<Outcome> {
    let mut run = Run::new(scenario, &vec![scenario.effect; scenario.arms], seed);
    (0..scenario.arms).map(|arm| run.ends(arm)).collect()
}

struct Run<'a> {
    scenario: &'a Scenario,
    session: Session<'a>,
    plan: LookPlan,
    /// By the looks that the pilot planned.
    level: Level,
    /// In ordinary slices.
    budget: f64,
    spent: f64,
    /// The longest round so far.
    longest: f64,
}

impl<'a> Run<'a> {
    fn new(scenario: &'a Scenario, effects: &[f64], seed: u64) -> Run<'a> {
        let mut session = Session::new(&scenario.noise, effects, seed);
        let slices = effects.len() as f64 + 2.0;
        let (plan, budget) = match scenario.budget {
            None => (LookPlan::new(scenario.max_rounds), f64::INFINITY),
            Some(bounds) => {
                let rounds = between(bounds, &mut session.rng);
                let fit = (rounds * USABLE / between(PILOT, &mut session.rng)).max(LEAST);
                (LookPlan::new(scenario.max_rounds.min(fit as u32)), rounds * slices)
            }
        };
        let level = level(scenario.arms, plan.looks.len());
        Run { scenario, session, plan, level, budget, spent: 0.0, longest: 0.0 }
    }

    fn ends(&mut self, arm: usize) -> Outcome {
        let margin = self.scenario.margin;
        let mut rounds = 0;
        loop {
            rounds = self.look_after(rounds);
            let last = rounds == self.plan.last();
            let (decision, outcome) = self.session.judged(arm, rounds, margin, self.level, last);
            if last || decision != Decision::GoOn {
                return outcome;
            }
        }
    }

    /// Runs on to the first look after more than `rounds` rounds, or to the end of the budget.
    fn look_after(&mut self, rounds: u32) -> u32 {
        let next = |plan: &LookPlan| plan.next_after(rounds).unwrap_or(plan.last());
        while self.session.rounds() < next(&self.plan) {
            if self.longest > self.budget - self.spent {
                self.end_here();
                break;
            }
            let took = self.session.round();
            self.longest = self.longest.max(took);
            self.spent += took;
            if self.session.rounds() == AGAIN_AFTER {
                self.plan_again();
            }
        }
        next(&self.plan)
    }

    /// From durations alone.
    fn plan_again(&mut self) {
        let rounds = f64::from(self.session.rounds());
        let left = (self.budget - self.spent).max(0.0);
        let fit = rounds + left * USABLE / (self.spent / rounds);
        self.plan = self.plan.again(self.scenario.max_rounds.min(fit as u32));
    }

    /// The last look is here, in place of the next that was planned.
    fn end_here(&mut self) {
        let rounds = self.session.rounds();
        self.plan.looks.retain(|look| *look < rounds);
        self.plan.looks.push(rounds);
    }
}

#[test]
fn the_clock_adds_no_look_and_none_before_the_tenth_round_but_the_only_one() {
    let noise = super::NoiseModel::shared_machine(0.3);
    let margin = bakeoff_stats::Margin::Share(0.01);
    let scenario =
        Scenario { effect: 0.0, noise, margin, arms: 1, max_rounds: 80, budget: Some((2.0, 150.0)) };
    let mut ended_early = 0;
    for seed in 0..300 {
        let mut run = Run::new(&scenario, &[0.0], seed);
        let planned = run.plan.looks.len();
        let outcome = run.ends(0);
        let looks = &run.plan.looks;
        assert!(looks.len() <= planned && (looks.len() == 1 || looks[0] >= 10), "{planned} {looks:?}");
        assert!(outcome.rounds <= run.plan.last() && run.session.rounds() == outcome.rounds);
        ended_early += u32::from(run.longest > run.budget - run.spent);
    }
    assert!(ended_early > 100, "{ended_early}");
}
