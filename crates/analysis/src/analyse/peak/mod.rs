//! Analysis of a peak search, from stored trials to the highest rate of each arm: a pure function of a results
//! directory.
//!
//! Cold. Owns the translation of a stored trial into an observation for the search, and of the search's outcome into
//! results. The search itself is `stats`'; the run asks the same functions what to try next, so that a report comes to
//! the same outcome.

#[cfg(test)]
mod tests;
mod words;

use super::error::AnalyseError;
use super::warnings::STEAL_LIMIT;
use bakeoff_loadgen::GENERATOR_LIMIT;
use bakeoff_meter::SliceCounters;
use bakeoff_results::directory::StoredExperiment;
use bakeoff_results::{
    ArmResult, FractionEstimate, NOT_MEASURED, PeakArm, PeakRatio, PeakResult, PeakSetup, PeakTrial,
    RESULTS_SCHEMA, Results, TrialRecord, Warning, WorkloadResult,
};
use bakeoff_stats::Level;
use bakeoff_stats::knee::{
    Budget, Confirmation, Criteria, LEVEL, Observation, Search, SearchFinding, SearchLimit, SearchOutcome,
    SearchPlan, Slo, Trial, TrialJudgement, TrialPurpose, VoidReason, growth, ratio_of_knees,
};
use bakeoff_units::{Nanos, PerSecond, Ratio};
use std::collections::BTreeMap;

/// Each bound of the growth in flight errs in 5 %.
const GROWTH_LEVEL: f64 = 0.9;
/// Share of a core from which a late thread was late because the core was too slow: if another thread also wants all of
/// the core, it gets half.
const ITS_OWN: f64 = 0.6;

/// The search of one arm, with the observations of its trials so far.
#[derive(Debug)]
pub struct ArmSearch {
    /// Name of the arm.
    pub arm: String,
    /// State of its search.
    pub search: Search,
    /// Whether no process of the arm runs on the generator's cores.
    apart: bool,
    trials: Vec<PeakTrial>,
}

impl ArmSearch {
    /// A search without any trial; `None` for an arm that the set-up does not know.
    pub fn new(setup: &PeakSetup, arm: &str, seed: u64, apart: bool) -> Option<Self> {
        let search = Search::new(search_plan(setup, arm, seed)?);
        Some(Self { arm: arm.to_owned(), search, apart, trials: Vec::new() })
    }

    /// Takes one of its trials.
    ///
    /// # Errors
    /// A histogram is damaged, or the trial is of an unknown kind.
    pub fn take(&mut self, setup: &PeakSetup, record: &TrialRecord) -> Result<(), AnalyseError> {
        let damaged = |why: String| AnalyseError::Trial { number: record.number, arm: self.arm.clone(), why };
        let rate = PerSecond::new(record.rate_per_s);
        let (Some(rate), Some(purpose)) = (rate, TrialPurpose::named(&record.purpose)) else {
            return Err(damaged(format!("`{}` at {}/s is no trial", record.purpose, record.rate_per_s)));
        };
        let (mut seen, mut trial) = observation(setup, record).map_err(|why| damaged(why.to_string()))?;
        seen.own_lateness_p99 = own_lateness(record).filter(|_| self.apart);
        let judged = self.search.observe(Trial { rate, time: Nanos::new(record.time_ns), purpose }, &seen);
        (trial.verdict, trial.reasons) = verdict(&judged);
        self.trials.push(trial);
        Ok(())
    }
}

