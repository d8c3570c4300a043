//! Machine-wide figures: work of the cores, pressure, disks, loopback traffic.
//!
//! Measuring side, in bakeoff, read at both ends of a slice: a handful of small files, opened and read in well under a
//! millisecond. Machine-wide figures hold the work of all processes; they say under which conditions a cost was taken
//! and are never the cost. `cpu` has the cores, `pressure` the waits, `accounting` the time that this kernel charges to
//! tasks.

mod accounting;
mod cpu;
mod disk;
mod pressure;

pub use accounting::{Accounting, Charged};
pub use cpu::{CpuTimes, Shares, Softirqd};
pub use disk::{BusiestDisk, Disks};
pub use pressure::{Pressure, PressureChange};

use bakeoff_units::{Bytes, Clock, MonotonicClock, Nanos};
use std::fs;

/// Reads the machine; made once, since constant facts are looked up then.
#[derive(Debug)]
pub struct HostMeter {
    clock: MonotonicClock,
    softirqd: Softirqd,
    disks: Disks,
}

/// The machine at one moment. A figure that this kernel does not tell is `None`.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    at: Nanos,
    /// All cores together.
    pub total: Option<CpuTimes>,
    /// Each core, by its number.
    pub cores: Vec<(usize, CpuTimes)>,
    /// CPU clock of each core's `ksoftirqd`, by the core's number.
    pub softirqd: Vec<(usize, Nanos)>,
    /// Time in which each whole block device was busy since boot.
    pub disks: Vec<(String, Nanos)>,
    /// Pressure of CPU, storage and memory.
    pub pressure: Pressure,
    /// Bytes sent over the loopback device since boot.
    pub loopback: Option<Bytes>,
    /// Load averages of 1, 5 and 15 minutes.
    pub load: Option<[f64; 3]>,
}

/// The difference between two moments.
#[derive(Clone, Debug, PartialEq)]
pub struct HostChange {
    /// Wall time.
    pub wall: Nanos,
    /// All cores together.
    pub total: Option<CpuTimes>,
    /// Each core, by its number.
    pub cores: Vec<(usize, CpuTimes)>,
    /// CPU of each core's `ksoftirqd`: network work that the kernel moved out of system calls and
    /// interrupts. Empty where the threads cannot be seen (in a container).
    pub softirqd: Vec<(usize, Nanos)>,
    /// The block device that had most to do.
    pub busiest_disk: Option<BusiestDisk>,
    /// Time in which a task waited.
    pub pressure: PressureChange,
    /// Bytes sent over the loopback device.
    pub loopback: Option<Bytes>,
    /// Load average of one minute at the end.
    pub load: Option<f64>,
}

impl HostMeter {
    /// Looks up the files to be read.
    pub fn new() -> Self {
        Self { clock: MonotonicClock::new(), softirqd: Softirqd::find(), disks: Disks::find() }
    }

    /// The machine now.
    pub fn read(&self) -> Host {
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        let devices = fs::read_to_string("/proc/net/dev").unwrap_or_default();
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        Host {
            at: self.clock.now(),
            total: CpuTimes::total(&stat),
            cores: cpu::cores(&stat),
            softirqd: self.softirqd.read(),
            disks: self.disks.read(),
            pressure: Pressure::read(),
            loopback: loopback(&devices),
            load: averages(&load),
        }
    }
}

impl Default for HostMeter {
    fn default() -> Self {
        Self::new()
    }
}

impl Host {
    /// The difference since `earlier`. Cores that were not there then are left out.
    pub fn since(&self, earlier: &Self) -> HostChange {
        HostChange {
            wall: self.at.since(earlier.at),
            total: self.total.zip(earlier.total).map(|(now, then)| now.since(&then)),
            cores: paired(&self.cores, &earlier.cores, |now, then| now.since(then)),
            softirqd: paired(&self.softirqd, &earlier.softirqd, |now, then| now.since(*then)),
            busiest_disk: disk::busiest(&self.disks, &earlier.disks),
            pressure: self.pressure.since(&earlier.pressure),
            loopback: self
                .loopback
                .zip(earlier.loopback)
                .map(|(now, then)| Bytes::new(now.get().saturating_sub(then.get()))),
            load: self.load.map(|load| load[0]),
        }
    }
}

fn paired<T>(now: &[(usize, T)], then: &[(usize, T)], difference: impl Fn(&T, &T) -> T) -> Vec<(usize, T)> {
    let pair = |(core, now): &(usize, T)| {
        let (_, then) = then.iter().find(|(other, _)| other == core)?;
        Some((*core, difference(now, then)))
    };
    now.iter().filter_map(pair).collect()
}

/// The loopback receives all bytes that it sends: each byte is counted once.
fn loopback(devices: &str) -> Option<Bytes> {
    let figures = devices.lines().find_map(|line| line.trim_start().strip_prefix("lo:"))?;
    figures.split_ascii_whitespace().nth(8)?.parse().ok().map(Bytes::new)
}

fn averages(text: &str) -> Option<[f64; 3]> {
    let mut words = text.split_ascii_whitespace().map(str::parse);
    let mut next = || words.next()?.ok();
    Some([next()?, next()?, next()?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn bytes_over_the_loopback_and_work_on_a_core_are_seen() {
        let meter = HostMeter::new();
        let before = meter.read();
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let mut sender = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut receiver = listener.accept().unwrap().0;
        sender.write_all(&[7; 10_000]).unwrap();
        receiver.read_exact(&mut [0; 10_000]).unwrap();
        let start = bakeoff_sys::thread::cpu_time();
        while bakeoff_sys::thread::cpu_time().since(start) < Nanos::from_millis(60) {}
        let change = meter.read().since(&before);
        assert!(change.loopback.unwrap() >= Bytes::new(10_000), "{change:?}");
        let total = change.total.unwrap();
        assert!(total.user + total.nice + total.system >= Nanos::from_millis(20), "{total:?}");
        assert!(change.wall >= Nanos::from_millis(60) && !change.cores.is_empty());
    }

    #[test]
    fn the_loopback_is_found_among_devices() {
        let text = "Inter-| Receive | Transmit\n face |bytes\n  eth0: 1 2 3 4 5 6 7 8 9 10\n    lo:148 2 0 0 0 0 0 0 149 2\n";
        assert_eq!(loopback(text), Some(Bytes::new(149)));
        assert_eq!(loopback("eth0: 1"), None);
        assert_eq!(averages("0.05 0.12 1.09 1/84 7636\n"), Some([0.05, 0.12, 1.09]));
    }
}
