//! Sums of a slice: from its blocks to its counters.

use super::block::Report;
use super::kind::Kind;
use bakeoff_link::LinkReading;
use bakeoff_meter::{Histogram, HostShare, OperationCounts, SliceCounters, Times, ViolationCounts};
use bakeoff_units::Nanos;
use std::collections::BTreeMap;

/// A slice as it grows, block by block.
#[derive(Default)]
pub(super) struct SliceTotals {
    counters: SliceCounters,
    times: Histogram,
    /// CPU of worker and layer; `None` once the layer's could not be read.
    cpu: Option<u64>,
    /// Of that, the CPU without the serving daemon's, if there is one.
    near: Option<u64>,
    /// Operations that were refused.
    refused: u64,
    /// Traffic on the link while operations were made.
    link: Option<LinkReading>,
    idle_arms: Nanos,
    host: Vec<(HostShare, Nanos)>,
}

/// Differences between the two quiet points around a block.
pub(super) struct Around {
    /// CPU of the layer's processes, the serving daemon included.
    pub(super) layer: Option<Nanos>,
    /// CPU of the serving daemon, if there is one.
    pub(super) far: Option<Nanos>,
    /// CPU of the other arms' layers.
    pub(super) others: Nanos,
    pub(super) host: HostShare,
    /// Between the two points.
    pub(super) wall: Nanos,
    /// The link at each of them.
    pub(super) link: Option<[LinkReading; 2]>,
}

impl SliceTotals {
    pub(super) fn new() -> Self {
        Self { cpu: Some(0), near: Some(0), ..Self::default() }
    }

    /// Adds a block, with the readings around each of its pieces.
    pub(super) fn add(&mut self, kind: &Kind, report: &Report, around: &[Around]) {
        let all = |of: fn(&Around) -> Option<Nanos>| -> Option<Nanos> {
            around.iter().map(of).try_fold(Nanos::ZERO, |sum, cpu| Some(sum + cpu?))
        };
        let cpu = all(|piece| piece.layer).map(|layer| (report.cpu + layer).get());
        let near = cpu.zip(all(|piece| piece.far)).map(|(cpu, far)| cpu.saturating_sub(far.get()));
        let mut errors: BTreeMap<String, u64> = BTreeMap::new();
        for (_, class) in &report.failed {
            *errors.entry(class.as_str().to_owned()).or_default() += 1;
        }
        let counts = OperationCounts {
            tried: report.tried as u64,
            errors,
            bytes: report.bytes,
            elapsed_ns: report.elapsed.get(),
            cpu_ns: cpu,
            front_cpu_ns: near,
            times: report.times.encode(),
            steps_ns: report.steps.clone(),
        };
        let sum = &mut self.counters;
        sum.requests += counts.tried;
        sum.replies += counts.tried.saturating_sub(report.failed.len() as u64);
        sum.bytes += counts.bytes;
        sum.wall_ns += counts.elapsed_ns;
        for (class, count) in &counts.errors {
            *sum.errors.entry(class.clone()).or_default() += count;
        }
        sum.operations.insert(kind.label(), counts);
        self.times.merge(&report.times);
        self.refused += report.refused;
        self.cpu = self.cpu.zip(cpu).map(|(sum, cpu)| sum + cpu);
        self.near = self.near.zip(near).map(|(sum, near)| sum + near);
        for piece in around {
            self.idle_arms += piece.others;
            self.host.push((piece.host, piece.wall));
            if let Some([before, after]) = &piece.link {
                self.link.get_or_insert_default().add(before, after);
            }
        }
    }

    /// Adds the outcome of the denied files.
    pub(super) fn deny(&mut self, counts: ViolationCounts) {
        self.counters.violations = Some(ViolationCounts { false_alarms: self.refused, ..counts });
    }

    /// Traffic on the link so far; resets it.
    pub(super) fn take_link(&mut self) -> Option<LinkReading> {
        self.link.take()
    }

    /// The slice's counters and times. `cores`: the subjects'.
    pub(super) fn finish(mut self, cores: usize) -> (SliceCounters, Times) {
        let wall: u64 = self.host.iter().map(|(_, wall)| wall.get()).sum();
        let capacity = self.counters.wall_ns as f64 * cores.max(1) as f64;
        self.counters.subject_cpu_ns = self.cpu;
        self.counters.front_cpu_ns = self.near;
        // The serving daemon has cores of its own.
        let busy = self.near.or(self.cpu).filter(|_| capacity > 0.0);
        self.counters.subject_busy = busy.map(|cpu| cpu as f64 / capacity);
        self.counters.idle_arms_busy = self.idle_arms.get() as f64 / wall.max(1) as f64;
        self.counters.host = weighed(&self.host);
        // A mixture of kinds has no meaningful distribution; each kind has its own in any case. And no operation is due
        // before it begins.
        let times = match self.counters.operations.len() {
            1 => Times { response: self.times.clone(), service: self.times, ..Times::default() },
            _ => Times::default(),
        };
        (self.counters, times)
    }
}