fn search_plan(setup: &PeakSetup, arm: &str, seed: u64) -> Option<SearchPlan> {
    let start = setup.arms.get(arm)?;
    let slo = Slo { quantile: setup.quantile, limit: Nanos::new(setup.slo_ns) };
    let hit_ratio = start.unloaded.hit_ratio.and_then(Ratio::new);
    let criteria = Criteria { replies: setup.replies, errors: setup.errors, ..Criteria::new(slo, hit_ratio) };
    Some(SearchPlan {
        lowest: PerSecond::new(start.lowest_per_s)?,
        most: setup.max_rate_per_s.and_then(PerSecond::new),
        precision: setup.precision,
        budget: Budget { trials: setup.trials, time: Nanos::new(setup.budget_ns) },
        shortest: Nanos::new(setup.shortest_ns),
        longest: Nanos::new(setup.longest_ns),
        confirm: Some(Nanos::new(setup.confirm_ns)),
        curve: Some(Nanos::new(setup.curve_ns)),
        ..SearchPlan::new(PerSecond::new(start.guess_per_s)?, criteria, seed)
    })
}

/// The observation of a trial, for the search and for the report.
fn observation(
    setup: &PeakSetup,
    record: &TrialRecord,
) -> Result<(Observation, PeakTrial), bakeoff_meter::DecodeError> {
    let (times, counters) = (record.times.decode()?, &record.counters);
    let every = record.in_flight.every_ns;
    let seen = record.in_flight.seen.iter().zip(0_u64..);
    let series: Vec<(Nanos, f64)> =
        seen.map(|(number, i)| (Nanos::new(i * every), f64::from(*number))).collect();
    let quantile = |q: f64| (times.response.count() > 0).then(|| times.response.quantile(q));
    let growth = Level::new(GROWTH_LEVEL).and_then(|level| growth(&series, level));
    let lateness_p99 = times.lateness.quantile(0.99);
    let observation = Observation {
        due: counters.requests,
        replies: counters.replies,
        errors: counters.error_count(),
        lateness_p99,
        own_lateness_p99: None,
        slo_quantile: quantile(setup.quantile),
        hit_ratio: counters.hits.and_then(|hits| Ratio::new(hits.ratio()?)),
        growth,
        generator_limited: counters.generator_busy >= GENERATOR_LIMIT,
        took: Nanos::new(record.took_ns),
    };
    let mean = |series: &[(Nanos, f64)]| series.iter().map(|(_, n)| n).sum::<f64>() / series.len() as f64;
    let trial = PeakTrial {
        number: record.number,
        purpose: record.purpose.clone(),
        rate_per_s: record.rate_per_s,
        time_ns: record.time_ns,
        due: counters.requests,
        replies: counters.replies,
        errors: counters.errors.clone(),
        p50_ns: quantile(0.5).map(Nanos::get),
        quantile_ns: quantile(setup.quantile).map(Nanos::get),
        lateness_p99_ns: lateness_p99.get(),
        cpu_per_request_ns: counters.subject_cpu_ns.and_then(|cpu| counters.per_request(cpu)),
        in_flight: (!series.is_empty()).then(|| mean(&series)),
        growth_low: growth.map(|slope| slope.low),
        growth_high: growth.map(|slope| slope.high),
        ..PeakTrial::default()
    };
    Ok((observation, trial))
}

/// Lateness that was the generator's own. The kernel does not count time that a hypervisor took. If that was much, no
/// lateness is known to be the generator's own.
fn own_lateness(record: &TrialRecord) -> Option<Nanos> {
    let counters = &record.counters;
    // The kernel's network threads work on its core for no other process.
    let softirq = counters.softirq_cpu_ns.unwrap_or(0) as f64 / counters.wall_ns.max(1) as f64;
    let own = record.own_lateness.filter(|own| own.excluded > 0).map(|own| Nanos::new(own.p99_ns));
    let stolen = (counters.host.steal > STEAL_LIMIT).then_some(Nanos::ZERO);
    stolen.or(own).filter(|_| counters.generator_busy + softirq <= ITS_OWN)
}

fn verdict(judged: &TrialJudgement) -> (String, Vec<String>) {
    let (word, reasons) = match judged {
        TrialJudgement::Passed => ("passed", Vec::new()),
        TrialJudgement::Failed { by } => ("failed", by.iter().map(|criterion| criterion.as_str()).collect()),
        TrialJudgement::Void(reason) => ("void", vec![reason.as_str()]),
    };
    (word.to_owned(), reasons.into_iter().map(str::to_owned).collect())
}

