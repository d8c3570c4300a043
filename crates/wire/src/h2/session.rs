//! The part of a connection that both roles share: settings, answers, outgoing header blocks, bounds, and the end.
//!
//! Hot, reads untrusted input. Owns the output and the state of the peer; knows no streams.

use super::frame::{ACK, END_HEADERS, END_STREAM, FRAME_HEAD_BYTES, FrameHead, FrameKind, setting};
use super::frame::{MAX_31, MAX_MAX_FRAME, MIN_MAX_FRAME};
use super::hpack::{Encoder, HpackDecoder};
use super::intake::DataHead;
use super::window::Receive;
use super::{ConnectionError, ErrorCode, Settings};

/// Default size of windows (RFC 9113 section 6.9.2), in bytes.
pub(super) const DEFAULT_WINDOW: u32 = 65_535;
/// Most answers to PING and SETTINGS, and resets, that wait in the output. An honest peer waits for
/// an answer before it asks a thousand times more.
const MAX_UNSENT: u32 = 1_000;
/// Most DATA frames without a byte one after the other; two are never needed.
const MAX_EMPTY: u32 = 100;

/// The limits that the peer announced.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer {
    /// Most streams that may be open.
    pub(super) max_streams: u32,
    /// Window of a new stream.
    pub(super) initial_window: u32,
    /// Largest payload of a frame.
    pub(super) max_frame: u32,
    /// Largest list of fields, counted as HPACK counts.
    pub(super) max_list: u32,
}

/// A control frame, as far as it concerns a role.
#[derive(Clone, Copy, Debug)]
pub(super) enum Control {
    /// All is done.
    Done,
    /// The peer ended a stream.
    Reset(u32, ErrorCode),
    /// The peer opened the window of a stream.
    Window(u32, u32),
    /// The peer opened the connection's window.
    ConnectionWindow,
    /// All streams' windows change by so much.
    InitialWindow(i64),
    /// The peer takes no streams above this one.
    GoAway(u32, ErrorCode),
}

/// The state of a connection that has nothing to do with its streams.
#[derive(Clone, Debug)]
pub(super) struct Session {
    pub(super) output: Vec<u8>,
    pub(super) encoder: Encoder,
    pub(super) decoder: HpackDecoder,
    pub(super) peer: Peer,
    /// Bytes that we may still send on all streams together.
    pub(super) send_window: i64,
    pub(super) failure: Option<ConnectionError>,
    received: Receive,
    unsent: u32,
    empty: u32,
}

impl Session {
    /// A session whose output holds our settings; `first` comes before them.
    pub(super) fn new(settings: &Settings, first: &[u8], own: &[(u16, u32)], max_streams: u32) -> Self {
        let mut output = first.to_vec();
        let length = own.len() as u32 * 6;
        output
            .extend_from_slice(&FrameHead { length, kind: FrameKind::Settings, flags: 0, stream: 0 }.bytes());
        for (name, value) in own {
            output.extend_from_slice(&name.to_be_bytes());
            output.extend_from_slice(&value.to_be_bytes());
        }
        let window = settings.connection_window.clamp(DEFAULT_WINDOW, MAX_31);
        let mut session = Self {
            output,
            encoder: Encoder::default(),
            decoder: HpackDecoder::new(settings.header_table, settings.max_header_list),
            peer: Peer {
                max_streams,
                initial_window: DEFAULT_WINDOW,
                max_frame: MIN_MAX_FRAME,
                max_list: u32::MAX,
            },
            send_window: i64::from(DEFAULT_WINDOW),
            failure: None,
            received: Receive::new(window),
            unsent: 0,
            empty: 0,
        };
        if window > DEFAULT_WINDOW {
            session.open_window(0, window - DEFAULT_WINDOW);
        }
        session
    }

    /// Appends a frame.
    pub(super) fn put(&mut self, kind: FrameKind, flags: u8, stream: u32, payload: &[u8]) {
        let head = FrameHead { length: payload.len() as u32, kind, flags, stream };
        self.output.extend_from_slice(&head.bytes());
        self.output.extend_from_slice(payload);
    }

    pub(super) fn open_window(&mut self, stream: u32, increment: u32) {
        self.put(FrameKind::WindowUpdate, 0, stream, &increment.to_be_bytes());
    }

    pub(super) fn reset(&mut self, stream: u32, code: ErrorCode) {
        self.put(FrameKind::RstStream, 0, stream, &code.number().to_be_bytes());
    }

    /// Ends the connection: says so to the peer, once.
    pub(super) fn fail(&mut self, error: ConnectionError, last_stream: u32) -> ConnectionError {
        self.failure = Some(error);
        self.go_away(error.code(), last_stream);
        error
    }

    pub(super) fn go_away(&mut self, code: ErrorCode, last_stream: u32) {
        let mut payload = [0; 8];
        payload[..4].copy_from_slice(&last_stream.to_be_bytes());
        payload[4..].copy_from_slice(&code.number().to_be_bytes());
        self.put(FrameKind::GoAway, 0, 0, &payload);
    }

    /// Looks whether the answers have been sent.
    pub(super) const fn look(&mut self) {
        if self.output.is_empty() {
            self.unsent = 0;
        }
    }

