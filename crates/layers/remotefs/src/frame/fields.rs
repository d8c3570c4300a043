//! Encoding and decoding of the fields of a body: numbers and names.
//!
//! Measured side, pure, hot.

use crate::refusal::Refusal;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// The unread rest of a body.
pub(super) struct Fields<'b>(pub(super) &'b [u8]);

macro_rules! number {
    ($($kind:ident),*) => {
        $(pub(super) fn $kind(&mut self) -> Result<$kind, Refusal> {
            let (bytes, rest) = self.0.split_first_chunk().ok_or(Refusal::ShortBody)?;
            self.0 = rest;
            Ok($kind::from_le_bytes(*bytes))
        })*
    };
}

impl<'b> Fields<'b> {
    number!(u8, u16, u32, u64, i64);

    pub(super) fn take(&mut self, length: usize) -> Result<&'b [u8], Refusal> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Refusal::ShortBody)?;
        self.0 = rest;
        Ok(taken)
    }

    /// Bytes with their length before them.
    pub(super) fn text(&mut self) -> Result<&'b [u8], Refusal> {
        let length = self.u16()?;
        self.take(length.into())
    }

    pub(super) fn name(&mut self) -> Result<FileName<'b>, Refusal> {
        FileName::of(self.text()?)
    }

    /// Checks that everything was read.
    pub(super) fn end(&self) -> Result<(), Refusal> {
        if self.0.is_empty() { Ok(()) } else { Err(Refusal::TrailingData) }
    }
}

/// Bytes with their length before them; text of more than 65,535 bytes would be malformed, but none is so long.
pub(super) fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(&u16::try_from(text.len()).unwrap_or(u16::MAX).to_le_bytes());
    out.extend_from_slice(text);
}

/// A single name in a directory: bytes, of any encoding or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileName<'b>(&'b [u8]);

impl<'b> FileName<'b> {
    /// Length limit: Linux's `NAME_MAX`.
    pub const MOST_BYTES: usize = 255;

    /// These bytes, if they are a single name.
    ///
    /// # Errors
    /// They are not one: only single names are ever resolved.
    pub fn of(bytes: &'b [u8]) -> Result<Self, Refusal> {
        let fits = (1..=Self::MOST_BYTES).contains(&bytes.len());
        let single = !bytes.iter().any(|byte| matches!(byte, b'/' | 0)) && bytes != b"." && bytes != b"..";
        if fits && single { Ok(Self(bytes)) } else { Err(Refusal::BadName) }
    }

    /// Its bytes.
    pub const fn bytes(self) -> &'b [u8] {
        self.0
    }

    /// For the operating system.
    pub fn os(self) -> &'b OsStr {
        OsStr::from_bytes(self.0)
    }
}
