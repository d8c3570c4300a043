//! Client side of HTTP/2: requests out, replies in, many at a time on one connection.
//!
//! The measuring side. Hot, reads untrusted input. Requests are GET and HEAD without a body. Owns the opening and the
//! end of streams; sends nothing again by itself.

mod step;

use super::fields::ReplyFields;
use super::frame::{FrameHead, MAX_31, PREFACE, setting};
use super::intake::{BlockHead, DataHead, Intake, Item};
use super::session::{Control, Session};
use super::streams::Streams;
use super::window::{Incoming, Receive};
use super::{ConnectionError, ErrorCode, Malformed, Settings, StreamId};
pub use step::{CannotOpen, ClientStep, H2ReplyHead};

/// Streams that may be open before the peer said how many (RFC 9113 section 6.5.2 asks servers for
/// no fewer).
const STREAMS_BEFORE_SETTINGS: u32 = 100;
/// Most interim replies before a reply.
const MAX_INTERIMS: u8 = 32;
/// Resets of streams that are closed already, beyond one for each request.
const STRAY_RESETS: u32 = 100;

/// A request that waits for its reply or the rest of it.
#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    incoming: Incoming,
    to_head: bool,
    headed: bool,
    interims: u8,
}

/// The client's end of a connection.
#[derive(Clone, Debug)]
pub struct ClientConnection {
    intake: Intake,
    state: State,
}

/// All but the reader, so that both can be used at once.
#[derive(Clone, Debug)]
struct State {
    session: Session,
    streams: Streams<Waiting>,
    initial_window: u32,
    next_number: u32,
    going_away: bool,
    refused: Vec<StreamId>,
    /// The stream of the current DATA frame, and whether it ends with the frame.
    current: (u32, bool),
    /// First and last stream that we ended ourselves: frames may still be under way for them.
    cancelled: Option<(u32, u32)>,
    stray_resets: u32,
}

impl ClientConnection {
    /// A connection whose output holds preface, settings and the opening of the window.
    pub fn new(settings: Settings) -> Self {
        let settings = settings.clamped();
        let own = [
            (setting::HEADER_TABLE_SIZE, settings.header_table),
            (setting::ENABLE_PUSH, 0),
            (setting::INITIAL_WINDOW_SIZE, settings.initial_window),
            (setting::MAX_FRAME_SIZE, settings.max_frame),
            (setting::MAX_HEADER_LIST_SIZE, settings.max_header_list),
        ];
        Self {
            intake: Intake::new(false, settings.max_frame, settings.max_header_list),
            state: State {
                session: Session::new(&settings, PREFACE, &own, STREAMS_BEFORE_SETTINGS),
                streams: Streams::new(),
                initial_window: settings.initial_window,
                next_number: 1,
                going_away: false,
                refused: Vec::new(),
                current: (0, false),
                cancelled: None,
                stray_resets: 0,
            },
        }
    }

    /// Bytes to be sent. The caller clears it.
    pub const fn output(&mut self) -> &mut Vec<u8> {
        &mut self.state.session.output
    }

    /// Whether a request may be sent now.
    pub fn may_open(&self) -> bool {
        self.state.cannot_open().is_none()
    }

    /// Requests without a complete reply.
    pub const fn open_streams(&self) -> usize {
        self.state.streams.len()
    }

    /// Whether no stream can be opened ever again: the peer said that it takes no more, the connection has
    /// failed, or its numbers are used up.
    pub const fn is_used_up(&self) -> bool {
        self.state.going_away || self.state.next_number > MAX_31 || self.state.session.failure.is_some()
    }

