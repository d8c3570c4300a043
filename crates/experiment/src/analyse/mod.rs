//! From stored slices to figures and verdicts: a pure function of a results directory.
//!
//! Cold. Owns which rounds count, which look gives an arm's verdict and what makes an arm invalid.
//! The procedure and its constants stand in MEASURING.md; the statistics are `stats`'.

mod arm;
mod compare;
mod decide;
mod invalid;
mod series;
mod warnings;

use crate::directory::Stored;
use crate::results::{RESULTS_SCHEMA, Results, WorkloadResult};
use bakeoff_meter::catalogue::RESPONSE_P50;
use bakeoff_stats::Interval;
use decide::Progress;
use series::{Depth, Series};

/// Why stored slices cannot be analysed.
#[derive(Debug, thiserror::Error)]
pub enum AnalyseError {
    /// A stored histogram is damaged.
    #[error("slices.jsonl: round {round}, arm {arm}: {why}")]
    Histogram {
        /// Round.
        round: u32,
        /// Arm.
        arm: String,
        /// What is wrong.
        why: bakeoff_meter::DecodeError,
    },
}

/// Where a running experiment stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// Complete rounds.
    pub rounds: u32,
    /// Whether every arm has its verdict.
    pub settled: bool,
    /// Per arm, without the baseline's two processes.
    pub arms: Vec<ArmStanding>,
}

/// Where one arm stands.
#[derive(Clone, Debug, PartialEq)]
pub struct ArmStanding {
    /// Its name.
    pub arm: String,
    /// Effect so far as a fraction, with its interval; `None` with too few rounds.
    pub effect: Option<(f64, Interval)>,
}

/// All figures and verdicts.
///
/// # Errors
/// A stored histogram is damaged.
pub fn analyse(stored: &Stored) -> Result<Results, AnalyseError> {
    let (setup, stopped_by) = (&stored.setup, stored.stopped_by);
    let series = Series::read(setup, &stored.slices, Depth::Histograms)?;
    let arms = arm::results(setup, &series);
    let comparisons = compare::all(setup, &series, &arms);
    let warnings = warnings::all(setup, &series, &comparisons);
    let used = stored.slices.iter();
    let start = used.clone().map(|slice| slice.started_ns).min().unwrap_or(0);
    let end = used.map(|slice| slice.started_ns + slice.counters.wall_ns).max().unwrap_or(0);
    Ok(Results {
        schema: RESULTS_SCHEMA.to_owned(),
        bakeoff: setup.bakeoff.clone(),
        name: setup.name.clone(),
        started: setup.started.clone(),
        seed: setup.seed,
        margin: setup.margin,
        duration_ns: end - start,
        stopped_by: stopped_by.as_str().to_owned(),
        rounds: series.rounds() as u32,
        load: setup.load.clone(),
        workload: WorkloadResult {
            kind: setup.workload.kind.clone(),
            description: setup.workload.description.clone(),
            requests: arms.values().map(|arm| arm.requests).sum(),
            slice_requests: setup.workload.slice_requests,
            skipped: setup.workload.skipped.clone(),
        },
        order: setup.arms.clone(),
        arms,
        comparisons,
        design: setup.design.clone(),
        starts: Default::default(),
        factors: None,
        prices: Vec::new(),
        first_uses: Vec::new(),
        groups: Vec::new(),
        warnings,
        environment: setup.environment.clone(),
    })
}

/// Whether to go on, after each round.
///
/// # Errors
/// As [`analyse`].
pub fn standing(stored: &Stored) -> Result<Standing, AnalyseError> {
    let needs_times = stored.setup.max_lateness_ns.is_some() || stored.setup.primary == RESPONSE_P50;
    let depth = if needs_times { Depth::Histograms } else { Depth::Counters };
    let series = Series::read(&stored.setup, &stored.slices, depth)?;
    let mut settled = true;
    let mut arms = Vec::new();
    for name in decide::judged(&stored.setup) {
        let invalid = invalid::reason(&stored.setup, &series, name);
        let decided = decide::decide(&stored.setup, &series, name, invalid.as_deref(), Progress::Running);
        settled &= decided.is_final;
        let effect = decided.judgement.effect.as_ref();
        arms.push(ArmStanding { arm: name.to_owned(), effect: effect.map(|e| (e.effect, e.interval)) });
    }
    Ok(Standing { rounds: series.rounds() as u32, settled, arms })
}
