//! Settings that the load generator takes from a plan: number of connections, and how long they last.
//!
//! Cold.

use super::{Connections, Spec};
use bakeoff_content::{Distribution, SplitMix64};
use bakeoff_loadgen::{ConnectionLimits, Pace, Pools, Reuse};

/// Draws of requests per connection; after them the first is used again.
const DRAWS: usize = 8192;
/// Purpose of the random bits of these draws.
const PER_CONNECTION: u64 = 0xC0EC;

impl Spec {
    /// An open loop: the robots say when they ask.
    pub const fn pace(&self) -> Pace {
        match self.connections {
            Connections::All(all) => Pace::Sourced { connections: all.get() as usize },
            Connections::Each(each) => {
                let robots = self.robots.get() as usize;
                Pace::Pooled(Pools { robots, each: each.get() as usize })
            }
        }
    }

    /// Number of requests that a connection carries.
    pub fn reuse(&self, seed: u64) -> Reuse {
        let Some(distribution) = &self.requests_per_connection else { return Reuse::Always };
        if Distribution::parse_count("const:1").is_ok_and(|one| one == *distribution) {
            return Reuse::Never;
        }
        let mut random = SplitMix64::for_purpose(seed, PER_CONNECTION);
        let draws = (0..DRAWS).map(|_| distribution.draw(&mut random).round() as u32);
        ConnectionLimits::new(draws).map_or(Reuse::Always, Reuse::Drawn)
    }
}
