//! Data forms of the results directory: the files a run writes, and the input of reports.
//!
//! Measuring side, cold. Owns the stored forms and their JSON schema. `setup.json` is written once, before the first
//! slice; `slices.jsonl` grows by a line a slice, synced before the next slice starts, or in a search for peaks
//! `trials.jsonl` by a line a trial; `results.json` is a pure function of those two (see `analyse`).

#![forbid(unsafe_code)]

mod client;
mod curve;
mod design;
pub mod digest;
pub mod directory;
pub mod entrant;
mod figures;
mod link;
mod peak;
mod setup;
mod slice;
mod strata;
mod study;
pub mod suite;

pub use client::*;
pub use curve::*;
pub use design::*;
pub use figures::*;
pub use link::*;
pub use peak::*;
pub use setup::*;
pub use slice::*;
pub use strata::*;
pub use study::*;

/// The `schema` of this version's `results.json`.
pub const RESULTS_SCHEMA: &str = "bakeoff-results/4";
/// The `schema` of this version's `setup.json`.
pub const SETUP_SCHEMA: &str = "bakeoff-setup/4";

/// The class of a file operation that read other bytes than were written: it makes an arm invalid.
pub const WRONG_BYTES: &str = "wrong-bytes";
