//! The results directory on disk: its files, and when each is written and read back.
//!
//! Cold. `write` is the run's side, `read` every reader's; `chain` makes the check by which lines of growing files
//! depend on each other. Owns the names of the files.

mod chain;
mod read;
mod write;

pub(crate) use chain::{Check, Fault, faults};
pub use read::load;
pub(crate) use read::{digests, setup};
pub use write::ResultsDir;

use crate::results::{SETUP_SCHEMA, Setup, SliceRecord, TrialRecord, Warning};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

/// The plan's text.
pub const PLAN: &str = "plan.toml";
/// The set-up, fixed before the first slice.
pub const SETUP: &str = "setup.json";
/// A line a slice.
pub const SLICES: &str = "slices.jsonl";
/// A search for peaks: a line a trial, in place of slices.
pub const TRIALS: &str = "trials.jsonl";
/// The end of the run.
pub const END: &str = "end.json";
/// Figures and verdicts.
pub const RESULTS: &str = "results.json";
/// Output of servers and commands, a folder an arm.
pub const LOGS: &str = "logs";
const LOCK: &str = ".lock";
/// Files that grow by a line at a time, each line with its check.
pub(crate) const GROWING: [&str; 2] = [SLICES, TRIALS];

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
        "{path}: bakeoff {bakeoff} wrote it in the form {form}, and this bakeoff ({}) reads {SETUP_SCHEMA}; use the bakeoff that wrote it",
        env!("CARGO_PKG_VERSION")
    )]
    OtherForm {
        /// Path of the file.
        path: PathBuf,
        /// Its `schema`.
        form: String,
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

/// `end.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct End {
    pub(crate) stopped_by: StoppedBy,
    /// Digests of the other files at that moment.
    pub(crate) digests: Digests,
    /// Other runs on the same cores, seen until then.
    #[serde(default)]
    pub(crate) others: Vec<Warning>,
}

/// Digests of files of a results directory, by name: the SHA-256 of `plan.toml` and `setup.json`, and of each file that
/// grows the check of its last line. A file that is not there has none.
pub type Digests = BTreeMap<String, String>;

/// The contents of a results directory.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The plan's text.
    pub plan: String,
    /// The set-up, fixed before the first slice; its warnings also name runs that came beside it later.
    pub setup: Setup,
    /// Slices in the order they were measured.
    pub slices: Vec<SliceRecord>,
    /// Trials of a search for peaks, in the order they were run.
    pub trials: Vec<TrialRecord>,
    /// Reason for the end of the run; a run that was killed counts as interrupted.
    pub stopped_by: StoppedBy,
    /// Digests of the files when they were read.
    pub digests: Digests,
}
