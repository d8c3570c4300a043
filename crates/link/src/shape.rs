//! Parameters of tbf for a rate: bucket, largest packet, queue. Pure.

use bakeoff_units::{BitsPerSecond, Bytes, Nanos};

/// A full Ethernet frame without checksum: the bytes that tbf counts, and the packets of the checks.
pub const FRAME: Bytes = Bytes::new(1514);

/// The bucket holds what the rate carries in this time. A timer may be so late and nothing of the rate is lost:
/// measured on a virtual machine with busy cores, 1 ms lost a quarter of 100 Mbit/s, 5 ms nothing. (The rule of
/// tc-tbf(8), rate / HZ, is 1 to 10 ms.) It is also the burst that an idle link lets through at once.
const BUCKET: Nanos = Nanos::from_millis(5);
/// At low rates the bucket holds so many frames.
const LEAST_FRAMES: u64 = 4;
/// A packet takes at most this part of the bucket: one as large as the bucket could only go while it is full, and the
/// inflow meanwhile would be lost.
const PACKETS_A_BUCKET: u64 = 4;
/// The kernel's own bound on packets that are cut into frames late.
const LARGEST_PACKET: u64 = 65_536;
/// Frames that may wait: Linux's usual queue of a network card.
const QUEUE_FRAMES: u64 = 1000;
/// Smallest frame, for counts of packets.
const SMALLEST_FRAME: u64 = 64;

/// The parameters that follow from a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// tbf's `burst`.
    pub(crate) burst: Bytes,
    /// Largest packet handed to tbf, of several frames (`gso_max_size`).
    pub(crate) packet: Bytes,
    /// tbf's `limit`.
    pub(crate) queue: Bytes,
}

impl Shape {
    /// `whole`: packets of several frames may stay together. Where frames are lost one by one they
    /// must not.
    pub(crate) fn of(rate: BitsPerSecond, whole: bool) -> Self {
        let frame = FRAME.get();
        let burst = bytes_in(rate, BUCKET).max(LEAST_FRAMES * frame);
        let packet = if whole { (burst / PACKETS_A_BUCKET).clamp(frame, LARGEST_PACKET) } else { frame };
        let queue = (QUEUE_FRAMES * frame).max(2 * burst);
        Self { burst: Bytes::new(burst), packet: Bytes::new(packet), queue: Bytes::new(queue) }
    }
}

/// Packets that netem must hold: those on their way, were they all small, and a queue.
pub(crate) fn packets_on_their_way(rate: BitsPerSecond, delay: Nanos) -> u64 {
    bytes_in(rate, delay) / SMALLEST_FRAME + QUEUE_FRAMES
}

/// Bytes that the rate carries in that time.
pub(crate) fn bytes_in(rate: BitsPerSecond, time: Nanos) -> u64 {
    (u128::from(rate.get()) * u128::from(time.get()) / 8_000_000_000).try_into().unwrap_or(u64::MAX)
}

/// Time that the rate takes for so many bytes.
pub(crate) fn time_for(rate: BitsPerSecond, bytes: Bytes) -> Nanos {
    let nanos = u128::from(bytes.get()) * 8_000_000_000 / u128::from(rate.get());
    Nanos::new(nanos.try_into().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(rate: &str, whole: bool) -> (u64, u64, u64) {
        let shape = Shape::of(rate.parse().unwrap(), whole);
        (shape.burst.get(), shape.packet.get(), shape.queue.get())
    }

    #[test]
    fn bucket_packet_and_queue_follow_from_the_rate() {
        assert_eq!(shape("1Mbit", true), (6056, 1514, 1_514_000));
        assert_eq!(shape("10Mbit", true), (6250, 1562, 1_514_000));
        assert_eq!(shape("100Mbit", true), (62_500, 15_625, 1_514_000));
        assert_eq!(shape("1Gbit", true), (625_000, 65_536, 1_514_000));
        assert_eq!(shape("10Gbit", true), (6_250_000, 65_536, 12_500_000));
        assert_eq!(shape("100Mbit", false), (62_500, 1514, 1_514_000));
    }

    #[test]
    fn time_and_bytes_are_each_other_s_inverse() {
        let rate = "100Mbit".parse().unwrap();
        assert_eq!(bytes_in(rate, Nanos::from_millis(10)), 125_000);
        assert_eq!(time_for(rate, Bytes::new(125_000)), Nanos::from_millis(10));
        assert_eq!(packets_on_their_way(rate, Nanos::from_millis(10)), 1953 + 1000);
        assert_eq!(bytes_in("999Gbit".parse().unwrap(), Nanos::MAX), u64::MAX);
    }
}
