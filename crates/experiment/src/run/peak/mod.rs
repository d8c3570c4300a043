//! Run of a peak search, for the highest rate of each arm: trial after trial, arms in turn.
//!
//! Measuring side, the bakeoff process. Owns the turn of the arms, and that every trial is on disk before the next one
//! starts. The next rate comes from `analyse::peak`, which derives it from the same records that the report is made
//! from; no figure is looked at here.

mod prepare;

use super::bench::Bench;
use super::rounds::order;
use super::servers::ServerBench;
use super::servers::trial::{Gaps, Load};
use super::{Run, RunError, RunProgress};
use bakeoff_analysis::analyse::peak::{ArmSearch, searches};
use bakeoff_plan::{LoadClock, PeakPlan, RequestWork};
use bakeoff_results::directory::{Digests, StoppedBy, StoredExperiment};
use bakeoff_results::{PeakSetup, Setup, TrialRecord};
use bakeoff_stats::knee::{SearchStep, Trial};
use bakeoff_units::Nanos;
use std::sync::atomic::Ordering;

/// Input of a search.
#[derive(Clone, Copy)]
pub(crate) struct Quest<'a> {
    pub(crate) plan: &'a PeakPlan,
    pub(crate) work: &'a RequestWork,
}

impl Quest<'_> {
    fn gaps(&self) -> Gaps {
        if matches!(self.work.clock, LoadClock::Constant(_)) { Gaps::Constant } else { Gaps::Poisson }
    }
}

/// A run from its start.
pub(crate) fn start(
    run: &Run<'_>,
    quest: Quest<'_>,
    progress: &mut dyn RunProgress,
) -> Result<StoppedBy, RunError> {
    let (placement, environment, claim) = run.environment(progress)?;
    let mut bench = ServerBench::start(run, quest.work, (&placement, None), progress)?;
    let prepared = prepare::setup(run, quest, &mut bench, environment, progress);
    let result = prepared.and_then(|setup| {
        run.dir.write_setup(&setup)?;
        search(run, quest, &mut bench, stored(setup, Vec::new()), progress)
    });
    progress.stage("stopping the servers");
    run.end(bench.stop(result), &claim)
}

/// The rest of an unfinished run. Earlier trials stay as they are.
pub(crate) fn resume(
    run: &Run<'_>,
    quest: Quest<'_>,
    before: StoredExperiment,
    progress: &mut dyn RunProgress,
) -> Result<StoppedBy, RunError> {
    let (placement, _, claim) = run.environment(progress)?;
    let mut bench = ServerBench::start(run, quest.work, (&placement, None), progress)?;
    let same_log = bench.workload().log_sha256 == before.setup.workload.log_sha256;
    let result = match same_log {
        true => search(run, quest, &mut bench, stored(before.setup, before.trials), progress),
        false => Err(RunError::LogChanged),
    };
    progress.stage("stopping the servers");
    run.end(bench.stop(result), &claim)
}

fn stored(setup: Setup, trials: Vec<TrialRecord>) -> StoredExperiment {
    let (plan, slices) = (String::new(), Vec::new());
    StoredExperiment {
        plan,
        setup,
        slices,
        trials,
        stopped_by: StoppedBy::Interrupted,
        digests: Digests::new(),
    }
}

/// A trial of each arm, then another of each, until all searches have come to their end.
fn search(
    run: &Run<'_>,
    quest: Quest<'_>,
    bench: &mut ServerBench<'_>,
    stored: StoredExperiment,
    progress: &mut dyn RunProgress,
) -> Result<StoppedBy, RunError> {
    let Some(setup) = &stored.setup.peak else { return Ok(StoppedBy::Failed) };
    let mut searches = searches(&stored, setup)?;
    let mut series = Series::after(run, &stored);
    for turn in 0.. {
        let mut any = false;
        for arm in order(&stored.setup, turn, 0) {
            let Some(one) = searches.get_mut(arm) else { continue };
            let SearchStep::Trial(trial) = one.search.next() else { continue };
            any = true;
            progress.stage(&in_words(one, &trial));
            let record = series.trial(run, quest, bench, arm, one, trial)?;
            if run.interrupted.load(Ordering::Relaxed) {
                return Ok(StoppedBy::Interrupted);
            }
            run.dir.append_trial(&record)?;
            one.take(setup, &record)?;
        }
        if !any {
            break;
        }
    }
    Ok(ended(&searches))
}

fn ended(searches: &[ArmSearch]) -> StoppedBy {
    let settled = searches.iter().all(|one| one.search.outcome().is_settled());
    if settled { StoppedBy::Verdicts } else { StoppedBy::Budget }
}

fn in_words(one: &ArmSearch, trial: &Trial) -> String {
    let number = one.search.trials().count() + 1;
    format!("{}: trial {number}, {} for {} ({})", one.arm, trial.rate, trial.time, trial.purpose.as_str())
}

/// Numbers and moments of the trials, over all arms and also over a pause between two runs.
struct Series {
    number: u32,
    began: Nanos,
    offset: Nanos,
}

impl Series {
    fn after(run: &Run<'_>, stored: &StoredExperiment) -> Self {
        let ends = stored.trials.iter().map(|trial| trial.started_ns + trial.took_ns);
        let offset = Nanos::new(ends.max().unwrap_or(0));
        Self { number: stored.trials.len() as u32, began: run.elapsed(), offset }
    }

    fn now(&self, run: &Run<'_>) -> Nanos {
        self.offset + run.elapsed().since(self.began)
    }

    fn trial(
        &mut self,
        run: &Run<'_>,
        quest: Quest<'_>,
        bench: &mut ServerBench<'_>,
        arm: usize,
        one: &ArmSearch,
        trial: Trial,
    ) -> Result<TrialRecord, RunError> {
        let started = self.now(run);
        let load = Load::Open { rate: trial.rate, gaps: quest.gaps() };
        let measured = bench.trial(arm, self.number, load, trial.time)?;
        let record = TrialRecord {
            number: self.number,
            arm: one.arm.clone(),
            purpose: trial.purpose.as_str().to_owned(),
            rate_per_s: trial.rate.get(),
            time_ns: trial.time.get(),
            started_ns: started.get(),
            took_ns: self.now(run).since(started).get(),
            counters: measured.counters,
            times: measured.times.encode(),
            in_flight: measured.in_flight,
            own_lateness: measured.own_lateness,
        };
        self.number += 1;
        Ok(record)
    }
}

/// The words of a load, as reports quote them.
fn load_in_words(quest: Quest<'_>, setup: &PeakSetup) -> String {
    let longest = Nanos::new(setup.longest_ns);
    let shortest = Nanos::new(setup.shortest_ns);
    let connections = quest.work.connections;
    format!(
        "open loop, {} gaps, rates chosen by the search, trials of {shortest} to {longest}, at most {connections} \
         connections",
        setup.gaps
    )
}
