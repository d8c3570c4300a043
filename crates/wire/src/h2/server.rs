//! The server's half: requests in, replies out.
//!
//! The built-in origin. Hot, fed by strangers. Owns how many body bytes may go when; the bytes
//! themselves it never sees: the caller sends a grant's frame head and then so many bytes of body.

use super::fields::RequestFields;
use super::frame::{END_STREAM, FRAME_HEAD_BYTES, FrameHead, Kind, MAX_31, setting};
use super::intake::{BlockHead, DataHead, Intake, Item};
use super::session::{Control, DEFAULT_WINDOW, Session};
use super::streams::Streams;
use super::window::{Incoming, Receive};
use super::{ConnectionError, ErrorCode, Malformed, Settings, StreamId};
use crate::http1::ServerMethod;

/// Most streams that a client may have open.
pub const MAX_STREAMS: u32 = 128;
/// Streams that may be reset or refused beyond those that were served: twice what can be open, so that
/// a client may give up all it has, and again.
const RESET_BUDGET: u32 = 2 * MAX_STREAMS;

/// One request's head. Borrowed from the connection until the next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestHead<'a> {
    /// The method.
    pub method: ServerMethod,
    /// The path as it was sent.
    pub path: &'a [u8],
    /// `If-Modified-Since`, as it was sent.
    pub if_modified_since: Option<&'a [u8]>,
    /// `Range`, as it was sent.
    pub range: Option<&'a [u8]>,
    /// Bytes of the frames that brought it.
    pub head_bytes: u64,
}

/// One step of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerStep<'a> {
    /// All input is used; more must come.
    More,
    /// A request's head is complete.
    Request {
        /// Bytes of input used.
        used: usize,
        /// Whose.
        stream: StreamId,
        /// What it asks for.
        head: RequestHead<'a>,
        /// Whether the request ends with it.
        end: bool,
    },
    /// Body bytes of a request: skip `skip` bytes of input, then `len` bytes are body.
    Body {
        /// Input before the body bytes.
        skip: usize,
        /// Body bytes.
        len: usize,
        /// Whose.
        stream: StreamId,
        /// Whether the request ends with them.
        end: bool,
    },
    /// The client ended a stream: its reply is not wanted any more.
    Reset {
        /// Bytes of input used.
        used: usize,
        /// Which.
        stream: StreamId,
        /// Why.
        code: ErrorCode,
    },
    /// The request, or what followed it, is none; its stream was ended, and the client was told.
    Malformed {
        /// Bytes of input used.
        used: usize,
        /// Whose; perhaps never seen before.
        stream: StreamId,
        /// Why.
        why: Malformed,
    },
    /// The client will open no more streams.
    GoAway {
        /// Bytes of input used.
        used: usize,
        /// Why.
        code: ErrorCode,
    },
}

/// Leave to send a piece of body: first the frame's head, then so many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The head of the DATA frame. Goes behind everything that is in the output now.
    pub head: [u8; FRAME_HEAD_BYTES],
    /// Bytes of body behind it.
    pub len: u32,
    /// Whether the stream ends with them.
    pub end: bool,
}

/// A step without what it borrows.
enum Event {
    Request { used: usize, stream: u32, end: bool, head_bytes: u64 },
    Other(ServerStep<'static>),
}

#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    incoming: Incoming,
    /// Body bytes that we may send.
    window: i64,
    /// Whether the request is complete.
    received: bool,
    /// Whether the reply is complete.
    sent: bool,
    /// Whether the caller waits for a window.
    blocked: bool,
}

/// The server's end of a connection.
#[derive(Clone, Debug)]
pub struct ServerConnection {
    intake: Intake,
    state: State,
}

