//! The receiving end of a channel: lines of bounded length, and the raw bytes behind some of them.
//!
//! Cold. Says so at each read that brings bytes: any byte renews a lease.

use std::io::{self, Read};

/// Longest line. One with the notes of a million replies is shorter.
const LONGEST: usize = 256 << 20;
/// Bytes of a read.
const CHUNK: usize = 1 << 16;

/// A stream of lines and raw bytes.
pub(crate) struct Incoming<R, F> {
    input: R,
    held: Vec<u8>,
    /// Bytes of `held` in which there is no line end.
    searched: usize,
    heard: F,
}

impl<R: Read, F: Fn()> Incoming<R, F> {
    pub(crate) const fn new(input: R, heard: F) -> Self {
        Self { input, held: Vec::new(), searched: 0, heard }
    }

    /// The next line, without its end; `None`: the stream ended before.
    ///
    /// # Errors
    /// The stream cannot be read, or the line is too long.
    pub(crate) fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let end = self.held[self.searched..].iter().position(|byte| *byte == b'\n');
            if let Some(end) = end.map(|end| end + self.searched) {
                let mut line: Vec<u8> = self.held.drain(..=end).collect();
                line.pop();
                self.searched = 0;
                return Ok(Some(line));
            }
            self.searched = self.held.len();
            if self.held.len() > LONGEST {
                return Err(io::Error::other("a line is longer than any message"));
            }
            if !self.more()? {
                return Ok(None);
            }
        }
    }

    /// The next `count` raw bytes; `None`: the stream ended before.
    ///
    /// # Errors
    /// The stream cannot be read.
    pub(crate) fn bytes(&mut self, count: u64) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = Vec::new();
        let whole = self.raw(count, |piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        })?;
        Ok(whole.then_some(bytes))
    }

    /// The next `count` raw bytes, piece by piece; false if the stream ended before.
    ///
    /// # Errors
    /// The stream cannot be read, or a piece cannot be kept.
    pub(crate) fn raw(
        &mut self,
        mut count: u64,
        mut keep: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<bool> {
        while count > 0 {
            if self.held.is_empty() && !self.more()? {
                return Ok(false);
            }
            let piece = self.held.len().min(usize::try_from(count).unwrap_or(usize::MAX));
            keep(&self.held[..piece])?;
            self.held.drain(..piece);
            count -= piece as u64;
        }
        Ok(true)
    }

    fn more(&mut self) -> io::Result<bool> {
        let mut chunk = vec![0; CHUNK];
        let count = read(&mut self.input, &mut chunk)?;
        if count > 0 {
            self.held.extend_from_slice(&chunk[..count]);
            (self.heard)();
        }
        Ok(count > 0)
    }
}

/// What can be read at once; 0: it ended.
fn read(from: &mut impl Read, chunk: &mut [u8]) -> io::Result<usize> {
    loop {
        match from.read(chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// Passes on everything that comes, as it comes, until it ends.
///
/// # Errors
/// It cannot be read, or passed on.
pub fn pass_on(from: &mut impl Read, mut each: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK];
    loop {
        match read(from, &mut chunk)? {
            0 => return Ok(()),
            count => each(&chunk[..count])?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Gives one byte a read.
    struct Drip<'a>(&'a [u8]);

    impl Read for Drip<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let Some((first, rest)) = self.0.split_first() else { return Ok(0) };
            (buffer[0], self.0) = (*first, rest);
            Ok(1)
        }
    }

    #[test]
    fn lines_and_raw_bytes_come_apart_however_they_arrive() {
        let heard = Cell::new(0);
        let text = b"one\n\nr\nw!two\nhalf";
        for drip in [true, false] {
            let input: Box<dyn Read> = if drip { Box::new(Drip(text)) } else { Box::new(&text[..]) };
            let mut incoming = Incoming::new(input, || heard.set(heard.get() + 1));
            assert_eq!(incoming.line().unwrap().unwrap(), b"one");
            assert_eq!(incoming.line().unwrap().unwrap(), b"");
            let mut raw = Vec::new();
            let keep = |piece: &[u8]| {
                raw.extend_from_slice(piece);
                Ok(())
            };
            assert!(incoming.raw(4, keep).unwrap());
            assert_eq!(raw, b"r\nw!");
            assert_eq!(incoming.line().unwrap().unwrap(), b"two");
            assert_eq!(incoming.line().unwrap(), None, "half a line is none");
        }
        assert_eq!(heard.get(), text.len() + 1);
        let mut short = Incoming::new(&b"ab"[..], || ());
        assert!(!short.raw(3, |_| Ok(())).unwrap());
    }
}
