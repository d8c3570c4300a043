//! What a plan's load asks of the machine: connections at once, and how fast new ones are made.
//!
//! Cold, before anything is started. What the machine has is `environment`'s.

use super::{Run, RunError};
use crate::environment::{self, Need};
use crate::plan::{Arm, ArmKind, LoadClock, RequestWork, Work};
use bakeoff_subject::Spec;
use bakeoff_units::PerSecond;

/// Connections per second that a closed loop may reach on one core, for the port check.
const FASTEST_CONNECTIONS: f64 = 20_000.0;
/// The same of requests over connections that stay.
const FASTEST_REQUESTS: f64 = 100_000.0;

impl Run<'_> {
    pub(super) fn need(&self) -> Need {
        let loopback = self.plan.arms.iter().all(is_local);
        let Work::Requests(work) = &self.plan.work else {
            return Need { connections: 0, connection_rate: None, loopback };
        };
        let names = self.plan.names();
        let arms = names.iter().filter_map(|name| self.plan.arm_of(name));
        let rates = self.plan.arms.iter().filter_map(|arm| self.connection_rate(work, arm));
        Need {
            connections: arms.map(|arm| connections(work, arm)).sum(),
            connection_rate: PerSecond::new(rates.fold(0.0, f64::max)),
            loopback,
        }
    }

    /// Refuses more connections to an arm than there are local ports.
    pub(super) fn ensure_ports(&self, range: Option<(u16, u16)>) -> Result<(), RunError> {
        let Work::Requests(work) = &self.plan.work else { return Ok(()) };
        for arm in &self.plan.arms {
            environment::ensure_ports(connections(work, arm), range, arm.client.from.count())?;
        }
        Ok(())
    }

    /// New connections a second from one local address, where they do not stay.
    fn connection_rate(&self, work: &RequestWork, arm: &Arm) -> Option<f64> {
        let most = arm.client.reuse.at_most()? as f64;
        let rate = match work.clock {
            LoadClock::Constant(rate) | LoadClock::Poisson(rate) if self.quest().is_none() => {
                rate.get() / most
            }
            _ => FASTEST_CONNECTIONS.min(FASTEST_REQUESTS / most),
        };
        Some(rate / arm.client.from.count().max(1) as f64)
    }
}

/// Open at once towards one arm.
fn connections(work: &RequestWork, arm: &Arm) -> u64 {
    let robots = work.clock.robots().map(|robots| arm.client.connections(robots));
    robots.unwrap_or(work.connections) as u64
}

fn is_local(arm: &Arm) -> bool {
    match &arm.what {
        ArmKind::Server(Spec::Url { url, .. }) => {
            ["//127.", "//localhost", "//[::1]"].iter().any(|host| url.contains(host))
        }
        _ => true,
    }
}