    /// One more answer goes to the output, unless too many wait there.
    pub(super) fn answers(&mut self) -> Result<(), ConnectionError> {
        self.unsent += 1;
        if self.unsent > MAX_UNSENT { Err(ConnectionError::ControlFlood) } else { Ok(()) }
    }

    /// A DATA frame came, on whatever stream.
    pub(super) fn data(&mut self, head: &DataHead) -> Result<(), ConnectionError> {
        self.received.take(head.flow)?;
        if let Some(increment) = self.received.due() {
            self.open_window(0, increment);
        }
        if head.body > 0 || head.end {
            self.empty = 0;
            return Ok(());
        }
        self.empty += 1;
        if self.empty > MAX_EMPTY { Err(ConnectionError::EmptyFrameFlood) } else { Ok(()) }
    }

    /// A frame that is neither body nor header block.
    pub(super) fn control(&mut self, head: FrameHead, payload: &[u8]) -> Result<Control, ConnectionError> {
        let word = |at: usize| {
            payload.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |b| u32::from_be_bytes(*b))
        };
        match head.kind {
            FrameKind::Settings if head.has(ACK) => Ok(Control::Done),
            FrameKind::Settings => {
                self.answers()?;
                let delta = self.settings(payload)?;
                self.put(FrameKind::Settings, ACK, 0, &[]);
                Ok(if delta == 0 { Control::Done } else { Control::InitialWindow(delta) })
            }
            FrameKind::Ping if head.has(ACK) => Ok(Control::Done),
            FrameKind::Ping => {
                self.answers()?;
                self.put(FrameKind::Ping, ACK, 0, payload);
                Ok(Control::Done)
            }
            FrameKind::RstStream => Ok(Control::Reset(head.stream, ErrorCode::of(word(0)))),
            FrameKind::GoAway => Ok(Control::GoAway(word(0) & MAX_31, ErrorCode::of(word(4)))),
            FrameKind::WindowUpdate => {
                let increment = word(0) & MAX_31;
                if head.stream != 0 {
                    return Ok(Control::Window(head.stream, increment));
                }
                if increment == 0 {
                    return Err(ConnectionError::ZeroIncrement);
                }
                self.send_window += i64::from(increment);
                if self.send_window > i64::from(MAX_31) {
                    return Err(ConnectionError::WindowTooLarge);
                }
                Ok(Control::ConnectionWindow)
            }
            _ => Ok(Control::Done),
        }
    }

    /// Takes the peer's settings; returns the change of its initial window.
    fn settings(&mut self, payload: &[u8]) -> Result<i64, ConnectionError> {
        let before = i64::from(self.peer.initial_window);
        for entry in payload.chunks_exact(6) {
            let [n1, n0, v3, v2, v1, v0] = *entry else { continue };
            let value = u32::from_be_bytes([v3, v2, v1, v0]);
            match u16::from_be_bytes([n1, n0]) {
                setting::HEADER_TABLE_SIZE => self.encoder.limit_table(value),
                setting::ENABLE_PUSH if value > 1 => return Err(ConnectionError::Setting),
                setting::MAX_CONCURRENT_STREAMS => self.peer.max_streams = value,
                setting::INITIAL_WINDOW_SIZE if value > MAX_31 => return Err(ConnectionError::WindowSetting),
                setting::INITIAL_WINDOW_SIZE => self.peer.initial_window = value,
                setting::MAX_FRAME_SIZE if !(MIN_MAX_FRAME..=MAX_MAX_FRAME).contains(&value) => {
                    return Err(ConnectionError::Setting);
                }
                setting::MAX_FRAME_SIZE => self.peer.max_frame = value,
                setting::MAX_HEADER_LIST_SIZE => self.peer.max_list = value,
                _ => {}
            }
        }
        Ok(i64::from(self.peer.initial_window) - before)
    }

    /// Starts a header block in the output; returns where it starts.
    pub(super) fn open_block(&mut self) -> usize {
        let start = self.output.len();
        self.output.extend_from_slice(&[0; FRAME_HEAD_BYTES]);
        self.encoder.begin(&mut self.output);
        start
    }

    /// Ends the header block that starts there: in as many frames as the peer's limit makes it.
    pub(super) fn close_block(&mut self, start: usize, stream: u32, end: bool) {
        let max = self.peer.max_frame as usize;
        let block_start = start + FRAME_HEAD_BYTES;
        let whole = self.output.len() - block_start;
        let first = whole.min(max);
        let rest = if whole > max { self.output.split_off(block_start + first) } else { Vec::new() };
        let flags = if rest.is_empty() { END_HEADERS } else { 0 } | if end { END_STREAM } else { 0 };
        let head = FrameHead { length: first as u32, kind: FrameKind::Headers, flags, stream };
        if let Some(place) = self.output.get_mut(start..block_start) {
            place.copy_from_slice(&head.bytes());
        }
        let frames = rest.len().div_ceil(max);
        for (number, part) in rest.chunks(max).enumerate() {
            let flags = if number + 1 == frames { END_HEADERS } else { 0 };
            self.put(FrameKind::Continuation, flags, stream, part);
        }
    }
}
