//! Analysis of a bake-off, from its records to its results: a pure function of a directory.
//!
//! Measuring side, cold. Owns which figure is which; sentences are [`sentences`]'s, a rate's figures [`point`]'s.

mod books;
mod bypass;
mod cost;
mod downtime;
mod faults;
mod overload;
mod passed_on;
mod passes;
mod peak;
mod point;
mod posts;
mod sentences;
mod slow;
mod tails;
mod trend;
mod verdict;
mod words;

use crate::conformance::shown;
use crate::directory::StoredBakeoff;
use crate::plan::{CachePlan, PlanChanges, PlanError, TUNNELS};
use crate::records::{End, EntrantRecord, PhaseLine, RunPurpose, RunRecord};
use crate::results::{BakeoffResults, CutShort, DirectPath, EntrantResults, FORMAT, FillResults, Point};
use crate::transactions::Logged;
use bakeoff_results::entrant::EntrantVerdict;
use bakeoff_robots::ledger::LedgerRecord;
use bakeoff_subject::ProxyMode as Mode;
use bakeoff_units::{PerSecond, Ratio};
pub use sentences::{CLOCKS_AGREE_S, clock_in_words};
pub use verdict::worst_of;

/// The results of a stored bake-off.
///
/// # Errors
/// The stored plan cannot be read.
pub fn analyse(stored: &StoredBakeoff) -> Result<BakeoffResults, PlanError> {
    let setup = &stored.setup;
    let changes = PlanChanges {
        scale: setup.scale.parse().ok(),
        rate: setup.rate_per_s.and_then(PerSecond::new),
        ..PlanChanges::default()
    };
    let plan = CachePlan::of_a_run(&setup.name, bakeoff_results::directory::PLAN, &stored.plan, &changes)?;
    let mut entrants: Vec<EntrantResults> = Vec::new();
    for name in names(stored) {
        let runs: Vec<(usize, &RunRecord)> =
            stored.standing().filter(|(_, run)| run.entrant.name == name).collect();
        entrants.push(entrant(&plan, stored, &runs));
    }
    let mut warnings = setup.warnings.clone();
    warnings.extend(sentences::made_again(stored.made_again()));
    warnings.extend(sentences::warnings(&plan, stored, &entrants));
    Ok(BakeoffResults {
        format: FORMAT,
        name: setup.name.clone(),
        title: plan.title.clone(),
        started: setup.started.clone(),
        bakeoff: setup.bakeoff.clone(),
        flags: setup.flags.clone(),
        scale: plan.scale.to_string(),
        not_scaled: plan.not_scaled(),
        study: plan.study.clone(),
        differs: plan.differs.iter().cloned().chain(plan.tls.then(|| TUNNELS.to_owned())).collect(),
        mode: match plan.mode {
            _ if plan.tls => "tunnel".to_owned(),
            Mode::Reverse => "reverse".to_owned(),
            Mode::Forward => "forward".to_owned(),
        },
        hit_ratio_asked: plan.hit_ratio.map(Ratio::get),
        mean_bound_ns: plan.mean_bound.get(),
        path: path(stored),
        passes: plan.passes,
        baselines: passes::baselines(&entrants),
        entrants,
        facts: setup.facts.clone(),
        warnings,
        ended: stored.ended.clone().unwrap_or(End::Killed),
        conformance: stored.conformance.as_ref().map(|kept| shown(kept, Some(&measured(&stored.runs)))),
    })
}

