//! How the structures of `police.bpf.c` lie in memory: the only place that knows, besides the C.
//!
//! Measured side, cold, pure. The machine's own byte order, but addresses and ports as they are on the wire.

use super::automaton::State;
use crate::rules::Prefix;
use crate::rules::table::{Action, Refuse, Rule};
use std::net::IpAddr;

/// Classes and sockets of each that there is room for.
pub(super) const CLASSES: usize = crate::rules::table::CLASSES_MAX;
pub(super) const SOCKETS: usize = 16;
/// Reasons that a rule's tally has room for.
pub(super) const REASONS: usize = crate::reference::Reason::ALL.len();
/// Places of `events`.
pub(super) const EVENTS: [&str; 6] = ["packets", "heads", "odd", "bodies", "unseen", "would-refuse"];
/// No class, no rule.
const NO_CLASS: u8 = 0xff;
pub(super) const NO_RULE: u32 = u32::MAX;
/// Bytes of a path's key behind its length.
const PATH_KEY: usize = 256;

pub(super) type RuleBytes = [u8; 48];
pub(super) type Key4 = [u8; 8];
pub(super) type Key6 = [u8; 20];
pub(super) type PathKey = [u8; PATH_KEY];
pub(super) type ExactKey = [u8; 16];
pub(super) type Row = [u8; 264];
pub(super) type ControlBytes = [u8; 120];
pub(super) type Tally = [u64; 8];
pub(super) type Ports = [u8; 2 * 65_536];

/// `struct side`: what a table has besides maps.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Side {
    pub(super) seed: [u64; 2],
    pub(super) flags: u32,
    pub(super) odd: u32,
    pub(super) lowest: Option<u8>,
}

/// `Side::flags`.
pub(super) mod flag {
    pub(in super::super) const EXACT: u32 = 1;
    pub(in super::super) const PREFIX: u32 = 2;
    pub(in super::super) const CONTAINS: u32 = 4;
    pub(in super::super) const TO4: u32 = 8;
    pub(in super::super) const TO6: u32 = 16;
    pub(in super::super) const BOUNDED: u32 = 32;
    pub(in super::super) const ON_OVERLOAD: u32 = 64;
}

/// `struct control`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Control {
    pub(super) clock_ns: u64,
    pub(super) slot: usize,
    pub(super) mode: u32,
    pub(super) sockets: u32,
    pub(super) bounds: [u32; CLASSES],
    pub(super) sides: [Side; 2],
}

/// Puts words one behind the other.
struct Writer<const N: usize> {
    bytes: [u8; N],
    at: usize,
}

impl<const N: usize> Writer<N> {
    const fn new() -> Self {
        Self { bytes: [0; N], at: 0 }
    }

    fn put(&mut self, word: &[u8]) -> &mut Self {
        for (place, byte) in self.bytes.iter_mut().skip(self.at).zip(word) {
            *place = *byte;
        }
        self.at += word.len();
        self
    }
}

impl Control {
    pub(super) fn bytes(&self) -> ControlBytes {
        let mut writer = Writer::new();
        writer.put(&self.clock_ns.to_ne_bytes()).put(&(self.slot as u32).to_ne_bytes());
        writer.put(&self.mode.to_ne_bytes()).put(&self.sockets.to_ne_bytes()).put(&[0; 4]);
        for bound in self.bounds {
            writer.put(&bound.to_ne_bytes());
        }
        for side in &self.sides {
            writer.put(&side.seed[0].to_ne_bytes()).put(&side.seed[1].to_ne_bytes());
            writer.put(&side.flags.to_ne_bytes()).put(&side.odd.to_ne_bytes());
            writer.put(&[side.lowest.unwrap_or(NO_CLASS), 0, 0, 0, 0, 0, 0, 0]);
        }
        writer.bytes
    }
}

/// Where a rule's state lies: its bucket, its counters, and the number of its prefixes' buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) bucket: u32,
    pub(super) counter: u32,
    pub(super) per: u32,
}

