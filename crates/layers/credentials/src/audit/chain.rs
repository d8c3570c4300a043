//! Hash chain of the audit log: each record's link covers all records before it.
//!
//! Measured side, hot: one BLAKE3 of some 400 bytes a record. Owns the heads of segments and the frames of records.

use super::record::{LoggedDecision, MOST_BYTES};

/// A BLAKE3 over the previous link and a record.
pub type ChainLink = [u8; 32];

const MAGIC: &[u8; 16] = b"bakeoff-audit/1\n";
/// Bytes of a segment's head.
pub const HEAD_BYTES: usize = 16 + 8 + 32;
/// Bytes of a frame before its record (length) and behind it (link).
pub(super) const LENGTH_BYTES: usize = 4;
pub(super) const LINK_BYTES: usize = 32;

/// End of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEnd {
    /// Number of records.
    pub size: u64,
    /// Link of the last record; before the first, the hash of the origin.
    pub link: ChainLink,
}

/// A record that exceeds the limit: a path of hundreds of long names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a record of the audit log would be longer than {} bytes", MOST_BYTES)]
pub struct TooLong;

impl LogEnd {
    /// An empty log with this origin.
    pub fn start(origin: &str) -> Self {
        Self { size: 0, link: *blake3::hash(origin.as_bytes()).as_bytes() }
    }

    /// Adds a record: appends its frame to `out`.
    ///
    /// # Errors
    /// It is too long; then nothing is added.
    pub fn add(
        &mut self,
        decision: &LoggedDecision,
        unwritten: u64,
        out: &mut Vec<u8>,
    ) -> Result<(), TooLong> {
        let record = decision.write(self.size, unwritten);
        let length =
            u32::try_from(record.len()).ok().filter(|_| record.len() <= MOST_BYTES).ok_or(TooLong)?;
        *self = Self { size: self.size + 1, link: link(&self.link, &record) };
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&record);
        out.extend_from_slice(&self.link);
        Ok(())
    }

    /// Head of a segment that continues from here.
    pub fn head(&self) -> Vec<u8> {
        [MAGIC.as_slice(), &self.size.to_le_bytes(), &self.link].concat()
    }

    /// The end that a segment continues from, by its head; and the bytes behind the head.
    pub fn of_head(segment: &[u8]) -> Option<(Self, &[u8])> {
        let (size, rest) = segment.strip_prefix(MAGIC)?.split_first_chunk()?;
        let (link, frames) = rest.split_first_chunk()?;
        Some((Self { size: u64::from_le_bytes(*size), link: *link }, frames))
    }
}

pub(super) fn link(before: &ChainLink, record: &[u8]) -> ChainLink {
    *blake3::Hasher::new().update(before).update(record).finalize().as_bytes()
}
