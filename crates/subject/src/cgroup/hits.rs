//! Counters of how often a limited subject met its limits: cumulative, from its limiting groups.
//!
//! Read between slices: one system call a file, and the files stay open.

use super::{Ceiling, Group, Groups, Kind, Throttle, named, whole};
use bakeoff_units::{Bytes, Nanos};
use std::fs::File;
use std::path::Path;

/// Readings of all limits since the start. `None` where there is no such limit. Only differences of two readings of one
/// subject mean anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LimitsHit {
    /// Time in which its threads were runnable but had no CPU quota left, summed over the cores.
    pub throttled: Option<Nanos>,
    /// Number of times it needed memory when all it may use was in use: the kernel then took pages back from it, or
    /// ended it.
    pub memory: Option<u64>,
    /// Bytes read and written so far, for each throttled device.
    devices: Vec<Moved>,
}

/// Bytes moved from and to one device, with the limits on that.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Moved {
    throttle: Throttle,
    read: Bytes,
    written: Bytes,
}

impl LimitsHit {
    /// I/O since `earlier` as a share of what the limit allows in `wall`: the largest share of all devices and
    /// directions. `None` without such a limit.
    pub fn storage_share(&self, earlier: &Self, wall: Nanos) -> Option<f64> {
        let shares = self.devices.iter().zip(&earlier.devices).flat_map(|(now, then)| {
            let share = |now: Bytes, then: Bytes, limit: Option<u64>| {
                let most = limit? as f64 * wall.as_secs_f64();
                (most > 0.0).then(|| now.get().saturating_sub(then.get()) as f64 / most)
            };
            [
                share(now.read, then.read, now.throttle.read),
                share(now.written, then.written, now.throttle.write),
            ]
        });
        shares.flatten().reduce(f64::max)
    }
}

/// The open counters of the limits of one subject.
#[derive(Debug, Default)]
pub(crate) struct HitMeter {
    cpu: Option<(Kind, File)>,
    memory: Option<(Kind, File)>,
    storage: Option<(Kind, File)>,
    throttles: Vec<Throttle>,
}

impl HitMeter {
    pub(crate) fn open(groups: &Groups, ceiling: &Ceiling) -> Self {
        let open = |wanted: bool, in_v1: &str, in_v2: &str| {
            let of = |group: &Group| {
                let name = if group.kind == Kind::V1 { in_v1 } else { in_v2 };
                Some((group.kind, File::open(group.path.join(Path::new(name))).ok()?))
            };
            wanted.then(|| groups.limiting.iter().find_map(of))?
        };
        Self {
            cpu: open(ceiling.cpus.is_some(), "cpu.stat", "cpu.stat"),
            memory: open(ceiling.memory_bytes.is_some(), "memory.failcnt", "memory.events"),
            storage: open(!ceiling.throttles.is_empty(), "blkio.throttle.io_service_bytes", "io.stat"),
            throttles: ceiling.throttles.clone(),
        }
    }

    pub(crate) fn read(&self) -> LimitsHit {
        let text = |file: &Option<(Kind, File)>| {
            let (kind, file) = file.as_ref()?;
            Some((*kind, whole(file).ok()?))
        };
        LimitsHit {
            throttled: text(&self.cpu).and_then(|(kind, text)| throttled(kind, &text)),
            memory: text(&self.memory).and_then(|(kind, text)| memory(kind, &text)),
            devices: text(&self.storage).map_or_else(Vec::new, |(kind, text)| {
                self.throttles.iter().map(|throttle| moved(kind, &text, throttle)).collect()
            }),
        }
    }
}

fn throttled(kind: Kind, text: &str) -> Option<Nanos> {
    match kind {
        Kind::V1 => named(text, "throttled_time").map(Nanos::new),
        Kind::V2 => named(text, "throttled_usec").map(Nanos::from_micros),
    }
}

/// Version 2 counts in `max` what version 1 calls `failcnt`; those that ended in `oom` are included.
fn memory(kind: Kind, text: &str) -> Option<u64> {
    match kind {
        Kind::V1 => text.trim().parse().ok(),
        Kind::V2 => named(text, "max"),
    }
}

/// A device that was not used yet has no line.
fn moved(kind: Kind, text: &str, throttle: &Throttle) -> Moved {
    let of_device = |line: &'_ str| line.strip_prefix(&throttle.device)?.strip_prefix(' ').map(str::to_owned);
    let lines = text.lines().filter_map(of_device);
    let words: Vec<String> =
        lines.flat_map(|line| line.split(' ').map(str::to_owned).collect::<Vec<_>>()).collect();
    let figure = |in_v1: &str, in_v2: &str| {
        let found = match kind {
            Kind::V1 => words.windows(2).find(|pair| pair[0] == in_v1).map(|pair| pair[1].as_str()),
            Kind::V2 => words.iter().find_map(|word| word.strip_prefix(in_v2)),
        };
        Bytes::new(found.and_then(|figure| figure.parse().ok()).unwrap_or(0))
    };
    Moved { throttle: throttle.clone(), read: figure("Read", "rbytes="), written: figure("Write", "wbytes=") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn throttle() -> Throttle {
        Throttle { device: "254:0".into(), read: Some(1_000_000), write: None }
    }

    #[test]
    fn both_versions_say_the_same() {
        let v1 = "8:0 Read 1\n254:0 Read 500000\n254:0 Write 7\n254:0 Total 500007\nTotal 500008\n";
        let v2 = "8:0 rbytes=1 wbytes=1\n254:0 rbytes=500000 wbytes=7 rios=3 wios=1 dbytes=0 dios=0\n";
        let expected = Moved { throttle: throttle(), read: Bytes::new(500_000), written: Bytes::new(7) };
        assert_eq!(moved(Kind::V1, v1, &throttle()), expected);
        assert_eq!(moved(Kind::V2, v2, &throttle()), expected);
        assert_eq!(moved(Kind::V2, "", &throttle()).read, Bytes::ZERO);
        assert_eq!(throttled(Kind::V1, "nr_throttled 2\nthrottled_time 3000\n"), Some(Nanos::new(3000)));
        assert_eq!(throttled(Kind::V2, "nr_throttled 2\nthrottled_usec 3\n"), Some(Nanos::new(3000)));
        assert_eq!(memory(Kind::V1, "4\n"), Some(4));
        assert_eq!(memory(Kind::V2, "low 0\nhigh 0\nmax 4\noom 1\noom_kill 1\n"), Some(4));
    }

    #[test]
    fn the_share_is_of_what_the_limit_allows_in_that_time() {
        let at = |read| LimitsHit {
            devices: vec![Moved { throttle: throttle(), read: Bytes::new(read), written: Bytes::ZERO }],
            ..LimitsHit::default()
        };
        assert_eq!(at(900_000).storage_share(&at(450_000), Nanos::from_millis(500)), Some(0.9));
        assert_eq!(at(1).storage_share(&at(0), Nanos::ZERO), None);
        assert_eq!(LimitsHit::default().storage_share(&LimitsHit::default(), Nanos::from_secs(1)), None);
    }
}
