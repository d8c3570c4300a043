//! What a thread works with: the site, what is to be sent next, counters. One for all connections.
//!
//! Hot. Its memory is used again and again, so that a request allocates nothing.

use crate::burner::Burner;
use crate::head::Heads;
use crate::outgoing::Outgoing;
use crate::site::{Answer, Asked, Site};
use crate::tally::Counters;
use crate::tls::Sealed;
use std::sync::Arc;

/// See the module.
pub(crate) struct Desk {
    site: Arc<Site>,
    pub(crate) heads: Heads,
    /// In plain text.
    pub(crate) out: Outgoing,
    /// The same in records of TLS.
    pub(crate) sealed: Sealed,
    pub(crate) counters: Arc<Counters>,
    burner: Option<Burner>,
    decoded: Vec<u8>,
}

impl Desk {
    pub(crate) fn new(site: Arc<Site>, counters: Arc<Counters>, burner: Option<Burner>) -> Self {
        Self {
            site,
            heads: Heads::new(),
            out: Outgoing::default(),
            sealed: Sealed::default(),
            counters,
            burner,
            decoded: Vec::new(),
        }
    }

    /// For the next connection.
    pub(crate) fn clear(&mut self) {
        self.out.clear();
        self.sealed.clear();
    }

    /// Whether requests cost more than serving them.
    pub(crate) const fn burns(&self) -> bool {
        self.burner.is_some()
    }

    /// Decides on a reply; the request counts as answered from now on.
    pub(crate) fn answer(&mut self, asked: &Asked<'_>) -> Answer {
        self.counters.request();
        if let Some(burner) = &mut self.burner {
            self.counters.burned(burner.burn());
        }
        self.site.answer(asked, &mut self.decoded)
    }
}
