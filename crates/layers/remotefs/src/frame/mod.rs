//! Frames: what server and client say to each other, as bytes.
//!
//! Measured side, pure, hot: once a request and once an answer. A head of 40 bytes, little-endian, and a body. Strict: what is decoded
//! encodes to the very bytes it came from, so there is one way to say a thing, and a field or flag that
//! means nothing must be nought. Strangers feed it: nothing is allocated for what is not there, nothing panics.

mod answer;
mod attributes;
mod fields;
mod request;

pub use answer::{Answer, Entries, Entry, Space, What, entries};
pub use attributes::{Attributes, Kind, Moment, New, Times};
pub use fields::Name;
pub use request::{Class, Request, Way};

use crate::refusal::Refusal;
use std::fmt;

/// What a head takes.
pub const HEAD_BYTES: usize = 40;
/// The most that is read or written at once.
pub const MOST_DATA_BYTES: u32 = 1 << 20;
/// The most that follows a head: data, and room for names beside it.
pub const MOST_BODY_BYTES: u32 = MOST_DATA_BYTES + 4096;
/// The longest file whose contents come with its name.
pub const MOST_SMALL_BYTES: usize = 4096;
/// The most that credentials take.
pub const MOST_CREDENTIALS_BYTES: usize = 64 * 1024;
/// The version of all this.
pub const VERSION: u64 = 1;

/// What stands before each body. What the fields mean is the kind's.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Head {
    /// Bytes that follow.
    pub length: u32,
    /// What it is.
    pub kind: u16,
    /// Of [`flag`].
    pub flags: u16,
    /// Whom it concerns.
    pub object: u64,
    /// Where in it.
    pub offset: u64,
    /// The kind's own.
    pub a: u64,
    /// The kind's own.
    pub b: u64,
}

impl fmt::Debug for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { length, kind, flags, object, offset, a, b } = self;
        write!(f, "{kind}({object}, {offset}, {a}, {b}; {flags:x}) + {length}")
    }
}

/// Flags of a head.
pub mod flag {
    /// CREATE: the name must not be there.
    pub const EXCLUSIVE: u16 = 1;
    /// CREATE: what is there is emptied.
    pub const TRUNCATE: u16 = 2;
    /// RENAME: the new name must not be there.
    pub const NO_REPLACE: u16 = 4;
    /// RENAME: both names are there and change places.
    pub const EXCHANGE: u16 = 8;
    /// WRITE: at the end, wherever that is.
    pub const APPEND: u16 = 16;
    /// The answer may be kept for the session's term.
    pub const LEASED: u16 = 32;
    /// There is no more behind these bytes or entries.
    pub const END: u16 = 64;
    /// BREAK: bytes of the object.
    pub const CONTENTS: u16 = 128;
    /// BREAK: names in the directory.
    pub const NAMES: u16 = 256;
}

impl Head {
    /// Of a kind, and nothing else.
    const fn of(kind: u16) -> Self {
        Self { length: 0, kind, flags: 0, object: 0, offset: 0, a: 0, b: 0 }
    }

    /// With a flag, if it is so.
    const fn flagged(mut self, flag: u16, so: bool) -> Self {
        if so {
            self.flags |= flag;
        }
        self
    }

    const fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    /// As bytes.
    pub fn bytes(&self) -> [u8; HEAD_BYTES] {
        let mut bytes = [0; HEAD_BYTES];
        bytes[0..4].copy_from_slice(&self.length.to_le_bytes());
        bytes[4..6].copy_from_slice(&self.kind.to_le_bytes());
        bytes[6..8].copy_from_slice(&self.flags.to_le_bytes());
        for (at, field) in (8..).step_by(8).zip([self.object, self.offset, self.a, self.b]) {
            bytes[at..at + 8].copy_from_slice(&field.to_le_bytes());
        }
        bytes
    }

    /// From bytes.
    ///
    /// # Errors
    /// When there are too few, or more are announced than may follow.
    pub fn read(bytes: &[u8]) -> Result<Self, Refusal> {
        let mut fields = fields::Fields(bytes);
        let head = Self {
            length: fields.u32()?,
            kind: fields.u16()?,
            flags: fields.u16()?,
            object: fields.u64()?,
            offset: fields.u64()?,
            a: fields.u64()?,
            b: fields.u64()?,
        };
        if head.length > MOST_BODY_BYTES { Err(Refusal::FrameTooLarge) } else { Ok(head) }
    }

    /// The same but for the length, which whoever read the body has looked at.
    fn same(&self, other: &Self) -> bool {
        *self == Self { length: self.length, ..*other }
    }
}

/// Puts a frame behind what is in `out`: the body is written by `body`, and the head learns its length.
fn put(out: &mut Vec<u8>, head: Head, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&head.bytes());
    body(out);
    end(out, start);
}

/// Tells the head at `start` how long its body became.
fn end(out: &mut [u8], start: usize) {
    let length = out.len().saturating_sub(start + HEAD_BYTES);
    // No body of ours is longer than 4 GiB; one that was would be refused by the other side.
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    if let Some(field) = out.get_mut(start..start + 4) {
        field.copy_from_slice(&length.to_le_bytes());
    }
}
