//! Reading a log: every record in turn, and all that is wrong, with its place.
//!
//! Measured side, cold, pure, fed by whoever could write to the log. Goes on behind what is wrong with the link that
//! stands there, so that one changed record is one finding.

use super::chain::{Chain, HEAD_BYTES, LENGTH_BYTES, LINK_BYTES, Link, link};
use super::checkpoint::Checkpoint;
use super::record::{MOST_BYTES, Record};
use std::fmt;
use std::ops::Range;

/// Most findings: what follows the last of them is not looked at.
pub const MOST_FINDINGS: usize = 100;

/// Something wrong at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// In which segment.
    pub segment: u64,
    /// At which byte of it.
    pub offset: u64,
    /// What.
    pub wrong: Wrong,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// Not the head of a segment.
    #[error("this is no segment of an audit log: its head is missing or was changed")]
    NoHead,
    /// A segment that does not hang on the one before it.
    #[error(
        "this segment does not go on from record {0}, where what is before it ends; the first one begins with the server's name"
    )]
    OtherStart(u64),
    /// A record that is not the one of its link.
    #[error("record {0} does not hang on what is before it: it, its link, or those before it were changed")]
    Changed(u64),
    /// Records that are not there.
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
        /// Which should be here.
        expected: u64,
        /// Which is.
        found: u64,
    },
    /// A record that was there before.
    #[error("record {0} stands here once more")]
    Repeated(u64),
    /// Under the right link, and no record.
    #[error("record {0} cannot be read, though its link is right: another version of the server wrote it")]
    Unreadable(u64),
    /// A length that no record has: where the next begins is not known.
    #[error("the length of record {0} was changed; what follows in this segment was not looked at")]
    Length(u64),
    /// A record that was begun, and more behind it.
    #[error("record {0} ends in its middle, and the log goes on in another segment")]
    HalfWithin(u64),
    /// Fewer records than a checkpoint says.
    #[error(
        "the log ends with {have} records, and a checkpoint says that there were {said}: its end was cut off"
    )]
    Cut {
        /// How many there are.
        have: u64,
        /// How many there were.
        said: u64,
    },
    /// Other records than a checkpoint says.
    #[error(
        "the first {0} records are not those of a checkpoint: records were changed, and all links made anew"
    )]
    Rewritten(u64),
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "log.{} at byte {}: {}", self.segment, self.offset, self.wrong)
    }
}

/// A record at the end that was begun: its server was killed, or writes at this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Half {
    /// At which byte of the last segment.
    pub offset: u64,
    /// How many bytes of it there are.
    pub bytes: u64,
}

/// Reads segments in their order.
#[derive(Debug)]
pub struct Reader {
    /// Where the records read so far end.
    chain: Chain,
    /// The link that the last record should have had, where it has another.
    instead: Option<Link>,
    checkpoints: Vec<Checkpoint>,
    findings: Vec<Finding>,
    segment: u64,
    /// How many bytes that segment has.
    length: u64,
    half: Option<Half>,
    /// Numbers that were stepped over and stand further on.
    later: Vec<Range<u64>>,
}

