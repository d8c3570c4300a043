//! Observed rights of this process, and the programs it would find.

use super::super::cgroup::{self, CpuGroup};
use super::super::host::Host;
use bakeoff_subject::find_program;

/// Rights and programs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostRights {
    /// Effective user 0.
    pub root: bool,
    /// The network may be changed (CAP_NET_ADMIN).
    pub net_admin: bool,
    /// Mounts and namespaces may be made (CAP_SYS_ADMIN).
    pub sys_admin: bool,
    /// Place for a control group for CPU time; `None` if none is mounted.
    pub cpu_group: Option<CpuGroup>,
    /// Programs of [`PROGRAMS`] that are not installed.
    pub missing: Vec<&'static str>,
}

/// A program that some runs need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequiredProgram {
    /// Names it goes by; the first one is its own.
    pub names: &'static [&'static str],
    /// The feature that needs it.
    pub needed_for: &'static str,
    /// Its package on Debian.
    pub package: &'static str,
}

const fn program(
    names: &'static [&'static str],
    needed_for: &'static str,
    package: &'static str,
) -> RequiredProgram {
    RequiredProgram { names, needed_for, package }
}

/// Programs that are started if a plan or a report asks for them.
pub const PROGRAMS: [RequiredProgram; 9] = [
    program(&["nginx"], "arms with nginx, the plans nginx-tls, webstone, confinement and afpa", "nginx"),
    program(&["apache2", "httpd"], "arms with Apache, the plan apache-tls", "apache2"),
    program(&["haproxy"], "the plans afpa and cache-verdict", "haproxy"),
    program(&["varnishd"], "the plans afpa and cache-verdict", "varnish"),
    program(&["ip"], "links between load and servers", "iproute2"),
    program(&["tc"], "the rate of such links", "iproute2"),
    program(&["bwrap"], "the plans compile, calls and confinement", "bubblewrap"),
    program(&["make"], "the plans compile and confinement", "make"),
    program(&["chromium", "chromium-browser", "google-chrome"], "tests of the report's page", "chromium"),
];

pub(super) fn read(host: &Host) -> HostRights {
    let status = host.text("/proc/self/status").unwrap_or_default();
    let capabilities = capabilities(&status).unwrap_or(0);
    let user = effective_user(&status);
    let is_missing = |program: &&RequiredProgram| find_program(program.names).is_none();
    HostRights {
        root: user == Some(0),
        net_admin: capabilities >> CAP_NET_ADMIN & 1 == 1,
        sys_admin: capabilities >> CAP_SYS_ADMIN & 1 == 1,
        cpu_group: cgroup::cpu_group(host, user.unwrap_or(u32::MAX)).ok(),
        missing: PROGRAMS.iter().filter(is_missing).map(|program| program.names[0]).collect(),
    }
}

/// Of the kernel's `capability.h`.
const CAP_NET_ADMIN: u32 = 12;
/// Of the kernel's `capability.h`.
const CAP_SYS_ADMIN: u32 = 21;

fn capabilities(status: &str) -> Option<u64> {
    let set = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(set.trim(), 16).ok()
}

/// The second of `Uid: REAL EFFECTIVE SAVED FILESYSTEM`.
fn effective_user(status: &str) -> Option<u32> {
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    users.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::super::host::tests::machine;
    use super::*;

    #[test]
    fn rights_are_those_of_the_effective_user() {
        let rights = |status: &str| read(&machine(&[("/proc/self/status", status)]).1);
        let all = rights("Name:\tx\nUid:\t1000\t0\t0\t0\nCapEff:\t000001ffffffffff\n");
        assert!(all.root && all.net_admin && all.sys_admin);
        let network_only = rights("Uid:\t0\t1000\t0\t0\nCapEff:\t0000000000001000\n");
        assert!(!network_only.root && network_only.net_admin && !network_only.sys_admin);
        let none = rights("");
        assert!(!none.root && !none.net_admin && none.cpu_group.is_none());
    }

    #[test]
    fn programs_are_told_by_their_first_name() {
        let here = read(&Host::here());
        assert!(here.missing.iter().all(|name| PROGRAMS.iter().any(|program| program.names[0] == *name)));
    }
}
