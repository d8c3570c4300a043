//! `[factors]` as typed.

use schemars::JsonSchema;
use serde::Deserialize;
use std::fmt;

/// A level of a factor.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a word, a number or true/false")]
pub enum FactorLevel {
    /// `true` or `false`.
    Switch(bool),
    /// A whole number: the factor has a price per unit.
    Count(u64),
    /// A word.
    Word(String),
}

impl fmt::Display for FactorLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Switch(on) => on.fmt(f),
            Self::Count(count) => count.fmt(f),
            Self::Word(word) => f.write_str(word),
        }
    }
}
