//! The chain: each record's link holds all records before it.
//!
//! Measured side, hot: one BLAKE3 of some 400 bytes a record. Owns heads and frames of segments.

use super::record::{Decision, MOST_BYTES};

/// A BLAKE3 over the link before and a record.
pub type Link = [u8; 32];

const MAGIC: &[u8; 16] = b"bakeoff-audit/1\n";
/// Bytes of a segment's head.
pub const HEAD_BYTES: usize = 16 + 8 + 32;
/// Bytes before a record, and behind it.
pub(super) const LENGTH_BYTES: usize = 4;
pub(super) const LINK_BYTES: usize = 32;

/// Where a log ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chain {
    /// How many records there are.
    pub size: u64,
    /// The link of the last; before the first, the hash of the origin.
    pub link: Link,
}

/// A record that is longer than one may be: a path of hundreds of long names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a record of the audit log would be longer than {} bytes", MOST_BYTES)]
pub struct TooLong;

impl Chain {
    /// Of a log with this origin, before its first record.
    pub fn start(origin: &str) -> Self {
        Self { size: 0, link: *blake3::hash(origin.as_bytes()).as_bytes() }
    }

    /// Adds a record: its frame is put behind `out`.
    ///
    /// # Errors
    /// It is too long; then nothing was added.
    pub fn add(&mut self, decision: &Decision, unwritten: u64, out: &mut Vec<u8>) -> Result<(), TooLong> {
        let record = decision.write(self.size, unwritten);
        let length =
            u32::try_from(record.len()).ok().filter(|_| record.len() <= MOST_BYTES).ok_or(TooLong)?;
        *self = Self { size: self.size + 1, link: link(&self.link, &record) };
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&record);
        out.extend_from_slice(&self.link);
        Ok(())
    }

    /// The head of a segment that goes on from here.
    pub fn head(&self) -> Vec<u8> {
        [MAGIC.as_slice(), &self.size.to_le_bytes(), &self.link].concat()
    }

    /// Where a segment goes on from, by its head; and what follows the head.
    pub fn of_head(segment: &[u8]) -> Option<(Self, &[u8])> {
        let (size, rest) = segment.strip_prefix(MAGIC)?.split_first_chunk()?;
        let (link, frames) = rest.split_first_chunk()?;
        Some((Self { size: u64::from_le_bytes(*size), link: *link }, frames))
    }
}

pub(super) fn link(before: &Link, record: &[u8]) -> Link {
    *blake3::Hasher::new().update(before).update(record).finalize().as_bytes()
}
