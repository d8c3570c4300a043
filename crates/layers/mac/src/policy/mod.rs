//! Policies: from text to what a domain is given, and why.
//!
//! Measured side, cold, pure but for `disk` and `links`. Owns the language, its faults, and which rights are
//! effective. Never tells the kernel.

mod compile;
pub mod disk;
mod fault;
mod file;
mod lets;
mod links;
mod words;

pub use fault::{Fault, Wrong};
pub use lets::Lets;

use crate::access::Accesses;
use crate::grant::Grant;
use bakeoff_layers_base::digest::Algorithm;
use bakeoff_layers_base::fault::Lines;
use disk::Seen;
use fault::Faults;
use std::path::Path;

/// A policy with nothing wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    file: String,
    digest: String,
    grants: Vec<Grant>,
    assertions: usize,
    warnings: Vec<Fault>,
}

/// Why there is no policy, no domain or no access.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The file.
    #[error("{path}: {why}; give a policy as docs/layers/mac.md has it")]
    Unreadable {
        /// Which.
        path: String,
        /// The system's word.
        why: std::io::Error,
    },
    /// All that is wrong with it, in the order of its lines.
    #[error("the policy has faults:\n{}", Lines(.0))]
    Wrong(Vec<Fault>),
    /// A domain that there is not.
    #[error("{0}")]
    NoDomain(String),
}

impl Policy {
    /// Reads a policy and looks at what lies at its paths.
    ///
    /// # Errors
    /// The file cannot be read, or all that is wrong with it.
    pub fn read(path: &Path, lets: &Lets) -> Result<Self, PolicyError> {
        let name = path.display().to_string();
        let unreadable = |why| PolicyError::Unreadable { path: name.clone(), why };
        let text = std::fs::read_to_string(path).map_err(unreadable)?;
        Self::of_text(&text, &name, lets, &disk::see)
    }

    /// The policy of a text, from a file of this name, where `look` tells what lies at paths.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn of_text(
        text: &str,
        name: &str,
        lets: &Lets,
        look: &dyn Fn(&Path) -> Seen,
    ) -> Result<Self, PolicyError> {
        let mut faults = Faults::of(name.to_owned());
        let file = file::read(text, lets, &mut faults);
        let mut grants =
            if faults.have(Wrong::NotToml) { Vec::new() } else { compile::compile(&file, look, &mut faults) };
        let warnings = faults.into_warnings(Wrong::is_warning).map_err(PolicyError::Wrong)?;
        let filled = lets.pairs().map(|(name, value)| format!("\n{name}={value}"));
        let digest = Algorithm::Sha256.digest((text.to_owned() + &filled.collect::<String>()).as_bytes());
        let digest = digest.to_string();
        for grant in &mut grants {
            (grant.policy, grant.digest) = (name.to_owned(), digest.clone());
        }
        Ok(Self { file: name.to_owned(), digest, grants, assertions: file.nevers.len(), warnings })
    }

    /// What may be done all the same, and is probably not meant.
    pub fn warnings(&self) -> &[Fault] {
        &self.warnings
    }

    /// SHA-256 of the text and what was filled into it, in hex.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// What each domain is given.
    pub fn grants(&self) -> &[Grant] {
        &self.grants
    }

    /// How many assertions hold.
    pub const fn assertions(&self) -> usize {
        self.assertions
    }

    /// What a domain is given.
    ///
    /// # Errors
    /// There is no such domain.
    pub fn grant(&self, domain: &str) -> Result<&Grant, PolicyError> {
        self.grants.iter().find(|grant| grant.domain == domain).ok_or_else(|| {
            let known: Vec<&str> = self.grants.iter().map(|grant| grant.domain.as_str()).collect();
            PolicyError::NoDomain(format!("{}: {}", self.file, words::unknown("domain", domain, &known)))
        })
    }

    /// Walks the trees of all types for hard links that join two types.
    ///
    /// # Errors
    /// All of them. Otherwise warnings of directories that could not be read.
    pub fn check_trees(&self) -> Result<Vec<Fault>, PolicyError> {
        let mut faults = Faults::of(self.file.clone());
        if let Some(grant) = self.grants.first() {
            links::check(grant, &mut faults);
        }
        faults.into_warnings(Wrong::is_warning).map_err(PolicyError::Wrong)
    }
}

/// The accesses of words like `read list`, or `any`.
///
/// # Errors
/// What is wrong with the first word that is none.
pub fn accesses(text: &str) -> Result<Accesses, String> {
    let (accesses, wrong) = words::accesses(text);
    wrong.into_iter().next().map_or(Ok(accesses), |(_, sentence)| Err(sentence))
}
