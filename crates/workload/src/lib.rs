//! Workloads: the requests to be made, in their order.
//!
//! Measuring side, load-generator process. Owns the meaning of a workload: targets, order, expected replies. Sees no
//! socket, no clock and no statistics. Deterministic: a (plan, seed) pair means the same requests on every machine. All
//! data of a slice is prepared before the slice starts; [`Source::next`] is hot and does no I/O and no allocation.

#![forbid(unsafe_code)]

mod draw;
mod endless;
mod error;
mod get;
mod permutation;
pub mod replay;
mod site;
mod source;
mod walk;
mod webstone;

pub use endless::EndlessSource;
pub use error::WorkloadError;
pub use get::{CycleSource, Get, GetUrl};
pub use permutation::Permutation;
pub use site::{DiskNeed, Site};
pub use source::{Ask, Expect, ListSource, Method, Request, RequestTable, Slice, Source, Statuses};
pub use walk::{SiteShape, walk};
pub use webstone::Webstone;

use bakeoff_content::Catalogue;
use std::collections::BTreeMap;

/// A workload as an experiment sees it: the fixed work of each round, and its objects.
pub trait Workload: Send {
    /// The requests of one round, about `requests` of them in all; the same for the same round and number, whatever
    /// slices were made before. Reads files where the workload streams: never called during a measurement.
    ///
    /// # Errors
    ///
    /// A log that can no longer be read, or has changed.
    fn slice(&mut self, round: u64, requests: usize) -> Result<Slice, WorkloadError>;

    /// Number of robots that drive it in a closed loop, one list of a slice each; `None` in an open loop, where a slice
    /// has one list.
    fn closed(&self) -> Option<usize>;

    /// Number of requests of the whole workload, where it has an end.
    fn total(&self) -> Option<u64>;

    /// Counts of skipped requests, by the label of the reason.
    fn skipped(&self) -> BTreeMap<String, u64>;

    /// Lines of the log that is replayed, skipped ones included and blank ones not.
    fn log_lines(&self) -> Option<u64> {
        None
    }

    /// The objects that the requests expect, for an origin that serves without files.
    fn catalogue(&self) -> Option<&Catalogue>;

    /// The same objects as files, for servers that need them.
    fn site(&self) -> Option<&Site>;
}
