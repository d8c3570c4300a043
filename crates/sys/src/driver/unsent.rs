//! Unsent bytes of one connection, which the kernel has not taken yet.

use std::io::{self, ErrorKind, IoSlice, Write};
use std::net::{Shutdown, TcpStream};

/// Empty, mostly.
#[derive(Debug, Default)]
pub(super) struct Unsent(Option<Box<Pending>>);

/// First the copy, then the body.
#[derive(Debug, Default)]
struct Pending {
    copy: Vec<u8>,
    at: usize,
    body: &'static [u8],
    told: bool,
    end: bool,
}

/// The result of sending the kept bytes.
pub(super) enum Flushed {
    Blocked,
    All { told: bool },
    Failed(io::Error),
}

impl Unsent {
    pub(super) fn is_some(&self) -> bool {
        self.0.is_some()
    }

    /// Keeps bytes, behind those kept already.
    pub(super) fn keep(&mut self, head: &[u8], body: &'static [u8], told: bool) {
        let pending = self.0.get_or_insert_default();
        if !pending.body.is_empty() {
            let body = std::mem::take(&mut pending.body);
            pending.copy.extend_from_slice(body);
        }
        pending.copy.extend_from_slice(head);
        pending.body = body;
        pending.told |= told;
    }

    pub(super) fn flush(&mut self, stream: &TcpStream) -> Flushed {
        let Some(mut pending) = self.0.take() else { return Flushed::All { told: false } };
        loop {
            let copy = &pending.copy[pending.at..];
            if copy.is_empty() && pending.body.is_empty() {
                if pending.end {
                    let _ = stream.shutdown(Shutdown::Write); // gone already is as good
                }
                return Flushed::All { told: pending.told };
            }
            match write(stream, copy, pending.body) {
                Ok(0) => {
                    self.0 = Some(pending);
                    return Flushed::Blocked;
                }
                Ok(taken) => {
                    let of_copy = taken.min(copy.len());
                    pending.at += of_copy;
                    pending.body = &pending.body[taken - of_copy..];
                }
                Err(error) => return Flushed::Failed(error),
            }
        }
    }

    /// Ends our half, behind the kept bytes.
    pub(super) fn end(&mut self, stream: &TcpStream) {
        match &mut self.0 {
            Some(pending) => pending.end = true,
            None => {
                let _ = stream.shutdown(Shutdown::Write); // gone already is as good
            }
        }
    }
}

/// Number of bytes that the kernel took: none when it is full or the connection does not stand yet.
pub(super) fn write(mut stream: &TcpStream, head: &[u8], body: &[u8]) -> io::Result<usize> {
    loop {
        let written = if body.is_empty() {
            stream.write(head)
        } else {
            stream.write_vectored(&[IoSlice::new(head), IoSlice::new(body)])
        };
        match written {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(0),
            written => return written,
        }
    }
}
