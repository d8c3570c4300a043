//! Revocations: items that a domain has taken back.
//!
//! Measured side, pure.

use crate::key::{Hash, Serial};
use crate::name::Domain;
use std::collections::{HashMap, HashSet};

/// Item that can be revoked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Item {
    /// A statement.
    Serial(Serial),
    /// A key, by its thumbprint, with everything that it signed.
    Key(Hash),
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
