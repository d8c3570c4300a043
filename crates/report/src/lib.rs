//! Text, JSON, CSV and HTML from a results directory.
//!
//! Measuring side, the bakeoff process, cold. Owns how figures look, nothing else: what they are
//! was decided in `experiment` and `stats`, and a directory always yields the same report. No I/O,
//! no clock; strings in, strings out, and `cli` alone writes them.
//!
//! Each kind of run makes a [`Document`] of its results: a head and sections. Two renderers show it, in a terminal and as
//! a page; they know nothing of kinds.
//!
//! Everything in a bundle is untrusted: arm names and configurations come from plans, paths from
//! other people's logs, error texts from servers. The terminal never sees a control character
//! (`document::text`), the page escapes every value (`document::html`).

#![forbid(unsafe_code)]

mod between;
mod caches;
mod conformance;
mod doctor;
mod document;
mod experiment;
mod figures;
mod guest;
mod json;
mod link;
#[cfg(feature = "parquet")]
mod parquet;
mod peak;
mod plot;
mod prices;
mod reading;
mod slices;
mod studies;
mod suite;
#[cfg(feature = "parquet")]
mod transactions;
mod words;

pub use between::{between, between_many, between_suites};
pub use caches::caches;
pub use conformance::conformance;
pub use doctor::doctor;
pub use document::Document;
pub use guest::guest;
pub use json::{between_json, between_many_json, between_suites_json, json, results_schema};
pub use peak::trials_csv;
pub use prices::{NoPriceList, PriceList, prices, prices_json, prices_markdown};
pub use slices::csv;
#[cfg(feature = "parquet")]
pub use slices::parquet;
pub use studies::{KeptStudy, studies, studies_page, study, study_plot};
pub use suite::{PartBundle, PartOutcome, SUITE_SCHEMA, SuiteBundle, suite, suite_json};
#[cfg(feature = "parquet")]
pub use transactions::transactions_parquet;

use bakeoff_results::{Results, Setup, SliceRecord};

/// Report of an experiment: costs of its arms, or the rates that a search for peaks found.
pub fn experiment(bundle: &ReportInput) -> Document {
    match &bundle.results.peak {
        Some(found) => peak::document(&reading::Reading::of(bundle), found),
        None => experiment::document(bundle),
    }
}

/// All that a report is made from: one results directory, read.
#[derive(Clone, Debug)]
pub struct ReportInput {
    /// `results.json`.
    pub results: Results,
    /// `setup.json`.
    pub setup: Setup,
    /// `slices.jsonl`, in the order in which they ran.
    pub slices: Vec<SliceRecord>,
    /// `plan.toml`, as it stands there.
    pub plan: String,
}