/// `struct rule`.
pub(super) fn rule(rule: &Rule, place: Place) -> RuleBytes {
    let (action, rate) = match rule.action {
        Action::Pass => (0, None),
        Action::Police(rate) => (1, Some(rate)),
        Action::Refuse => (2, None),
    };
    let refuse = match rule.refuse {
        Refuse::Drop => 0,
        Refuse::Reset => 1,
        Refuse::Status503 => 2,
        Refuse::Status429 => 3,
    };
    let mut writer = Writer::new();
    for rate in [rate, rule.per.map(|per| per.rate)] {
        let (interval, tolerance) = rate.map_or((0, 0), |rate| (rate.interval_ns, rate.tolerance_ns));
        writer.put(&interval.to_ne_bytes()).put(&tolerance.to_ne_bytes());
    }
    for word in [place.bucket, place.counter, place.per] {
        writer.put(&word.to_ne_bytes());
    }
    writer.put(&[action, rule.class.unwrap_or(NO_CLASS), refuse, rule.per.map_or(0, |per| per.length)]);
    writer.bytes
}

/// The key of a prefix in a trie of addresses, and how many of its bits count.
pub(super) enum AddressKey {
    V4(u32, Key4),
    V6(u32, Key6),
}

/// `struct key4`, `struct key6`.
pub(super) fn address_key(prefix: Prefix, slot: usize, table: usize) -> AddressKey {
    let begin = [slot as u8, table as u8, 0, 0];
    let bits = 32 + u32::from(prefix.length());
    match prefix.address() {
        IpAddr::V4(v4) => {
            let mut writer = Writer::new();
            writer.put(&begin).put(&v4.octets());
            AddressKey::V4(bits, writer.bytes)
        }
        IpAddr::V6(v6) => {
            let mut writer = Writer::new();
            writer.put(&begin).put(&v6.octets());
            AddressKey::V6(bits, writer.bytes)
        }
    }
}

/// `struct path_key` and how many of its bits count; `None` where the path is too long for any that is read.
pub(super) fn path_key(path: &[u8], slot: usize) -> Option<(u32, PathKey)> {
    let mut writer = Writer::new();
    writer.put(&(slot as u64).to_ne_bytes());
    (path.len() <= PATH_KEY - 8).then(|| (64 + 8 * path.len() as u32, writer.put(path).bytes))
}

/// `struct exact`: as `path` mixes it, eight bytes at a time, the last ones filled with zeros, then the length.
pub(super) fn exact_key(path: &[u8], seed: [u64; 2]) -> ExactKey {
    let mut hash = seed;
    let mut mix = |word: u64| {
        hash[0] = (hash[0] ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash[0] ^= hash[0] >> 29;
        hash[1] = hash[1].wrapping_add(word).wrapping_mul(0xd6e8_feb8_6659_fd93);
        hash[1] ^= hash[1] >> 32;
    };
    let (words, rest) = path.as_chunks::<8>();
    words.iter().for_each(|word| mix(u64::from_ne_bytes(*word)));
    let mut last = Writer::<8>::new();
    mix(u64::from_ne_bytes(last.put(rest).bytes));
    mix(path.len() as u64);
    let mut writer = Writer::new();
    writer.put(&hash[0].to_ne_bytes()).put(&hash[1].to_ne_bytes());
    writer.bytes
}

/// `struct row`; `rules` by a pattern's place.
pub(super) fn row(state: &State, rules: &[u16]) -> Row {
    let mut writer = Writer::new();
    for next in state.next {
        writer.put(&next.to_ne_bytes());
    }
    let rule =
        |place: u16| rules.get(usize::from(place)).map(|rule| u32::from(place) << 16 | u32::from(*rule));
    let first = state.pattern.and_then(rule).unwrap_or(u32::MAX);
    writer.put(&first.to_ne_bytes());
    writer.bytes
}
