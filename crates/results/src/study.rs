//! Forms of a run beside a study: a row a published figure.
//!
//! Measuring side, cold. How the two lie is decided in `analysis`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `study` of `results.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StudySection {
    /// Name of the study.
    pub name: String,
    /// What was studied.
    pub title: String,
    /// The publications.
    pub sources: Vec<String>,
    /// A row a linked figure, in the order of the study's file.
    pub rows: Vec<StudyRow>,
}

/// One published figure and this run's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StudyRow {
    /// Title of the study's table.
    pub table: String,
    /// Row of the table.
    pub row: String,
    /// Column of the table.
    pub column: String,
    /// Whose cost this is and how it was told, where the study is set beside several such statements: they are never
    /// mixed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statement: Option<String>,
    /// The operation that this run's figure is of, where it is one's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// The population that this run's figure is of, where it is one's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub population: Option<String>,
    /// What was published, with its unit.
    pub published: String,
    /// The same as a number, in `unit`.
    pub published_value: f64,
    /// Unit of the numbers of this row.
    pub unit: String,
    /// Why the published figure is not certain, if it is not.
    pub doubt: Option<String>,
    /// The two published figures that it was taken from, if it was.
    pub taken_from: Option<String>,
    /// The arm.
    pub arm: String,
    /// What the arm is compared with; the arm itself where the figure is its own.
    pub baseline: String,
    /// The meter.
    pub meter: String,
    /// What this run's figure is, in words.
    pub figure: String,
    /// This run's figure, in `unit`.
    pub value: Option<f64>,
    /// Low end of its interval.
    pub low: Option<f64>,
    /// High end.
    pub high: Option<f64>,
    /// How the two lie.
    pub standing: Standing,
    /// The same in words, with the reason where they cannot be compared.
    pub said: String,
}

/// A run that is kept beside a study, in `studies/runs`: what its rows say, and where they come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeptRun {
    /// Name of its plan, one of those that come along.
    pub plan: String,
    /// Command that measures it again.
    pub command: String,
    /// Day on which it began, UTC, as `2026-11-28`.
    pub day: String,
    /// Version of bakeoff that measured it.
    pub bakeoff: String,
    /// Machine, in words.
    pub machine: String,
    /// Labels of what the run warned of, each once.
    pub warnings: Vec<String>,
    /// SHA-256 of its `results.json`, which agreed with its records.
    pub results_sha256: String,
    /// A row a published figure.
    pub rows: Vec<StudyRow>,
}

/// How this run's figure lies to the published one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// The published figure lies inside this run's interval.
    Inside,
    /// This run's interval lies above it.
    Higher,
    /// This run's interval lies below it.
    Lower,
    /// Nothing can be said.
    NotComparable,
}

impl Standing {
    /// In words.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Inside => "the published figure lies inside this run's interval",
            Self::Higher => "this run's figure is higher",
            Self::Lower => "this run's figure is lower",
            Self::NotComparable => "not comparable",
        }
    }
}
