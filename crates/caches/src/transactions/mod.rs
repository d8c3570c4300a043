//! The log of transactions: a row for every request of every run, on disk while the run goes on.
//!
//! Measuring side. Three pieces: [`Batcher`] is hot, on the robots' thread, and fills batches; [`Writer`] is a thread
//! of its own that gathers them into parts and writes those; [`COLUMNS`] has the columns of a row. The format of a part
//! on disk is not decided here: the caller brings an [`Encode`].
//!
//! A file in Parquet can be read only when it is complete. So a run is written as many small ones, each beside its name
//! and then renamed. However a run ends, every file under its name is whole, and only rows that were not yet in one are
//! lost.

mod batcher;
mod columns;
mod row;
mod writer;

pub(crate) use batcher::Batcher;
pub use columns::{COLUMNS, Cells, Column};
pub use row::Transaction;
pub(crate) use writer::Writer;

use bakeoff_results::directory::DirectoryError;
use bakeoff_units::Nanos;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;

/// The folder in a results directory.
pub const FOLDER: &str = "transactions";
/// Label of the count of rows that could not be written as fast as they came.
pub const DROPPED: &str = "transactions-dropped";

/// Rows of a full part, some 10 MB in memory ...
const PART_ROWS: usize = 100_000;
/// ... or age of its first row at which it is written: the loss of a killed run.
const PART_AGE: Nanos = Nanos::from_secs(10);
/// Rows that are handed over at a time: one lock for as many requests.
const BATCH_ROWS: usize = 1_024;
/// Age of its first row at which a batch is handed over: at low rates it would take long to fill.
const BATCH_AGE: Nanos = Nanos::from_secs(1);
/// Batches that may wait for the writer, half a million rows in some 60 MB: ten seconds of a stopped disk at 50,000
/// requests a second.
const WAITING: usize = 512;

/// Makes a file of a part; an error is in words.
pub type Encode = fn(&TransactionFile<'_>) -> Result<Vec<u8>, String>;

/// Data common to all rows of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunContext {
    /// Number of the run: its line in `runs.jsonl`, from 0.
    pub run: u32,
    /// Name of the entrant.
    pub entrant: String,
    /// Names of its phases.
    pub phases: Vec<String>,
    /// Names of the kinds of content.
    pub kinds: Vec<String>,
    /// Time when it began, since 1970.
    pub began_unix: Nanos,
}

/// Rows that become one file.
#[derive(Clone, Copy, Debug)]
pub struct TransactionFile<'a> {
    /// Their run.
    pub of: &'a RunContext,
    /// In the order in which the requests ended.
    pub rows: &'a [Transaction],
}

/// Counts of a run's written log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Logged {
    /// Rows that were written, one a request that ended.
    pub rows: u64,
    /// `transactions-dropped`: rows that were not, as the disk was slower than the robots for too long, or full.
    pub dropped: u64,
    /// Files.
    pub parts: u64,
    /// Bytes of them.
    pub bytes: u64,
}

impl Logged {
    /// Sum of two logs.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            rows: self.rows + other.rows,
            dropped: self.dropped + other.dropped,
            parts: self.parts + other.parts,
            bytes: self.bytes + other.bytes,
        }
    }
}

/// The logs of all runs of a directory.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    folder: PathBuf,
    encode: Encode,
}

impl Log {
    /// Makes the folder.
    pub(crate) fn begin(dir: &Path, encode: Encode) -> Result<Self, DirectoryError> {
        let folder = dir.join(FOLDER);
        match fs::create_dir(&folder) {
            Ok(()) => Ok(Self { folder, encode }),
            Err(why) => Err(DirectoryError::Write { path: folder, why }),
        }
    }

    /// Both ends of a run's log.
    pub(crate) fn open(&self, of: RunContext) -> (Batcher, Writer) {
        self.open_for(of, WAITING)
    }

    fn open_for(&self, of: RunContext, waiting: usize) -> (Batcher, Writer) {
        let (to, from) = sync_channel(waiting);
        let fate = Fate::default();
        let batcher = Batcher::new(to, fate.clone());
        (batcher, Writer { from, log: self.clone(), of, fate })
    }
}

/// Counts of written and lost rows, shared by both ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fate(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    dropped: AtomicU64,
    failed: AtomicBool,
}

impl Fate {
    /// Whether nothing can be written any more.
    pub(crate) fn has_failed(&self) -> bool {
        self.0.failed.load(Ordering::Relaxed)
    }

    fn fail(&self) {
        self.0.failed.store(true, Ordering::Relaxed);
    }

    fn drop_rows(&self, rows: usize) {
        self.0.dropped.fetch_add(rows as u64, Ordering::Relaxed);
    }

    fn dropped(&self) -> u64 {
        self.0.dropped.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests;