/// Names of the entrants, in the order of the plan, as far as it is known; else in that of the runs.
fn names(stored: &StoredBakeoff) -> Vec<&str> {
    let took_part = |run: &&RunRecord| !matches!(run.purpose, RunPurpose::Path { .. });
    let ran = || stored.standing().map(|(_, run)| run).filter(took_part).map(|run| run.entrant.name.as_str());
    let planned =
        stored.setup.entrants.iter().map(String::as_str).filter(|name| ran().any(|ran| ran == *name));
    let mut names: Vec<&str> = planned.collect();
    for name in ran() {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The measured entrants, once a run.
fn measured(runs: &[RunRecord]) -> Vec<&EntrantRecord> {
    runs.iter().map(|run| &run.entrant).collect()
}

fn entrant(plan: &CachePlan, stored: &StoredBakeoff, runs: &[(usize, &RunRecord)]) -> EntrantResults {
    let (_, run) = runs[0];
    let first = &run.entrant;
    // No cache sees inside a tunnel.
    let is_cache = !run.is_direct() && !plan.tls;
    let points = runs.iter().flat_map(|(number, run)| point::of(plan, stored, *number, run, is_cache));
    let points: Vec<Point> = passes::together(points.collect());
    // A rate passes when all of its phases do; a phase that was broken off says nothing.
    let all_of = |order: u32| points.iter().filter(move |point| point.order == order);
    let passes = |point: &&Point| all_of(point.order).all(|point| point.passed() == Some(true));
    let fails =
        |point: &&Point| point.passed() == Some(false) && point.cut_short != Some(CutShort::BrokenOff);
    let passed = points.iter().filter(passes).filter_map(|point| point.rate_per_s);
    let failed = points.iter().filter(fails).filter_map(|point| point.rate_per_s);
    let mut fills = runs.iter().filter_map(|(_, run)| fill(run).or_else(|| fill_of(plan, run)));
    // Requests from other parts of the run cannot be told apart.
    let is_whole = stored.setup.part.is_none();
    let cheats = books::of(runs).filter(move |_| is_whole);
    let repeated = posts::repeated(runs).filter(|_| is_whole);
    let passed_on = passed_on::of(runs).into_iter().filter(|_| is_whole && is_cache);
    let mut entrant = EntrantResults {
        name: first.name.clone(),
        second_of: run.second_of.clone(),
        verdict: EntrantVerdict::NoRate,
        sentence: String::new(),
        version: first.version.clone(),
        config: first.config.clone(),
        fill: fills.next(),
        later_fills: fills.collect(),
        spread: passes::spread(&points),
        peak: peak::peak(plan, runs),
        passed_up_to_per_s: passed.reduce(f64::max),
        failed_from_per_s: failed.reduce(f64::min),
        downtime: runs.iter().flat_map(|(_, run)| downtime::of(run)).collect(),
        cost: if is_cache { cost::of(stored, runs, &points) } else { None },
        memory_bytes: phases(runs).filter_map(|line| line.used.cache_memory_bytes).max(),
        stored_bytes: runs.iter().filter_map(|(_, run)| Some(run.store.as_ref()?.used_bytes)).max(),
        // Without a cache everything is a miss, and no cache's fault.
        faults: faults::sorted(
            cheats
                .chain(faults::of(runs))
                .chain(repeated)
                .chain(passed_on)
                .chain(slow::of(runs))
                .filter(|fault| is_cache || !fault.only_counted),
        ),
        errors: faults::errors(runs),
        failed: runs.iter().rev().find_map(|(_, run)| why_failed(run)),
        store_unreadable: runs.iter().find_map(|(_, run)| run.store_unreadable.clone()),
        transactions: runs.iter().filter_map(|(_, run)| run.transactions).reduce(Logged::with),
        points,
    };
    entrant.verdict = verdict::of(&entrant);
    entrant.sentence = sentences::sentence(plan, &entrant);
    entrant
}

fn phases<'r>(runs: &'r [(usize, &RunRecord)]) -> impl Iterator<Item = &'r PhaseLine> {
    runs.iter().flat_map(|(_, run)| &run.phases)
}

/// Reason why it could not go on; a later pass of it may have.
fn why_failed(run: &RunRecord) -> Option<String> {
    let why = run.failed.as_ref()?;
    Some(run.pass.map_or_else(|| why.clone(), |pass| format!("pass {pass}: {why}")))
}

fn path(stored: &StoredBakeoff) -> Option<DirectPath> {
    let of = |wanted: fn(usize) -> bool| {
        let mut runs = stored.standing().map(|(_, run)| run);
        runs.find(|run| matches!(run.purpose, RunPurpose::Path { robots } if wanted(robots)))
    };
    let (crowd, alone) = (of(|robots| robots > 1)?, of(|robots| robots == 1)?);
    let busy = &crowd.last_phase()?.phase;
    let idle = &alone.last_phase()?.phase.sums.replies;
    Some(DirectPath {
        replies_per_s: busy.replies_per_second()?,
        bytes_per_s: busy.sums.replies.traffic.bytes.sum as f64 / busy.span().as_secs_f64(),
        idle_mean_ns: idle.traffic.response_ns.mean()? as u64,
        idle_p99_ns: idle.response.quantile(0.99).get(),
        clock_ahead_s: alone.clock_ahead_s.unwrap_or(0),
    })
}

fn fill(run: &RunRecord) -> Option<FillResults> {
    if run.purpose != RunPurpose::Fill {
        return None;
    }
    Some(filled(run, &run.last_phase()?.phase, &run.ended))
}

/// A run without a rate fills a store in its measured phase, where bytes end that.
fn fill_of(plan: &CachePlan, run: &RunRecord) -> Option<FillResults> {
    if run.purpose != RunPurpose::BestEffort {
        return None;
    }
    let fills =
        |name: &str| plan.phases().iter().any(|phase| phase.name == name && phase.goal.fill_bytes.is_some());
    let line = run.phases.iter().rfind(|line| line.measured && fills(&line.phase.phase))?;
    // A phase that was cut short has no reason of its own.
    let ended = line.ended.map_or(run.ended.as_str(), |reason| reason.meaning());
    Some(filled(run, &line.phase, ended))
}

fn filled(run: &RunRecord, phase: &LedgerRecord, ended: &str) -> FillResults {
    let store = run.store.as_ref();
    FillResults {
        pass: run.pass,
        seconds: phase.span().as_secs_f64(),
        replies: phase.sums.good,
        bytes: phase.sums.fill.bytes.sum,
        stored_bytes: store.map(|store| store.used_bytes),
        capacity_bytes: store.map(|store| store.capacity_bytes),
        evictions: store.and_then(|store| store.evictions),
        gauge: store.map(|store| store.source.clone()),
        ended: ended.to_owned(),
    }
}
