//! Observation of the machine as data, for the checks to judge.

mod network;
mod rights;
mod security;
mod tuning;

pub use network::NetworkState;
pub use rights::{HostRights, PROGRAMS, RequiredProgram};
pub use security::{AuditState, Security};
pub(super) use security::{apparmor, modules, selinux};
pub use tuning::Tuning;
pub(super) use tuning::{pressure, turbo};

use super::cgroup;
use super::cores::parse_core_list;
use super::host::{Found, Host};
use super::neighbours::{Neighbours, Watch, cpu_times};
use bakeoff_sys::affinity;
use bakeoff_sys::rlimit::{self, OpenFiles};
use bakeoff_units::{Bytes, Ratio};
use std::collections::BTreeSet;

/// The state of the machine before the first slice; `None` for what cannot be read.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineState {
    /// Cores that are on, at least one.
    pub cores_online: usize,
    /// Cores that this process may use.
    pub cores_allowed: Vec<usize>,
    /// Runnable processes, mean of the last minute.
    pub load: Option<f64>,
    /// Share of CPU time that the hypervisor gave to other guests since boot.
    pub steal_since_boot: Option<Ratio>,
    /// The same while the neighbours were watched.
    pub steal_now: Option<Ratio>,
    /// Share of CPU time that others used while this process watched.
    pub used_now: Option<Ratio>,
    /// Memory of the machine.
    pub memory: Option<Bytes>,
    /// Memory that has been swapped out.
    pub swap_used: Option<Bytes>,
    /// Frequency governors, each once; none where the kernel does not set the frequency.
    pub governors: Vec<String>,
    /// Limits on our descriptors.
    pub open_files: Option<OpenFiles>,
    /// First and last port of outgoing connections.
    pub port_range: Option<(u16, u16)>,
    /// `net.ipv4.tcp_tw_reuse`: 0 never, 1 always, 2 on loopback.
    pub tw_reuse: Option<u8>,
    /// The other processes.
    pub neighbours: Neighbours,
    /// The kernel's clock source.
    pub clocksource: Option<String>,
    /// CPU time that our control group may use, in cores; `None` also for no limit.
    pub cpu_quota: Option<f64>,
    /// Limits on connections.
    pub network: NetworkState,
    /// Settings of the kernel.
    pub tuning: Tuning,
    /// Rights of this process.
    pub rights: HostRights,
    /// Access controls of the kernel.
    pub security: Security,
}

pub(super) fn read(host: &Host, watch: Watch) -> MachineState {
    let memory = Memory::read(host).ok();
    MachineState {
        cores_online: cores_online(host).map_or(1, |cores| cores.len().max(1)),
        cores_allowed: affinity::allowed().unwrap_or_default(),
        load: host.text("/proc/loadavg").ok().and_then(|text| text.split_whitespace().next()?.parse().ok()),
        steal_since_boot: cpu_times(host)
            .ok()
            .and_then(|times| times.shares())
            .and_then(|shares| Ratio::new(shares.steal)),
        steal_now: watch.steal.and_then(Ratio::new),
        used_now: watch.used.and_then(Ratio::new),
        memory: memory.map(|memory| memory.total),
        swap_used: memory.map(|memory| memory.swap_used()),
        governors: governors(host),
        open_files: rlimit::open_files().ok(),
        port_range: host
            .text("/proc/sys/net/ipv4/ip_local_port_range")
            .ok()
            .and_then(|text| port_range(&text)),
        tw_reuse: host.text("/proc/sys/net/ipv4/tcp_tw_reuse").ok().and_then(|text| text.parse().ok()),
        neighbours: watch.neighbours,
        clocksource: host.line(CLOCKSOURCE).ok(),
        cpu_quota: cgroup::cpu_quota(host).ok().flatten(),
        network: network::read(host),
        tuning: tuning::read(host),
        rights: rights::read(host),
        security: security::read(host),
    }
}

pub(super) const CLOCKSOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

