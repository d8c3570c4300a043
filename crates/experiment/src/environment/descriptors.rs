//! File descriptors for the planned connections: enough of them, or an error that says the number.

use bakeoff_sys::rlimit::{self, OpenFiles};
use std::io;
use std::net::IpAddr;

/// Reasons why the machine cannot do what the plan asks.
#[derive(Debug, thiserror::Error)]
pub enum EnvironmentError {
    /// More descriptors are needed than the hard limit lets us have.
    #[error(
        "{connections} connections need {needed} file descriptors, but this process may open {hard} at most; \
         raise the limit (`ulimit -Hn {needed}` as root, `LimitNOFILE={needed}` in a systemd unit, or a line \
         `* hard nofile {needed}` in /etc/security/limits.conf and a new login), or plan fewer connections"
    )]
    Descriptors {
        /// Connections planned.
        connections: u64,
        /// Descriptors for them and for ourselves.
        needed: u64,
        /// The hard limit.
        hard: u64,
    },
    /// The soft limit could not be raised.
    #[error(
        "{connections} connections need {needed} file descriptors and the limit could not be raised: {why}; \
         run `ulimit -n {needed}` before bakeoff, or plan fewer connections"
    )]
    Limit {
        /// Connections planned.
        connections: u64,
        /// Descriptors for them and for ourselves.
        needed: u64,
        /// Error from the system.
        why: io::Error,
    },
    /// A local address of the plan that is not there.
    #[error(
        "connections are to come `from` {address}, and this machine does not have it: {why}; \
         `ip address add {address}/{} dev lo` as root adds it", if address.is_ipv6() { 128 } else { 32 }
    )]
    Address {
        /// The address.
        address: IpAddr,
        /// Error from the system.
        why: io::Error,
    },
    /// More connections to one server than there are local ports.
    #[error(
        "{connections} connections at once need as many local ports, and {addresses} local address(es) have {there} \
         (net.ipv4.ip_local_port_range has {each}); give more addresses with `from`, such as \
         \"127.0.0.2-127.0.0.9\", or plan fewer connections"
    )]
    Ports {
        /// Connections planned.
        connections: u64,
        /// Local addresses of the plan.
        addresses: u64,
        /// Ports of all of them.
        there: u64,
        /// Ports of one address.
        each: u64,
    },
}

/// Descriptors besides connections: standard streams, results files, and for each of up to a dozen subjects a log, a
/// pidfd, pipes to its supervisor and a control group; an epoll and a wake-up for each thread.
const OWN: u64 = 128;

/// Descriptors that this number of concurrent connections needs, our own included.
pub fn descriptors_for(connections: u64) -> u64 {
    connections.saturating_add(OWN)
}

/// Ensures that this number of connections can be open, raising our soft limit if necessary. Processes started
/// afterwards inherit the raised limit, every arm alike. Returns the limits in force.
pub fn ensure_descriptors(connections: u64) -> Result<OpenFiles, EnvironmentError> {
    let needed = descriptors_for(connections);
    let failed = |why| EnvironmentError::Limit { connections, needed, why };
    let now = rlimit::open_files().map_err(failed)?;
    match judge(connections, now)? {
        Step::None => Ok(now),
        Step::RaiseTo(soft) => rlimit::raise_open_files(soft).map_err(failed),
    }
}

#[derive(Debug, PartialEq)]
enum Step {
    None,
    RaiseTo(u64),
}

fn judge(connections: u64, now: OpenFiles) -> Result<Step, EnvironmentError> {
    let needed = descriptors_for(connections);
    if needed <= now.soft {
        Ok(Step::None)
    } else if needed <= now.hard {
        Ok(Step::RaiseTo(needed))
    } else {
        Err(EnvironmentError::Descriptors { connections, needed, hard: now.hard })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_raised_only_as_far_as_it_must() {
        let now = OpenFiles { soft: 1024, hard: 4096 };
        assert_eq!(judge(896, now).unwrap(), Step::None);
        assert_eq!(judge(897, now).unwrap(), Step::RaiseTo(1025));
        assert_eq!(judge(3968, now).unwrap(), Step::RaiseTo(4096));
        let said = judge(3969, now).unwrap_err().to_string();
        assert!(said.contains("3969 connections need 4097") && said.contains("ulimit -Hn 4097"), "{said}");
        assert!(judge(u64::MAX, OpenFiles { soft: 1, hard: u64::MAX - 1 }).is_err());
    }

    #[test]
    fn what_is_there_is_enough_for_one_connection() {
        let before = rlimit::open_files().unwrap();
        if descriptors_for(1) <= before.hard {
            assert!(ensure_descriptors(1).unwrap().soft >= descriptors_for(1).min(before.soft));
        }
    }
}
