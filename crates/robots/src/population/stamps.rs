//! Stamps: the number that a request bears, and the test whether a number belongs to this run.
//!
//! Measuring side, hot. Stamps follow from the run and from a request's place in it, and can be read back:
//! nothing has to be remembered of requests that have ended.

use bakeoff_content::{mix64, unmix64};
use bakeoff_units::Nanos;

/// Bits for the place of a request within its page.
const INDEX_BITS: u32 = 9;

/// The stamps of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamps {
    run: u64,
}

impl Stamps {
    /// The stamps of the run in this world that starts then, since 1970. The stamps of another run are unlikely to be
    /// among them, even of one in the same world: objects that it left in a cache are hits.
    pub(super) const fn new(world: u64, start_unix: Nanos) -> Self {
        Self { run: world ^ mix64(start_unix.get()) }
    }

    /// The stamp of a request: a number that no other one of the run has, and that is not 0.
    pub(super) fn of(self, serial: u64) -> u64 {
        mix64(self.run ^ serial).max(1)
    }

    /// Whether the request with this stamp belongs to one of the first so many pages of the run.
    pub(super) const fn is_within(self, stamp: u64, pages: u64) -> bool {
        let nth = (unmix64(stamp) ^ self.run) >> INDEX_BITS;
        1 <= nth && nth <= pages
    }
}

/// The number of a request among all: of the `nth` page (from 0) itself, or of the object that it embeds at this place.
pub(super) const fn serial(nth: u64, embedded: Option<u64>) -> u64 {
    let index = match embedded {
        Some(index) => index + 1,
        None => 0,
    };
    (nth + 1) << INDEX_BITS | index
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_known_again_and_those_of_others_are_not() {
        let (run, later) = (Stamps::new(7, Nanos::from_secs(1)), Stamps::new(7, Nanos::from_secs(2)));
        for nth in [0, 1, 99] {
            for serial in [serial(nth, None), serial(nth, Some(0)), serial(nth, Some(510))] {
                let stamp = run.of(serial);
                assert!(run.is_within(stamp, nth + 1) && run.is_within(stamp, 100));
                assert!(!run.is_within(stamp, nth), "not asked yet");
                assert!(!later.is_within(stamp, 1_000_000) && later.of(serial) != stamp);
            }
        }
        assert!(!run.is_within(0, 1_000_000), "a request without a stamp");
    }
}