impl Reader {
    /// From where a log begins, or a segment in it; the log is held against these checkpoints.
    pub fn new(from: Chain, checkpoints: Vec<Checkpoint>) -> Self {
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

    /// Reads a segment; `each` gets its records, those beside which something is wrong among them.
    pub fn segment(&mut self, number: u64, bytes: &[u8], mut each: impl FnMut(Record)) {
        if let Some(half) = self.half.take() {
            self.found(half.offset, Wrong::HalfWithin(self.chain.size));
        }
        (self.segment, self.length) = (number, bytes.len() as u64);
        let Some((start, frames)) = Chain::of_head(bytes) else { return self.found(0, Wrong::NoHead) };
        if start.size > self.chain.size {
            self.found(0, Wrong::Removed { first: self.chain.size, last: start.size - 1 });
        } else if start.size < self.chain.size || !self.hangs(&start.link) {
            self.found(0, Wrong::OtherStart(self.chain.size));
        }
        (self.chain, self.instead) = (start, None);
        let mut rest = frames;
        while !rest.is_empty() && self.findings.len() < MOST_FINDINGS {
            let offset = HEAD_BYTES as u64 + (frames.len() - rest.len()) as u64;
            let (frame, behind) = match take(rest) {
                Next::Frame(frame, behind) => (frame, behind),
                Next::Half => return self.half = Some(Half { offset, bytes: rest.len() as u64 }),
                Next::Odd => return self.found(offset, Wrong::Length(self.chain.size)),
            };
            if let Some(record) = self.frame(&frame, behind, offset) {
                each(record);
            }
            rest = behind;
        }
    }

    /// Where the log ends, and what is wrong with it.
    pub fn end(mut self) -> (Chain, Option<Half>, Vec<Finding>) {
        let have = self.chain.size;
        let cut =
            self.checkpoints.iter().map(|checkpoint| checkpoint.0.size).filter(|size| *size > have).max();
        if let Some(said) = cut {
            self.found(self.half.map_or(self.length, |half| half.offset), Wrong::Cut { have, said });
        }
        (self.chain, self.half, self.findings)
    }

    fn found(&mut self, offset: u64, wrong: Wrong) {
        self.findings.push(Finding { segment: self.segment, offset, wrong });
    }

    /// Whether something hangs on this link: the one that stands there, or the one that should.
    fn hangs(&self, before: &Link) -> bool {
        self.chain.link == *before || self.instead.as_ref() == Some(before)
    }

    fn frame(&mut self, frame: &Frame<'_>, behind: &[u8], offset: u64) -> Option<Record> {
        let expected = self.chain.size;
        let record = Record::read(frame.record);
        let number = record.as_ref().map_or(expected, |record| record.number);
        let own = link(&self.chain.link, frame.record);
        let hangs =
            own == frame.link || self.instead.is_some_and(|before| link(&before, frame.record) == frame.link);
        if hangs && number == expected {
            if record.is_none() {
                self.found(offset, Wrong::Unreadable(expected));
            }
        } else if number == expected || is_renumbered(expected, frame, behind) {
            self.found(offset, Wrong::Changed(expected));
            self.instead = Some(own);
            self.step(expected, frame.link, offset);
            return record;
        } else if number < expected {
            if !self.later.iter().any(|range| range.contains(&number)) {
                self.found(offset, Wrong::Repeated(number));
            }
            return record;
        } else if following(behind).any(|later| (expected..number).contains(&later)) {
            self.found(offset, Wrong::Swapped { expected, found: number });
            self.later.push(expected..number);
        } else {
            self.found(offset, Wrong::Removed { first: expected, last: number - 1 });
        }
        self.instead = None;
        self.step(number, frame.link, offset);
        record
    }

    /// The record of this number has this link.
    fn step(&mut self, number: u64, link: Link, offset: u64) {
        self.chain = Chain { size: number.saturating_add(1), link };
        self.compare(offset);
    }

    fn compare(&mut self, offset: u64) {
        let here = self.chain;
        let other =
            |checkpoint: &Checkpoint| checkpoint.0.size == here.size && checkpoint.0.link != here.link;
        if self.checkpoints.iter().any(other) {
            self.found(offset, Wrong::Rewritten(here.size));
        }
    }
}

/// A record between its length and its link.
struct Frame<'a> {
    record: &'a [u8],
    link: Link,
}

enum Next<'a> {
    Frame(Frame<'a>, &'a [u8]),
    /// The bytes end before it does; or a crash left nothing but zeros.
    Half,
    /// No record is so long.
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

/// Whether a record has lost its number: the next one is the next, and hangs on it.
fn is_renumbered(number: u64, frame: &Frame<'_>, behind: &[u8]) -> bool {
    let hangs = matches!(take(behind), Next::Frame(next, _) if link(&frame.link, next.record) == next.link);
    hangs && following(behind).next() == number.checked_add(1)
}

/// The numbers of the records that follow in a segment.
fn following(mut bytes: &[u8]) -> impl Iterator<Item = u64> {
    std::iter::from_fn(move || match take(bytes) {
        Next::Frame(frame, behind) => {
            bytes = behind;
            // Zero stands for what cannot be read: nobody looks for it further on.
            Some(Record::read(frame.record).map_or(0, |record| record.number))
        }
        Next::Half | Next::Odd => None,
    })
}
