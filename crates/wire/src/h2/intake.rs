//! Frame reader: from bytes in any pieces to frames, and from frames to whole header blocks.
//!
//! Both roles. Hot, reads untrusted input. Complete items are handed on as slices of the input; incomplete ones are
//! kept until they are complete, within bounds. Bodies are never kept. Owns every rule that can be checked without
//! knowing streams.

use super::ConnectionError;
use super::frame::{
    ACK, END_HEADERS, END_STREAM, FRAME_HEAD_BYTES, FrameHead, FrameKind, MIN_MAX_FRAME, PADDED, PREFACE,
    PRIORITY,
};
use std::ops::Range;

/// Most frames of one header block: sixteen at the default size hold more than any list may have.
const MAX_BLOCK_FRAMES: u32 = 64;

/// The next item of the input. The number beside it is how much of the input is used before it (`Body`) or with it (all
/// others).
#[derive(Debug)]
pub(super) enum Item<'a> {
    /// Nothing more; all input is used.
    More,
    /// A frame that is neither body nor header block, whole.
    Control(FrameHead, &'a [u8]),
    /// A whole header block.
    Block(BlockHead, &'a [u8]),
    /// A DATA frame begins.
    Data(DataHead),
    /// Number of bytes of body that follow, and whether they are the frame's last.
    Body(usize, bool),
}

/// The head of a header block.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockHead {
    pub(super) stream: u32,
    /// Whether the stream ends with it.
    pub(super) end: bool,
    /// Bytes of its frames.
    pub(super) wire_bytes: u64,
    frames: u32,
}

/// The head of a DATA frame, known before its bytes come.
#[derive(Clone, Copy, Debug)]
pub(super) struct DataHead {
    pub(super) stream: u32,
    /// Bytes that count for the windows: with padding.
    pub(super) flow: u32,
    /// Bytes of body.
    pub(super) body: u32,
    /// Whether the stream ends with it.
    pub(super) end: bool,
}

#[derive(Clone, Copy, Debug)]
enum At {
    Preface(usize),
    Head,
    Payload(FrameHead),
    PadLength(FrameHead),
    Body { left: u32, padding: u32 },
    Skip(u32),
}

/// An item without its bytes: their position.
enum Found {
    More,
    Control(FrameHead, IntakeState),
    Block(BlockHead, IntakeState),
    Data(DataHead),
    Body(usize, bool),
}

enum IntakeState {
    Input(Range<usize>),
    Kept(Range<usize>),
    Block,
}

/// The reader of one connection.
#[derive(Clone, Debug)]
pub(super) struct Intake {
    at: At,
    /// A frame's head or payload that came in pieces.
    kept: Vec<u8>,
    /// Whether the kept bytes have been handed on.
    spent: bool,
    /// A header block that came in several frames, and its head.
    block: Vec<u8>,
    open: Option<BlockHead>,
    settings_seen: bool,
    max_frame: u32,
    max_block: usize,
}

impl Intake {
    /// A reader with these limits that expects the client's preface or not.
    pub(super) fn new(preface: bool, max_frame: u32, max_list: u32) -> Self {
        Self {
            at: if preface { At::Preface(0) } else { At::Head },
            kept: Vec::new(),
            spent: false,
            block: Vec::new(),
            open: None,
            settings_seen: false,
            max_frame,
            max_block: (max_list.max(MIN_MAX_FRAME)) as usize,
        }
    }

