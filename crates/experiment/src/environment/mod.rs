//! The machine: what it is, which cores are whose, and what should be known before a figure is believed.
//!
//! Measuring side, cold: once before the first slice, and in `bakeoff doctor`. Owns placement, the
//! recorded facts, the one table of checks that doctor shows and runs warn by, and the limits that must
//! hold. What is decided is a pure function of data ([`placement()`], [`findings()`], [`Seen`]); what
//! reads `/proc` and `/sys` decides nothing, and nothing of the machine is changed.
//!
//! Facts go into a results directory that people pass on, so they hold no host name, no user name
//! and nothing of other people's command lines.

mod cgroup;
mod check;
mod claim;
mod cores;
mod descriptors;
mod facts;
mod host;
mod neighbours;
mod placement;
mod ports;
mod seen;
mod vulnerabilities;

pub use crate::digest::sha256_of;
pub use cgroup::CpuGroup;
pub use check::{Finding, Level, Need, findings, warnings};
pub use claim::{Claim, claim};
pub use cores::{core_list, siblings};
pub use descriptors::{EnvironmentError, descriptors_for, ensure_descriptors};
pub use neighbours::Neighbours;
pub use placement::{Placement, PlacementError, Side, placement};
pub use ports::{ensure_address, ensure_ports};
pub use seen::{AuditState, Network, PROGRAMS, Program, Rights, Security, Seen, Tuning};

use crate::results::Fact;
use host::Host;
use std::time::Duration;

/// A run begins soon: ten ticks of the clock that the kernel counts CPU time in.
const MOMENT: Duration = Duration::from_millis(100);

/// The facts to record and what checks judge by. Takes a tenth of a second, in which it
/// watches the other processes. To be called before this process pins itself or raises a limit.
pub fn examine() -> (Vec<Fact>, Seen) {
    examine_host(&Host::here())
}

/// What checks judge by, watched for so long.
pub fn watched(window: Duration) -> Seen {
    let host = Host::here();
    seen::read(&host, neighbours::watch(&host, window))
}

/// The facts of [`examine`] alone.
pub fn facts() -> Vec<Fact> {
    examine().0
}

fn examine_host(host: &Host) -> (Vec<Fact>, Seen) {
    let seen = seen::read(host, neighbours::watch(host, MOMENT));
    (facts::facts(host, &seen), seen)
}
