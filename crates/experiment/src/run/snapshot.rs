//! Readings at the two quiet points around a slice.

use bakeoff_meter::host::{Accounting, Charged, Host, HostChange, HostMeter};
use bakeoff_meter::process::Usage;
use bakeoff_meter::{HostShare, SliceCounters, SubjectUsage};
use bakeoff_subject::{Chain, LimitsHit, ProgramTime};
use bakeoff_units::{Clock, MonotonicClock, Nanos};
use std::time::Duration;

/// Reads the machine and the subjects.
pub(crate) struct Reader {
    host: HostMeter,
    softirq_apart: bool,
    cores: Vec<usize>,
    subject_cores: usize,
    clock: MonotonicClock,
}

/// One quiet point.
pub(crate) struct Snapshot {
    at: Nanos,
    subject: Option<Nanos>,
    /// CPU of the fronts, if there are any.
    front: Option<Nanos>,
    others: Nanos,
    host: Host,
    usage: Usage,
    /// Cores worth of CPU that the subject may use.
    capacity: f64,
    hits: LimitsHit,
}

/// A subject is quiet when its CPU stands still for this long.
pub(crate) const STILL: Duration = Duration::from_millis(1);
/// Number of looks until it must be quiet.
pub(crate) const PATIENCE: u32 = 30;

impl Reader {
    pub(crate) fn new(mut cores: Vec<usize>, subject_cores: usize) -> Self {
        cores.sort_unstable();
        cores.dedup();
        let softirq_apart = Accounting::read().irq == Charged::Apart;
        Self { host: HostMeter::new(), softirq_apart, cores, subject_cores, clock: MonotonicClock::new() }
    }

    /// Waits until the subject has stopped working, then reads everything.
    pub(crate) fn read(&self, subject: &Chain, others: &[&Chain]) -> Snapshot {
        let mut cpu = subject.cpu().ok().map(|reading| reading.nanos);
        for _ in 0..PATIENCE {
            std::thread::sleep(STILL);
            let now = subject.cpu().ok().map(|reading| reading.nanos);
            if now == cpu {
                break;
            }
            cpu = now;
        }
        Snapshot {
            at: self.clock.now(),
            subject: cpu,
            front: if subject.has_front() { subject.cpu_of_fronts().ok().map(|r| r.nanos) } else { None },
            others: others
                .iter()
                .filter_map(|other| other.cpu().ok())
                .fold(Nanos::ZERO, |sum, r| sum + r.nanos),
            host: self.host.read(),
            usage: Usage::of(&subject.processes()),
            capacity: subject.server().limits.cpus.unwrap_or(f64::INFINITY).min(self.subject_cores as f64),
            hits: subject.limits_hit(),
        }
    }

    /// Fills in the differences between two quiet points. `counters` holds the client side already.
    pub(crate) fn fill(&self, counters: &mut SliceCounters, before: &Snapshot, after: &Snapshot) {
        let wall = after.at.since(before.at);
        counters.subject_cpu_ns = before.subject.zip(after.subject).map(|(a, b)| b.since(a).get());
        counters.front_cpu_ns = before.front.zip(after.front).map(|(a, b)| b.since(a).get());
        let capacity = counters.wall_ns as f64 * after.capacity;
        counters.subject_busy =
            counters.subject_cpu_ns.filter(|_| capacity > 0.0).map(|ns| ns as f64 / capacity);
        counters.idle_arms_busy = share(after.others.since(before.others), wall);
        let host = after.host.since(&before.host);
        counters.softirq_cpu_ns = self.softirq(&host);
        fill_host(counters, &host);
        fill_limits(counters, &before.hits, &after.hits, wall);
        counters.usage = usage(&before.usage, &after.usage);
    }

    /// Network work that no process was charged for: ksoftirqd, and interrupts if the kernel keeps them apart.
    fn softirq(&self, host: &HostChange) -> Option<u64> {
        let ours = |core: &usize| self.cores.contains(core);
        let threads: u64 =
            host.softirqd.iter().filter(|(core, _)| ours(core)).map(|(_, time)| time.get()).sum();
        if !self.softirq_apart {
            return Some(threads);
        }
        let apart =
            host.cores.iter().filter(|(core, _)| ours(core)).map(|(_, t)| t.irq.get() + t.softirq.get());
        Some(threads + apart.sum::<u64>())
    }
}

/// CPU of a layer's programs in the kernel since `before`. Read last: it waits for the layer. If their time stands
/// still they did not run, or the kernel does not time them.
pub(crate) fn fill_programs(counters: &mut SliceCounters, before: Option<ProgramTime>, subject: &Chain) {
    let Some((before, after)) = before.zip(subject.program_time()) else { return };
    let (runs, time) = (after.runs.saturating_sub(before.runs), after.time.since(before.time));
    counters.program_runs = Some(runs);
    counters.program_ns = (time > Nanos::ZERO).then_some(time.get());
}

fn share(part: Nanos, whole: Nanos) -> f64 {
    if whole == Nanos::ZERO { 0.0 } else { part.get() as f64 / whole.get() as f64 }
}

/// The machine's part.
pub(crate) fn fill_host(counters: &mut SliceCounters, host: &HostChange) {
    counters.host = host_share(host);
    if let Some(disk) = &host.busiest_disk {
        // Clock ticks may add up to a little more than the time between two readings.
        counters.disk_busy = Some(share(disk.busy, host.wall).min(1.0));
        counters.busiest_disk = Some(disk.name.clone());
    }
}

fn fill_limits(counters: &mut SliceCounters, before: &LimitsHit, after: &LimitsHit, wall: Nanos) {
    counters.throttled_ns = before.throttled.zip(after.throttled).map(|(a, b)| b.since(a).get());
    counters.memory_limit_hits = before.memory.zip(after.memory).map(|(a, b)| b.saturating_sub(a));
    counters.storage_limit_used = after.storage_share(before, wall);
}

pub(crate) fn host_share(host: &HostChange) -> HostShare {
    let shares = host.total.as_ref().and_then(bakeoff_meter::host::CpuTimes::shares);
    let pressure = |time: Option<Nanos>| time.map(|time| share(time, host.wall));
    HostShare {
        user: shares.map_or(0.0, |s| s.user),
        system: shares.map_or(0.0, |s| s.system),
        iowait: shares.map_or(0.0, |s| s.iowait),
        steal: shares.map_or(0.0, |s| s.steal),
        pressure_cpu: pressure(host.pressure.cpu),
        pressure_io: pressure(host.pressure.io),
        pressure_memory: pressure(host.pressure.memory),
    }
}

fn usage(before: &Usage, after: &Usage) -> SubjectUsage {
    let change = after.since(before);
    let switches = change.voluntary_switches.ok().zip(change.involuntary_switches.ok()).map(|(v, i)| v + i);
    SubjectUsage {
        rss_bytes: change.rss.ok().map(|bytes| bytes.get()),
        disk_read_bytes: change.disk_read.ok().map(|bytes| bytes.get()),
        disk_write_bytes: change.disk_write.ok().map(|bytes| bytes.get()),
        context_switches: switches,
        processes: Some(change.processes),
    }
}
