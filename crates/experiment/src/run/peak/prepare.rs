//! Preparation of a peak search, before the first trial: a guess of each arm's speed, its response times without load,
//! and the bound that all trials are judged by.

use super::{Quest, load_in_words};
use crate::run::RoundSchedule;
use crate::run::servers::ServerBench;
use crate::run::servers::trial::{Load, Measured};
use crate::run::{Run, RunError, RunProgress};
use bakeoff_meter::SliceCounters;
use bakeoff_plan::{LoadClock, PeakPlan};
use bakeoff_results::{ClosedLoop, Environment, PeakSetup, PeakStart, Setup, Unloaded, Warning};
use bakeoff_stats::knee::LEVEL;
use bakeoff_units::{Nanos, PerSecond};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

/// Connections of the closed loops that give the guess.
const CLOSED: [usize; 3] = [16, 64, 256];
/// Low load, as a share of a closed loop's rate.
const UNLOADED: f64 = 0.05;
/// The search begins at half of the guess and goes down to this share of it ...
const LOWEST: f64 = 0.05;
/// ... or to this, if the guess is the plan's limit and not an observation.
const LOWEST_OF_ALLOWED: f64 = 0.005;
/// The SLO without one in the plan: this, or ...
const SLO: Nanos = Nanos::from_millis(50);
/// ... this many times the response time of the unloaded baseline, if that is more.
const SLO_FACTOR: f64 = 5.0;
/// The first trials have this length ...
const SHORTEST: Nanos = Nanos::from_secs(3);
/// ... or this share of an arm's share of the budget, if that is less: some twenty trials that grow to eight times that
/// length, confirmation and curve must fit.
const OF_BUDGET: f64 = 1.0 / 150.0;
/// ... but no less than this.
const LEAST: Nanos = Nanos::from_millis(250);
/// Slow servers: the first trials are longer, so that they have this many requests at half of the
/// guess ...
const REQUESTS: f64 = 1000.0;
/// ... but at most this many times longer.
const LONGER: f64 = 2.0;
/// The last trials are this many times longer than the first.
const DOUBLINGS: f64 = 8.0;
/// ... but take no larger share of the arm's budget, so that slow servers with long trials get enough of
/// them.
const MOST_OF_BUDGET: f64 = 0.05;
/// The same for each of the curve's ten trials.
const CURVE_OF_BUDGET: f64 = 0.015;
/// A trial at low load has this many requests, within bounds.
const UNLOADED_REQUESTS: f64 = 500.0;
/// Trials of an arm before confirmation and curve. Time mostly ends a search sooner.
const TRIALS: u32 = 100;
/// Share of the remaining budget that trials may take.
const USABLE: f64 = 0.97;

/// Everything that is fixed before the first trial.
pub(super) fn setup(
    run: &Run<'_>,
    quest: Quest<'_>,
    bench: &mut ServerBench<'_>,
    environment: Environment,
    progress: &mut dyn RunProgress,
) -> Result<Setup, RunError> {
    let arms = run.plan.names();
    let unit = unit(run.left(), arms.len());
    let mut scout = Scout { run, quest, bench, number: 0 };
    let closed = scout.closed_loops(&arms, unit, progress)?;
    let mut starts = BTreeMap::new();
    for (index, name) in arms.iter().enumerate() {
        progress.stage(&format!("{name}: at low load"));
        starts.insert(name.clone(), scout.start(index, &closed[index], unit)?);
    }
    let peak = peak_setup(run, quest, starts, unit);
    room(quest.plan, &peak)?;
    let mut warnings = Vec::new();
    if Nanos::new(peak.shortest_ns) < SHORTEST {
        let sentence = format!(
            "trials begin with {} in place of {SHORTEST}, so that a search fits the budget: a short trial sees slow \
             growth less well; a larger budget allows longer ones",
            Nanos::new(peak.shortest_ns)
        );
        warnings.push(Warning { label: "short-trials".to_owned(), sentence });
    }
    let course = RoundSchedule { reason: "cut by time".to_owned(), warnings, ..RoundSchedule::default() };
    let general = run.setup(bench, course, environment)?;
    Ok(Setup { load: load_in_words(quest, &peak), max_rounds: 0, level: LEVEL, peak: Some(peak), ..general })
}