/// The searches of all arms after the stored trials.
///
/// # Errors
/// As [`ArmSearch::take`].
pub fn searches(stored: &StoredExperiment, setup: &PeakSetup) -> Result<Vec<ArmSearch>, AnalyseError> {
    let apart = stored.setup.environment.disjoint;
    let new = |arm: &String| ArmSearch::new(setup, arm, stored.setup.seed, apart);
    let mut all: Vec<ArmSearch> = stored.setup.arms.iter().filter_map(new).collect();
    for record in &stored.trials {
        if let Some(search) = all.iter_mut().find(|search| search.arm == record.arm) {
            search.take(setup, record)?;
        }
    }
    Ok(all)
}

/// `results.json` of a search for peaks.
pub(super) fn results(stored: &StoredExperiment, setup: &PeakSetup) -> Result<Results, AnalyseError> {
    let searches = searches(stored, setup)?;
    let trials = stored.trials.iter();
    let start = trials.clone().map(|trial| trial.started_ns).min().unwrap_or(0);
    let end = trials.map(|trial| trial.started_ns + trial.took_ns).max().unwrap_or(0);
    let arms: BTreeMap<String, ArmResult> =
        stored.setup.arms.iter().map(|arm| (arm.clone(), sums(stored, arm))).collect();
    let peak = PeakResult {
        arms: searches.iter().map(|one| (one.arm.clone(), arm(setup, one))).collect(),
        ratios: ratios(&searches, &stored.setup.baseline),
        setup: setup.clone(),
    };
    let mut results = Results { duration_ns: end - start, peak: Some(peak), ..head(stored, arms) };
    results.warnings.extend(disturbed(&searches));
    Ok(results)
}

/// The part that every `results.json` has.
fn head(stored: &StoredExperiment, arms: BTreeMap<String, ArmResult>) -> Results {
    let setup = stored.setup.clone();
    Results {
        schema: RESULTS_SCHEMA.to_owned(),
        bakeoff: setup.bakeoff,
        name: setup.name,
        started: setup.started,
        extent: setup.extent,
        seed: setup.seed,
        margin: setup.margin,
        stopped_by: stored.stopped_by.as_str().to_owned(),
        load: setup.load,
        workload: WorkloadResult {
            kind: setup.workload.kind,
            description: setup.workload.description,
            requests: arms.values().map(|arm| arm.requests).sum(),
            slice_requests: 0,
            requests_of: BTreeMap::new(),
            skipped: setup.workload.skipped,
            log_lines: setup.workload.log_lines,
        },
        order: setup.arms,
        arms,
        design: setup.design,
        warnings: warnings(stored),
        environment: setup.environment,
        ..Results::default()
    }
}

/// Counts over all trials of an arm, at all rates.
fn sums(stored: &StoredExperiment, arm: &str) -> ArmResult {
    let subject = stored.setup.subjects.get(arm).cloned().unwrap_or_default();
    let proof = subject.proof.clone();
    let of_arm = stored.trials.iter().filter(|trial| trial.arm == arm);
    let all = SliceCounters::sum(of_arm.map(|trial| &trial.counters));
    ArmResult {
        requests: all.requests,
        replies: all.replies,
        errors: all.errors,
        bytes: all.bytes,
        statuses: all.statuses,
        handshakes: all.handshakes,
        subject,
        proof,
        ..ArmResult::default()
    }
}

