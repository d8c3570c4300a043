//! Reads of the driver: a socket is read until it comes back short, but not for ever.

use super::super::Slot;
use super::super::found::{Found, Read};
use super::super::stamp::{self, Moment};
use super::Driver;
use crate::epoll::Readiness;
use std::io::{ErrorKind, Read as _};
use std::os::fd::AsFd;

/// Most reads of one connection before the others get their turn.
const READS_PER_TURN: u32 = 16;

/// A connection that is being read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    token: u64,
    ended: bool,
    left: u32,
}

impl Reading {
    pub(super) fn new(event: Readiness) -> Self {
        Self { token: event.token, ended: event.closed, left: READS_PER_TURN }
    }

    pub(super) fn again(self) -> Self {
        Self { left: READS_PER_TURN, ..self }
    }
}

impl Driver {
    pub(super) fn read(&mut self, reading: Reading) -> Option<(Slot, Found)> {
        let Some((slot, link)) = self.links.by_token(reading.token).filter(|(_, link)| !link.over) else {
            self.current = None;
            return None;
        };
        self.calls.reads += 1;
        let got = if link.stamped {
            stamp::receive(link.stream.as_fd(), &mut self.buffer)
        } else {
            (&link.stream).read(&mut self.buffer).map(|len| (len, None))
        };
        match got {
            Ok((0, _)) => {
                link.over = true;
                self.current = None;
                Some((slot, Found::Ended))
            }
            Ok((len, stamp)) => {
                self.go_on_reading(reading, len);
                let arrived = stamp.map(|stamp| self.moment().convert(stamp));
                Some((slot, Found::Data(Read { len, arrived, ended: reading.ended, behind: self.left() })))
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.current = None;
                None
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => None,
            Err(error) => {
                link.over = true;
                self.current = None;
                Some((slot, Found::Broken(error)))
            }
        }
    }

    /// A short read has emptied the socket, unless its end is to be read as well.
    fn go_on_reading(&mut self, reading: Reading, len: usize) {
        let more = Reading { left: reading.left - 1, ..reading };
        self.current = (len == self.buffer.len() || reading.ended).then_some(more);
        if self.current.is_some() && more.left == 0 {
            self.again.push_back(more);
            self.current = None;
        }
    }

    fn moment(&mut self) -> Moment {
        *self.moment.get_or_insert_with(|| Moment::now(&self.clock))
    }
}
