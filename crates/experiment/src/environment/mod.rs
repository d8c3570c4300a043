//! The machine: its facts, the division of its cores, and warnings to read before a figure is believed.
//!
//! Measuring side, cold: once before the first slice, and in `bakeoff doctor`. Owns placement, the recorded facts, the
//! one table of checks that doctor shows and runs warn by, and the limits that must hold. All decisions are pure
//! functions of data ([`placement()`], [`findings()`], [`MachineState`]); the code that reads `/proc` and `/sys` decides
//! nothing, and nothing of the machine is changed.
//!
//! Facts go into a results directory that people pass on, so they hold no host name, no user name and nothing of other
//! people's command lines.

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

pub use bakeoff_results::digest::sha256_of;
pub use cgroup::CpuGroup;
pub use check::{Finding, Level, Need, findings, is_check, warnings};
pub use claim::{MachineClaim, claim};
pub use cores::{core_list, siblings};
pub use descriptors::{EnvironmentError, descriptors_for, ensure_descriptors};
pub use neighbours::Neighbours;
pub use placement::{Placement, PlacementError, PlacementSide, placement};
pub use ports::{ensure_address, ensure_ports};
pub use seen::{
    AuditState, HostRights, MachineState, NetworkState, PROGRAMS, RequiredProgram, Security, Tuning,
};

use bakeoff_results::Fact;
use host::Host;
use std::time::Duration;

/// Time to watch when a run begins soon: ten ticks of the clock that the kernel counts CPU time in.
const MOMENT: Duration = Duration::from_millis(100);

/// The facts to record and the observation that checks judge. Takes a tenth of a second, in which it watches the other
/// processes. To be called before this process pins itself or raises a limit.
pub fn examine() -> (Vec<Fact>, MachineState) {
    examine_host(&Host::here())
}

/// The observation that checks judge, watched for `window`.
pub fn watched(window: Duration) -> MachineState {
    let host = Host::here();
    seen::read(&host, neighbours::watch(&host, window))
}

/// The facts of [`examine`] alone.
pub fn facts() -> Vec<Fact> {
    examine().0
}

fn examine_host(host: &Host) -> (Vec<Fact>, MachineState) {
    let seen = seen::read(host, neighbours::watch(host, MOMENT));
    (facts::facts(host, &seen), seen)
}
