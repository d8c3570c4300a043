//! Errors in `[robots]` and `[[phase]]`.

use thiserror::Error;

/// Error in the plan of robots.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SpecError {
    /// No TOML, unknown keys, bad values: with the line, in the TOML library's words.
    #[error("{0}")]
    Toml(String),
    /// Keys that do not go together.
    #[error("{place}: {what}; {help}")]
    Nonsense {
        /// The key or the phase.
        place: String,
        /// The fault.
        what: String,
        /// The advice.
        help: String,
    },
}

impl SpecError {
    pub(crate) fn new(place: &str, what: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Nonsense { place: place.to_owned(), what: what.into(), help: help.into() }
    }
}
