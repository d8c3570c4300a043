//! CPU times of the cores, from `/proc/stat` and the CPU clocks of the kernel's softirq threads.

use bakeoff_sys::{cpu_clock, process};
use bakeoff_units::Nanos;
use std::fs;

/// Time of one core or of all, by use, since boot or over a span. The kernel counts in clock ticks (10 ms): over a
/// short span these are rough.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// User mode.
    pub user: Nanos,
    /// User mode of niced processes.
    pub nice: Nanos,
    /// Kernel.
    pub system: Nanos,
    /// Nothing to do.
    pub idle: Nanos,
    /// Nothing to do but wait for storage.
    pub iowait: Nanos,
    /// Interrupts.
    pub irq: Nanos,
    /// Soft interrupts: most of the network.
    pub softirq: Nanos,
    /// Taken by the hypervisor.
    pub steal: Nanos,
}

/// Shares of all time, 0 to 1, as vmstat names them; their sum with idle is 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shares {
    /// us: user mode, niced too.
    pub user: f64,
    /// sy: kernel with interrupts.
    pub system: f64,
    /// wa: waiting for storage.
    pub iowait: f64,
    /// st: taken by the hypervisor.
    pub steal: f64,
}

impl CpuTimes {
    /// Of all cores together, since boot, from the text of `/proc/stat`; `None`: it does not say.
    pub fn total(stat: &str) -> Option<Self> {
        times(stat.lines().next()?.strip_prefix("cpu ")?)
    }

    /// The time between `earlier` and this.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            user: self.user.since(earlier.user),
            nice: self.nice.since(earlier.nice),
            system: self.system.since(earlier.system),
            idle: self.idle.since(earlier.idle),
            iowait: self.iowait.since(earlier.iowait),
            irq: self.irq.since(earlier.irq),
            softirq: self.softirq.since(earlier.softirq),
            steal: self.steal.since(earlier.steal),
        }
    }

    /// As vmstat shows it; none when no tick has passed.
    pub fn shares(&self) -> Option<Shares> {
        let busy = self.user + self.nice + self.system + self.irq + self.softirq;
        let all = (busy + self.idle + self.iowait + self.steal).get() as f64;
        let share = |time: Nanos| time.get() as f64 / all;
        (all > 0.0).then(|| Shares {
            user: share(self.user + self.nice),
            system: share(self.system + self.irq + self.softirq),
            iowait: share(self.iowait),
            steal: share(self.steal),
        })
    }
}

pub(super) fn cores(stat: &str) -> Vec<(usize, CpuTimes)> {
    stat.lines()
        .filter_map(|line| {
            let (number, rest) = line.strip_prefix("cpu")?.split_once(' ')?;
            Some((number.parse().ok()?, times(rest)?))
        })
        .collect()
}

/// Guest time is part of user time already and is not read.
fn times(text: &str) -> Option<CpuTimes> {
    let tick = 1_000_000_000 / process::ticks_per_second();
    let mut words = text.split_ascii_whitespace().map(str::parse::<u64>);
    let mut next = || words.next()?.ok().map(|ticks| Nanos::new(ticks.saturating_mul(tick)));
    Some(CpuTimes {
        user: next()?,
        nice: next()?,
        system: next()?,
        idle: next()?,
        iowait: next()?,
        irq: next()?,
        softirq: next()?,
        steal: next()?,
    })
}

/// The kernel's softirq threads, one a core.
#[derive(Clone, Debug, Default)]
pub struct Softirqd {
    threads: Vec<(usize, u32)>,
}

impl Softirqd {
    /// Looks for them by name among the children of the kernel's thread maker, process 2; in a
    /// container there are none.
    pub fn find() -> Self {
        let all = process::scan().unwrap_or_default();
        let core = |pid| {
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
            name.trim_end().strip_prefix("ksoftirqd/")?.parse().ok()
        };
        let kernel = all.iter().filter(|stat| stat.parent == 2);
        let mut threads: Vec<(usize, u32)> =
            kernel.filter_map(|stat| Some((core(stat.pid)?, stat.pid))).collect();
        threads.sort_unstable();
        Self { threads }
    }

    /// The CPU clock of each, by its core.
    pub fn read(&self) -> Vec<(usize, Nanos)> {
        self.threads.iter().filter_map(|&(core, pid)| Some((core, cpu_clock::process(pid).ok()?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_by_core_and_shares_add_up() {
        let stat =
            "cpu  10 20 30 30 5 1 2 2 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\ncpu11 1 2 3 4 5 6 7 8 0 0\nintr 5\n";
        let total = CpuTimes::total(stat).unwrap();
        let shares = total.shares().unwrap();
        assert_eq!((shares.user, shares.system, shares.iowait, shares.steal), (0.3, 0.33, 0.05, 0.02));
        let cores = cores(stat);
        assert_eq!(cores.iter().map(|(core, _)| *core).collect::<Vec<_>>(), [0, 11]);
        let tick = 1_000_000_000 / process::ticks_per_second();
        assert_eq!(cores[0].1.steal, Nanos::new(8 * tick));
        assert_eq!(total.since(&total).shares(), None);
        assert_eq!(CpuTimes::total("cpu 1 2 3 4\n"), None, "an old kernel");
        assert_eq!(CpuTimes::total("cpu0 1 2 3 4 5 6 7 8\n"), None);
    }

    #[test]
    fn softirq_threads_are_found_where_there_are_any() {
        let found = Softirqd::find();
        if fs::read_to_string("/proc/2/comm").is_ok_and(|name| name.trim() == "kthreadd") {
            assert_eq!(found.read().len(), found.threads.len());
            assert!(!found.threads.is_empty());
        }
    }
}
