//! Output of a comparison of two runs, row by row.
//!
//! Measuring side, cold.

use bakeoff_results::StudySection;
use bakeoff_stats::Unpaired;
use schemars::JsonSchema;
use serde::Serialize;

/// The `schema` of the output of `bakeoff compare-results --json`.
pub const BETWEEN_SCHEMA: &str = "bakeoff-compare-results/2";

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
    /// The machine in words.
    pub machine: String,
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
