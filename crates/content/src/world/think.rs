//! Think time of a request: a pure function of its stamp, so that the client can know it.

use super::Model;
use crate::{Distribution, SplitMix64};
use bakeoff_units::Nanos;

/// Purpose of the random bits seeded by a stamp. Changing it changes the think time of each request.
const THINKING: u64 = 0x7418;

impl Model {
    /// Think time of the reply to the request with this stamp, for an object of this kind: as the kind's own distribution
    /// says, or else the origin's.
    pub fn think_time(&self, of_all: Option<&Distribution>, kind: u8, ask: u64) -> Nanos {
        let own = self.kinds().get(usize::from(kind)).and_then(|kind| kind.think.as_ref());
        let Some(think) = own.or(of_all) else { return Nanos::ZERO };
        Nanos::from_secs_f64(think.draw(&mut SplitMix64::for_purpose(ask, THINKING)))
    }
}
