//! Lines over a socket: the form in which bakeoff and its helper processes speak to each other.
//!
//! Measuring side, cold path. Owns the ends of lines; their contents are the speakers' matter.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

/// One end of a socket pair.
#[derive(Debug)]
pub struct Lines {
    stream: UnixStream,
    heard: Vec<u8>,
}

impl Lines {
    /// Over this end.
    pub const fn new(stream: UnixStream) -> Self {
        Self { stream, heard: Vec::new() }
    }

    /// Over the end that is standard input, as a helper process finds it.
    ///
    /// # Errors
    /// What `dup` reports.
    pub fn of_stdin() -> io::Result<Self> {
        Ok(Self::new(UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?)))
    }

    /// One read, which waits for bytes. False when the other end is closed, or was closed with unread bytes in it.
    ///
    /// # Errors
    ///
    /// What `read` reports.
    /// What `read` reports.
    pub fn hear(&mut self) -> io::Result<bool> {
        let mut chunk = [0; 4096];
        match self.stream.read(&mut chunk) {
            Ok(0) => Ok(false),
            Ok(length) => {
                self.heard.extend_from_slice(&chunk[..length]);
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The next whole line of the bytes so far, its end included.
    pub fn next_line(&mut self) -> Option<Vec<u8>> {
        let end = self.heard.iter().position(|&byte| byte == b'\n')?;
        Some(self.heard.drain(..=end).collect())
    }

    /// Writes a line and its end.
    ///
    /// # Errors
    /// What `write` reports.
    pub fn say(&mut self, mut line: Vec<u8>) -> io::Result<()> {
        line.push(b'\n');
        self.stream.write_all(&line)
    }
}

impl AsFd for Lines {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_whole_and_in_order_and_then_the_end() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (mut us, mut them) = (Lines::new(ours), Lines::new(theirs));
        us.say(b"one".to_vec()).unwrap();
        us.say(b"two".to_vec()).unwrap();
        us.stream.write_all(b"ha").unwrap();
        assert!(them.hear().unwrap());
        assert_eq!(them.next_line().as_deref(), Some(&b"one\n"[..]));
        assert_eq!(them.next_line().as_deref(), Some(&b"two\n"[..]));
        assert_eq!(them.next_line(), None);
        us.stream.write_all(b"lf\n").unwrap();
        assert!(them.hear().unwrap());
        assert_eq!(them.next_line().as_deref(), Some(&b"half\n"[..]));
        drop(us);
        assert!(!them.hear().unwrap());
    }
}
