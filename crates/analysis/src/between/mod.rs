//! Comparison of two runs: a stored one, and a newer one.
//!
//! Cold, pure. Their rounds are not pairs, so differences between the runs as a whole (the hour, the machine, the
//! processes) are in every change, and in no interval. Owns which runs may be compared at all, and the list of their
//! differences. An arm's cost is compared as each run found it against its own baseline, which takes most of the
//! machine out; plain figures are compared too, without such protection.

mod differs;
mod rows;

use crate::analyse::{AnalyseError, analyse};
use crate::join::{join_between, meters_between};
use bakeoff_meter::{Meter, catalogue};
use bakeoff_plan::study;
use bakeoff_plan::suggestion;
use bakeoff_results::Results;
use bakeoff_results::StudySection;
use bakeoff_results::directory::StoredExperiment;
use bakeoff_stats::Unpaired;
use schemars::JsonSchema;
use serde::Serialize;

/// The `schema` of the output of `bakeoff compare-results --json`.
pub const BETWEEN_SCHEMA: &str = "bakeoff-compare-results/2";

/// The requested comparison.
#[derive(Clone, Debug, Default)]
pub struct RequestedComparison {
    /// One arm; all that both runs have when `None`.
    pub arm: Option<String>,
    /// Meters; the figure that the verdicts stand on when empty.
    pub meters: Vec<String>,
    /// Compare although workload or load differ.
    pub anyway: bool,
}

/// Reasons why two runs are not compared.
#[derive(Debug, thiserror::Error)]
pub enum BetweenError {
    /// Their work is not the same.
    #[error(
        "the runs did not do the same: {what} was {old}, and is {new}; what they differ by would be that. Add --anyway to see the figures"
    )]
    NotTheSame {
        /// The setting that differs.
        what: String,
        /// Its value in the old run.
        old: String,
        /// Its value in the new run.
        new: String,
    },
    /// No such arm.
    #[error("the {which} run has no arm `{arm}`; {help}")]
    NoArm {
        /// `old` or `new`.
        which: &'static str,
        /// The arm that was asked for.
        arm: String,
        /// A similar name, as a hint.
        help: String,
    },
    /// No arm in common.
    #[error("the runs have no arm in common")]
    NothingInCommon,
    /// No such meter.
    #[error("`{0}` is no meter; `bakeoff meters` lists them")]
    NoMeter(String),
    /// Slices that cannot be read.
    #[error(transparent)]
    Analyse(#[from] AnalyseError),
}

/// Both runs, held against each other.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Between {
    /// [`BETWEEN_SCHEMA`].
    pub schema: String,
    /// The stored run.
    pub old: RunNamed,
    /// The newer run.
    pub new: RunNamed,
    /// Everything noted about the two runs that is not the same.
    pub differs: Vec<Differs>,
    /// A row for each arm and meter.
    pub rows: Vec<ComparisonRow>,
    /// What the newer run differs by beside the figures of the study that its plan names, where that has such figures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub study: Option<StudySection>,
}

/// Which run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RunNamed {
    /// Name of the plan.
    pub name: String,
    /// When it began, RFC 3339.
    pub started: String,
    /// Version of bakeoff that measured.
    pub bakeoff: String,
    /// Kind of the workload.
    pub workload: String,
    /// Complete rounds.
    pub rounds: u32,
}

/// Something that is not the same in the two runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Differs {
    /// What.
    pub what: String,
    /// In the old run.
    pub old: String,
    /// In the new run.
    pub new: String,
}

/// One arm in one meter.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ComparisonRow {
    /// The arm.
    pub arm: String,
    /// The kind of operation that the figures are of; none: all that a slice does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// The meter.
    pub meter: String,
    /// Of the figures.
    pub unit: String,
    /// What the arm costs against its own run's baseline, as fractions; the change is a difference
    /// of these, in points. Not for the baseline, and not where a run has no such comparison.
    pub cost: Option<Changed>,
    /// The same in `unit`. A duet and pairs are of different loads: there this is all that is compared.
    pub amount: Option<Changed>,
    /// The plain figure in `unit`: geometric means over the rounds; the change is a fraction of the
    /// old one. Not for quantiles.
    pub figure: Option<Changed>,
    /// Why a figure of one of the runs must not be used, if that is so.
    pub invalid: Option<String>,
}

