//! Results directories on disk: what is written when, and what is read back.
//!
//! Cold. One form of directory for every kind of run: a plan, a setup, files that grow by a line, `end.json`. `layout`
//! names its files, `growing` appends and repairs lines, `chain` is what they check each other by, `write` the run's side
//! with its lock, `read` an experiment read back.

mod chain;
mod growing;
mod layout;
mod read;
mod write;

pub(crate) use chain::{Check, Fault, faults};
pub use growing::{Growing, records};
pub use layout::{
    Digests, END, End, EndRecord, Ended, LOGS, Layout, PLAN, RESULTS, end, needed, text_of, unreadable,
};
pub use read::{Stored, load};
pub use write::ResultsDir;

use crate::results::{SETUP_SCHEMA, Warning};
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

/// Why a results directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// It holds something.
    #[error("{0} is not empty; give a new or empty directory, or go on with a run by --resume")]
    NotEmpty(PathBuf),
    /// Writing failed.
    #[error(
        "{path}: cannot be written: {why}; {}", advice(.why)
    )]
    Write {
        /// File.
        path: PathBuf,
        /// The system's word.
        why: io::Error,
    },
    /// It is none.
    #[error("{0} is no results directory; give one that bakeoff wrote and measured something for")]
    NoResults(PathBuf),
    /// Reading failed.
    #[error("{path}: cannot be read: {why}; give a directory that `bakeoff run` wrote")]
    Read {
        /// File.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// It is in another version's form.
    #[error(
        "{path}: bakeoff {bakeoff} wrote it in the form {form}, and this bakeoff ({}) reads {reads}; use the bakeoff that wrote it",
        env!("CARGO_PKG_VERSION")
    )]
    OtherForm {
        /// File.
        path: PathBuf,
        /// Its form.
        form: String,
        /// The form that is read.
        reads: &'static str,
        /// The version that wrote it.
        bakeoff: String,
    },
    /// Another bakeoff has it.
    #[error("{0} is in use by another bakeoff; wait for it, or give another --out")]
    InUse(PathBuf),
}

/// What helps where nothing can be written.
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

/// How a run ended.
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
    /// As in `results.json`.
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
pub(crate) struct Stopped {
    pub(crate) stopped_by: StoppedBy,
    /// Other runs on the same cores, seen until then.
    #[serde(default)]
    pub(crate) others: Vec<Warning>,
}
