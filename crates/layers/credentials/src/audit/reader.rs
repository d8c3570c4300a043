//! Reader of an audit log: every record in turn, and every fault with its place.
//!
//! Measured side, cold, pure; anybody who could write to the log controls its input. After a fault it continues with
//! the link that it finds there, so that one changed record is one finding.

use super::chain::{ChainLink, HEAD_BYTES, LENGTH_BYTES, LINK_BYTES, LogEnd, link};
use super::checkpoint::Checkpoint;
use super::record::{DecisionRecord, MOST_BYTES};
use std::fmt;
use std::ops::Range;

/// Limit on findings: the log is not read beyond the last of them.
pub const MOST_FINDINGS: usize = 100;

/// A fault at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditFinding {
    /// Number of the segment.
    pub segment: u64,
    /// Byte offset in it.
    pub offset: u64,
    /// The fault.
    pub wrong: AuditFaultKind,
}

/// Kind of a fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuditFaultKind {
    /// The head of a segment is malformed.
    #[error("this is no segment of an audit log: its head is missing or was changed")]
    NoHead,
    /// A segment that does not continue the one before it.
    #[error(
        "this segment does not go on from record {0}, where what is before it ends; the first one begins with the server's name"
    )]
    OtherStart(u64),
    /// A record that does not match its link.
    #[error("record {0} does not hang on what is before it: it, its link, or those before it were changed")]
    Changed(u64),
    /// Missing records.
    #[error("records {first} to {last} were removed")]
    Removed {
        /// The first.
        first: u64,
        /// The last.
        last: u64,
    },
    /// Records in another order.
    #[error(
        "record {found} stands where record {expected} should, which stands further on: they were swapped"
    )]
    Swapped {
        /// Number of the record expected here.
        expected: u64,
        /// Number of the record found here.
        found: u64,
    },
    /// A record that occurred before.
    #[error("record {0} stands here once more")]
    Repeated(u64),
    /// A record with the right link and malformed content.
    #[error("record {0} cannot be read, though its link is right: another version of the server wrote it")]
    Unreadable(u64),
    /// An impossible length: the next record cannot be found.
    #[error("the length of record {0} was changed; what follows in this segment was not looked at")]
    Length(u64),
    /// A half-written record with more behind it.
    #[error("record {0} ends in its middle, and the log goes on in another segment")]
    HalfWithin(u64),
    /// Fewer records than a checkpoint says.
    #[error(
        "the log ends with {have} records, and a checkpoint says that there were {said}: its end was cut off"
    )]
    Cut {
        /// Number of records in the log.
        have: u64,
        /// Number in the checkpoint.
        said: u64,
    },
    /// Other records than a checkpoint says.
    #[error(
        "the first {0} records are not those of a checkpoint: records were changed, and all links made anew"
    )]
    Rewritten(u64),
}

impl fmt::Display for AuditFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "log.{} at byte {}: {}", self.segment, self.offset, self.wrong)
    }
}

/// A half-written record at the end: its server was killed, or is writing at this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Half {
    /// Byte offset in the last segment.
    pub offset: u64,
    /// Number of its bytes that are there.
    pub bytes: u64,
}

/// Reads segments in their order.
#[derive(Debug)]
pub struct SegmentReader {
    /// End of the records read so far.
    chain: LogEnd,
    /// The link that the last record should have, if it has another.
    instead: Option<ChainLink>,
    checkpoints: Vec<Checkpoint>,
    findings: Vec<AuditFinding>,
    segment: u64,
    /// Number of bytes in that segment.
    length: u64,
    half: Option<Half>,
    /// Skipped numbers that occur further on.
    later: Vec<Range<u64>>,
}

impl SegmentReader {
    /// Starts at the beginning of a log, or of a segment in it; compares the log with these checkpoints.
    pub fn new(from: LogEnd, checkpoints: Vec<Checkpoint>) -> Self {
        let mut reader = Self {
            chain: from,
            instead: None,
            checkpoints,
            findings: Vec::new(),
            segment: 0,
            length: 0,
            half: None,
            later: Vec::new(),
        };
        reader.compare(0);
        reader
    }

    /// Reads a segment; `each` gets its records, faulty ones included.
    pub fn segment(&mut self, number: u64, bytes: &[u8], mut each: impl FnMut(DecisionRecord)) {
        if let Some(half) = self.half.take() {
            self.found(half.offset, AuditFaultKind::HalfWithin(self.chain.size));
        }
        (self.segment, self.length) = (number, bytes.len() as u64);
        let Some((start, frames)) = LogEnd::of_head(bytes) else {
            return self.found(0, AuditFaultKind::NoHead);
        };
        if start.size > self.chain.size {
            self.found(0, AuditFaultKind::Removed { first: self.chain.size, last: start.size - 1 });
        } else if start.size < self.chain.size || !self.hangs(&start.link) {
            self.found(0, AuditFaultKind::OtherStart(self.chain.size));
        }
        (self.chain, self.instead) = (start, None);
        let mut rest = frames;
        while !rest.is_empty() && self.findings.len() < MOST_FINDINGS {
            let offset = HEAD_BYTES as u64 + (frames.len() - rest.len()) as u64;
            let (frame, behind) = match take(rest) {
                Next::Frame(frame, behind) => (frame, behind),
                Next::Half => return self.half = Some(Half { offset, bytes: rest.len() as u64 }),
                Next::Odd => return self.found(offset, AuditFaultKind::Length(self.chain.size)),
            };
            if let Some(record) = self.frame(&frame, behind, offset) {
                each(record);
            }
            rest = behind;
        }
    }

