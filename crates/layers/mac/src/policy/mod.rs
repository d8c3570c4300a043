//! Policies: from text to the grants of domains, with their reasons.
//!
//! Measured side, cold, pure except for `disk` and `links`. Owns the language, its faults, and the effective rights.
//! Never talks to the kernel's access control.

mod compile;
pub mod disk;
mod fault;
mod file;
mod lets;
mod links;
mod words;

pub use fault::{PolicyFault, PolicyFaultKind};
pub use lets::Lets;

use crate::access::Accesses;
use crate::grant::DomainGrant;
use bakeoff_layers_base::digest::Algorithm;
use bakeoff_layers_base::fault::FaultLines;
use bakeoff_layers_base::plain::{self, FileOwner};
use bakeoff_sys::mount;
use disk::PathState;
use fault::Faults;
use std::path::Path;

/// A policy without faults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    file: String,
    digest: String,
    grants: Vec<DomainGrant>,
    assertions: usize,
    warnings: Vec<PolicyFault>,
}

/// Reasons for having no policy, no domain or no access.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The file cannot be read.
    #[error("{path}: {why}; give a policy as docs/layers/mac.md has it")]
    Unreadable {
        /// Path of the file.
        path: String,
        /// The system's word.
        why: std::io::Error,
    },
    /// All its faults, in the order of lines.
    #[error("the policy has faults:\n{}", FaultLines(.0))]
    Wrong(Vec<PolicyFault>),
    /// An unknown domain.
    #[error("{0}")]
    NoDomain(String),
}

/// Size limit of a policy.
const MOST_BYTES: u64 = 4 << 20;

impl Policy {
    /// Reads a policy and looks at what lies at its paths.
    ///
    /// # Errors
    /// The file cannot be read, or all its faults.
    pub fn read(path: &Path, lets: &Lets) -> Result<Self, PolicyError> {
        let name = path.display().to_string();
        let unreadable = |why| PolicyError::Unreadable { path: name.clone(), why };
        let text = plain::read_text(path, FileOwner::Trusted, MOST_BYTES).map_err(unreadable)?;
        let mounts = mount::all().map_err(unreadable)?;
        Self::of_text(&text, &name, lets, &|path| disk::see(path, &mounts))
    }

    /// Reads a policy from text, with the name of its file; `look` tells what lies at paths.
    ///
    /// # Errors
    /// All its faults.
    pub fn of_text(
        text: &str,
        name: &str,
        lets: &Lets,
        look: &dyn Fn(&Path) -> PathState,
    ) -> Result<Self, PolicyError> {
        let mut faults = Faults::of(name.to_owned());
        let file = file::read(text, lets, &mut faults);
        let mut grants = if faults.have(PolicyFaultKind::NotToml) {
            Vec::new()
        } else {
            compile::compile(&file, look, &mut faults)
        };
        let warnings = faults.into_warnings(PolicyFaultKind::is_warning).map_err(PolicyError::Wrong)?;
        let filled = lets.pairs().map(|(name, value)| format!("\n{name}={value}"));
        let digest = Algorithm::Sha256.digest((text.to_owned() + &filled.collect::<String>()).as_bytes());
        let digest = digest.to_string();
        for grant in &mut grants {
            (grant.policy, grant.digest) = (name.to_owned(), digest.clone());
        }
        Ok(Self { file: name.to_owned(), digest, grants, assertions: file.nevers.len(), warnings })
    }

    /// Warnings: allowed, but probably not meant.
    pub fn warnings(&self) -> &[PolicyFault] {
        &self.warnings
    }

    /// SHA-256 of the text and the values filled into it, in hex.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Grants of all domains.
    pub fn grants(&self) -> &[DomainGrant] {
        &self.grants
    }

    /// Number of assertions that hold.
    pub const fn assertions(&self) -> usize {
        self.assertions
    }

    /// Grant of a domain.
    ///
    /// # Errors
    /// There is no such domain.
    pub fn grant(&self, domain: &str) -> Result<&DomainGrant, PolicyError> {
        self.grants.iter().find(|grant| grant.domain == domain).ok_or_else(|| {
            let known: Vec<&str> = self.grants.iter().map(|grant| grant.domain.as_str()).collect();
            PolicyError::NoDomain(format!("{}: {}", self.file, words::unknown("domain", domain, &known)))
        })
    }

    /// Walks the trees of all types for hard links that join two types.
    ///
    /// # Errors
    /// All of those links. Otherwise returns warnings of directories that could not be read.
    pub fn check_trees(&self) -> Result<Vec<PolicyFault>, PolicyError> {
        let mut faults = Faults::of(self.file.clone());
        if let Some(grant) = self.grants.first() {
            links::check(grant, &mut faults);
        }
        faults.into_warnings(PolicyFaultKind::is_warning).map_err(PolicyError::Wrong)
    }
}

/// The accesses of words like `read list`, or `any`.
///
/// # Errors
/// The fault of the first unknown word.
pub fn accesses(text: &str) -> Result<Accesses, String> {
    let (accesses, wrong) = words::accesses(text);
    wrong.into_iter().next().map_or(Ok(accesses), |(_, sentence)| Err(sentence))
}
