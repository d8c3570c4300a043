//! Server side of HTTP/2: requests in, replies out.
//!
//! The built-in origin. Hot, reads untrusted input. Owns how many body bytes may go when; it never sees the bytes
//! themselves: the caller sends a grant's frame head and then so many bytes of body.

mod state;
mod step;

use super::fields::RequestFields;
use super::frame::{END_STREAM, FrameHead, FrameKind, setting};
use super::intake::{Intake, Item};
use super::session::{DEFAULT_WINDOW, Session};
use super::streams::Streams;
use super::window::Incoming;
use super::{ConnectionError, ErrorCode, Settings, StreamId};
use crate::http1::ServerMethod;
pub use step::{H2RequestHead, SendGrant, ServerStep};

/// Most streams that a client may have open.
pub const MAX_STREAMS: u32 = 128;
/// Streams that may be reset or refused beyond those that were served: twice what can be open, so that
/// a client may give up all it has, and again.
const RESET_BUDGET: u32 = 2 * MAX_STREAMS;

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

    /// Bytes to be sent. The caller clears it.
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
                let head = H2RequestHead {
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

    /// Grants some of `wanted` body bytes; `last` when no others follow them. `None` when a window is closed, or the
    /// stream gone: [`unblocked`](Self::unblocked) tells when it is open again.
    pub fn data(&mut self, stream: StreamId, wanted: u64, last: bool) -> Option<SendGrant> {
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
        let head = FrameHead { length: len, kind: FrameKind::Data, flags, stream: stream.0 }.bytes();
        if end {
            state.sent(stream.0);
        }
        Some(SendGrant { head, len, end })
    }

    /// Streams for which [`data`](Self::data) said `None` and may now say otherwise. Each is returned once.
    pub fn unblocked(&mut self) -> impl Iterator<Item = StreamId> {
        self.state.unblocked.drain(..)
    }

    /// Announces that no more requests are taken; those that came are served.
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
