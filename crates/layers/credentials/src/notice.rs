//! What is told of a domain's agent while somebody listens to it.
//!
//! Measured side, pure. Whoever subscribes to agents sends these, and whoever keeps grants acts on them.

use crate::name::Domain;
use crate::verify::Item;

/// Something about a domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Which.
    pub domain: Domain,
    /// What.
    pub what: News,
}

/// What there is to be said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// This is all that the domain has taken back and that could still be shown; when it is told first, and at each change.
    Revoked(Vec<Item>),
    /// Its agent is there, and by its clock it is so many seconds after 1970.
    Alive(u64),
    /// Its agent was not heard of for some seconds.
    Silent,
}
