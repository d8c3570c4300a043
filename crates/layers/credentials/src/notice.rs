//! Notices from a domain's agent to its subscribers: revocations, and whether it is alive.
//!
//! Measured side, pure. The subscriber to agents sends these, and the keeper of grants acts on them.

use crate::name::Domain;
use crate::revoked::Item;

/// A notice about a domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The domain.
    pub domain: Domain,
    /// The news.
    pub what: News,
}

/// Content of a notice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// All revocations of the domain that could still matter; sent when first known, and at each change.
    Revoked(Vec<Item>),
    /// The agent is alive, and its clock shows this many seconds since 1970.
    Alive(u64),
    /// Its agent was not heard of for some seconds.
    Silent,
}
