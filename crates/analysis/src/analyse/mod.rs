//! Analysis of a run, from stored slices to figures and verdicts: a pure function of a results directory.
//!
//! Cold. Owns which rounds count, which look gives an arm's verdict and what makes an arm invalid. The procedure and
//! its constants stand in docs/method.md; the statistics are `stats`'.

mod arm;
mod bound;
mod compare;
mod curve;
mod decide;
mod error;
mod factors;
mod first_use;
mod groups;
mod handshakes;
mod invalid;
mod lateness;
mod layer;
mod link;
mod median;
mod operations;
pub mod peak;
mod populations;
mod prices;
mod series;
mod steady;
mod warnings;

use crate::join::join;
use bakeoff_meter::Meter;
use bakeoff_meter::catalogue::RESPONSE_P50;
use bakeoff_plan::study;
use bakeoff_results::directory::StoredExperiment;
use bakeoff_results::{Comparison, RESULTS_SCHEMA, Results, RoundKind, Setup, WorkloadResult};
use bakeoff_stats::{Decision, Verdict};
use decide::{Decided, Progress};
pub use error::AnalyseError;
use series::{Depth, Series, Table};

/// Intermediate state of a running experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct InterimState {
    /// Complete rounds, paired ones after a duet included.
    pub rounds: u32,
    /// Most rounds that are planned, those included.
    pub max_rounds: u32,
    /// Rounds to the next look, at which a verdict may come; `None` behind the last one, or once all have theirs.
    pub to_look: Option<u32>,
    /// The next step.
    pub next: Next,
    /// Per arm, without the two processes of a baseline.
    pub arms: Vec<ArmStanding>,
}

/// Next step of a running experiment, time permitting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Another round.
    Round(RoundKind),
    /// Nothing: every arm has its verdict.
    Settled,
    /// Nothing: the budget allows no further round.
    NoTime,
    /// Nothing: all rounds were run.
    AllRounds,
}

/// Intermediate state of one arm.
#[derive(Clone, Debug, PartialEq)]
pub struct ArmStanding {
    /// Its name.
    pub arm: String,
    /// Its cost so far, with the interval, in words; `None` with too few rounds.
    pub so_far: Option<String>,
}

/// All figures and verdicts.
///
/// # Errors
/// A stored histogram is damaged.
pub fn analyse(stored: &StoredExperiment) -> Result<Results, AnalyseError> {
    let (setup, stopped_by) = (&stored.setup, stored.stopped_by);
    if let Some(peak) = &setup.peak {
        return peak::results(stored, peak);
    }
    let table = Table::read(setup, &stored.slices, Depth::Histograms)?;
    let series = table.main();
    let mut arms = arm::results(setup, &table, &stored.slices);
    let (comparisons, estimates) = compare::all(setup, &table, &arms, stopped_by);
    let of = compare::Of { setup, table: &table, series, arms: &arms };
    let rates: Vec<_> = estimates.keys().map(|arm| compare::rates(&of, arm)).collect();
    for ((arm, estimates), rates) in estimates.into_iter().zip(rates) {
        arms.entry(arm).and_modify(|arm| (arm.estimates, arm.rates) = (estimates, rates));
    }
    let mut warnings = warnings::all(setup, &table, &comparisons);
    warnings.extend(bound::differ(setup, &arms));
    let used = stored.slices.iter();
    let start = used.clone().map(|slice| slice.started_ns).min().unwrap_or(0);
    let end = used.map(|slice| slice.ended_ns).max().unwrap_or(0);
    let mut results = Results {
        schema: RESULTS_SCHEMA.to_owned(),
        bakeoff: setup.bakeoff.clone(),
        name: setup.name.clone(),
        started: setup.started.clone(),
        extent: setup.extent,
        seed: setup.seed,
        margin: setup.margin,
        margin_amount: setup.margin_amount,
        looks: table.looks.looks.clone(),
        duration_ns: end - start,
        stopped_by: stopped_by.as_str().to_owned(),
        rounds: table.rounds() as u32,
        rounds_in_turn: table.in_turn.rounds() as u32,
        rounds_at_full_speed: table.full_speed.rounds() as u32,
        load: setup.load.clone(),
        link: link::result(setup, series)?,
        workload: WorkloadResult {
            kind: setup.workload.kind.clone(),
            description: setup.workload.description.clone(),
            requests: arms.values().map(|arm| arm.requests).sum(),
            slice_requests: setup.workload.slice_requests,
            requests_of: setup.workload.requests_of.clone(),
            skipped: setup.workload.skipped.clone(),
            log_lines: setup.workload.log_lines,
        },
        order: setup.arms.clone(),
        curve: curve::result(setup, &table, &comparisons),
        operations: operations::all(setup, &table, &arms),
        populations: populations::all(setup, &table, &arms),
        arms,
        comparisons,
        design: setup.design.clone(),
        starts: groups::starts(setup, &table),
        factors: factors::factors(setup, series),
        prices: prices::prices(setup, series),
        first_uses: first_use::results(setup, series),
        groups: groups::equal(setup, series),
        study: None,
        peak: None,
        warnings,
        environment: setup.environment.clone(),
        digests: stored.digests.clone(),
    };
    if let Some(name) = &setup.study {
        let study = study::find(name)?.ok_or_else(|| AnalyseError::NoStudy(name.clone()))?;
        results.study = Some(join(&study, &results));
    }
    Ok(results)
}

