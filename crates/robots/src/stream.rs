//! The basic requests of a run as a compact binary log, for simulations of ideal caches.
//!
//! Measuring side. Writing is warm: 32 bytes a request into a buffer, flushed by who owns it. Owns the
//! format; knows no files. A log that was cut off or damaged is read up to the first record that is not
//! right, and says so.
//!
//! Format, little endian: 16 bytes of head (`bakeoffstream`, version, length of a record, 0), then records of
//! 32: object u64, size u48, start u64, length of stay in flight u48, flags u8, check u24.

use bakeoff_units::Nanos;
use std::io::{self, BufReader, BufWriter, Read, Write};

/// What stands before the records.
const HEAD: [u8; 16] = *b"bakeoffstream\x01\x20\x00";
/// Length of a record; stands in the head as well.
const RECORD_BYTES: usize = 32;
/// The most that 48 bits hold: 281 TB, or 78 hours. What is more is written as this.
const U48_MAX: u64 = (1 << 48) - 1;

const CACHABLE: u8 = 1;
const OFFERED: u8 = 2;

/// One basic request that was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// The object, as any number that is its own.
    pub object: u64,
    /// Bytes of the reply, at most 2^48 - 1.
    pub bytes: u64,
    /// When it was sent, since the start of the run.
    pub start: Nanos,
    /// When its reply was complete; at most 78 hours later.
    pub end: Nanos,
    /// Whether caches may keep it.
    pub cachable: bool,
    /// Whether it was an offered hit.
    pub offered: bool,
}

impl Request {
    /// The record with this number, counted from 0.
    fn encode(&self, number: u64) -> [u8; RECORD_BYTES] {
        let mut record = [0; RECORD_BYTES];
        let stay = self.end.since(self.start).get();
        record[..8].copy_from_slice(&self.object.to_le_bytes());
        record[8..14].copy_from_slice(&self.bytes.min(U48_MAX).to_le_bytes()[..6]);
        record[14..22].copy_from_slice(&self.start.get().to_le_bytes());
        record[22..28].copy_from_slice(&stay.min(U48_MAX).to_le_bytes()[..6]);
        record[28] = u8::from(self.cachable) * CACHABLE + u8::from(self.offered) * OFFERED;
        let check = check(&record, number);
        record[29..].copy_from_slice(&check);
        record
    }

    /// `None` when it is not the record with this number.
    fn decode(record: &[u8; RECORD_BYTES], number: u64) -> Option<Self> {
        if record[29..] != check(record, number) {
            return None;
        }
        let read = |from: usize, to: usize| {
            let mut word = [0; 8];
            word[..to - from].copy_from_slice(&record[from..to]);
            u64::from_le_bytes(word)
        };
        let start = Nanos::new(read(14, 22));
        Some(Self {
            object: read(0, 8),
            bytes: read(8, 14),
            start,
            end: start + Nanos::new(read(22, 28)),
            cachable: record[28] & CACHABLE != 0,
            offered: record[28] & OFFERED != 0,
        })
    }
}

/// FNV-1a over the record's place and all but its last three bytes, folded to 24 bits. Sees a record that
/// is torn, moved or nothing but zeros; it is no protection against forgery.
fn check(record: &[u8; RECORD_BYTES], number: u64) -> [u8; 3] {
    let bytes = number.to_le_bytes().into_iter().chain(record[..29].iter().copied());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let [a, b, c, d, e, f, g, h] = hash.to_le_bytes();
    [a ^ d ^ g, b ^ e ^ h, c ^ f]
}

/// Appends requests to a new log.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: BufWriter<W>,
    number: u64,
}

impl<W: Write> Writer<W> {
    /// Begins a log.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn new(out: W) -> io::Result<Self> {
        let mut out = BufWriter::new(out);
        out.write_all(&HEAD)?;
        Ok(Self { out, number: 0 })
    }

    /// Appends one request.
    ///
    /// # Errors
    /// When it cannot be written.
    #[inline]
    pub fn push(&mut self, request: &Request) -> io::Result<()> {
        let record = request.encode(self.number);
        self.number += 1;
        self.out.write_all(&record)
    }

    /// Hands over what is buffered: what a crash must not take. Once an interval is often enough.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// How a log ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// There is more to read.
    #[default]
    NotYet,
    /// With its last record.
    Clean,
    /// Inside a record: the writer was broken off.
    Torn,
    /// With a record that is not right; what follows was not read.
    Damaged,
}

/// Reads a log, request by request.
#[derive(Debug)]
pub struct Reader<R: Read> {
    from: BufReader<R>,
    number: u64,
    end: End,
}

