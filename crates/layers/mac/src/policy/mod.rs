//! Policies: from text to what a domain is given, and why.
//!
//! Measured side, pure but for `disk`. Owns the language, its faults, and effective rights. Never tells the kernel.

use crate::grant::Grant;
use std::collections::BTreeMap;
use std::path::Path;

/// What `{NAME}` in paths and ports stands for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lets(BTreeMap<String, String>);

impl Lets {
    /// From words `NAME=VALUE`.
    ///
    /// # Errors
    /// A word that is no such thing.
    pub fn of_words(words: &[String]) -> Result<Self, String> {
        let pair = |word: &String| {
            let (name, value) =
                word.split_once('=').ok_or_else(|| format!("--let {word}: write --let NAME=VALUE"))?;
            Ok((name.to_owned(), value.to_owned()))
        };
        words.iter().map(pair).collect::<Result<_, String>>().map(Self)
    }
}

/// A policy with nothing wrong.
#[derive(Debug)]
pub struct Policy {}

/// Why there is no policy.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The file.
    #[error("{path}: {why}; give a policy as docs/layers.md has it")]
    Unreadable {
        /// Which.
        path: String,
        /// The system's word.
        why: std::io::Error,
    },
    /// All that is wrong with it.
    #[error("{0}")]
    Wrong(String),
}

impl Policy {
    /// Reads a policy and looks for everything that is wrong with it.
    ///
    /// # Errors
    /// The file cannot be read, or all faults.
    pub fn read(path: &Path, _lets: &Lets) -> Result<Self, PolicyError> {
        Err(PolicyError::Wrong(path.display().to_string()))
    }

    /// What a domain is given.
    ///
    /// # Errors
    /// There is no such domain.
    pub fn grant(&self, domain: &str) -> Result<Grant, PolicyError> {
        Err(PolicyError::Wrong(domain.to_owned()))
    }
}
