//! What link a throughput looks like, and whether it carries a load.

use super::Answer;
use bakeoff_units::{BitsPerSecond, Bytes, PerSecond};
use serde::Serialize;

/// What the two streams look like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Likeness {
    /// No wire: both ends are on this machine.
    Loopback,
    /// A link of this rate, full both ways.
    Full(BitsPerSecond),
    /// Less than a link of this rate carries; the share of what it should, 0 to 1.
    Less(BitsPerSecond, f64),
    /// Faster than any common link.
    Faster,
    /// Too little came through to say.
    Unknown,
}

/// Common links, bits per second.
const LINKS: [u64; 11] = [
    10_000_000,
    100_000_000,
    1_000_000_000,
    2_500_000_000,
    5_000_000_000,
    10_000_000_000,
    25_000_000_000,
    40_000_000_000,
    100_000_000_000,
    200_000_000_000,
    400_000_000_000,
];
/// Of an Ethernet's bits those of TCP payload: 1460 bytes of a frame that takes 1538 with preamble,
/// gap and all heads. Jumbo frames carry 99 %.
const PAYLOAD: f64 = 1460.0 / 1538.0;
/// A full link reaches at least this share of its payload.
const FULL: f64 = 0.9;
/// Under this share of what a link carried, a load is not felt.
const EASY: f64 = 0.5;
/// Over this share there is no room for bursts.
const MOST: f64 = 0.9;

impl Likeness {
    /// Of the slower direction.
    pub fn of(answer: &Answer) -> Self {
        if answer.listener.ip().is_loopback() {
            return Self::Loopback;
        }
        let Some((there, back)) = answer.there.rate.zip(answer.back.rate) else { return Self::Unknown };
        Self::of_rate(there.min(back))
    }

    fn of_rate(rate: BitsPerSecond) -> Self {
        let rate = rate.get() as f64;
        // Jumbo frames may bring a full link a little above what ordinary ones carry.
        let Some(link) = LINKS.into_iter().find(|link| rate <= *link as f64) else { return Self::Faster };
        let Some(known) = BitsPerSecond::new(link) else { return Self::Unknown };
        match rate / (link as f64 * PAYLOAD) {
            share if share >= FULL => Self::Full(known),
            share => Self::Less(known, share),
        }
    }

    /// In words.
    pub fn in_words(self) -> String {
        match self {
            Self::Loopback => "loopback: no wire at all, so throughput is a matter of CPU".to_owned(),
            Self::Full(link) => format!("a link of {link}, full both ways"),
            Self::Less(link, share) => format!(
                "less than a link of {link} carries ({:.0} % of it): a hub or half duplex, other traffic, a limit on the \
                 way, or CPU",
                share * 100.0
            ),
            Self::Faster => "faster than any common link: a virtual network".to_owned(),
            Self::Unknown => "too little came through to say".to_owned(),
        }
    }
}

/// Whether a load fits through.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Carrying {
    /// Bits per second of replies.
    pub needed_bits_per_second: u64,
    /// Share of what came through, 0 to 1 and above.
    pub share: f64,
    /// Whether it fits with room for bursts.
    pub fits: bool,
}

/// Whether so many replies a second of this size come through from the listener; `None` when it is
/// not known what does.
pub fn carrying(answer: &Answer, rate: PerSecond, size: Bytes) -> Option<Carrying> {
    let needed = rate.get() * size.get() as f64 * 8.0;
    let share = needed / answer.back.rate?.get() as f64;
    Some(Carrying { needed_bits_per_second: needed as u64, share, fits: share <= MOST })
}

impl Carrying {
    /// In words.
    pub fn in_words(&self) -> &'static str {
        match self.share {
            share if share <= EASY => "it carries that easily",
            share if share <= MOST => "it carries that, but queues on the way will be felt in response times",
            _ => "it does not carry that: the network would be measured, not the server",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{RoundTrips, Throughput};
    use super::*;
    use bakeoff_units::Nanos;

    fn mbit(rate: f64) -> BitsPerSecond {
        BitsPerSecond::new((rate * 1e6) as u64).unwrap()
    }

    fn answer(address: &str, there: f64, back: f64) -> Answer {
        let stream =
            |rate| Throughput { bytes: Bytes::new(1), time: Nanos::from_secs(1), rate: Some(mbit(rate)) };
        Answer {
            listener: address.parse().unwrap(),
            connect: Nanos::from_micros(100),
            round_trips: RoundTrips { count: 1, per_second: 1.0, p50: Nanos::ZERO, p99: Nanos::ZERO },
            there: stream(there),
            back: stream(back),
        }
    }

    #[test]
    fn a_rate_looks_like_the_next_link_above_it() {
        for (rate, expected) in [
            (9.4, Likeness::Full(mbit(10.0))),
            (94.9, Likeness::Full(mbit(100.0))),
            (99.0, Likeness::Full(mbit(100.0))),
            (941.0, Likeness::Full(mbit(1_000.0))),
            (2_350.0, Likeness::Full(mbit(2_500.0))),
            (900_000.0, Likeness::Faster),
        ] {
            assert_eq!(Likeness::of_rate(mbit(rate)), expected, "{rate}");
        }
        let Likeness::Less(link, share) = Likeness::of_rate(mbit(70.0)) else { panic!("70 is no full link") };
        assert_eq!((link, (share * 100.0).round()), (mbit(100.0), 74.0));
    }

    #[test]
    fn the_slower_direction_counts_and_loopback_is_no_wire() {
        assert_eq!(Likeness::of(&answer("10.0.0.1:1", 941.0, 94.0)), Likeness::Full(mbit(100.0)));
        for here in ["127.3.0.1:1", "[::1]:1"] {
            assert_eq!(Likeness::of(&answer(here, 941.0, 941.0)), Likeness::Loopback);
        }
        let mut nothing = answer("10.0.0.1:1", 941.0, 94.0);
        nothing.back.rate = None;
        assert_eq!(Likeness::of(&nothing), Likeness::Unknown);
        assert_eq!(carrying(&nothing, PerSecond::new(1.0).unwrap(), Bytes::new(1)), None);
    }

    #[test]
    fn a_load_is_a_share_of_what_comes_back() {
        let of = |rate: f64| {
            let answer = answer("10.0.0.1:1", 10.0, 100.0);
            carrying(&answer, PerSecond::new(rate).unwrap(), Bytes::new(12_500)).unwrap()
        };
        // 12,500 bytes are 100,000 bits: 1000 of them a second fill 100 Mbit/s.
        assert_eq!((of(500.0).share, of(500.0).fits), (0.5, true));
        assert_eq!((of(900.0).fits, of(901.0).fits), (true, false));
        assert!(of(901.0).in_words().contains("does not carry") && of(600.0).in_words().contains("felt"));
    }
}
