//! State of a server's streams, and the effect of frames on them.
//!
//! The built-in origin. Hot, reads untrusted input. Owns the bounds: numbers of streams and of resets.

use super::{Event, MAX_STREAMS, RESET_BUDGET, ServerStep, State, Stream};
use crate::h2::frame::{FrameHead, MAX_31};
use crate::h2::intake::{BlockHead, DataHead};
use crate::h2::session::Control;
use crate::h2::window::{Incoming, Receive};
use crate::h2::{ConnectionError, ErrorCode, Malformed, StreamId};

impl State {
    /// The reply is complete.
    pub(super) fn sent(&mut self, number: u32) {
        self.budget = (self.budget + 1).min(RESET_BUDGET);
        if let Some(stream) = self.streams.get(number) {
            stream.sent = true;
            if stream.received {
                self.streams.remove(number);
            }
        }
    }

    /// The request is complete.
    fn received(&mut self, number: u32) {
        if let Some(stream) = self.streams.get(number) {
            stream.received = true;
            if stream.sent {
                self.streams.remove(number);
            }
        }
    }

    /// Ends a stream from our side.
    pub(super) fn end(&mut self, number: u32, code: ErrorCode) {
        self.streams.remove(number);
        self.session.reset(number, code);
        if let Some(place) = self.ended.get_mut(self.ended_count % RESET_BUDGET as usize) {
            *place = number;
        }
        self.ended_count = self.ended_count.wrapping_add(1);
    }

    fn malformed(
        &mut self,
        number: u32,
        why: Malformed,
        used: usize,
    ) -> Result<Option<Event>, ConnectionError> {
        self.spend()?;
        self.session.answers()?;
        self.end(number, ErrorCode::ProtocolError);
        Ok(Some(Event::Other(ServerStep::Malformed { used, stream: StreamId(number), why })))
    }

    /// Counts a stream that was not served.
    fn spend(&mut self) -> Result<(), ConnectionError> {
        self.budget = self.budget.checked_sub(1).ok_or(ConnectionError::ResetFlood)?;
        Ok(())
    }

    fn was_opened(&self, number: u32) -> Result<(), ConnectionError> {
        let known = number % 2 == 1 && number <= self.last_number;
        if known { Ok(()) } else { Err(ConnectionError::UnexpectedStream) }
    }

    /// A frame came on a stream that is not open: allowed when we ended it.
    fn late(&self, number: u32) -> Result<(), ConnectionError> {
        if self.ended.contains(&number) { Ok(()) } else { Err(ConnectionError::StreamClosed) }
    }

    pub(super) fn block(
        &mut self,
        head: BlockHead,
        block: &[u8],
        used: usize,
    ) -> Result<Option<Event>, ConnectionError> {
        let number = head.stream;
        if number.is_multiple_of(2) {
            return Err(ConnectionError::UnexpectedStream);
        }
        self.fields.clear();
        let fields = &mut self.fields;
        self.session.decoder.decode_checked(block, |name, value, sound| fields.field(name, value, sound))?;
        if number <= self.last_number {
            return self.trailers(head, used);
        }
        self.last_number = number;
        if self.closing || self.streams.len() >= MAX_STREAMS as usize {
            self.spend()?;
            self.session.answers()?;
            self.end(number, ErrorCode::RefusedStream);
            return Ok(None);
        }
        if let Err(why) = self.fields.verdict(false) {
            return self.malformed(number, why, used);
        }
        let window = Receive::new(self.initial_window);
        let incoming = Incoming { window, length_left: self.fields.length };
        if head.end
            && let Err(why) = incoming.ended()
        {
            return self.malformed(number, why, used);
        }
        let window = i64::from(self.session.peer.initial_window);
        let stream = Stream { incoming, window, received: head.end, ..Stream::default() };
        self.streams.insert(number, stream);
        Ok(Some(Event::Request { used, stream: number, end: head.end, head_bytes: head.wire_bytes }))
    }

