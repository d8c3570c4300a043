//! Rules: from a text to a compiled table.
//!
//! Measured side, cold, pure. Owns the language, its faults and the table. Never talks to the kernel.

mod compile;
mod fault;
mod file;
mod path;
mod prefix;
mod read;
pub mod table;
mod value;
mod words;

pub use fault::{RuleFault, RuleFaultKind};
pub use path::not_plain;
pub use prefix::AddressPrefix;

use bakeoff_layers_base::digest::Algorithm;
use bakeoff_layers_base::fault::FaultLines;
use bakeoff_layers_base::plain::{self, FileOwner};
use fault::Faults;
use std::path::Path;
use table::RuleTable;

/// Longest file of rules.
const MOST_BYTES: u64 = 16 << 20;

/// Rules without faults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Their file, as it was named.
    pub file: String,
    /// The compiled table.
    pub table: RuleTable,
    /// Warnings: allowed, but probably not meant.
    pub warnings: Vec<RuleFault>,
}

/// Reasons for having no rules.
#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    /// The file cannot be read.
    #[error("{0}: {1}; give rules as docs/layers/police.md has them")]
    Unreadable(String, std::io::Error),
    /// All their faults, in the order of lines.
    #[error("the rules have faults:\n{}", FaultLines(.0))]
    Wrong(Vec<RuleFault>),
}

impl Rules {
    /// Reads rules.
    ///
    /// # Errors
    /// The file cannot be read, or all its faults.
    pub fn read(path: &Path) -> Result<Self, RulesError> {
        let name = path.display().to_string();
        let text = plain::read_text(path, FileOwner::Trusted, MOST_BYTES);
        Self::of_text(&text.map_err(|why| RulesError::Unreadable(name.clone(), why))?, &name)
    }

    /// Reads rules from text, with the name of their file.
    ///
    /// # Errors
    /// All its faults.
    pub fn of_text(text: &str, name: &str) -> Result<Self, RulesError> {
        let mut faults = Faults::of(name.to_owned());
        let file = read::read(text, &mut faults);
        let mut table = if faults.have(RuleFaultKind::NotToml) {
            RuleTable::default()
        } else {
            compile::compile(&file, &mut faults)
        };
        table.digest = Algorithm::Sha256.digest(text.as_bytes()).to_string();
        let warnings = faults.into_warnings(RuleFaultKind::is_warning).map_err(RulesError::Wrong)?;
        Ok(Self { file: name.to_owned(), table, warnings })
    }
}
