//! Client side of HTTP/1.1: reads one reply after another from any pieces.

use super::chunked::{Chunked, Found};
use super::head::{Framing, HeadReader, HttpVersion, ReplyError};
use super::{ContentCoding, MAX_HEAD_BYTES};

/// The head of a final reply, as far as a client needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyHead {
    /// 200 to 999.
    pub status: u16,
    /// Version of the status line.
    pub version: HttpVersion,
    /// The end of the body.
    pub framing: Framing,
    /// `Content-Length`, also where no body follows (HEAD, 304).
    pub content_length: Option<u64>,
    /// The coding of the body.
    pub coding: ContentCoding,
    /// Whether the connection can carry another request.
    pub keep_alive: bool,
    /// Bytes of the head.
    pub head_bytes: u64,
}

/// One step of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyStep {
    /// All input is used; more must come.
    More,
    /// The head is complete; so many bytes of input are used.
    Head(usize, ReplyHead),
    /// Body bytes: skip `skip` bytes of input, then `len` bytes are body.
    Body {
        /// Framing before the body bytes.
        skip: usize,
        /// Body bytes.
        len: usize,
    },
    /// The reply ended; so many bytes of input are used.
    End(usize),
}

#[derive(Clone, Debug)]
enum State {
    Head,
    Length(u64),
    Chunked(Chunked),
    UntilClose,
    Over,
}

impl State {
    /// The state behind a head.
    const fn behind(framing: Framing) -> Self {
        match framing {
            Framing::None | Framing::Length(0) => Self::Over,
            Framing::Length(length) => Self::Length(length),
            Framing::Chunked => Self::Chunked(Chunked::new()),
            Framing::UntilClose => Self::UntilClose,
        }
    }
}

/// The request that a reply answers, as far as that decides its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum To {
    Head,
    Connect,
    Other,
}

/// Reads one reply at a time. Keeps only a head that arrives in pieces.
#[derive(Clone, Debug)]
pub struct ReplyReader {
    state: State,
    to: To,
    /// An incomplete head, and how far it was read; without bytes the latter says nothing.
    partial: Vec<u8>,
    read: HeadReader,
}

impl Default for ReplyReader {
    fn default() -> Self {
        Self { state: State::Head, to: To::Other, partial: Vec::new(), read: HeadReader::default() }
    }
}

impl ReplyReader {
    /// Makes ready for the reply to the next request, which is a HEAD request or not.
    pub fn begin(&mut self, to_head: bool) {
        self.state = State::Head;
        self.to = if to_head { To::Head } else { To::Other };
        self.partial.clear();
    }

    /// Makes ready for the reply to CONNECT: a status of 2xx has no body, whatever its fields say (RFC 9110
    /// section 9.3.6).
    pub fn begin_connect(&mut self) {
        self.begin(false);
        self.to = To::Connect;
    }

    /// Takes the next step on `input`, which starts where the last step's use ended. To be called
    /// until it says `More` or `End`.
    ///
    /// # Errors
    /// When the bytes are no reply; the connection is of no further use.
    #[inline]
    pub fn step(&mut self, input: &[u8]) -> Result<ReplyStep, ReplyError> {
        match &mut self.state {
            State::Over => Ok(ReplyStep::End(0)),
            _ if input.is_empty() => Ok(ReplyStep::More),
            State::Length(left) => {
                let len = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
                *left -= len as u64;
                if *left == 0 {
                    self.state = State::Over;
                }
                Ok(ReplyStep::Body { skip: 0, len })
            }
            State::UntilClose => Ok(ReplyStep::Body { skip: 0, len: input.len() }),
            State::Head => self.head(input),
            State::Chunked(chunked) => {
                let step = chunk(chunked, input)?;
                if matches!(step, ReplyStep::End(_)) {
                    self.state = State::Over;
                }
                Ok(step)
            }
        }
    }

    /// The peer closed the connection: whether that ended the reply rightly.
    pub const fn ends_with_close(&self) -> bool {
        matches!(self.state, State::UntilClose | State::Over)
    }

    /// Whether not a byte of the reply has come.
    pub fn untouched(&self) -> bool {
        matches!(self.state, State::Head) && self.partial.is_empty()
    }

    /// Interim replies (1xx) are read over; a final head ends the step.
    fn head(&mut self, input: &[u8]) -> Result<ReplyStep, ReplyError> {
        let mut used = 0;
        loop {
            let fresh = &input[used..];
            let known = self.partial.len();
            let mut reader = HeadReader::default();
            let complete = if known == 0 {
                reader.read(fresh)?
            } else {
                let take = fresh.len().min((MAX_HEAD_BYTES + 1).saturating_sub(known));
                self.partial.extend_from_slice(&fresh[..take]);
                std::mem::swap(&mut reader, &mut self.read);
                // Without a line feed there is no new line to read, so that a head that dribbles in
                // costs one attempt a line and not one a byte.
                memchr::memchr(b'\n', &fresh[..take]).is_some() && reader.read(&self.partial)?
            };
            if !complete {
                self.read = reader;
                if known == 0 {
                    self.partial.extend_from_slice(fresh);
                }
                return if self.partial.len() > MAX_HEAD_BYTES {
                    Err(ReplyError::HeadTooLarge)
                } else {
                    Ok(ReplyStep::More)
                };
            }
            let head = Head::of(&reader, self.to)?;
            used += reader.bytes - known;
            self.partial.clear();
            match head {
                Head::Interim if used == input.len() => return Ok(ReplyStep::More),
                Head::Interim => {}
                Head::Final(head) => {
                    self.state = State::behind(head.framing);
                    return Ok(ReplyStep::Head(used, head));
                }
            }
        }
    }
}

enum Head {
    Interim,
    Final(ReplyHead),
}

impl Head {
    /// The public form of a complete head.
    fn of(reader: &HeadReader, to: To) -> Result<Self, ReplyError> {
        if reader.bytes > MAX_HEAD_BYTES {
            return Err(ReplyError::HeadTooLarge);
        }
        let (status, version) = reader.status.ok_or(ReplyError::Syntax)?;
        match status {
            101 => return Err(ReplyError::Upgrade),
            100..=199 => return Ok(Self::Interim),
            200..=999 => {}
            _ => return Err(ReplyError::Syntax),
        }
        let fields = &reader.fields;
        let framing = match to {
            To::Connect if status < 300 => Framing::None,
            _ => fields.framing(status, to == To::Head)?,
        };
        let persistent = match version {
            HttpVersion::Http11 => !fields.close,
            HttpVersion::Http10 => fields.keep_alive && !fields.close,
        };
        Ok(Self::Final(ReplyHead {
            status,
            version,
            framing,
            content_length: fields.length,
            coding: fields.coding,
            keep_alive: persistent && framing != Framing::UntilClose,
            head_bytes: reader.bytes as u64,
        }))
    }
}

/// Up to the next body bytes of the chunked coding, or to its end.
fn chunk(chunked: &mut Chunked, input: &[u8]) -> Result<ReplyStep, ReplyError> {
    let mut skip = 0;
    while skip < input.len() {
        match chunked.next(&input[skip..]) {
            Found::Framing(n) => skip += n,
            Found::Body(len) => return Ok(ReplyStep::Body { skip, len }),
            Found::End(n) => return Ok(ReplyStep::End(skip + n)),
            Found::Broken => return Err(ReplyError::Chunk),
        }
    }
    Ok(ReplyStep::Body { skip, len: 0 })
}