fn warnings(stored: &StoredExperiment) -> Vec<Warning> {
    let stolen: Vec<f64> = stored.trials.iter().map(|trial| trial.counters.host.steal).collect();
    let mut all = stored.setup.environment.warnings.clone();
    all.extend(super::warnings::stolen(&stolen, "trials"));
    all.extend(super::warnings::not_replayed(&stored.setup.workload));
    for arm in &stored.setup.arms {
        let own = stored.trials.iter().filter(|trial| trial.arm == *arm).map(|trial| &trial.counters);
        let off = super::handshakes::off(&stored.setup, arm, own);
        let warning = |why| Warning { label: "resumption".to_owned(), sentence: format!("{arm}: {why}") };
        all.extend(off.map(warning));
        let own = stored.trials.iter().filter(|trial| trial.arm == *arm).map(|trial| &trial.counters);
        all.extend(super::handshakes::unseen(&stored.setup, arm, own));
    }
    all
}

/// A warning of trials that other processes on the machine made void.
fn disturbed(searches: &[ArmSearch]) -> Option<Warning> {
    let word = VoidReason::MachineBusy.as_str();
    let trials = || searches.iter().flat_map(|one| &one.trials);
    let busy = trials().filter(|trial| trial.reasons.iter().any(|reason| reason == word)).count();
    let sentence = format!(
        "in {busy} of {} trials others had the load generator's core, so that it was late: these trials say nothing. \
         Stop other work; `bakeoff doctor` shows what there is.",
        trials().count()
    );
    (busy > 0).then(|| Warning { label: word.to_owned(), sentence })
}

fn arm(setup: &PeakSetup, one: &ArmSearch) -> PeakArm {
    let outcome = one.search.outcome();
    let (finding, rates, limit) = found(&outcome.finding);
    PeakArm {
        finding: finding.to_owned(),
        sentence: words::sentence(setup, &outcome),
        rate_per_s: rates.first().copied(),
        low_per_s: rates.get(1).copied(),
        high_per_s: rates.get(2).copied(),
        level: LEVEL,
        precise: outcome.precise,
        limit: limit.map(str::to_owned),
        binding: outcome.binding.map(|criterion| criterion.as_str().to_owned()),
        bypass: outcome.bypass,
        passed_per_s: outcome.passed.map(PerSecond::get),
        confirmed: confirmed(&outcome).to_owned(),
        trials: one.trials.clone(),
    }
}

/// Its label; the rate with low and high end, as far as there are any; what kept it from more.
fn found(finding: &SearchFinding) -> (&'static str, Vec<f64>, Option<&'static str>) {
    match finding {
        SearchFinding::Knee { at, low, high } => ("peak", vec![at.get(), low.get(), high.get()], None),
        SearchFinding::AtLeast { rate, limit } => ("at-least", vec![rate.get()], Some(limit_word(*limit))),
        SearchFinding::NoRatePasses { lowest, .. } => ("no-rate-passes", vec![lowest.get()], None),
        SearchFinding::NotMeasured { .. } => (NOT_MEASURED, Vec::new(), None),
    }
}

fn limit_word(limit: SearchLimit) -> &'static str {
    match limit {
        SearchLimit::Generator => "generator",
        SearchLimit::Asked => "asked",
        SearchLimit::Range => "range",
        SearchLimit::Ended => "time",
    }
}

fn confirmed(outcome: &SearchOutcome) -> &'static str {
    match outcome.confirmation {
        Confirmation::Passed => "passed",
        Confirmation::Failed { .. } => "failed",
        Confirmation::Void(_) => "void",
        Confirmation::NotTried => "not-tried",
    }
}

fn ratios(searches: &[ArmSearch], baseline: &str) -> BTreeMap<String, PeakRatio> {
    let Some(reference) = searches.iter().find(|search| search.arm == baseline) else {
        return BTreeMap::new();
    };
    let others = searches.iter().filter(|search| search.arm != baseline);
    let ratio = |one: &ArmSearch| {
        let ratio = ratio_of_knees(&one.search, &reference.search)?;
        let (low, high) = (ratio.interval.low, ratio.interval.high);
        let estimate = FractionEstimate { effect: ratio.effect, low, high };
        let sentence = words::ratio(&estimate, ratio.level, baseline);
        Some((one.arm.clone(), PeakRatio { estimate, level: ratio.level, sentence }))
    };
    others.filter_map(ratio).collect()
}