    /// The next item of the input.
    pub(super) fn next<'a>(&'a mut self, input: &'a [u8]) -> Result<(usize, Item<'a>), ConnectionError> {
        if self.spent {
            self.kept.clear();
            self.spent = false;
        }
        if self.open.is_none() {
            self.block.clear();
        }
        let mut used = 0;
        let found = loop {
            if let Some(found) = self.advance(input, &mut used)? {
                break found;
            }
        };
        let slice = |place| match place {
            IntakeState::Input(range) => &input[range],
            IntakeState::Kept(range) => &self.kept[range],
            IntakeState::Block => &self.block[..],
        };
        let item = match found {
            Found::More => Item::More,
            Found::Control(head, place) => Item::Control(head, slice(place)),
            Found::Block(head, place) => Item::Block(head, slice(place)),
            Found::Data(head) => Item::Data(head),
            Found::Body(len, last) => Item::Body(len, last),
        };
        Ok((used, item))
    }

    /// Passes over the rest of the current DATA frame.
    pub(super) fn discard_body(&mut self) {
        if let At::Body { left, padding } = self.at {
            self.at = At::Skip(left.saturating_add(padding));
        }
    }

    /// One move of the machine; `None` when it has to go on.
    fn advance(&mut self, input: &[u8], used: &mut usize) -> Result<Option<Found>, ConnectionError> {
        let fresh = input.get(*used..).unwrap_or_default();
        match self.at {
            At::Head => {
                let Some(head) = self.head(fresh, used) else { return Ok(Some(Found::More)) };
                self.begin(head)
            }
            At::Payload(head) => self.payload(head, fresh.len(), input, used),
            At::Body { left, padding } if left > 0 => {
                let len = fresh.len().min(left as usize);
                if len == 0 {
                    return Ok(Some(Found::More));
                }
                let left = left - len as u32;
                self.at = At::Body { left, padding };
                Ok(Some(Found::Body(len, left == 0)))
            }
            At::Body { padding: left, .. } | At::Skip(left) => {
                let len = fresh.len().min(left as usize);
                *used += len;
                let left = left - len as u32;
                self.at = if left == 0 { At::Head } else { At::Skip(left) };
                Ok((left > 0).then_some(Found::More))
            }
            At::PadLength(head) => {
                let Some(&padding) = fresh.first() else { return Ok(Some(Found::More)) };
                *used += 1;
                self.data(head, u32::from(padding) + 1, u32::from(padding))
            }
            At::Preface(known) => self.preface(known, fresh, used),
        }
    }

    fn preface(
        &mut self,
        known: usize,
        fresh: &[u8],
        used: &mut usize,
    ) -> Result<Option<Found>, ConnectionError> {
        let wanted = PREFACE.get(known..).unwrap_or_default();
        let len = wanted.len().min(fresh.len());
        if wanted[..len] != fresh[..len] {
            return Err(ConnectionError::NoPreface);
        }
        *used += len;
        let whole = len == wanted.len();
        self.at = if whole { At::Head } else { At::Preface(known + len) };
        Ok((!whole).then_some(Found::More))
    }

    /// The head of a frame, from one piece or several.
    fn head(&mut self, fresh: &[u8], used: &mut usize) -> Option<FrameHead> {
        if self.kept.is_empty()
            && let Some(bytes) = fresh.first_chunk()
        {
            *used += FRAME_HEAD_BYTES;
            return Some(FrameHead::parse(bytes));
        }
        let take = FRAME_HEAD_BYTES.saturating_sub(self.kept.len()).min(fresh.len());
        self.kept.extend_from_slice(&fresh[..take]);
        *used += take;
        let head = FrameHead::parse(self.kept.first_chunk()?);
        self.kept.clear();
        Some(head)
    }

    /// Decides on the handling of a frame when its head is known.
    fn begin(&mut self, head: FrameHead) -> Result<Option<Found>, ConnectionError> {
        self.check(&head)?;
        self.at = match head.kind {
            FrameKind::Data if head.has(PADDED) => {
                if head.length == 0 {
                    return Err(ConnectionError::FrameSize);
                }
                At::PadLength(head)
            }
            FrameKind::Data => return self.data(head, 0, 0),
            FrameKind::Unknown(_) | FrameKind::Priority => At::Skip(head.length),
            _ => At::Payload(head),
        };
        Ok(None)
    }

    fn data(
        &mut self,
        head: FrameHead,
        framing: u32,
        padding: u32,
    ) -> Result<Option<Found>, ConnectionError> {
        let body = head.length.checked_sub(framing).ok_or(ConnectionError::Padding)?;
        self.at = At::Body { left: body, padding };
        let end = head.has(END_STREAM);
        Ok(Some(Found::Data(DataHead { stream: head.stream, flow: head.length, body, end })))
    }

    /// The rules for heads (RFC 9113 sections 4.2, 4.3 and 6).
    fn check(&mut self, head: &FrameHead) -> Result<(), ConnectionError> {
        if !self.settings_seen && (head.kind != FrameKind::Settings || head.has(ACK) || head.stream != 0) {
            return Err(ConnectionError::NoPreface);
        }
        self.settings_seen = true;
        if head.length > self.max_frame {
            return Err(ConnectionError::FrameSize);
        }
        let continues = head.kind == FrameKind::Continuation;
        match self.open {
            Some(open) if !continues || head.stream != open.stream => {
                return Err(ConnectionError::Interleaved);
            }
            None if continues => return Err(ConnectionError::Interleaved),
            _ => {}
        }
        let on_stream = match head.kind {
            FrameKind::Data
            | FrameKind::Headers
            | FrameKind::Continuation
            | FrameKind::Priority
            | FrameKind::RstStream => true,
            FrameKind::Settings | FrameKind::Ping | FrameKind::GoAway => false,
            FrameKind::PushPromise => return Err(ConnectionError::PushPromise),
            FrameKind::WindowUpdate | FrameKind::Unknown(_) => head.stream != 0,
        };
        if on_stream != (head.stream != 0) {
            return Err(ConnectionError::UnexpectedStream);
        }
        let fits = match head.kind {
            FrameKind::Priority => head.length == 5,
            FrameKind::RstStream | FrameKind::WindowUpdate => head.length == 4,
            FrameKind::Ping => head.length == 8,
            FrameKind::GoAway => (8..=MIN_MAX_FRAME).contains(&head.length),
            FrameKind::Settings if head.has(ACK) => head.length == 0,
            FrameKind::Settings => head.length.is_multiple_of(6) && head.length <= MIN_MAX_FRAME,
            FrameKind::Headers | FrameKind::Continuation if head.length as usize > self.max_block => {
                return Err(ConnectionError::HeaderListTooLarge);
            }
            _ => true,
        };
        if fits { Ok(()) } else { Err(ConnectionError::FrameSize) }
    }

    /// A frame that is handed on whole.
    fn payload(
        &mut self,
        head: FrameHead,
        available: usize,
        input: &[u8],
        used: &mut usize,
    ) -> Result<Option<Found>, ConnectionError> {
        let length = head.length as usize;
        if self.kept.is_empty() && available >= length {
            let start = *used;
            *used += length;
            self.at = At::Head;
            return self.whole(head, &input[start..*used], |range| {
                IntakeState::Input(start + range.start..start + range.end)
            });
        }
        let take = length.saturating_sub(self.kept.len()).min(available);
        self.kept.extend_from_slice(&input[*used..*used + take]);
        *used += take;
        if self.kept.len() < length {
            return Ok(Some(Found::More));
        }
        self.at = At::Head;
        let kept = std::mem::take(&mut self.kept);
        let found = self.whole(head, &kept, IntakeState::Kept);
        self.kept = kept;
        self.spent = true;
        if let Ok(None) = found {
            self.kept.clear();
            self.spent = false;
        }
        found
    }

    fn whole(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        place: impl Fn(Range<usize>) -> IntakeState,
    ) -> Result<Option<Found>, ConnectionError> {
        let range = match head.kind {
            FrameKind::Headers => fragment(&head, payload)?,
            FrameKind::Continuation => 0..payload.len(),
            _ => return Ok(Some(Found::Control(head, place(0..payload.len())))),
        };
        let wire_bytes = u64::from(head.length) + FRAME_HEAD_BYTES as u64;
        let first = BlockHead { stream: head.stream, end: head.has(END_STREAM), wire_bytes: 0, frames: 0 };
        let mut block = self.open.take().unwrap_or(first);
        block.wire_bytes += wire_bytes;
        block.frames += 1;
        let ends = head.has(END_HEADERS);
        if ends && block.frames == 1 {
            return Ok(Some(Found::Block(block, place(range))));
        }
        if block.frames > MAX_BLOCK_FRAMES {
            return Err(ConnectionError::ContinuationFlood);
        }
        self.block.extend_from_slice(&payload[range]);
        if self.block.len() > self.max_block {
            return Err(ConnectionError::HeaderListTooLarge);
        }
        if ends {
            return Ok(Some(Found::Block(block, IntakeState::Block)));
        }
        self.open = Some(block);
        Ok(None)
    }
}

/// The part of a HEADERS frame that is header block.
fn fragment(head: &FrameHead, payload: &[u8]) -> Result<Range<usize>, ConnectionError> {
    let (mut start, mut end) = (0, payload.len());
    if head.has(PADDED) {
        let &padding = payload.first().ok_or(ConnectionError::FrameSize)?;
        start = 1;
        end = end.checked_sub(usize::from(padding)).ok_or(ConnectionError::Padding)?;
    }
    if head.has(PRIORITY) {
        start += 5;
    }
    if start > end {
        return Err(if head.has(PADDED) { ConnectionError::Padding } else { ConnectionError::FrameSize });
    }
    Ok(start..end)
}
