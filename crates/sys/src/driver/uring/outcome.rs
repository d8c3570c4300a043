//! What comes of requests other than receives: room to write, sends that did not go out whole, accepts.

use super::super::unsent::Flushed;
use super::super::{Driver, LISTENER, Slot};
use super::ring::{Completion, Ring};
use super::{Found, Op, UringDriver};
use bakeoff_units::Clock;
use std::io::Error;
use std::net::TcpStream;
use std::os::fd::{FromRawFd, OwnedFd};

impl UringDriver {
    /// A socket can be written to, or never will be.
    pub(super) fn ready(&mut self, completion: Completion) -> Option<(Slot, Found)> {
        let stood = self.clock.now();
        let (slot, link) = self.links.by_token(completion.token)?;
        let connecting = link.connecting;
        if connecting {
            self.calls.connections += 1;
            if let Ok(Some(error)) | Err(error) = link.stream.take_error() {
                self.close(slot);
                return Some((slot, Found::NotConnected(error)));
            }
            link.connecting = false;
            self.asked.push((Op::Receive, completion.token));
        }
        self.calls.writes += 1;
        let sent = match link.unsent.flush(&link.stream) {
            Flushed::Failed(error) => return Some((slot, Found::NotSent(error))),
            Flushed::All { told } => told,
            Flushed::Blocked => {
                self.asked.push((Op::Ready, completion.token));
                false
            }
        };
        if connecting {
            self.sent = sent.then_some(completion.token);
            return Some((slot, Found::Connected(stood)));
        }
        sent.then_some((slot, Found::Sent))
    }

    /// A send of which the kernel did not take all: the rest is kept before anything can be put behind it.
    /// What failed is told in its turn.
    pub(super) fn keep_the_rest(&mut self, cut: Completion, ring: &mut Ring) {
        let taken = match usize::try_from(cut.result) {
            Ok(taken) => taken,
            Err(_) if cut.result == -libc::EAGAIN => 0,
            Err(_) => return ring.put_first(cut),
        };
        if let Some((_, link)) = self.links.by_token(cut.token)
            && link.keep_rest(taken)
        {
            self.asked.push((Op::Ready, cut.token));
        }
    }

    pub(super) fn not_sent(&mut self, completion: Completion) -> Option<(Slot, Found)> {
        let (slot, _) = self.links.by_token(completion.token)?;
        Some((slot, Found::NotSent(Error::from_raw_os_error(-completion.result))))
    }

    pub(super) fn accepted(&mut self, completion: Completion) -> Option<(Slot, Found)> {
        if !completion.more {
            self.asked.push((Op::Accept, completion.token));
        }
        let found = match completion.result {
            fd if fd >= 0 => {
                let stream = adopt_descriptor(fd);
                match stream.set_nodelay(true) {
                    Ok(()) => Found::Accepted(stream),
                    Err(error) => Found::NotAccepted(error),
                }
            }
            error => match -error {
                libc::ECONNABORTED | libc::EINTR | libc::EAGAIN | libc::ECANCELED => return None,
                error => Found::NotAccepted(Error::from_raw_os_error(error)),
            },
        };
        self.calls.connections += 1;
        Some((LISTENER, found))
    }
}

/// The connection that an accept has made.
pub(super) fn adopt_descriptor(fd: i32) -> TcpStream {
    // SAFETY: the kernel has made this descriptor for the completion that told of it, which is read once;
    // nothing else knows of it.
    TcpStream::from(unsafe { OwnedFd::from_raw_fd(fd) })
}
