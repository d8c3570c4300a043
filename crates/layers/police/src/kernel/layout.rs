//! Memory layout of the structures of `police.bpf.c`: the only place with this knowledge, besides the C.
//!
//! Measured side, cold, pure. The machine's own byte order, except for addresses and ports, which are as on the wire.

use super::automaton::State;
use crate::rules::AddressPrefix;
use crate::rules::table::{RuleAction, StageRule};
use aya::maps::lpm_trie::Key;
use std::net::IpAddr;

/// Limit on classes, and on sockets of each.
pub(super) const CLASSES: usize = crate::rules::table::CLASSES_MAX;
pub(super) const SOCKETS: usize = 16;
/// Entries of `events`: those of [`super::KernelCounters`] by themselves, then kinds of unread connections, then
/// reasons.
pub(super) const EVENTS: usize = 7;
/// No class, no rule.
const NO_CLASS: u8 = 0xff;
pub(super) const NO_RULE: u32 = u32::MAX;
/// Numbers of source tables: of that in which a destination's own table is looked up, and of addresses of listeners.
pub(super) const DESTINATIONS: usize = 0xff;
const STRANGERS: usize = 0xfe;
/// Bytes of a path's key behind its length.
const PATH_KEY: usize = 256;

pub(super) type RuleBytes = [u8; 48];
pub(super) type AddressKey = [u8; 20];
pub(super) type PathKey = [u8; PATH_KEY];
pub(super) type ExactKey = [u8; 16];
pub(super) type Row = [u8; 264];
pub(super) type ControlBytes = [u8; 128];
pub(super) type Tally = [u64; 2];
pub(super) type Ports = [[u8; 65_536]; 2];

/// `struct side`: the part of a table besides maps.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Side {
    pub(super) seed: [u64; 2],
    /// From `HAS_EXACT` on.
    pub(super) flags: [bool; 6],
    pub(super) odd: u32,
    pub(super) unread: u32,
    pub(super) lowest: Option<u8>,
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
    /// Of all segments, for tests: 1, their connection stands, 2, it does not; 0, the kernel is asked.
    pub(super) stands: u32,
    /// Sequence number that the server's kernel waits for there.
    pub(super) next: u32,
    /// Whether other programs listen on a public port.
    pub(super) strangers: bool,
}

impl Control {
    pub(super) fn bytes(&self) -> ControlBytes {
        let mut bytes = self.clock_ns.to_ne_bytes().to_vec();
        for word in [self.slot as u32, self.mode, self.sockets, self.stands].iter().chain(&self.bounds) {
            bytes.extend(word.to_ne_bytes());
        }
        for side in &self.sides {
            bytes.extend(side.seed.map(u64::to_ne_bytes).concat());
            let flags = side.flags.iter().rev().fold(0, |flags, flag| flags << 1 | u32::from(*flag));
            bytes.extend([flags, side.odd, side.unread].map(u32::to_ne_bytes).concat());
            bytes.extend([side.lowest.unwrap_or(NO_CLASS), 0, 0, 0]);
        }
        bytes.extend([self.next, u32::from(self.strangers)].map(u32::to_ne_bytes).concat());
        laid(&[&bytes])
    }
}

/// Concatenated parts, padded with zeros.
fn laid<const N: usize>(parts: &[&[u8]]) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.iter_mut().zip(parts.concat()).for_each(|(place, byte)| *place = byte);
    bytes
}

/// `struct rule`.
pub(super) fn rule(rule: &StageRule, place: u32, per_id: u32) -> RuleBytes {
    let (action, rate) = match rule.action {
        RuleAction::Pass => (0, None),
        RuleAction::Police(rate) => (1, Some(rate)),
        RuleAction::Refuse => (2, None),
    };
    let [rate, per] = [rate, rule.per.map(|per| per.rate)].map(|rate| {
        let words = rate.map_or([0; 2], |rate| [rate.interval_ns, rate.tolerance_ns]);
        words.map(u64::to_ne_bytes).concat()
    });
    let places = [place, per_id].map(u32::to_ne_bytes).concat();
    let last =
        [action, rule.class.unwrap_or(NO_CLASS), rule.refuse as u8, rule.per.map_or(0, |per| per.length)];
    laid(&[&rate, &per, &places, &last])
}

/// `struct key`: a prefix in a table.
pub(super) fn address_key(prefix: AddressPrefix, slot: usize, table: usize) -> Key<AddressKey> {
    prefix_key(prefix, slot, [table as u8, 0, 0])
}

/// The same for what a listener has of a port: an address, or all of a family.
pub(super) fn listener_key(prefix: AddressPrefix, port: u16) -> Key<AddressKey> {
    let [high, low] = port.to_be_bytes();
    prefix_key(prefix, 0, [STRANGERS as u8, high, low])
}

fn prefix_key(prefix: AddressPrefix, slot: usize, behind: [u8; 3]) -> Key<AddressKey> {
    let (family, address) = match prefix.address() {
        IpAddr::V4(v4) => (0, v4.octets().to_vec()),
        IpAddr::V6(v6) => (2, v6.octets().to_vec()),
    };
    Key::new(32 + u32::from(prefix.length()), laid(&[&[slot as u8 | family], &behind, &address]))
}

/// `struct path_key`.
pub(super) fn path_key(path: &[u8], slot: usize) -> Key<PathKey> {
    Key::new(64 + 8 * path.len() as u32, laid(&[&(slot as u64).to_ne_bytes(), path]))
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
    mix(u64::from_ne_bytes(laid(&[rest])));
    mix(path.len() as u64);
    laid(&[&hash[0].to_ne_bytes(), &hash[1].to_ne_bytes()])
}

/// `struct row`; `rules` by a pattern's position.
pub(super) fn row(state: &State, rules: &[u16]) -> Row {
    let rule =
        |place: u16| rules.get(usize::from(place)).map(|rule| u32::from(place) << 16 | u32::from(*rule));
    let first = state.pattern.and_then(rule).unwrap_or(u32::MAX);
    laid(&[&state.next.map(u16::to_ne_bytes).concat(), &first.to_ne_bytes()])
}
