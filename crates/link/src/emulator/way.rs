//! One direction of an emulator: frames are lost or leave later. Pure; the moments are the caller's.

use super::protocol;
use bakeoff_content::SplitMix64;
use bakeoff_meter::Histogram;
use bakeoff_units::Nanos;
use std::collections::VecDeque;

/// Frames on their way. They leave in the order they came, so the earliest due is in front.
#[derive(Debug, Default)]
pub(super) struct Way {
    delay: Nanos,
    loss: f64,
    draw: Option<SplitMix64>,
    waiting: VecDeque<Frame>,
    spare: Vec<Vec<u8>>,
    pub(super) tally: FrameCounts,
}

/// A frame on its way.
#[derive(Debug)]
pub(super) struct Frame {
    came: Nanos,
    due: Nanos,
    pub(super) bytes: Vec<u8>,
}

/// Counts of frames.
#[derive(Debug, Default)]
pub(super) struct FrameCounts {
    pub(super) delays: Histogram,
    pub(super) packets: u64,
    pub(super) lost: u64,
    pub(super) refused: u64,
}

impl Way {
    /// Sets delay and loss from now on. `number` tells the two directions apart: they draw independently.
    pub(super) fn hinder(&mut self, how: protocol::Way, number: u64) {
        self.delay = Nanos::new(how.delay_ns);
        self.loss = how.loss;
        self.draw = Some(SplitMix64::for_purpose(how.seed ^ LOSS, number));
    }

    /// Takes in a frame.
    pub(super) fn come(&mut self, bytes: &[u8], now: Nanos) {
        self.tally.packets += 1;
        if self.loss > 0.0 && self.draw.as_mut().is_some_and(|draw| draw.unit() < self.loss) {
            self.tally.lost += 1;
            return;
        }
        let mut copy = self.spare.pop().unwrap_or_default();
        copy.clear();
        copy.extend_from_slice(bytes);
        self.waiting.push_back(Frame { came: now, due: now + self.delay, bytes: copy });
    }

    /// When the next frame leaves.
    pub(super) fn next_due(&self) -> Option<Nanos> {
        self.waiting.front().map(|frame| frame.due)
    }

    /// The next frame, if it is due.
    pub(super) fn leave(&mut self, now: Nanos) -> Option<Frame> {
        self.waiting.pop_front_if(|frame| frame.due <= now)
    }

    /// Records that the frame was handed over, or that the other end refused it.
    pub(super) fn left(&mut self, frame: Frame, now: Nanos, taken: bool) {
        match taken {
            true => self.tally.delays.record(now.since(frame.came)),
            false => self.tally.refused += 1,
        }
        self.spare.push(frame.bytes);
    }
}

impl FrameCounts {
    /// Adds the other direction's.
    pub(super) fn merge(&mut self, other: &Self) {
        self.delays.merge(&other.delays);
        self.packets += other.packets;
        self.lost += other.lost;
        self.refused += other.refused;
    }
}

/// Seed purpose of losses.
const LOSS: u64 = 0x1055;

#[cfg(test)]
mod tests {
    use super::*;

    fn way(delay: Nanos, loss: f64, seed: u64) -> Way {
        let mut way = Way::default();
        way.hinder(protocol::Way { delay_ns: delay.get(), loss, seed }, 0);
        way
    }

    #[test]
    fn a_frame_leaves_when_it_is_due_and_not_before() {
        let mut way = way(Nanos::from_millis(10), 0.0, 1);
        way.come(b"first", Nanos::from_millis(1));
        way.come(b"second", Nanos::from_millis(2));
        assert_eq!(way.next_due(), Some(Nanos::from_millis(11)));
        assert!(way.leave(Nanos::new(10_999_999)).is_none());
        let frame = way.leave(Nanos::from_millis(11)).unwrap();
        assert_eq!(frame.bytes, b"first");
        assert!(way.leave(Nanos::from_millis(11)).is_none());
        way.left(frame, Nanos::from_millis(12), true);
        assert_eq!(way.next_due(), Some(Nanos::from_millis(12)));
        assert_eq!((way.tally.packets, way.tally.delays.count()), (2, 1));
        let got = way.tally.delays.quantile(0.5).as_secs_f64();
        assert!((got / 0.011 - 1.0).abs() < 0.001, "{got}");
    }

    /// 20,000 draws with p = 0.05: 1000 expected, standard deviation 30.8; five of them.
    #[test]
    fn losses_are_drawn_with_their_probability_and_by_the_seed() {
        let lost = |seed| {
            let mut way = way(Nanos::ZERO, 0.05, seed);
            let fates: Vec<bool> = (0..20_000)
                .map(|_| {
                    way.come(b"x", Nanos::ZERO);
                    way.leave(Nanos::ZERO).is_some()
                })
                .collect();
            assert!((846..=1154).contains(&way.tally.lost), "{}", way.tally.lost);
            fates
        };
        assert_eq!(lost(1), lost(1));
        assert_ne!(lost(1), lost(2));
    }
}