    /// Writes a request without a body. Fields are to be such that [`field_fits`](super::field_fits).
    ///
    /// # Errors
    /// When no stream can be opened; nothing was written then.
    pub fn request<'a, F>(
        &mut self,
        method: &[u8],
        scheme: &[u8],
        authority: &[u8],
        path: &[u8],
        fields: F,
    ) -> Result<StreamId, CannotOpen>
    where
        F: IntoIterator<Item = (&'a [u8], &'a [u8])> + Clone,
    {
        let state = &mut self.state;
        if let Some(why) = state.cannot_open() {
            return Err(why);
        }
        let pseudo = [(1, &b":authority"[..], authority), (4, b":path", path)];
        let start_line = [(2, &b":method"[..], method), (6, b":scheme", scheme)];
        let session = &mut state.session;
        if session.peer.max_list < u32::MAX {
            let own = start_line.iter().chain(&pseudo).map(|(_, name, value)| name.len() + value.len() + 32);
            let others = fields.clone().into_iter().map(|(name, value)| name.len() + value.len() + 32);
            if own.chain(others).sum::<usize>() > session.peer.max_list as usize {
                return Err(CannotOpen::TooLarge);
            }
        }
        let start = session.open_block();
        for (index, name, value) in start_line.into_iter().chain(pseudo) {
            session.encoder.known(index, name, value, &mut session.output);
        }
        for (name, value) in fields {
            session.encoder.field(name, value, &mut session.output);
        }
        let number = state.next_number;
        session.close_block(start, number, true);
        state.next_number += 2;
        let window = Receive::new(state.initial_window);
        let incoming = Incoming { window, length_left: None };
        state.streams.insert(number, Waiting { incoming, to_head: method == b"HEAD", ..Waiting::default() });
        Ok(StreamId(number))
    }

    /// Ends a stream and forgets it; `false` when it was over already.
    pub fn cancel(&mut self, stream: StreamId, code: ErrorCode) -> bool {
        if self.state.current.0 == stream.0 {
            self.intake.discard_body();
            self.state.current = (0, false);
        }
        let open = self.state.streams.get(stream.0).is_some();
        if open {
            self.state.give_up(stream.0, code);
        }
        open
    }

    /// Streams that the peer's GOAWAY excluded: it did not look at these requests, and they can be sent elsewhere. Each
    /// is returned once.
    pub fn refused_by_goaway(&mut self) -> impl Iterator<Item = StreamId> {
        self.state.refused.drain(..)
    }

    /// Takes the next step on `input`, which starts where the last step's use ended. To be called until it says `More`.
    /// Frames that need nothing of the caller (settings, pings, windows, interim replies) are handled on the way and
    /// are part of the next step's use.
    ///
    /// # Errors
    ///
    /// When the peer broke the protocol; the connection is of no further use.
    pub fn step(&mut self, input: &[u8]) -> Result<ClientStep, ConnectionError> {
        if let Some(error) = self.state.session.failure {
            return Err(error);
        }
        self.state.session.look();
        self.advance(input).map_err(|error| self.state.session.fail(error, 0))
    }

    fn advance(&mut self, input: &[u8]) -> Result<ClientStep, ConnectionError> {
        let mut used = 0;
        loop {
            let (taken, item) = self.intake.next(input.get(used..).unwrap_or_default())?;
            used += taken;
            let step = match item {
                Item::More => return Ok(ClientStep::More),
                Item::Body(len, last) => {
                    let (stream, ends) = self.state.current;
                    return Ok(ClientStep::Body {
                        skip: used,
                        len,
                        stream: StreamId(stream),
                        end: last && ends,
                    });
                }
                Item::Block(head, block) => self.state.block(head, block, used)?,
                Item::Control(head, payload) => self.state.control(head, payload, used)?,
                Item::Data(head) => {
                    let (wanted, step) = self.state.data(head, used)?;
                    if !wanted {
                        self.intake.discard_body();
                    }
                    step
                }
            };
            if let Some(step) = step {
                return Ok(step);
            }
        }
    }
}

impl State {
    fn cannot_open(&self) -> Option<CannotOpen> {
        if self.session.failure.is_some() {
            Some(CannotOpen::Failed)
        } else if self.going_away {
            Some(CannotOpen::GoingAway)
        } else if self.next_number > MAX_31 {
            Some(CannotOpen::NoNumbers)
        } else if self.streams.len() >= self.session.peer.max_streams as usize {
            Some(CannotOpen::TooMany)
        } else {
            None
        }
    }

    /// Ends a stream from our side.
    fn give_up(&mut self, number: u32, code: ErrorCode) {
        self.streams.remove(number);
        self.session.reset(number, code);
        let (first, last) = self.cancelled.unwrap_or((number, number));
        self.cancelled = Some((first.min(number), last.max(number)));
    }

    fn malformed(&mut self, number: u32, why: Malformed, used: usize) -> Option<ClientStep> {
        self.give_up(number, ErrorCode::ProtocolError);
        Some(ClientStep::Malformed { used, stream: StreamId(number), why })
    }

    /// A frame came for a stream: whether it is open. One that we ended is not, rightly.
    fn is_open(&mut self, number: u32) -> Result<bool, ConnectionError> {
        if self.streams.get(number).is_some() {
            return Ok(true);
        }
        self.was_opened(number)?;
        match self.cancelled {
            Some((first, last)) if (first..=last).contains(&number) => Ok(false),
            _ => Err(ConnectionError::StreamClosed),
        }
    }

    fn was_opened(&self, number: u32) -> Result<(), ConnectionError> {
        let ours = number % 2 == 1 && number < self.next_number;
        if ours { Ok(()) } else { Err(ConnectionError::UnexpectedStream) }
    }

