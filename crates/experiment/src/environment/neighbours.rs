//! Other load on the machine: processes and steal, watched for a moment.

use super::host::{Found, Host};
use bakeoff_meter::host::CpuTimes;
use std::collections::BTreeMap;
use std::time::Duration;

/// The other processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Neighbours {
    /// All processes of this machine can be seen.
    Seen {
        /// Number of them, kernel threads included.
        running: usize,
        /// Number of them that used more than a tenth of a core.
        busy: usize,
    },
    /// Only those of a container can be seen.
    Contained {
        /// Number of them.
        running: usize,
        /// Number of them that used more than a tenth of a core.
        busy: usize,
    },
    /// `/proc` does not show processes of other users.
    Hidden,
}

/// Outcome of the watch.
pub(super) struct Watch {
    pub(super) neighbours: Neighbours,
    /// Share of CPU time that the hypervisor gave to other guests meanwhile, 0 to 1.
    pub(super) steal: Option<f64>,
    /// Share of CPU time that others on this machine used meanwhile, 0 to 1: this process slept.
    pub(super) used: Option<f64>,
}

/// The clock that `/proc/PID/stat` counts in (`USER_HZ` is 100 on every architecture that we build for).
const TICK: Duration = Duration::from_millis(10);
/// The inode of the first PID namespace (`PROC_PID_INIT_INO` in the kernel's `proc_ns.h`).
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";

/// Watches for `window`.
pub(super) fn watch(host: &Host, window: Duration) -> Watch {
    let (ticks_before, cpu_before) = (ticks(host), cpu_times(host));
    std::thread::sleep(window);
    // Reading all processes takes CPU time of its own.
    let (cpu_after, ticks_after) = (cpu_times(host), ticks(host));
    let cpu = cpu_before.ok().zip(cpu_after.ok()).and_then(|(before, after)| after.since(&before).shares());
    let (running, busy) = busy(&ticks_before, &ticks_after, std::process::id(), ticks_of_busy(window));
    let neighbours = if host.text("/proc/1/stat").is_err() {
        Neighbours::Hidden
    } else if in_first_namespace(host) {
        Neighbours::Seen { running, busy }
    } else {
        Neighbours::Contained { running, busy }
    };
    Watch { neighbours, steal: cpu.map(|cpu| cpu.steal), used: cpu.map(|cpu| cpu.user + cpu.system) }
}

/// Since boot.
pub(super) fn cpu_times(host: &Host) -> Found<CpuTimes> {
    let text = host.text("/proc/stat")?;
    CpuTimes::total(&text).ok_or_else(|| "/proc/stat has no line `cpu` with a column for steal".to_owned())
}

/// CPU ticks by process.
fn ticks(host: &Host) -> BTreeMap<u32, u64> {
    let of_process = |name: String| {
        let pid = name.parse().ok()?;
        Some((pid, parse_ticks(&host.text(&format!("/proc/{name}/stat")).ok()?)?))
    };
    host.names("/proc").into_iter().filter_map(of_process).collect()
}

/// User and system time of `/proc/PID/stat`, columns 14 and 15. The name in column 2 may hold
/// anything, so counting starts behind its last bracket, at column 3.
fn parse_ticks(stat: &str) -> Option<u64> {
    let mut columns = stat.rsplit_once(')')?.1.split_whitespace().skip(14 - 3);
    let user: u64 = columns.next()?.parse().ok()?;
    let system: u64 = columns.next()?.parse().ok()?;
    Some(user.saturating_add(system))
}

/// Ticks above which a process used more than a tenth of a core. One may be a microsecond that crossed a boundary.
fn ticks_of_busy(window: Duration) -> u64 {
    (window.as_millis() / TICK.as_millis() / 10) as u64 + 1
}

/// Number of other processes, and of those that used at least `least` ticks.
fn busy(before: &BTreeMap<u32, u64>, after: &BTreeMap<u32, u64>, own: u32, least: u64) -> (usize, usize) {
    let others = || after.iter().filter(|&(&pid, _)| pid != own);
    let used = |pid: &u32, ticks: u64| ticks.saturating_sub(before.get(pid).copied().unwrap_or(0));
    (others().count(), others().filter(|&(pid, &ticks)| used(pid, ticks) >= least).count())
}

fn in_first_namespace(host: &Host) -> bool {
    // A kernel without PID namespaces has no such link and nothing to hide behind it.
    std::fs::read_link(host.path("/proc/self/ns/pid"))
        .map_or(true, |link| link.as_os_str() == FIRST_PID_NAMESPACE)
}

#[cfg(test)]
mod tests {
    use super::super::host::tests::machine;
    use super::*;

    #[test]
    fn ticks_are_counted_behind_any_name() {
        let stat = "7 (a) b (c) R 1 7 7 0 -1 4194304 100 0 0 0 31 11 5 5 20 0 1 0 100 1 1";
        assert_eq!(parse_ticks(stat), Some(42));
        assert_eq!(parse_ticks("7 (a R 1"), None);
        assert_eq!(parse_ticks("7 (a) R 1 7"), None);
    }

    #[test]
    fn busy_ones_are_others_that_used_two_ticks() {
        let before = BTreeMap::from([(1, 100), (2, 100), (3, 100), (4, 7), (5, 7)]);
        let after = BTreeMap::from([(1, 101), (2, 102), (3, 110), (4, 7), (6, 2), (7, 1)]);
        assert_eq!(busy(&before, &after, 3, 2), (5, 2));
        assert_eq!([100, 1000].map(|ms| ticks_of_busy(Duration::from_millis(ms))), [2, 11]);
    }

    #[test]
    fn others_are_hidden_where_the_first_process_is() {
        let (_directory, host) = machine(&[("/proc/77/stat", "77 (x) R 1 7 7 0 -1 0 1 0 0 0 1 1")]);
        assert_eq!(watch(&host, TICK).neighbours, Neighbours::Hidden);
        let (_directory, host) = machine(&[("/proc/1/stat", "1 (x) R 1 7 7 0 -1 0 1 0 0 0 1 1")]);
        assert_eq!(watch(&host, TICK).neighbours, Neighbours::Seen { running: 1, busy: 0 });
    }
}
