//! Demands of a plan's load on the machine: concurrent connections, and the rate of new ones.
//!
//! Cold, before anything is started. The capacity of the machine is `environment`'s.

use super::{Run, RunError};
use crate::environment::{self, Need};
use bakeoff_loadgen::LocalAddresses;
use bakeoff_plan::{Arm, ArmKind, LoadClock, Plan, RequestWork, Work};
use bakeoff_subject::Spec;
use bakeoff_units::PerSecond;
use std::collections::BTreeMap;

/// Connections per second that a closed loop may reach on one core, for the port check.
const FASTEST_CONNECTIONS: f64 = 20_000.0;
/// The same for requests over connections that stay.
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
            connections: arms.map(|arm| at_once(self.plan, arm)).sum(),
            connection_rate: PerSecond::new(rates.fold(0.0, f64::max)),
            loopback,
        }
    }

    /// Refuses more connections to an address and port than there are local ports.
    pub(super) fn ensure_ports(&self, range: Option<(u16, u16)>) -> Result<(), RunError> {
        // The addresses of a link are made with it.
        if self.plan.link.is_none() {
            let sources = self.plan.arms.iter().flat_map(Arm::sources).flat_map(LocalAddresses::ends);
            sources.flat_map(|(first, last)| [first, last]).try_for_each(environment::ensure_address)?;
        }
        for (connections, addresses) in by_destination(self.plan).into_values() {
            environment::ensure_ports(connections, range, addresses)?;
        }
        Ok(())
    }

    /// New connections a second from one local address, if they do not stay.
    fn connection_rate(&self, work: &RequestWork, arm: &Arm) -> Option<f64> {
        let most = arm.client.reuse.at_most()? as f64;
        let rate = match self.plan.work_of(arm).unwrap_or(work).clock {
            LoadClock::Constant(rate) | LoadClock::Poisson(rate) if self.quest().is_none() => {
                rate.get() / most
            }
            LoadClock::Bursts(bursts) => bursts.mean_rate() / most,
            _ => FASTEST_CONNECTIONS.min(FASTEST_REQUESTS / most),
        };
        Some(rate / arm.client.from.count().max(1) as f64)
    }
}

/// Connections that are open at once to each address and port, and the least number of their local addresses. A server
/// that bakeoff starts has a port of its own; arms that are running servers may share one.
fn by_destination(plan: &Plan) -> BTreeMap<String, (u64, u64)> {
    let mut found: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    let Work::Requests(_) = &plan.work else { return found };
    for name in plan.names() {
        let Some(arm) = plan.arm_of(&name) else { continue };
        let destination = match &arm.what {
            ArmKind::Server(Spec::Url { url, .. }) => authority(url).to_owned(),
            _ => name,
        };
        let addresses = arm.client.from.count();
        let (connections, least) = found.entry(destination).or_insert((0, addresses));
        *connections += at_once(plan, arm);
        *least = addresses.min(*least);
    }
    found
}

/// Connections that an arm has at once, of all populations.
fn at_once(plan: &Plan, arm: &Arm) -> u64 {
    let all = |work: &RequestWork| match work.populations.as_slice() {
        [] => work.connections_of(&arm.client),
        _ => work.connections_of_all(),
    };
    plan.work_of(arm).map_or(0, all) as u64
}

/// Scheme, host and port of a URL.
fn authority(url: &str) -> &str {
    let host = url.find("://").map_or(0, |at| at + 3);
    let end = url[host..].find(['/', '?', '#']).map_or(url.len(), |at| host + at);
    &url[..end]
}

pub(super) fn is_local(arm: &Arm) -> bool {
    match &arm.what {
        ArmKind::Server(Spec::Url { url, .. }) => {
            ["//127.", "//localhost", "//[::1]"].iter().any(|host| url.contains(host))
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn found(workload: &str, arms: &str) -> Vec<(String, (u64, u64))> {
        let text = format!(
            "[experiment]\nbaseline = \"a\"\n[workload]\nkind = \"get\"\nurls = [\"/\"]\n{workload}\n{arms}"
        );
        let plan = Plan::parse("t", "t.toml", &text, Path::new("/")).unwrap();
        by_destination(&plan).into_iter().collect()
    }

    #[test]
    fn servers_of_our_own_have_ports_of_their_own_and_http2_shares_connections() {
        let arms = "[arm.a]\nserver = \"origin\"\n[arm.b]\nserver = \"origin\"\nhttp2 = { streams = 10 }\nfrom = \"127.0.0.0/29\"";
        let expected = [("a", (64, 0)), ("a'", (64, 0)), ("b", (7, 6))];
        assert_eq!(found("robots = 64", arms), expected.map(|(name, of)| (name.to_owned(), of)));
    }

    #[test]
    fn arms_that_ask_one_running_server_share_its_ports() {
        let arms = "[arm.a]\nurl = \"http://127.0.0.1:8080/\"\n[arm.b]\nurl = \"http://127.0.0.1:8080/x\"\nkeep_alive = false";
        assert_eq!(found("robots = 15000", arms), [("http://127.0.0.1:8080".to_owned(), (45_000, 0))]);
    }

    #[test]
    fn a_destination_is_scheme_host_and_port() {
        for (url, expected) in
            [("http://h:1/a?b", "http://h:1"), ("https://h", "https://h"), ("http://h?x", "http://h")]
        {
            assert_eq!(authority(url), expected);
        }
    }
}