/// The figures of all complete rounds of the design, for questions beyond a single run.
pub(crate) struct Figures(Table);

impl Figures {
    /// # Errors
    /// As [`analyse`].
    pub(crate) fn read(stored: &StoredExperiment) -> Result<Self, AnalyseError> {
        Table::read(&stored.setup, &stored.slices, Depth::Histograms).map(Self)
    }

    /// The figures as if only this kind of operation had been measured.
    pub(crate) fn alone(&self, operation: &str) -> Self {
        Self(self.0.alone(operation))
    }

    /// Figures of an arm of the set-up, one a round; `None` when one slice has none.
    pub(crate) fn of(&self, arm: &str, meter: &Meter) -> Option<Vec<f64>> {
        self.0.valid_for(meter).figures(arm, meter)
    }

    /// For each of those rounds, the start of the arms that it belongs to.
    pub(crate) fn starts_for(&self, meter: &Meter) -> &[u32] {
        self.0.valid_for(meter).starts()
    }

    /// The same for the rounds of a comparison.
    pub(crate) fn starts_of(&self, row: &Comparison) -> &[u32] {
        let is_of = |series: &&Series| series.design == row.design && series.load == row.load;
        self.0.all().find(is_of).unwrap_or(self.0.main()).starts()
    }
}

/// Whether to go on, after each round.
///
/// # Errors
/// As [`analyse`].
pub fn standing(stored: &StoredExperiment) -> Result<InterimState, AnalyseError> {
    let has_lateness =
        stored.setup.max_lateness_ns.is_some() || !stored.setup.workload.populations.is_empty();
    let needs_times = has_lateness || stored.setup.primary == RESPONSE_P50;
    let depth = if needs_times { Depth::Histograms } else { Depth::Counters };
    let table = Table::read(&stored.setup, &stored.slices, depth)?;
    let mut arms = Vec::new();
    let off = layer::off(&stored.setup, &stored.slices);
    let mut decided = Vec::new();
    for name in stored.setup.judged() {
        let invalid = invalid::reason(&stored.setup, &table, &off, name);
        let arm = decide::decide(&stored.setup, &table, name, invalid.as_deref(), Progress::Running);
        let so_far =
            arm.judgement.cost.as_ref().map(|cost| compare::so_far(&stored.setup, &table, name, cost));
        arms.push(ArmStanding { arm: name.to_owned(), so_far });
        decided.push(arm);
    }
    let max_rounds = table.looks.last() + stored.setup.design.after.rounds();
    let next = next(&stored.setup, &table, &decided);
    let main = table.main().rounds() as u32;
    let to_look = table.looks.next_after(main).filter(|_| !are_settled(&decided)).map(|look| look - main);
    Ok(InterimState { rounds: table.rounds() as u32, max_rounds, to_look, next, arms })
}

/// First the rounds of the design, until every arm is decided or all are run; then rounds in turn, alternating between
/// the decision's load and full speed.
fn next(setup: &Setup, table: &Table, decided: &[Decided]) -> Next {
    let over = table.main().rounds() as u32 >= table.looks.last();
    if !over && !are_settled(decided) {
        return Next::Round(RoundKind::Main);
    }
    if let Some(kind) = after(setup, table) {
        return Next::Round(kind);
    }
    let unresolved = Decision::Final(Verdict::NotResolved);
    let told = |arm: &Decided| arm.is_final && arm.judgement.decision != unresolved;
    match decided.iter().all(told) {
        true if !decided.is_empty() => Next::Settled,
        _ if table.looks.last() < setup.max_rounds => Next::NoTime,
        _ => Next::AllRounds,
    }
}

/// Whether every arm has its verdict. A single arm has nothing to decide: it has all its rounds.
fn are_settled(decided: &[Decided]) -> bool {
    !decided.is_empty() && decided.iter().all(|arm| arm.is_final)
}

/// The next round after the verdict: of the kinds still owed, the one that has been run less.
fn after(setup: &Setup, table: &Table) -> Option<RoundKind> {
    let (at_load, full_speed) = (table.in_turn.rounds() as u32, table.full_speed.rounds() as u32);
    let owed = setup.design.after;
    match (at_load < owed.at_load, full_speed < owed.full_speed) {
        (true, true) if at_load <= full_speed => Some(RoundKind::InTurn),
        (true, false) => Some(RoundKind::InTurn),
        (_, true) => Some(RoundKind::FullSpeed),
        (false, false) => None,
    }
}