#[derive(Clone, Debug)]
struct State {
    session: Session,
    streams: Streams<Stream>,
    fields: RequestFields,
    initial_window: u32,
    /// Largest number of a stream that the client opened.
    last_number: u32,
    /// Whether we said that we go away.
    closing: bool,
    unblocked: Vec<StreamId>,
    current: (u32, bool),
    /// The streams that we ended last: frames may still be under way for them.
    ended: [u32; RESET_BUDGET as usize],
    ended_count: usize,
    budget: u32,
}

impl ServerConnection {
    /// A connection whose output holds the settings.
    pub fn new(settings: Settings) -> Self {
        // A client sends by the default window until it has seen ours, which is therefore no smaller.
        let initial_window = settings.initial_window.max(DEFAULT_WINDOW);
        let settings = Settings { initial_window, ..settings }.clamped();
        let own = [
            (setting::HEADER_TABLE_SIZE, settings.header_table),
            (setting::MAX_CONCURRENT_STREAMS, MAX_STREAMS),
            (setting::INITIAL_WINDOW_SIZE, settings.initial_window),
            (setting::MAX_FRAME_SIZE, settings.max_frame),
            (setting::MAX_HEADER_LIST_SIZE, settings.max_header_list),
        ];
        Self {
            intake: Intake::new(true, settings.max_frame, settings.max_header_list),
            state: State {
                session: Session::new(&settings, &[], &own, 0),
                streams: Streams::new(),
                fields: RequestFields::default(),
                initial_window: settings.initial_window,
                last_number: 0,
                closing: false,
                unblocked: Vec::new(),
                current: (0, false),
                ended: [0; RESET_BUDGET as usize],
                ended_count: 0,
                budget: RESET_BUDGET,
            },
        }
    }

    /// What is to be sent. The caller clears it.
    pub const fn output(&mut self) -> &mut Vec<u8> {
        &mut self.state.session.output
    }

    /// Streams that are not closed in both directions.
    pub const fn open_streams(&self) -> usize {
        self.state.streams.len()
    }