impl<R: Read> Reader<R> {
    /// Opens a log.
    ///
    /// # Errors
    /// When it cannot be read, or is no log of this version.
    pub fn new(from: R) -> io::Result<Self> {
        let mut from = BufReader::new(from);
        let mut head = [0; HEAD.len()];
        from.read_exact(&mut head)?;
        if head != HEAD {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "this is no request stream of this version",
            ));
        }
        Ok(Self { from, number: 0, end: End::NotYet })
    }

    /// How it ended, once all was read.
    pub const fn end(&self) -> End {
        self.end
    }

    /// The next record's bytes; `None` at the end.
    fn record(&mut self) -> io::Result<Option<[u8; RECORD_BYTES]>> {
        let mut record = [0; RECORD_BYTES];
        let mut filled = 0;
        while filled < RECORD_BYTES {
            match self.from.read(&mut record[filled..]) {
                Ok(0) => {
                    self.end = if filled == 0 { End::Clean } else { End::Torn };
                    return Ok(None);
                }
                Ok(more) => filled += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Some(record))
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = io::Result<Request>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.end != End::NotYet {
            return None;
        }
        let record = match self.record() {
            Ok(record) => record?,
            Err(error) => {
                self.end = End::Torn;
                return Some(Err(error));
            }
        };
        let request = Request::decode(&record, self.number);
        self.number += 1;
        if request.is_none() {
            self.end = End::Damaged;
        }
        request.map(Ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_content::SplitMix64;

    fn requests() -> Vec<Request> {
        let mut random = SplitMix64::new(1);
        let draw = |random: &mut SplitMix64| {
            let start = Nanos::new(random.next_u64() >> 10);
            Request {
                object: random.next_u64(),
                bytes: random.next_u64() & U48_MAX,
                start,
                end: start + Nanos::new(random.next_u64() & U48_MAX),
                cachable: random.next_u64() & 1 == 0,
                offered: random.next_u64() & 1 == 0,
            }
        };
        (0..100).map(|_| draw(&mut random)).collect()
    }

    fn log() -> Vec<u8> {
        let mut log = Vec::new();
        let mut writer = Writer::new(&mut log).unwrap();
        requests().iter().for_each(|request| writer.push(request).unwrap());
        writer.flush().unwrap();
        drop(writer);
        log
    }

    fn read(log: &[u8]) -> (Vec<Request>, End) {
        let mut reader = Reader::new(log).unwrap();
        let read = reader.by_ref().map(Result::unwrap).collect();
        (read, reader.end())
    }

    #[test]
    fn what_was_written_is_read() {
        let log = log();
        assert_eq!(log.len(), 16 + 100 * 32);
        assert_eq!(read(&log), (requests(), End::Clean));
    }

    #[test]
    fn what_was_broken_off_is_readable_up_to_there() {
        let log = log();
        for cut in [16, 47, 48, 49, 1000] {
            let whole = (cut - 16) / 32;
            let end = if (cut - 16) % 32 == 0 { End::Clean } else { End::Torn };
            assert_eq!(read(&log[..cut]), (requests()[..whole].to_vec(), end), "{cut}");
        }
        let holes = [&log[..16 + 320], &[0; 320]].concat();
        assert_eq!(read(&holes), (requests()[..10].to_vec(), End::Damaged));
    }

    #[test]
    fn any_changed_bit_and_any_moved_record_is_seen() {
        let log = log();
        for bit in 0..256 {
            let mut damaged = log.clone();
            damaged[16 + 32 + bit / 8] ^= 1 << (bit % 8);
            assert_eq!(read(&damaged), (requests()[..1].to_vec(), End::Damaged), "{bit}");
        }
        let moved = [&log[..16], &log[48..]].concat();
        assert_eq!(read(&moved), (Vec::new(), End::Damaged));
    }

    #[test]
    fn what_is_no_log_is_refused() {
        assert!(Reader::new(&b"bakeoffstream\x02\x20\x00"[..]).is_err());
        assert!(Reader::new(&b"bake"[..]).is_err());
    }

    #[test]
    fn what_is_too_large_for_its_field_becomes_the_largest() {
        let mut huge = requests()[0];
        (huge.bytes, huge.start, huge.end) = (u64::MAX, Nanos::ZERO, Nanos::MAX);
        let read = Request::decode(&huge.encode(7), 7).unwrap();
        assert_eq!((read.bytes, read.end.get()), (U48_MAX, U48_MAX));
        huge.end = Nanos::ZERO;
        huge.start = Nanos::new(5);
        assert_eq!(Request::decode(&huge.encode(7), 7).unwrap().end, Nanos::new(5));
    }
}
