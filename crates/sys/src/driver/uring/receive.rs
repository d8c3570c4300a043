//! Completed receives: whose bytes they are, where they lie, when they arrived.

use super::super::Slot;
use super::super::stamp::{self, Moment};
use super::buffers::SMALL;
use super::ring::{Completion, Ring};
use super::{Found, Op, UringDriver};
use bakeoff_units::Nanos;
use std::io::Error;
use std::ops::Range;

/// Bytes in a buffer of the ring.
pub(super) struct Received {
    pub(super) buffer: u16,
    pub(super) place: Range<usize>,
    pub(super) arrived: Option<Nanos>,
    pub(super) ended: bool,
}

impl UringDriver {
    pub(super) fn received(&mut self, completion: Completion) -> Option<(Slot, Found)> {
        self.lent = completion.buffer; // to be given back with the next event, whatever is in it
        let found = self.judge(completion);
        if found.is_none() {
            self.give_back();
        }
        found
    }

    fn judge(&mut self, completion: Completion) -> Option<(Slot, Found)> {
        let token = completion.token;
        let (slot, link) = self.links.by_token(token)?;
        link.armed = completion.more;
        let stamped = link.stamped;
        let Ok(len) = usize::try_from(completion.result) else {
            return match -completion.result {
                libc::ENOBUFS => {
                    let greedy = link.received == self.round;
                    if greedy { &mut self.greedy } else { &mut self.starved }.push_back(token);
                    None
                }
                libc::ECANCELED | libc::EAGAIN | libc::EINTR => {
                    self.asked.push((Op::Receive, token));
                    None
                }
                error => {
                    link.over = true;
                    Some((slot, Found::Broken(Error::from_raw_os_error(error))))
                }
            };
        };
        let place = Ring::place(stamped, len);
        let Some(buffer) = completion.buffer.filter(|_| !place.is_empty()) else {
            link.over = true;
            return Some((slot, Found::Ended));
        };
        link.received = self.round;
        link.large = len >= SMALL.bytes;
        if !completion.more {
            self.asked.push((Op::Receive, token));
        }
        let arrived = if stamped { self.arrived(buffer) } else { None };
        let ended = self.is_followed_by_the_end(token, stamped);
        Some((slot, Found::Data(Received { buffer, place, arrived, ended })))
    }

    fn arrived(&mut self, buffer: u16) -> Option<Nanos> {
        let stamp = stamp::in_control(self.ring.as_ref()?.control(buffer))?;
        let clock = self.clock;
        Some(self.moment.get_or_insert_with(|| Moment::now(&clock)).convert(stamp))
    }

    /// Whether the next completion is this connection's end. If so, no receive stands any more.
    fn is_followed_by_the_end(&mut self, token: u64, stamped: bool) -> bool {
        let Some(next) = self.ring.as_ref().and_then(Ring::peek) else { return false };
        let is_end = next.op == Op::Receive
            && next.token == token
            && !next.more
            && usize::try_from(next.result).is_ok_and(|len| Ring::place(stamped, len).is_empty());
        if is_end && let Some((_, link)) = self.links.by_token(token) {
            link.armed = false;
        }
        is_end
    }
}
