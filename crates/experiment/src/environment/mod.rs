//! The machine: what it is, which cores are whose, and what should be known before a figure is believed.
//!
//! Measuring side, cold: once before the first slice. Owns placement, the recorded facts, the closed
//! set of cautions and the limits that must hold. What is decided is a pure function of data
//! ([`placement()`], [`cautions()`], [`Seen`]); what reads `/proc` and `/sys` decides nothing.
//!
//! Facts go into a results directory that people pass on, so they hold no host name, no user name
//! and nothing of other people's command lines.

mod caution;
mod cgroup;
mod cores;
mod descriptors;
mod facts;
mod host;
mod neighbours;
mod placement;
mod seen;

pub use crate::digest::sha256_of;
pub use caution::{Caution, Need, cautions, warnings};
pub use cores::{core_list, siblings};
pub use descriptors::{EnvironmentError, descriptors_for, ensure_descriptors};
pub use neighbours::Neighbours;
pub use placement::{Placement, PlacementError, Side, placement};
pub use seen::Seen;

use crate::results::Fact;
use host::Host;

/// The facts to record and what cautions are judged from. Takes a tenth of a second, in which it
/// watches the other processes. To be called before this process pins itself or raises a limit.
pub fn examine() -> (Vec<Fact>, Seen) {
    examine_host(&Host::here())
}

/// The facts of [`examine`] alone.
pub fn facts() -> Vec<Fact> {
    examine().0
}

fn examine_host(host: &Host) -> (Vec<Fact>, Seen) {
    let seen = seen::read(host, neighbours::watch(host));
    (facts::facts(host, &seen), seen)
}
