//! An object's name, as numbers, as a path and as an id.
//!
//! Hot in origin and robots, for every request and reply: written into a buffer that stays, parsed in
//! place, without allocation. Fed by strangers: what is no name is `None`. Each name has one spelling.

use super::Model;
use crate::{ObjectId, mix64};

/// What tells the world of embedded objects from that of their containers.
const MUTANT: u64 = 0x5EED_0FE3_BEDD_ED01;

/// Names one object of a world; all else about it follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    /// The world; another one for each run, where no cache may know an object yet.
    pub world: u64,
    /// The visible server.
    pub server: u16,
    /// Which of the model's kinds, from 0.
    pub kind: u8,
    /// Which object of this world, server and kind.
    pub number: u64,
}

impl Name {
    /// Most objects that one object embeds.
    pub const EMBEDDED_AT_MOST: u64 = 256;

    /// The name of the embedded object `index` (from 0, below [`Self::EMBEDDED_AT_MOST`]) of this one. It lies
    /// in a world of its own, where no object that is asked for directly has its name.
    pub const fn embedded(&self, kind: u8, index: u8) -> Self {
        let number = self.number.wrapping_mul(Self::EMBEDDED_AT_MOST).wrapping_add(index as u64);
        Self { world: self.world ^ MUTANT, server: self.server, kind, number }
    }

    /// Appends the path: `/w<16 hex>/s<4 hex>/t<2 hex>/_<16 hex>` and the object's extension.
    pub fn write_path(&self, model: &Model, out: &mut Vec<u8>) {
        self.write(["/w", "/s", "/t", "/_"], out);
        out.extend_from_slice(model.extension(self).as_bytes());
    }

    /// The name a path means. The extension is free, but is one or nothing.
    pub fn parse_path(path: &[u8]) -> Option<Self> {
        let (name, rest) = Self::parse(["/w", "/s", "/t", "/_"], path)?;
        let free = |b: &u8| b.is_ascii_graphic() && !b"/?#".contains(b);
        let extension = rest.strip_prefix(b".").is_some_and(|rest| !rest.is_empty() && rest.iter().all(free));
        (rest.is_empty() || extension).then_some(name)
    }

    /// Appends the id: `w<16 hex>.s<4 hex>.t<2 hex>.n<16 hex>`.
    pub fn write_id(&self, out: &mut Vec<u8>) {
        self.write(["w", ".s", ".t", ".n"], out);
    }

    /// The name of an id.
    pub fn parse_id(text: &[u8]) -> Option<Self> {
        let (name, rest) = Self::parse(["w", ".s", ".t", ".n"], text)?;
        rest.is_empty().then_some(name)
    }

    /// The id of the object's bytes: a mix of the numbers, where objects that differ in `number` only
    /// never meet.
    pub const fn object_id(&self) -> ObjectId {
        ObjectId(self.key())
    }

    /// 64 bits of the name, from which all of the object's properties are drawn.
    pub(super) const fn key(&self) -> u64 {
        let place = ((self.server as u64) << 8) | self.kind as u64;
        let place = mix64(mix64(self.world.wrapping_add(0x9e37_79b9_7f4a_7c15)) ^ place);
        mix64(place ^ mix64(self.number.wrapping_add(0x9e37_79b9_7f4a_7c15)))
    }

    fn write(&self, before: [&str; 4], out: &mut Vec<u8>) {
        let numbers = [(self.world, 16), (self.server.into(), 4), (self.kind.into(), 2), (self.number, 16)];
        for (before, (number, digits)) in before.into_iter().zip(numbers) {
            out.extend_from_slice(before.as_bytes());
            push_hex(number, digits, out);
        }
    }

    fn parse<'t>(before: [&str; 4], text: &'t [u8]) -> Option<(Self, &'t [u8])> {
        let (world, rest) = take_hex(before[0], 16, text)?;
        let (server, rest) = take_hex(before[1], 4, rest)?;
        let (kind, rest) = take_hex(before[2], 2, rest)?;
        let (number, rest) = take_hex(before[3], 16, rest)?;
        // Four digits are no more than an u16, two no more than an u8.
        Some((Self { world, server: server as u16, kind: kind as u8, number }, rest))
    }
}

fn push_hex(number: u64, digits: usize, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.extend((0..digits).rev().map(|at| HEX[(number >> (4 * at)) as usize & 15]));
}

/// The number of so many lower-case digits behind `before`, and what comes after them.
fn take_hex<'t>(before: &str, digits: usize, text: &'t [u8]) -> Option<(u64, &'t [u8])> {
    let (number, rest) = text.strip_prefix(before.as_bytes())?.split_at_checked(digits)?;
    let mut value = 0;
    for &b in number {
        let digit = match b {
            b'0'..=b'9' => b - b'0',
            b'a'..=b'f' => b - b'a' + 10,
            _ => return None,
        };
        value = value << 4 | u64::from(digit);
    }
    Some((value, rest))
}
