//! Record of a suite's run: `conformance.json`, written and read.
//!
//! Measuring side, cold. Owns its form. The file is in a directory of its own, or in that of a bake-off, whose other
//! files it leaves as they are.

use super::score::Score;
use crate::records::EntrantRecord;
use bakeoff_results::directory::{DirectoryError, Layout, needed};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The file.
pub const FILE: &str = "conformance.json";
/// Version of its form.
pub(super) const FORMAT: u32 = 1;

/// Results directories that have nothing but what the suite said.
pub const CONFORMANCE: Layout = Layout { setup: FILE, form: "1", growing: &[] };

/// The suite was run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SuiteRecord {
    /// Version of this form.
    pub format: u32,
    /// Version of bakeoff.
    pub bakeoff: String,
    /// Time when it began, RFC 9557.
    pub started: String,
    /// The suite.
    pub suite: SuiteFacts,
    /// The plan whose store the products had.
    pub plan: String,
    /// Bytes of memory of each store.
    pub memory_bytes: u64,
    /// Bytes of disk of each store.
    pub disk_bytes: Option<u64>,
    /// The examined products, in order.
    pub products: Vec<Examined>,
}

/// Identity of the suite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuiteFacts {
    /// Its package.
    pub package: String,
    /// Its version, as its package says: the same for years of its source.
    pub version: String,
    /// SHA-256 of its code, which tells its versions apart.
    pub digest: String,
    /// Number of its tests for caches other than browsers'.
    pub tests: u64,
    /// Version of node.
    pub node: String,
}

/// A product that was examined.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Examined {
    /// Name, version, and the file with its configuration.
    pub entrant: EntrantRecord,
    /// Port that it listened on.
    pub port: Option<u16>,
    /// Port that the suite's server listened on.
    pub origin_port: u16,
    /// Duration of the suite, in seconds.
    pub seconds: f64,
    /// Its outcome.
    pub came_to: ProductOutcome,
}

/// Outcome of a product's run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProductOutcome {
    /// The suite came to its end.
    Scored(Score),
    /// It did not, and why.
    Failed(String),
}

/// A record with the texts of configurations beside it, ours and the bake-off's, by the names of their files.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredRecord {
    /// The record.
    pub record: SuiteRecord,
    /// Those that can be read.
    pub texts: BTreeMap<String, String>,
}

impl SuiteRecord {
    /// The text of the file.
    pub(super) fn json(&self) -> Vec<u8> {
        let mut text = serde_json::to_vec_pretty(self).unwrap_or_default();
        text.push(b'\n');
        text
    }
}

/// The record of a directory, with configurations of these entrants; `None` where there is none.
///
/// # Errors
/// It cannot be read, or is in another version's form.
pub fn load<'e>(
    dir: &Path,
    measured: impl Iterator<Item = &'e EntrantRecord>,
) -> Result<Option<StoredRecord>, DirectoryError> {
    if !CONFORMANCE.owns(dir) {
        return Ok(None);
    }
    let record: SuiteRecord = CONFORMANCE.setup(dir)?;
    let ours = record.products.iter().filter_map(|examined| examined.entrant.config.as_ref());
    let theirs = measured.filter_map(|entrant| entrant.config.as_ref());
    let files: Vec<String> = ours.cloned().chain(theirs.cloned()).collect();
    // A file that is gone is said where it is missed.
    let texts = files.into_iter().filter_map(|file| Some((needed(dir, &file).ok()?, file)));
    let texts = texts.map(|(text, file)| (file, text)).collect();
    Ok(Some(StoredRecord { record, texts }))
}
