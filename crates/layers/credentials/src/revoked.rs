//! Revocations: items that a domain has taken back.
//!
//! Measured side, pure.

use crate::key::Hash;
use crate::name::Domain;
use bakeoff_layers_base::hex::to_hex;
use std::collections::{HashMap, HashSet};
use std::fmt;

/// Item that can be revoked, by what it is. A number that its signer chose would let him name another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Item {
    /// An identity, by the SHA-256 of its bytes.
    Identity(Hash),
    /// A transfer, by the SHA-256 of its bytes.
    Transfer(Hash),
    /// A key, by its thumbprint, with everything that it signed.
    Key(Hash),
}

impl Item {
    /// The word for its kind, and its hash: the form in files.
    pub const fn parts(&self) -> (&'static str, &Hash) {
        match self {
            Self::Identity(hash) => ("identity", hash),
            Self::Transfer(hash) => ("transfer", hash),
            Self::Key(hash) => ("key", hash),
        }
    }

    /// From such a word and a hash.
    pub fn of_parts(kind: &str, hash: Hash) -> Option<Self> {
        match kind {
            "identity" => Some(Self::Identity(hash)),
            "transfer" => Some(Self::Transfer(hash)),
            "key" => Some(Self::Key(hash)),
            _ => None,
        }
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, hash) = self.parts();
        write!(f, "{kind} {}", to_hex(hash))
    }
}

/// Revocations by domain; a domain can revoke only its own items.
#[derive(Clone, Debug, Default)]
pub struct Revoked(HashMap<Domain, HashSet<Item>>);

impl Revoked {
    /// Adds an item of this domain.
    pub fn add(&mut self, domain: &Domain, item: Item) {
        self.0.entry(domain.clone()).or_default().insert(item);
    }

    /// Whether its domain revoked it.
    pub fn holds(&self, domain: &Domain, item: &Item) -> bool {
        self.0.get(domain).is_some_and(|items| items.contains(item))
    }

    /// Each item with its domain, in no order.
    pub fn each(&self) -> impl Iterator<Item = (&Domain, &Item)> {
        self.0.iter().flat_map(|(domain, items)| items.iter().map(move |item| (domain, item)))
    }
}
