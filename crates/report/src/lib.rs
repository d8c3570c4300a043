//! Text, JSON, CSV and HTML from a results directory.
//!
//! Measuring side, the bakeoff process, cold. Owns how figures look, nothing else: what they are
//! was decided in `experiment` and `stats`, and a directory always yields the same report. No I/O,
//! no clock; strings in, strings out, and `cli` alone writes them.
//!
//! Everything in a bundle is untrusted: arm names and configurations come from plans, paths from
//! other people's logs, error texts from servers. The terminal never sees a control character
//! (`text`), the page escapes every value (`html`).

#![forbid(unsafe_code)]

mod caches;
mod conformance;
mod downtime;
mod figures;
mod guest;
mod handshakes;
mod html;
mod json;
mod link;
mod load_curve;
mod operations;
mod passes;
mod peak;
mod populations;
mod reading;
mod sections;
mod slices;
mod suite;
mod sweep;
mod text;
mod together;
#[cfg(feature = "parquet")]
mod transactions;
mod words;

pub use html::{caches_html, guest_html, html, suite_html};
pub use json::{between_json, between_suites_json, json, results_schema};
pub use peak::trials_csv;
pub use slices::csv;
#[cfg(feature = "parquet")]
pub use slices::parquet;
pub use suite::{Found, PartBundle, SUITE_SCHEMA, SuiteBundle, suite_json};
pub use text::{
    between, between_suites, caches_text, conformance_text, doctor, guest_text, studies, study, suite_text,
    text,
};
#[cfg(feature = "parquet")]
pub use transactions::transactions_parquet;

use bakeoff_results::{Results, Setup, SliceRecord};

/// All that a report is made from: one results directory, read.
#[derive(Clone, Debug)]
pub struct Bundle {
    /// `results.json`.
    pub results: Results,
    /// `setup.json`.
    pub setup: Setup,
    /// `slices.jsonl`, in the order in which they ran.
    pub slices: Vec<SliceRecord>,
    /// `plan.toml`, as it stands there.
    pub plan: String,
}