/// The mean of shares, each in proportion to the time that it was taken over.
fn weighed(parts: &[(HostShare, Nanos)]) -> HostShare {
    let whole: f64 = parts.iter().map(|(_, wall)| wall.get() as f64).sum();
    let mean = |share: fn(&HostShare) -> f64| -> f64 {
        let weighed = parts.iter().map(|(part, wall)| share(part) * wall.get() as f64);
        if whole > 0.0 { weighed.sum::<f64>() / whole } else { 0.0 }
    };
    let known = |share: fn(&HostShare) -> Option<f64>| -> Option<f64> {
        let weighed = parts.iter().map(|(part, wall)| Some(share(part)? * wall.get() as f64));
        weighed.sum::<Option<f64>>().filter(|_| whole > 0.0).map(|sum| sum / whole)
    };
    HostShare {
        user: mean(|h| h.user),
        system: mean(|h| h.system),
        iowait: mean(|h| h.iowait),
        steal: mean(|h| h.steal),
        pressure_cpu: known(|h| h.pressure_cpu),
        pressure_io: known(|h| h.pressure_io),
        pressure_memory: known(|h| h.pressure_memory),
    }
}

#[cfg(test)]
mod tests {
    use super::super::failure::Class;
    use super::*;
    use bakeoff_link::LinkTraffic;

    fn around(layer: Option<u64>, steal: f64, wall: u64) -> Around {
        let host = HostShare { steal, pressure_io: Some(steal), ..HostShare::default() };
        let layer = layer.map(Nanos::new);
        Around { layer, far: None, others: Nanos::new(10), host, wall: Nanos::new(wall), link: None }
    }

    fn kinds() -> Vec<Kind> {
        super::super::kind::tests::kinds_of_reading(&[1, 1000])
    }

    fn report(tried: usize, failed: usize, elapsed: u64) -> Report {
        let mut times = Histogram::new();
        (failed..tried).for_each(|_| times.record(Nanos::new(elapsed / tried as u64)));
        Report {
            tried,
            failed: (0..failed).map(|step| (step, Class::WrongBytes)).collect(),
            bytes: 7,
            elapsed: Nanos::new(elapsed),
            cpu: Nanos::new(elapsed / 2),
            times,
            ..Report::default()
        }
    }

    #[test]
    fn a_slice_is_the_sum_of_its_blocks() {
        let mut tally = SliceTotals::new();
        tally.add(&kinds()[0], &report(10, 1, 1_000), &[around(Some(300), 0.1, 100)]);
        tally.add(&kinds()[1], &report(2, 0, 3_000), &[around(Some(0), 0.5, 300)]);
        let (counters, times) = tally.finish(2);
        assert_eq!((counters.requests, counters.replies, counters.bytes), (12, 11, 14));
        assert_eq!(counters.errors["wrong-bytes"], 1);
        assert_eq!((counters.wall_ns, counters.subject_cpu_ns), (4_000, Some(2_300)));
        assert_eq!(counters.subject_busy, Some(2_300.0 / 8_000.0));
        assert_eq!(counters.idle_arms_busy, 0.05);
        assert!((counters.host.steal - 0.4).abs() < 1e-12);
        assert_eq!(counters.host.pressure_io.map(|share| (share * 10.0).round()), Some(4.0));
        assert_eq!(counters.host.pressure_cpu, None);
        assert_eq!(times.response.count(), 0, "kinds are not mixed");
        let reading = &counters.operations["read 1 B"];
        assert_eq!((reading.tried, reading.errors["wrong-bytes"], reading.cpu_ns), (10, 1, Some(800)));
    }

    #[test]
    fn one_kind_by_itself_has_the_times_of_the_slice() {
        let mut tally = SliceTotals::new();
        tally.add(&kinds()[0], &report(10, 1, 1_000), &[around(Some(300), 0.1, 100)]);
        assert_eq!(tally.finish(1).1.response.count(), 9);
    }

    #[test]
    fn cpu_that_was_not_read_once_is_not_known() {
        let mut tally = SliceTotals::new();
        tally.add(&kinds()[0], &report(10, 0, 1_000), &[around(None, 0.0, 100)]);
        tally.add(&kinds()[1], &report(10, 0, 1_000), &[around(Some(5), 0.0, 100)]);
        let (counters, _) = tally.finish(1);
        assert_eq!((counters.subject_cpu_ns, counters.subject_busy), (None, None));
        assert_eq!(counters.operations["read 1 KB"].cpu_ns, Some(505));
    }

    #[test]
    fn the_pieces_of_a_block_add_up_and_what_serves_is_told_apart() {
        let at = |packets| LinkReading {
            to_subject: LinkTraffic { packets, ..LinkTraffic::default() },
            ..LinkReading::default()
        };
        let piece = |far, packets: [u64; 2]| Around {
            far: Some(Nanos::new(far)),
            link: Some(packets.map(at)),
            ..around(Some(300), 0.0, 100)
        };
        let mut tally = SliceTotals::new();
        tally.add(&kinds()[0], &report(2, 0, 1_000), &[piece(100, [0, 5]), piece(50, [90, 91])]);
        assert_eq!(tally.take_link().map(|link| link.to_subject.packets), Some(6));
        let (counters, _) = tally.finish(1);
        assert_eq!((counters.subject_cpu_ns, counters.front_cpu_ns), (Some(1_100), Some(950)));
        assert_eq!(counters.server_cpu_ns(), Some(150));
        assert_eq!(counters.subject_busy, Some(0.95));
        assert_eq!(counters.operations["read 1 B"].front_cpu_ns, Some(950));
    }
}
