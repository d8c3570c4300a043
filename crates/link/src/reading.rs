//! Readings of a link's counters, and the difference between two of them. Pure.

use crate::emulator::EmulatorRecord;
use bakeoff_units::{BitsPerSecond, Nanos};

/// Traffic in one direction, since the link was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkTraffic {
    /// Bytes of frames that were let onto the link.
    pub bytes: u64,
    /// Frames that were let onto the link.
    pub packets: u64,
    /// Packets thrown away because the queue in front of the link was full.
    pub overflowed: u64,
    /// Frames lost as the plan says, by netem.
    pub lost: u64,
}

/// The counters of both directions.
#[derive(Clone, Debug, Default)]
pub struct LinkReading {
    /// From the generator.
    pub to_subject: LinkTraffic,
    /// From the subjects.
    pub to_generator: LinkTraffic,
    /// Record of the emulator since it was last read.
    pub emulator: Option<EmulatorRecord>,
}

/// Traffic on the link between two readings, both ways together.
#[derive(Clone, Debug, Default)]
pub struct Passage {
    /// The share of the rate that the busier direction used. The bucket lets a little more than the
    /// rate through after a pause. `None` when no time passed.
    pub busy: Option<f64>,
    /// Frames that reached the link.
    pub packets: u64,
    /// Number of them lost as the plan says.
    pub lost: u64,
    /// Packets thrown away because the queue in front of the link was full.
    pub overflowed: u64,
    /// Record of the emulator, where one is used.
    pub emulator: Option<EmulatorRecord>,
}

impl LinkReading {
    /// The traffic since `before`; `wall` is the time to which the rate is related.
    pub fn since(self, before: &Self, rate: BitsPerSecond, wall: Nanos) -> Passage {
        let up = self.to_subject.since(before.to_subject);
        let down = self.to_generator.since(before.to_generator);
        let could = rate.get() as f64 * wall.as_secs_f64();
        let busier = up.bytes.max(down.bytes) as f64 * 8.0;
        let by_netem = up.lost + down.lost;
        Passage {
            busy: (could > 0.0).then(|| busier / could),
            packets: up.packets + down.packets + by_netem,
            lost: self.emulator.as_ref().map_or(by_netem, |emulator| emulator.lost),
            overflowed: up.overflowed + down.overflowed,
            emulator: self.emulator,
        }
    }

    /// Adds the traffic between two readings: for a stretch of time that is read in pieces.
    pub fn add(&mut self, before: &Self, after: &Self) {
        self.to_subject = self.to_subject.and(after.to_subject.since(before.to_subject));
        self.to_generator = self.to_generator.and(after.to_generator.since(before.to_generator));
        if let Some(emulator) = &after.emulator {
            self.emulator.get_or_insert_default().add(emulator);
        }
    }
}

impl LinkTraffic {
    fn since(self, before: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_sub(before.bytes),
            packets: self.packets.saturating_sub(before.packets),
            overflowed: self.overflowed.saturating_sub(before.overflowed),
            lost: self.lost.saturating_sub(before.lost),
        }
    }

    fn and(self, more: Self) -> Self {
        Self {
            bytes: self.bytes + more.bytes,
            packets: self.packets + more.packets,
            overflowed: self.overflowed + more.overflowed,
            lost: self.lost + more.lost,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busier_direction_counts() {
        let at = |up, down| LinkReading {
            to_subject: LinkTraffic { bytes: up, packets: up / 100, ..LinkTraffic::default() },
            to_generator: LinkTraffic { bytes: down, packets: 5, overflowed: 1, lost: 2 },
            emulator: None,
        };
        let rate = "8Mbit".parse().unwrap(); // a million bytes a second
        let passed = |wall| at(1_100, 500_100).since(&at(100, 100), rate, wall);
        assert_eq!(passed(Nanos::from_secs(1)).busy, Some(0.5));
        assert_eq!(passed(Nanos::from_secs(1)).packets, 10);
        assert_eq!(passed(Nanos::ZERO).busy, None);
    }

    #[test]
    fn losses_are_those_of_whoever_loses() {
        let lost = |lost| LinkTraffic { lost, packets: 10, ..LinkTraffic::default() };
        let netem = LinkReading { to_subject: lost(3), to_generator: lost(4), emulator: None };
        let rate = "8Mbit".parse().unwrap();
        let passed = netem.since(&LinkReading::default(), rate, Nanos::from_secs(1));
        assert_eq!((passed.lost, passed.packets), (7, 27));
        let emulator = EmulatorRecord { lost: 5, ..EmulatorRecord::default() };
        let by_emulator = LinkReading { emulator: Some(emulator), ..LinkReading::default() };
        assert_eq!(by_emulator.since(&LinkReading::default(), rate, Nanos::ZERO).lost, 5);
    }

    #[test]
    fn pieces_of_time_add_up_without_what_lies_between() {
        let at = |bytes| LinkReading {
            to_subject: LinkTraffic { bytes, packets: bytes / 10, overflowed: 1, lost: 0 },
            emulator: Some(EmulatorRecord { packets: 2, ..EmulatorRecord::default() }),
            ..LinkReading::default()
        };
        let mut sum = LinkReading::default();
        sum.add(&at(100), &at(150));
        sum.add(&at(900), &at(930));
        assert_eq!((sum.to_subject.bytes, sum.to_subject.packets, sum.to_subject.overflowed), (80, 8, 0));
        assert_eq!(sum.emulator.map(|emulator| emulator.packets), Some(4));
    }
}