    /// End of the log, and all findings.
    pub fn end(mut self) -> (LogEnd, Option<Half>, Vec<AuditFinding>) {
        let have = self.chain.size;
        let cut =
            self.checkpoints.iter().map(|checkpoint| checkpoint.0.size).filter(|size| *size > have).max();
        if let Some(said) = cut {
            self.found(self.half.map_or(self.length, |half| half.offset), AuditFaultKind::Cut { have, said });
        }
        (self.chain, self.half, self.findings)
    }

    fn found(&mut self, offset: u64, wrong: AuditFaultKind) {
        self.findings.push(AuditFinding { segment: self.segment, offset, wrong });
    }

    /// Whether a record follows on this link: the one found there, or the one that should be there.
    fn hangs(&self, before: &ChainLink) -> bool {
        self.chain.link == *before || self.instead.as_ref() == Some(before)
    }

    fn frame(&mut self, frame: &Frame<'_>, behind: &[u8], offset: u64) -> Option<DecisionRecord> {
        let expected = self.chain.size;
        let record = DecisionRecord::read(frame.record);
        let number = record.as_ref().map_or(expected, |record| record.number);
        let own = link(&self.chain.link, frame.record);
        let hangs =
            own == frame.link || self.instead.is_some_and(|before| link(&before, frame.record) == frame.link);
        if hangs && number == expected {
            if record.is_none() {
                self.found(offset, AuditFaultKind::Unreadable(expected));
            }
        } else if number == expected || is_renumbered(expected, frame, behind) {
            self.found(offset, AuditFaultKind::Changed(expected));
            self.instead = Some(own);
            self.step(expected, frame.link, offset);
            return record;
        } else if number < expected {
            if !self.later.iter().any(|range| range.contains(&number)) {
                self.found(offset, AuditFaultKind::Repeated(number));
            }
            return record;
        } else if following(behind).any(|later| (expected..number).contains(&later)) {
            self.found(offset, AuditFaultKind::Swapped { expected, found: number });
            self.later.push(expected..number);
        } else {
            self.found(offset, AuditFaultKind::Removed { first: expected, last: number - 1 });
        }
        self.instead = None;
        self.step(number, frame.link, offset);
        record
    }

    /// Advances past the record of this number, with this link.
    fn step(&mut self, number: u64, link: ChainLink, offset: u64) {
        self.chain = LogEnd { size: number.saturating_add(1), link };
        self.compare(offset);
    }

    fn compare(&mut self, offset: u64) {
        let here = self.chain;
        let other =
            |checkpoint: &Checkpoint| checkpoint.0.size == here.size && checkpoint.0.link != here.link;
        if self.checkpoints.iter().any(other) {
            self.found(offset, AuditFaultKind::Rewritten(here.size));
        }
    }
}

/// A record between its length and its link.
struct Frame<'a> {
    record: &'a [u8],
    link: ChainLink,
}

enum Next<'a> {
    Frame(Frame<'a>, &'a [u8]),
    /// The bytes end before the record does; or a crash left nothing but zeros.
    Half,
    /// An impossible length.
    Odd,
}

fn take(bytes: &[u8]) -> Next<'_> {
    let Some((length, rest)) = bytes.split_first_chunk::<LENGTH_BYTES>() else { return Next::Half };
    let length = u32::from_le_bytes(*length) as usize;
    if length == 0 && rest.iter().all(|byte| *byte == 0) {
        return Next::Half;
    }
    if !(1..=MOST_BYTES).contains(&length) {
        return Next::Odd;
    }
    let parts = rest.split_at_checked(length).and_then(|(record, rest)| {
        rest.split_first_chunk::<LINK_BYTES>().map(|(link, behind)| (record, *link, behind))
    });
    parts.map_or(Next::Half, |(record, link, behind)| Next::Frame(Frame { record, link }, behind))
}

/// Whether a record has only a wrong number: the next one has the next number, and its link follows from this one.
fn is_renumbered(number: u64, frame: &Frame<'_>, behind: &[u8]) -> bool {
    let hangs = matches!(take(behind), Next::Frame(next, _) if link(&frame.link, next.record) == next.link);
    hangs && following(behind).next() == number.checked_add(1)
}

/// The numbers of the records that follow in a segment.
fn following(mut bytes: &[u8]) -> impl Iterator<Item = u64> {
    std::iter::from_fn(move || match take(bytes) {
        Next::Frame(frame, behind) => {
            bytes = behind;
            // Zero stands for an unreadable record: it is not searched for further on.
            Some(DecisionRecord::read(frame.record).map_or(0, |record| record.number))
        }
        Next::Half | Next::Odd => None,
    })
}
