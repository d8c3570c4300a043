//! What keeps a run from going on.

use crate::analyse::AnalyseError;
use crate::directory::DirectoryError;
use crate::environment::{EnvironmentError, PlacementError};
use bakeoff_loadgen::TlsSetupError;
use bakeoff_subject::SubjectError;
use bakeoff_workload::WorkloadError;
use std::io;

/// Whose fault, what, where, and what next.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The results directory.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The machine.
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
    /// The cores that the plan names.
    #[error(transparent)]
    Placement(#[from] PlacementError),
    /// A server or command.
    #[error(transparent)]
    Subject(#[from] SubjectError),
    /// The log or the site.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// Certificates of the generator.
    #[error(transparent)]
    Tls(#[from] TlsSetupError),
    /// Stored slices.
    #[error(transparent)]
    Analyse(#[from] AnalyseError),
    /// The temporary directory.
    #[error("{path}: {why}; set TMPDIR to a directory with room")]
    Scratch {
        /// Where.
        path: String,
        /// What is wrong.
        why: String,
    },
    /// The generator.
    #[error("the load generator cannot work: {0}")]
    Generator(io::Error),
    /// The system.
    #[error("the system refused: {0}")]
    System(io::Error),
    /// Nothing but failures.
    #[error("{arm}: nothing but failures came back: {classes}. {hint}")]
    NoReplies {
        /// Arm.
        arm: String,
        /// Classes and counts.
        classes: String,
        /// What helps.
        hint: &'static str,
    },
    /// A command.
    #[error("{arm}: `{command}` {status}\n{said}")]
    Command {
        /// Arm.
        arm: String,
        /// What was run.
        command: String,
        /// How it ended.
        status: String,
        /// Its last lines.
        said: String,
    },
    /// Caches cannot be dropped.
    #[error("cold = true needs root to drop the page cache ({0}); run as root or take the line out")]
    Cold(io::Error),
    /// The budget.
    #[error("the budget of {budget} ended before the first slice ({stage}); give a larger budget")]
    NoTime {
        /// Budget of the plan.
        budget: bakeoff_units::Nanos,
        /// What took so long.
        stage: &'static str,
    },
    /// Resuming on another log.
    #[error("the log is not the one that the run began with; put it back, or start a new run")]
    LogChanged,
    /// Ctrl-C before anything was measured.
    #[error("interrupted before the first slice; nothing was measured")]
    Interrupted,
}
