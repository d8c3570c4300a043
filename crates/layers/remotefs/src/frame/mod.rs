//! Frames: wire format of the messages between server and client.
//!
//! Measured side, pure, hot: once a request and once an answer. A head of 40 bytes, little-endian, and a body.
//! Strict: a decoded frame encodes to the very bytes it came from, so each message has one form, and an unused field
//! or flag must be zero. Strangers control the input: nothing is allocated for data that is not there, nothing
//! panics.

mod answer;
mod attributes;
mod fields;
mod request;

pub use answer::{BreakScope, DirectoryEntry, Entries, ServerReply, Space, entries};
pub use attributes::{Attributes, FileTime, FileType, New, TimeUpdate};
pub use fields::FileName;
pub use request::{ClientRequest, ConnectionPurpose, Way};

use crate::refusal::Refusal;
use std::fmt;

/// Length of a head.
pub const HEAD_BYTES: usize = 40;
/// Limit on bytes read or written at once.
pub const MOST_DATA_BYTES: u32 = 1 << 20;
/// Limit on a body: data, and room for names beside it.
pub const MOST_BODY_BYTES: u32 = MOST_DATA_BYTES + 4096;
/// Limit on a file whose contents come with its name.
pub const MOST_SMALL_BYTES: usize = 4096;
/// Limit on credentials.
pub const MOST_CREDENTIALS_BYTES: usize = 64 * 1024;
/// Version of the protocol.
pub const VERSION: u64 = 1;

/// Head of a frame. The kind decides the meaning of the fields.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct MessageHead {
    /// Length of the body.
    pub length: u32,
    /// Its kind.
    pub kind: u16,
    /// Bits of [`flag`].
    pub flags: u16,
    /// The object concerned.
    pub object: u64,
    /// Offset in it.
    pub offset: u64,
    /// A field whose meaning depends on the kind.
    pub a: u64,
    /// A field whose meaning depends on the kind.
    pub b: u64,
}

impl fmt::Debug for MessageHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { length, kind, flags, object, offset, a, b } = self;
        write!(f, "{kind}({object}, {offset}, {a}, {b}; {flags:x}) + {length}")
    }
}

/// Flags of a head.
pub mod flag {
    /// CREATE: the name must not exist.
    pub const EXCLUSIVE: u16 = 1;
    /// CREATE: an existing file is truncated.
    pub const TRUNCATE: u16 = 2;
    /// RENAME: the new name must not exist.
    pub const NO_REPLACE: u16 = 4;
    /// RENAME: both names exist and are exchanged.
    pub const EXCHANGE: u16 = 8;
    /// WRITE: append, wherever the end is.
    pub const APPEND: u16 = 16;
    /// The answer may be kept for the session's term.
    pub const LEASED: u16 = 32;
    /// These bytes or entries are the last.
    pub const END: u16 = 64;
    /// BREAK: contents of the object.
    pub const CONTENTS: u16 = 128;
    /// BREAK: names in the directory.
    pub const NAMES: u16 = 256;
}

impl MessageHead {
    /// A head of this kind, otherwise zero.
    const fn of(kind: u16) -> Self {
        Self { length: 0, kind, flags: 0, object: 0, offset: 0, a: 0, b: 0 }
    }

    /// With this flag, if `so`.
    const fn flagged(mut self, flag: u16, so: bool) -> Self {
        if so {
            self.flags |= flag;
        }
        self
    }

    const fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    /// Its bytes.
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

    /// Reads a head.
    ///
    /// # Errors
    /// There are too few bytes, or the announced length exceeds the limit.
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

    /// Whether all fields agree except the length, which the body's reader has checked.
    fn same(&self, other: &Self) -> bool {
        *self == Self { length: self.length, ..*other }
    }
}

/// Appends a frame to `out`: `body` writes the body, and its length goes into the head.
fn put(out: &mut Vec<u8>, head: MessageHead, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&head.bytes());
    body(out);
    end(out, start);
}

/// Writes the length of the body into the head at `start`.
fn end(out: &mut [u8], start: usize) {
    let length = out.len().saturating_sub(start + HEAD_BYTES);
    // No body of ours exceeds 4 GiB; the other side would refuse it.
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    if let Some(field) = out.get_mut(start..start + 4) {
        field.copy_from_slice(&length.to_le_bytes());
    }
}
