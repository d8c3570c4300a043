//! Log reader: line by line, through any of the packers, in bounded memory.
//!
//! Hot between slices. Owns one block of bytes; a line is borrowed from it. The packer of a log is told by its first
//! bytes, not by its name: rotated logs are renamed by people. A line longer than the block is given by its head and
//! marked, so that one damaged line costs one line.

use super::LogSource;
use crate::WorkloadError;
use flate2::bufread::MultiGzDecoder;
use memchr::memchr;
use std::fs::File;
use std::io::{self, Cursor, Read};

/// Bytes in the block, and so the longest line.
const BLOCK: usize = 1 << 20;
/// Bytes that are kept of a line that is too long.
const HEAD: usize = 200;

/// One line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayLine<'a> {
    /// Its number, from 1.
    pub number: u64,
    /// Its bytes without the line feed; the first 200 if it is too long.
    pub text: &'a [u8],
    /// Whether it is longer than 1 MiB.
    pub too_long: bool,
}

/// Reads a log.
pub struct LogReader {
    name: String,
    input: Box<dyn Read + Send>,
    block: Vec<u8>,
    start: usize,
    end: usize,
    ended: bool,
    number: u64,
    head: Vec<u8>,
}

impl LogReader {
    /// Opens a log and reads its first block.
    ///
    /// # Errors
    /// It cannot be opened or its beginning cannot be read.
    pub fn open(source: &LogSource) -> Result<Self, WorkloadError> {
        let missing = |error| WorkloadError::LogMissing { log: source.name(), source: error };
        match source {
            LogSource::File(path) => {
                let file = File::open(path).map_err(missing)?;
                if file.metadata().map_err(missing)?.is_dir() {
                    return Err(missing(io::ErrorKind::IsADirectory.into()));
                }
                Self::new(source.name(), file)
            }
            LogSource::Embedded { bytes, .. } => Self::new(source.name(), *bytes),
        }
    }

    /// Reads a log from anywhere.
    ///
    /// # Errors
    /// Its beginning cannot be read.
    pub fn new(name: String, input: impl Read + Send + 'static) -> Result<Self, WorkloadError> {
        let unreadable = |source| WorkloadError::LogUnreadable { log: name.clone(), line: 0, source };
        let input = unpacked(input).map_err(unreadable)?;
        let block = vec![0; BLOCK];
        let mut reader =
            Self { name, input, block, start: 0, end: 0, ended: false, number: 0, head: Vec::new() };
        reader.fill()?;
        Ok(reader)
    }

    /// Up to `count` whole lines from the start of the block, not yet taken.
    pub fn peek(&self, count: usize) -> impl Iterator<Item = &[u8]> {
        self.block[self.start..self.end].split(|&b| b == b'\n').take(count)
    }

    /// The next line; `None` at the end.
    ///
    /// # Errors
    /// The log cannot be read or unpacked further.
    pub fn next_line(&mut self) -> Result<Option<ReplayLine<'_>>, WorkloadError> {
        let mut looked = 0;
        loop {
            let have = self.start + looked..self.end;
            if let Some(found) = memchr(b'\n', &self.block[have.clone()]) {
                let end = have.start + found;
                return Ok(Some(self.take(end, end + 1)));
            }
            looked = self.end - self.start;
            if self.ended {
                let end = self.end;
                return Ok((looked > 0).then(|| self.take(end, end)));
            }
            if looked == BLOCK {
                return self.take_too_long().map(Some);
            }
            self.fill()?;
        }
    }

    fn take(&mut self, end: usize, next: usize) -> ReplayLine<'_> {
        let text = &self.block[self.start..end];
        self.start = next;
        self.number += 1;
        ReplayLine { number: self.number, text, too_long: false }
    }

    /// The block is full and has no line feed: keep the head, drop the rest of the line.
    fn take_too_long(&mut self) -> Result<ReplayLine<'_>, WorkloadError> {
        self.head.clear();
        self.head.extend_from_slice(&self.block[self.start..self.start + HEAD]);
        loop {
            self.start = self.end;
            self.fill()?;
            match memchr(b'\n', &self.block[self.start..self.end]) {
                Some(found) => self.start += found + 1,
                None if !self.ended => continue,
                None => self.start = self.end,
            }
            self.number += 1;
            return Ok(ReplayLine { number: self.number, text: &self.head, too_long: true });
        }
    }

    /// Moves the rest to the front and reads behind it.
    fn fill(&mut self) -> Result<(), WorkloadError> {
        self.block.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        while self.end < BLOCK && !self.ended {
            match self.input.read(&mut self.block[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(count) => self.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => {
                    let log = self.name.clone();
                    return Err(WorkloadError::LogUnreadable { log, line: self.number, source });
                }
            }
        }
        Ok(())
    }
}

/// Looks at the first bytes and puts the fitting unpacker behind them. Members and frames may
/// follow each other, as rotation scripts and parallel packers write them. zstd's own limit holds
/// its window to 128 MiB.
fn unpacked(mut input: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    let mut magic = Vec::with_capacity(4);
    (&mut input).take(4).read_to_end(&mut magic)?;
    let gzip = magic.starts_with(&[0x1f, 0x8b]);
    let zstd = magic == [0x28, 0xb5, 0x2f, 0xfd];
    let whole = Cursor::new(magic).chain(input);
    Ok(match (gzip, zstd) {
        (true, _) => Box::new(MultiGzDecoder::new(io::BufReader::with_capacity(1 << 16, whole))),
        (_, true) => Box::new(zstd::stream::read::Decoder::new(whole)?),
        _ => Box::new(whole),
    })
}