/// Old, new, and the change from one to the other, each with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Changed {
    /// In the old run.
    pub old: f64,
    /// Low end of its interval.
    pub old_low: f64,
    /// High end.
    pub old_high: f64,
    /// In the new run.
    pub new: f64,
    /// Low end of its interval.
    pub new_low: f64,
    /// High end.
    pub new_high: f64,
    /// From old to new.
    pub change: f64,
    /// Low end of its interval.
    pub change_low: f64,
    /// High end.
    pub change_high: f64,
    /// Confidence level of the intervals: 95 %, as nobody looked in between; for quantiles that of
    /// the runs' own looks.
    pub level: f64,
}

impl Changed {
    /// Whether the change's interval excludes zero.
    pub fn is_clear(&self) -> bool {
        self.change_low > 0.0 || self.change_high < 0.0
    }
}

impl From<Unpaired> for Changed {
    fn from(found: Unpaired) -> Self {
        let Unpaired { old, new, change, level } = found;
        Self {
            old: old.at,
            old_low: old.interval.low,
            old_high: old.interval.high,
            new: new.at,
            new_low: new.interval.low,
            new_high: new.interval.high,
            change: change.at,
            change_low: change.interval.low,
            change_high: change.interval.high,
            level,
        }
    }
}

/// Both runs with their figures.
struct Runs<'a> {
    old: &'a StoredExperiment,
    new: &'a StoredExperiment,
    old_results: Results,
    new_results: Results,
}

/// Compares a new run with an old one.
///
/// # Errors
/// They cannot be compared, or what is asked for is in neither.
pub fn between(
    old: &StoredExperiment,
    new: &StoredExperiment,
    wanted: &RequestedComparison,
) -> Result<Between, BetweenError> {
    let mut meters = meters(old, new, wanted)?;
    if !wanted.anyway {
        differs::ensure_the_same(&old.setup, &new.setup, wanted.meters.is_empty())?;
    }
    let arms = arms(old, new, wanted)?;
    let runs = Runs { old, new, old_results: analyse(old)?, new_results: analyse(new)? };
    let study =
        new.setup.study.as_deref().map(study::find).transpose().map_err(AnalyseError::from)?.flatten();
    if wanted.meters.is_empty() {
        let published = study.iter().flat_map(|study| meters_between(study, &runs.new_results));
        meters.extend(published.filter_map(catalogue::find));
        let mut seen = Vec::new();
        meters.retain(|meter| {
            !seen.contains(&meter.name) && {
                seen.push(meter.name);
                true
            }
        });
    }
    let rows = rows::all(&runs, &arms, &meters, wanted.meters.is_empty())?;
    Ok(Between {
        schema: BETWEEN_SCHEMA.to_owned(),
        old: named(&runs.old_results),
        new: named(&runs.new_results),
        differs: differs::list(old, new, &arms),
        study: study.and_then(|study| join_between(&study, &runs.new_results, &rows)),
        rows,
    })
}

fn named(results: &Results) -> RunNamed {
    RunNamed {
        name: results.name.clone(),
        started: results.started.clone(),
        bakeoff: results.bakeoff.clone(),
        workload: results.workload.kind.clone(),
        rounds: results.rounds,
    }
}

fn meters(
    old: &StoredExperiment,
    new: &StoredExperiment,
    wanted: &RequestedComparison,
) -> Result<Vec<&'static Meter>, BetweenError> {
    let find = |name: &String| catalogue::find(name).ok_or_else(|| BetweenError::NoMeter(name.clone()));
    match wanted.meters.as_slice() {
        [] => {
            let mut own: Vec<&String> = vec![&old.setup.primary, &new.setup.primary];
            own.dedup();
            own.into_iter().map(find).collect()
        }
        names => names.iter().map(find).collect(),
    }
}

/// Arms of both runs in the old plan's order, without the second processes of baselines.
fn arms(
    old: &StoredExperiment,
    new: &StoredExperiment,
    wanted: &RequestedComparison,
) -> Result<Vec<String>, BetweenError> {
    let own = |stored: &StoredExperiment| {
        stored.setup.arms.iter().filter(|arm| !stored.setup.is_second(arm)).cloned().collect::<Vec<String>>()
    };
    let (theirs, ours) = (own(old), own(new));
    let Some(arm) = &wanted.arm else {
        let common: Vec<String> = theirs.into_iter().filter(|arm| ours.contains(arm)).collect();
        return if common.is_empty() { Err(BetweenError::NothingInCommon) } else { Ok(common) };
    };
    for (which, arms) in [("old", theirs), ("new", ours)] {
        if !arms.contains(arm) {
            let known: Vec<&str> = arms.iter().map(String::as_str).collect();
            return Err(BetweenError::NoArm { which, arm: arm.clone(), help: suggestion(arm, &known) });
        }
    }
    Ok(vec![arm.clone()])
}
