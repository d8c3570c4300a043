//! The results directory on disk: its files, and when each is written and read back.
//!
//! Cold. `write` is the run's side, `read` every reader's; `chain` makes the check by which lines of growing files
//! depend on each other. Owns the names of the files.

mod chain;
mod growing;
mod layout;
mod read;
mod write;

pub use chain::{Check, LineFault, faults};
pub use growing::{Growing, records};
pub use layout::{
    Digests, END, End, EndRecord, LOGS, Layout, ListEnd, PLAN, RESULTS, end, needed, text_of, unreadable,
};
pub use read::{StoredExperiment, load};
pub use write::ResultsDir;

use crate::{SETUP_SCHEMA, Warning};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::PathBuf;

/// A line a slice.
pub const SLICES: &str = "slices.jsonl";
/// A search for peaks: a line a trial, in place of slices.
pub const TRIALS: &str = "trials.jsonl";
const LOCK: &str = ".lock";

/// Results directories of experiments.
pub const EXPERIMENT: Layout = Layout { setup: "setup.json", form: SETUP_SCHEMA, growing: &[SLICES, TRIALS] };

/// Reasons why a results directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// It is not empty.
    #[error("{0} is not empty; give a new or empty directory, or go on with a run by --resume")]
    NotEmpty(PathBuf),
    /// Writing failed.
    #[error(
        "{path}: cannot be written: {why}; {}", advice(.why)
    )]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// Error from the system.
        why: io::Error,
    },
    /// It is no results directory.
    #[error("{0} is no results directory; give one that bakeoff wrote and measured something for")]
    NoResults(PathBuf),
    /// Reading failed.
    #[error("{path}: cannot be read: {why}; give a directory that `bakeoff run` wrote")]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// The error.
        why: String,
    },
    /// It is in another version's form.
    #[error(
        "{path}: bakeoff {bakeoff} wrote it in the form {form}, and this bakeoff ({}) reads {reads}; use the bakeoff that wrote it",
        env!("CARGO_PKG_VERSION")
    )]
    OtherForm {
        /// Path of the file.
        path: PathBuf,
        /// Its form.
        form: String,
        /// The form that is read.
        reads: &'static str,
        /// The version that wrote it.
        bakeoff: String,
    },
    /// Another bakeoff holds its lock.
    #[error("{0} is in use by another bakeoff; wait for it, or give another --out")]
    InUse(PathBuf),
}

/// Advice for a failed write.
fn advice(why: &io::Error) -> &'static str {
    use io::ErrorKind as Kind;
    match why.kind() {
        Kind::StorageFull | Kind::QuotaExceeded | Kind::FileTooLarge => {
            "make room, or give another --out; what was measured before is kept"
        }
        Kind::PermissionDenied | Kind::ReadOnlyFilesystem => "give an --out where you may write",
        Kind::AlreadyExists | Kind::NotADirectory => "that is a file: give a directory as --out",
        _ => "give another --out",
    }
}

/// Reason for the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StoppedBy {
    /// Every arm has its verdict.
    Verdicts,
    /// All rounds were run.
    Rounds,
    /// Time was up.
    Budget,
    /// Ctrl-C, or killed.
    Interrupted,
    /// A subject or the environment failed.
    Failed,
}

impl StoppedBy {
    /// Label in `results.json`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Verdicts => "verdicts",
            Self::Rounds => "rounds",
            Self::Budget => "budget",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
        }
    }
}

/// How an experiment ended, in its `end.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StopReason {
    /// Reason for the end.
    pub stopped_by: StoppedBy,
    /// Other runs on the same cores, seen until then.
    #[serde(default)]
    pub others: Vec<Warning>,
}