    fn trailers(&mut self, head: BlockHead, used: usize) -> Result<Option<Event>, ConnectionError> {
        let number = head.stream;
        let Some(stream) = self.streams.get(number) else {
            self.late(number)?;
            return Ok(None);
        };
        if stream.received {
            return Err(ConnectionError::StreamClosed);
        }
        let verdict = if head.end { self.fields.verdict(true) } else { Err(Malformed::Trailers) };
        if let Err(why) = verdict.and(stream.incoming.ended()) {
            return self.malformed(number, why, used);
        }
        self.received(number);
        Ok(Some(Event::Other(ServerStep::Body { skip: used, len: 0, stream: StreamId(number), end: true })))
    }

    /// A DATA frame begins: returns whether its bytes are wanted, and the step to report, if any.
    pub(super) fn data(
        &mut self,
        head: DataHead,
        used: usize,
    ) -> Result<(bool, Option<Event>), ConnectionError> {
        let number = head.stream;
        self.current = (number, head.end);
        self.was_opened(number)?;
        self.session.data(&head)?;
        let Some(stream) = self.streams.get(number) else {
            self.late(number)?;
            return Ok((false, None));
        };
        if stream.received {
            return Err(ConnectionError::StreamClosed);
        }
        match stream.incoming.data(head.flow, head.body, head.end)? {
            Ok(due) => {
                if let Some(increment) = due {
                    self.session.open_window(number, increment);
                }
                if head.end {
                    self.received(number);
                }
                let empty = head.end && head.body == 0;
                let step = ServerStep::Body { skip: used, len: 0, stream: StreamId(number), end: true };
                Ok((true, empty.then_some(Event::Other(step))))
            }
            Err(why) => Ok((false, self.malformed(number, why, used)?)),
        }
    }

    pub(super) fn control(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        used: usize,
    ) -> Result<Option<Event>, ConnectionError> {
        match self.session.control(head, payload)? {
            Control::Done => Ok(None),
            Control::ConnectionWindow => {
                self.wake();
                Ok(None)
            }
            Control::InitialWindow(delta) => {
                for (_, stream) in self.streams.iter_mut() {
                    stream.window += delta;
                    if stream.window > i64::from(MAX_31) {
                        return Err(ConnectionError::WindowTooLarge);
                    }
                }
                self.wake();
                Ok(None)
            }
            Control::Window(number, increment) => self.window(number, increment, used),
            Control::Reset(number, code) => {
                self.was_opened(number)?;
                if self.streams.remove(number).is_none() {
                    return Ok(None);
                }
                self.spend()?;
                Ok(Some(Event::Other(ServerStep::Reset { used, stream: StreamId(number), code })))
            }
            Control::GoAway(_, code) => Ok(Some(Event::Other(ServerStep::GoAway { used, code }))),
        }
    }

    fn window(&mut self, number: u32, increment: u32, used: usize) -> Result<Option<Event>, ConnectionError> {
        self.was_opened(number)?;
        let Some(stream) = self.streams.get(number) else { return Ok(None) };
        stream.window += i64::from(increment);
        if increment == 0 || stream.window > i64::from(MAX_31) {
            return self.malformed(number, Malformed::Window, used);
        }
        if stream.blocked && stream.window > 0 && self.session.send_window > 0 {
            stream.blocked = false;
            self.unblocked.push(StreamId(number));
        }
        Ok(None)
    }

    /// Reports all blocked streams that may go on, the oldest first.
    fn wake(&mut self) {
        if self.session.send_window <= 0 {
            return;
        }
        let from = self.unblocked.len();
        for (number, stream) in self.streams.iter_mut() {
            if stream.blocked && stream.window > 0 {
                stream.blocked = false;
                self.unblocked.push(StreamId(number));
            }
        }
        self.unblocked.get_mut(from..).unwrap_or_default().sort_unstable();
    }
}