    fn block(
        &mut self,
        head: BlockHead,
        block: &[u8],
        used: usize,
    ) -> Result<Option<ClientStep>, ConnectionError> {
        let number = head.stream;
        let open = self.is_open(number)?;
        let mut fields = ReplyFields::default();
        self.session.decoder.decode_checked(block, |name, value, sound| fields.field(name, value, sound))?;
        let Some(waiting) = self.streams.get(number).filter(|_| open) else { return Ok(None) };
        match read_block(waiting, &head, &fields) {
            Ok(Block::Interim) => Ok(None),
            Ok(Block::Head(reply)) => {
                if head.end {
                    self.streams.remove(number);
                }
                Ok(Some(ClientStep::Head { used, stream: StreamId(number), head: reply, end: head.end }))
            }
            Ok(Block::Trailers) => {
                self.streams.remove(number);
                Ok(Some(ClientStep::Body { skip: used, len: 0, stream: StreamId(number), end: true }))
            }
            Err(why) => Ok(self.malformed(number, why, used)),
        }
    }

    /// A DATA frame begins: returns whether its bytes are wanted, and the step to report, if any.
    fn data(&mut self, head: DataHead, used: usize) -> Result<(bool, Option<ClientStep>), ConnectionError> {
        let number = head.stream;
        self.current = (number, head.end);
        let open = self.is_open(number)?;
        self.session.data(&head)?;
        let Some(waiting) = self.streams.get(number).filter(|_| open) else { return Ok((false, None)) };
        if !waiting.headed {
            return Ok((false, self.malformed(number, Malformed::NoHead, used)));
        }
        match waiting.incoming.data(head.flow, head.body, head.end)? {
            Ok(due) => {
                if let Some(increment) = due {
                    self.session.open_window(number, increment);
                }
                if head.end {
                    self.streams.remove(number);
                }
                let empty = head.end && head.body == 0;
                let step = ClientStep::Body { skip: used, len: 0, stream: StreamId(number), end: true };
                Ok((true, empty.then_some(step)))
            }
            Err(why) => Ok((false, self.malformed(number, why, used))),
        }
    }

    fn control(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        used: usize,
    ) -> Result<Option<ClientStep>, ConnectionError> {
        match self.session.control(head, payload)? {
            Control::Done | Control::ConnectionWindow | Control::InitialWindow(_) => Ok(None),
            Control::Window(number, increment) => {
                self.was_opened(number)?;
                if increment == 0 && self.streams.get(number).is_some() {
                    return Ok(self.malformed(number, Malformed::Window, used));
                }
                Ok(None)
            }
            Control::Reset(number, code) => {
                self.was_opened(number)?;
                if self.streams.remove(number).is_some() {
                    return Ok(Some(ClientStep::Reset { used, stream: StreamId(number), code }));
                }
                self.stray_resets += 1;
                let too_many = self.stray_resets > STRAY_RESETS + self.next_number / 2;
                if too_many { Err(ConnectionError::ResetFlood) } else { Ok(None) }
            }
            Control::GoAway(last_stream, code) => {
                self.go_away(last_stream);
                Ok(Some(ClientStep::GoAway { used, last_stream, code }))
            }
        }
    }

    fn go_away(&mut self, last_stream: u32) {
        self.going_away = true;
        let from = self.refused.len();
        let beyond = self.streams.iter_mut().map(|(number, _)| number).filter(|&number| number > last_stream);
        self.refused.extend(beyond.map(StreamId));
        let excluded = self.refused.get_mut(from..).unwrap_or_default();
        excluded.sort_unstable();
        for stream in excluded {
            self.streams.remove(stream.0);
        }
    }
}

/// The meaning of a header block for a request that waits.
enum Block {
    Interim,
    Head(H2ReplyHead),
    Trailers,
}

fn read_block(waiting: &mut Waiting, head: &BlockHead, fields: &ReplyFields) -> Result<Block, Malformed> {
    if let Some(wrong) = fields.wrong {
        return Err(wrong);
    }
    if waiting.headed {
        if fields.status.is_some() || !head.end {
            return Err(Malformed::Trailers);
        }
        waiting.incoming.ended()?;
        return Ok(Block::Trailers);
    }
    let status = fields.status.ok_or(Malformed::Pseudo)?;
    if status < 200 {
        waiting.interims += 1;
        if head.end || status == 101 || waiting.interims > MAX_INTERIMS {
            return Err(Malformed::Interim);
        }
        return Ok(Block::Interim);
    }
    waiting.headed = true;
    let no_body = waiting.to_head || status == 204 || status == 304;
    waiting.incoming.length_left = if no_body { Some(0) } else { fields.length };
    if head.end {
        waiting.incoming.ended()?;
    }
    Ok(Block::Head(H2ReplyHead {
        status,
        content_length: fields.length,
        coding: fields.coding,
        head_bytes: head.wire_bytes,
    }))
}