pub(super) fn cores_online(host: &Host) -> Found<Vec<usize>> {
    let path = "/sys/devices/system/cpu/online";
    parse_core_list(&host.text(path)?).ok_or_else(|| format!("{path} is not a list of cores"))
}

/// The governors in use, each once.
pub(super) fn governors(host: &Host) -> Vec<String> {
    let path = |cpu: usize| format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
    let found: BTreeSet<String> =
        host.cpus().into_iter().filter_map(|cpu| host.line(&path(cpu)).ok()).collect();
    found.into_iter().collect()
}

/// Of `/proc/meminfo`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Memory {
    pub(super) total: Bytes,
    pub(super) available: Bytes,
    pub(super) swap_total: Bytes,
    swap_free: Bytes,
}

impl Memory {
    pub(super) fn read(host: &Host) -> Found<Self> {
        let text = host.text("/proc/meminfo")?;
        Self::parse(&text).ok_or_else(|| "/proc/meminfo has no MemTotal".to_owned())
    }

    pub(super) fn swap_used(self) -> Bytes {
        Bytes::new(self.swap_total.get().saturating_sub(self.swap_free.get()))
    }

    fn parse(text: &str) -> Option<Self> {
        let value = |name: &str| {
            let rest = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
            let kib: u64 = rest.trim().strip_suffix("kB")?.trim().parse().ok()?;
            Some(Bytes::new(kib.saturating_mul(1024)))
        };
        let or_none = |name| value(name).unwrap_or(Bytes::new(0));
        Some(Self {
            total: value("MemTotal")?,
            available: or_none("MemAvailable"),
            swap_total: or_none("SwapTotal"),
            swap_free: or_none("SwapFree"),
        })
    }
}

fn port_range(text: &str) -> Option<(u16, u16)> {
    let mut ports = text.split_whitespace().map(str::parse);
    Some((ports.next()?.ok()?, ports.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::super::host::tests::machine;
    use super::*;

    #[test]
    fn what_the_files_say_is_seen() {
        let (_directory, host) = machine(&[
            ("/sys/devices/system/cpu/online", "0-3\n"),
            ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"),
            ("/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n"),
            ("/proc/loadavg", "2.50 1.00 0.50 1/100 999\n"),
            ("/proc/stat", "cpu 90 0 0 0 0 0 0 10 0 0\n"),
            ("/proc/meminfo", "MemTotal:  1000 kB\nSwapTotal: 100 kB\nSwapFree: 40 kB\n"),
            ("/proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n"),
            ("/proc/sys/net/ipv4/tcp_tw_reuse", "2\n"),
            (CLOCKSOURCE, "tsc\n"),
        ]);
        let seen = read(&host, Watch { neighbours: Neighbours::Hidden, steal: None, used: None });
        assert_eq!((seen.cores_online, seen.load), (4, Some(2.5)));
        assert_eq!(seen.steal_since_boot.map(Ratio::get), Some(0.1));
        assert_eq!(seen.memory, Some(Bytes::new(1_024_000)));
        assert_eq!(seen.swap_used, Some(Bytes::new(61_440)));
        assert_eq!(seen.governors, ["powersave"]);
        assert_eq!((seen.port_range, seen.tw_reuse), (Some((32768, 60999)), Some(2)));
        assert_eq!(seen.clocksource.as_deref(), Some("tsc"));
        assert_eq!((seen.neighbours, seen.cpu_quota), (Neighbours::Hidden, None));
    }

    #[test]
    fn a_machine_that_says_nothing_is_no_error() {
        let (_directory, host) = machine(&[]);
        let seen = read(&host, Watch { neighbours: Neighbours::Hidden, steal: None, used: None });
        assert_eq!(seen.cores_online, 1);
        assert_eq!((seen.load, seen.memory, seen.swap_used), (None, None, None));
        assert_eq!((seen.port_range, seen.clocksource), (None, None));
    }
}