/// Length of the first trials before the arms' speed is known.
fn unit(left: Nanos, arms: usize) -> Nanos {
    left.times(OF_BUDGET / arms.max(1) as f64).clamp(LEAST, SHORTEST)
}

fn peak_setup(run: &Run<'_>, quest: Quest<'_>, arms: BTreeMap<String, PeakStart>, unit: Nanos) -> PeakSetup {
    let plan = quest.plan;
    let slowest = arms.values().map(|arm| arm.guess_per_s).fold(f64::INFINITY, f64::min);
    let baseline = run.plan.baseline_name();
    let unloaded = arms.get(baseline).map_or(Nanos::ZERO, |arm| Nanos::new(arm.unloaded.quantile_ns));
    let (slo, slo_reason) = slo(plan.slo, unloaded, baseline);
    let seen = PeakPlan::trial_under(slo);
    let shortest = Nanos::from_secs_f64(2.0 * REQUESTS / slowest).clamp(unit, unit.times(LONGER)).max(seen);
    let constant = matches!(quest.work.clock, LoadClock::Constant(_));
    let budget = run.left().times(USABLE / run.plan.names().len().max(1) as f64);
    PeakSetup {
        quantile: plan.quantile,
        slo_ns: slo.get(),
        slo_reason,
        replies: 0.995,
        errors: run.plan.max_errors.get(),
        precision: plan.precision.get(),
        gaps: if constant { "constant" } else { "poisson" }.to_owned(),
        max_rate_per_s: plan.max_rate.map(PerSecond::get),
        shortest_ns: shortest.get(),
        longest_ns: shortest.times(DOUBLINGS).min(budget.times(MOST_OF_BUDGET)).max(shortest).get(),
        confirm_ns: plan.confirming(slo).get(),
        curve_ns: shortest.times(1.5).min(budget.times(CURVE_OF_BUDGET)).max(seen).get(),
        trials: TRIALS,
        budget_ns: budget.get(),
        arms,
    }
}

/// Whether an arm's share of the budget has room for a search under the bound.
fn room(plan: &PeakPlan, peak: &PeakSetup) -> Result<(), RunError> {
    let (slo, budget) = (Nanos::new(peak.slo_ns), Nanos::new(peak.budget_ns));
    let needed = plan.least_time(slo);
    if needed > budget { Err(RunError::NoTimeToSearch { slo, needed, budget }) } else { Ok(()) }
}

/// One bound for all arms, so that their rates are rates of the same service.
fn slo(asked: Option<Nanos>, unloaded: Nanos, baseline: &str) -> (Nanos, String) {
    let of_unloaded = unloaded.times(SLO_FACTOR);
    match asked {
        Some(slo) => (slo, "as the plan says".to_owned()),
        None if of_unloaded > SLO => {
            (of_unloaded, format!("{SLO_FACTOR} times the {unloaded} of {baseline} at low load"))
        }
        None => (SLO, format!("more than {SLO_FACTOR} times the {unloaded} of {baseline} at low load")),
    }
}

/// Loads the arms before there is a search.
struct Scout<'s, 'b, 'r> {
    run: &'s Run<'r>,
    quest: Quest<'s>,
    bench: &'s mut ServerBench<'b>,
    number: u32,
}