    /// Takes the next step on `input`, which starts where the last step's use ended. To be called
    /// until it says `More`.
    ///
    /// # Errors
    /// When the client broke the protocol; the connection is of no further use.
    pub fn step(&mut self, input: &[u8]) -> Result<ServerStep<'_>, ConnectionError> {
        if let Some(error) = self.state.session.failure {
            return Err(error);
        }
        self.state.session.look();
        match self.advance(input) {
            Err(error) => Err(self.state.session.fail(error, self.state.last_number)),
            Ok(Event::Other(step)) => Ok(step),
            Ok(Event::Request { used, stream, end, head_bytes }) => {
                let fields = &self.state.fields;
                let head = RequestHead {
                    method: fields.method.unwrap_or(ServerMethod::Other),
                    path: fields.path(),
                    if_modified_since: fields.if_modified_since(),
                    range: fields.range(),
                    head_bytes,
                };
                Ok(ServerStep::Request { used, stream: StreamId(stream), head, end })
            }
        }
    }

    /// Writes a reply's head; `false` when the stream is gone.
    pub fn respond<'a>(
        &mut self,
        stream: StreamId,
        status: u16,
        fields: impl IntoIterator<Item = (&'a [u8], &'a [u8])>,
        end: bool,
    ) -> bool {
        let state = &mut self.state;
        if state.streams.get(stream.0).is_none_or(|stream| stream.sent) {
            return false;
        }
        let session = &mut state.session;
        let start = session.open_block();
        let digit = |unit: u16| b'0' + (status / unit % 10) as u8;
        session.encoder.known(8, b":status", &[digit(100), digit(10), digit(1)], &mut session.output);
        for (name, value) in fields {
            session.encoder.field(name, value, &mut session.output);
        }
        session.close_block(start, stream.0, end);
        if end {
            state.sent(stream.0);
        }
        true
    }

    /// How many of `wanted` body bytes may go now; `last` when no others follow them. `None` when a
    /// window is closed, or the stream gone: [`unblocked`](Self::unblocked) tells when it is open
    /// again.
    pub fn data(&mut self, stream: StreamId, wanted: u64, last: bool) -> Option<Grant> {
        let state = &mut self.state;
        let open = state.streams.get(stream.0).filter(|stream| !stream.sent)?;
        let room = open.window.min(state.session.send_window).max(0);
        let most = u64::from(state.session.peer.max_frame).min(room.unsigned_abs());
        if most == 0 && wanted > 0 {
            open.blocked = true;
            return None;
        }
        let len = wanted.min(most) as u32; // below 2^24
        open.window -= i64::from(len);
        state.session.send_window -= i64::from(len);
        let end = last && u64::from(len) == wanted;
        let flags = if end { END_STREAM } else { 0 };
        let head = FrameHead { length: len, kind: Kind::Data, flags, stream: stream.0 }.bytes();
        if end {
            state.sent(stream.0);
        }
        Some(Grant { head, len, end })
    }

    /// Streams for which [`data`](Self::data) said `None` and may now say otherwise. Each is told once.
    pub fn unblocked(&mut self) -> impl Iterator<Item = StreamId> {
        self.state.unblocked.drain(..)
    }

    /// Ends a stream; `false` when it was over already.
    pub fn reset(&mut self, stream: StreamId, code: ErrorCode) -> bool {
        if self.state.current.0 == stream.0 {
            self.intake.discard_body();
        }
        let open = self.state.streams.get(stream.0).is_some();
        if open {
            self.state.end(stream.0, code);
        }
        open
    }

    /// Says that no more requests are taken; those that came are served.
    pub fn go_away(&mut self) {
        if !self.state.closing {
            self.state.closing = true;
            self.state.session.go_away(ErrorCode::NoError, self.state.last_number);
        }
    }

    fn advance(&mut self, input: &[u8]) -> Result<Event, ConnectionError> {
        let mut used = 0;
        loop {
            let (taken, item) = self.intake.next(input.get(used..).unwrap_or_default())?;
            used += taken;
            let event = match item {
                Item::More => return Ok(Event::Other(ServerStep::More)),
                Item::Body(len, last) => {
                    let (stream, ends) = self.state.current;
                    let end = last && ends;
                    return Ok(Event::Other(ServerStep::Body {
                        skip: used,
                        len,
                        stream: StreamId(stream),
                        end,
                    }));
                }
                Item::Block(head, block) => self.state.block(head, block, used)?,
                Item::Control(head, payload) => self.state.control(head, payload, used)?,
                Item::Data(head) => {
                    let (wanted, event) = self.state.data(head, used)?;
                    if !wanted {
                        self.intake.discard_body();
                    }
                    event
                }
            };
            if let Some(event) = event {
                return Ok(event);
            }
        }
    }
}

impl State {
    /// The reply is complete.
    fn sent(&mut self, number: u32) {
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
    fn end(&mut self, number: u32, code: ErrorCode) {
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

    /// A stream was not served.
    fn spend(&mut self) -> Result<(), ConnectionError> {
        self.budget = self.budget.checked_sub(1).ok_or(ConnectionError::ResetFlood)?;
        Ok(())
    }

    fn was_opened(&self, number: u32) -> Result<(), ConnectionError> {
        let known = number % 2 == 1 && number <= self.last_number;
        if known { Ok(()) } else { Err(ConnectionError::UnexpectedStream) }
    }

    /// A frame came on a stream that is not open: fine when we ended it.
    fn late(&self, number: u32) -> Result<(), ConnectionError> {
        if self.ended.contains(&number) { Ok(()) } else { Err(ConnectionError::StreamClosed) }
    }

    fn block(
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

    /// A DATA frame begins: whether its bytes are wanted, and what there is to tell.
    fn data(&mut self, head: DataHead, used: usize) -> Result<(bool, Option<Event>), ConnectionError> {
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

    fn control(
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

    /// Tells of all blocked streams that may go on, the oldest first.
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
