//! Listings of large directories, from their first answer to the last.
//!
//! Measured side, server process. Entries are sent in an order that has to be sorted, and one answer has some hundred
//! of them: without this each answer would read the whole directory again. A listing begins with a fresh look, so it
//! shows nothing older than its beginning. What is not kept is read again.

use crate::frame::FileType;
use crate::lease::{ObjectNumber, SessionNumber};
use bakeoff_layers_base::locks::lock;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// Limits on listings, and on their names: some hundred bytes each.
const MOST: usize = 64;
const MOST_NAMES: usize = 1 << 20;

/// Cookie, kind and name of an entry.
pub(super) type Listed = (u64, FileType, Vec<u8>);
/// All entries of a directory, in the order of their cookies.
pub(super) type Listing = Vec<Listed>;

type Key = (SessionNumber, ObjectNumber);

/// Listings under way, the longest unused first.
#[derive(Debug, Default)]
pub(super) struct Listings(Mutex<VecDeque<(Key, Arc<Listing>)>>);

impl Listings {
    /// Takes the listing that goes on behind this cookie; one that begins anew ends those before it.
    pub(super) fn rest(&self, key: Key, cookie: u64) -> Option<Arc<Listing>> {
        let mut kept = lock(&self.0);
        let at = kept.iter().position(|(its, _)| *its == key)?;
        kept.remove(at).map(|(_, listing)| listing).filter(|_| cookie != 0)
    }

    /// Keeps a listing whose last answer has not been sent.
    pub(super) fn keep(&self, key: Key, listing: Arc<Listing>) {
        let mut kept = lock(&self.0);
        kept.push_back((key, listing));
        while kept.len() > MOST || kept.iter().map(|(_, listing)| listing.len()).sum::<usize>() > MOST_NAMES {
            kept.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_goes_on_with_what_it_began_with_and_a_new_one_looks_again() {
        let listings = Listings::default();
        let listing = |names: usize| Arc::new(vec![(7, FileType::File, b"name".to_vec()); names]);
        assert_eq!(listings.rest((1, 1), 7), None);
        listings.keep((1, 1), listing(1));
        listings.keep((2, 1), listing(2));
        assert_eq!(listings.rest((1, 1), 7), Some(listing(1)));
        assert_eq!(listings.rest((1, 1), 7), None, "it was taken");
        assert_eq!(listings.rest((2, 1), 0), None, "it begins anew");
        assert_eq!(listings.rest((2, 1), 7), None);
        (0..100).for_each(|directory| listings.keep((1, directory), listing(1)));
        assert_eq!((listings.rest((1, 0), 7), listings.rest((1, 99), 7)), (None, Some(listing(1))));
        listings.keep((1, 1), listing(MOST_NAMES));
        assert_eq!(lock(&listings.0).len(), 1);
        listings.keep((1, 2), listing(MOST_NAMES + 1));
        assert_eq!(lock(&listings.0).len(), 0);
    }
}