impl Scout<'_, '_, '_> {
    /// Rates of closed loops for each arm; none if the plan sets the highest rate: it may not be passed, and a closed
    /// loop has no rate.
    fn closed_loops(
        &mut self,
        arms: &[String],
        time: Nanos,
        progress: &mut dyn RunProgress,
    ) -> Result<Vec<Vec<ClosedLoop>>, RunError> {
        let mut made = vec![Vec::new(); arms.len()];
        if self.quest.plan.max_rate.is_some() {
            return Ok(made);
        }
        for robots in CLOSED {
            for (index, name) in arms.iter().enumerate() {
                progress.stage(&format!("{name}: a closed loop of {robots} connections"));
                let measured = self.load(index, Load::Closed { robots, think: Nanos::ZERO }, time)?;
                if measured.counters.replies == 0 && made[index].is_empty() {
                    return Err(self.bench.silent(index, &measured.counters));
                }
                let closed =
                    ClosedLoop { connections: robots as u64, replies_per_s: replies_per_s(&measured) };
                made[index].push(closed);
            }
        }
        Ok(made)
    }

    /// The rate at which an arm's search begins.
    fn start(&mut self, arm: usize, closed: &[ClosedLoop], unit: Nanos) -> Result<PeakStart, RunError> {
        let fastest = closed.iter().map(|one| one.replies_per_s).fold(0.0, f64::max);
        let (guess, lowest, load) = match self.quest.plan.max_rate {
            // One robot that pauses is a light load for any server, and never above the highest rate.
            Some(most) => (
                most,
                most.get() * LOWEST_OF_ALLOWED,
                Load::Closed { robots: 1, think: most.gap().times(1.0 / UNLOADED) },
            ),
            None => {
                let silent = || self.bench.silent(arm, &SliceCounters::default());
                let guess = PerSecond::new(fastest).ok_or_else(silent)?;
                let rate = PerSecond::new(fastest * UNLOADED).unwrap_or(guess);
                (guess, fastest * LOWEST, Load::Open { rate, gaps: self.quest.gaps() })
            }
        };
        let enough = Nanos::from_secs_f64(UNLOADED_REQUESTS / (guess.get() * UNLOADED));
        let measured = self.load(arm, load, enough.clamp(unit, unit.times(LONGER)))?;
        let response = &measured.times.response;
        if response.count() == 0 {
            return Err(self.bench.silent(arm, &measured.counters));
        }
        let quantile = |q: f64| response.quantile(q).get();
        let (p50_ns, quantile_ns) = (quantile(0.5), quantile(self.quest.plan.quantile));
        let hit_ratio = measured.counters.hits.and_then(|hits| hits.ratio());
        let unloaded = Unloaded { replies_per_s: replies_per_s(&measured), p50_ns, quantile_ns, hit_ratio };
        let closed = closed.to_vec();
        Ok(PeakStart { guess_per_s: guess.get(), lowest_per_s: lowest, closed, unloaded })
    }

    fn load(&mut self, arm: usize, load: Load, time: Nanos) -> Result<Measured, RunError> {
        if self.run.left() == Nanos::ZERO {
            return Err(RunError::NoTime { budget: self.run.plan.budget, stage: "trying out the arms" });
        }
        self.number += 1;
        let measured = self.bench.trial(arm, self.number, load, time)?;
        if self.run.interrupted.load(Ordering::Relaxed) {
            return Err(RunError::Interrupted);
        }
        Ok(measured)
    }
}

fn replies_per_s(measured: &Measured) -> f64 {
    let seconds = measured.counters.wall_secs();
    if seconds > 0.0 { measured.counters.replies as f64 / seconds } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_units::Ratio;

    #[test]
    fn the_slo_is_the_plans_or_the_baselines() {
        let ms = Nanos::from_millis;
        assert_eq!(slo(Some(ms(7)), ms(1), "a").0, ms(7));
        assert_eq!(slo(None, ms(1), "a").0, ms(50));
        let (slow, why) = slo(None, ms(12), "a");
        assert_eq!((slow, why.as_str()), (ms(60), "5 times the 12 ms of a at low load"));
    }

    #[test]
    fn a_budget_without_room_for_trials_under_the_bound_is_refused() {
        let (ms, secs) = (Nanos::from_millis, Nanos::from_secs);
        let (precision, confirm) = (Ratio::new(0.03).unwrap(), secs(1));
        let plan = PeakPlan { slo: None, quantile: 0.99, precision, confirm, max_rate: None };
        assert_eq!((plan.confirming(ms(10)), plan.confirming(ms(100))), (secs(1), secs(2)));
        // Twenty trials of half a second, and two seconds.
        let room_in = |budget: Nanos| {
            room(&plan, &PeakSetup { slo_ns: ms(100).get(), budget_ns: budget.get(), ..PeakSetup::default() })
        };
        assert!(room_in(secs(12)).is_ok());
        let refused = room_in(ms(11_999)).unwrap_err().to_string();
        assert!(
            refused.contains("under a bound of 100 ms") && refused.contains("at least 12 s"),
            "{refused}"
        );
    }

    #[test]
    fn the_first_trials_fit_the_budget() {
        assert_eq!(unit(Nanos::from_secs(900), 1), Nanos::from_secs(3));
        assert_eq!(unit(Nanos::from_secs(300), 2), Nanos::from_secs(1));
        assert_eq!(unit(Nanos::from_secs(10), 2), LEAST);
    }
}
