//! Reasons why stored slices cannot be analysed.
//!
//! Measuring side, cold.

use bakeoff_plan::study;

/// Reasons why stored slices cannot be analysed.
#[derive(Debug, thiserror::Error)]
pub enum AnalyseError {
    /// A stored histogram is damaged.
    #[error("slices.jsonl: round {round}, arm {arm}: {why}")]
    Histogram {
        /// Number of the round.
        round: u32,
        /// Name of the arm.
        arm: String,
        /// The error.
        why: bakeoff_meter::DecodeError,
    },
    /// The plan named a study that this version does not have.
    #[error(
        "setup.json names the study `{0}`, which this version of bakeoff does not have; `bakeoff studies` lists them"
    )]
    NoStudy(String),
    /// The text of a built-in study is not valid.
    #[error(transparent)]
    Study(#[from] study::StudyError),
    /// A stored trial of a search for peaks is damaged.
    #[error("trials.jsonl: trial {number}, arm {arm}: {why}")]
    Trial {
        /// Number of the trial.
        number: u32,
        /// Name of the arm.
        arm: String,
        /// The error.
        why: String,
    },
}
