//! Head of a reply: its grammar, and the few fields that a client reads.
//!
//! Measuring side above all, hot, reads untrusted input: no panics, no allocation. Owns the grammar of heads and what
//! they say of a reply's end; reading on behind them is `reply`'s. Lines that were read are not read again when a head comes in pieces. It lets through the deviations
//! from RFC 9112 that `httparse` lets through (bare line feeds, empty lines before the status line, a missing reason
//! phrase); the tests compare the two.

use super::{ContentCoding, MAX_HEAD_BYTES, MAX_HEADERS, content_length, has_token, scan};

/// The end of a reply's body (RFC 9112 section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// There is none: HEAD, 204, 304.
    None,
    /// After so many bytes.
    Length(u64),
    /// With the last chunk.
    Chunked,
    /// With the connection.
    UntilClose,
}

/// Minor version of HTTP/1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpVersion {
    /// HTTP/1.0
    Http10,
    /// HTTP/1.1
    Http11,
}

/// Error in the bytes of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplyError {
    /// The status line or a header line breaks the grammar.
    #[error("the reply's head is not HTTP/1.1")]
    Syntax,
    /// More than [`MAX_HEAD_BYTES`] or [`MAX_HEADERS`].
    #[error("the reply's head is larger than {MAX_HEAD_BYTES} bytes or {MAX_HEADERS} lines")]
    HeadTooLarge,
    /// A malformed length, or two that differ, or one beside chunked.
    #[error("the reply's length is ambiguous")]
    Length,
    /// A transfer coding other than chunked.
    #[error("the reply has a transfer coding other than chunked")]
    Coding,
    /// The chunked coding is broken.
    #[error("the reply's chunked coding is broken")]
    Chunk,
    /// 101 to a client that asked for no upgrade.
    #[error("the reply switches protocols unasked")]
    Upgrade,
}

/// The lines of a head that have been read.
#[derive(Clone, Debug, Default)]
pub(super) struct HeadReader {
    /// Bytes of those lines.
    pub(super) bytes: usize,
    /// From the status line; `None` when that is still to come.
    pub(super) status: Option<(u16, HttpVersion)>,
    /// From the field lines.
    pub(super) fields: Fields,
    field_lines: usize,
}

/// The reason for which a line cannot be read.
enum Stop {
    /// It is not all there.
    Partial,
    /// It breaks the grammar, whatever follows.
    Syntax,
}

impl HeadReader {
    /// Reads on in `head`, which starts where the head starts; returns whether it is complete. Then `bytes` is its
    /// length.
    #[inline]
    pub(super) fn read(&mut self, head: &[u8]) -> Result<bool, ReplyError> {
        match self.lines(head) {
            Ok(()) if self.field_lines > MAX_HEADERS => Err(ReplyError::HeadTooLarge),
            Ok(()) => Ok(true),
            Err(Stop::Partial) => Ok(false),
            Err(Stop::Syntax) => Err(ReplyError::Syntax),
        }
    }

    #[inline]
    fn lines(&mut self, head: &[u8]) -> Result<(), Stop> {
        let mut rest = head.get(self.bytes..).unwrap_or_default();
        let result = self.start(&mut rest).and_then(|()| self.section(&mut rest));
        self.bytes = head.len() - rest.len();
        result
    }

    /// The status line, if it was not read yet.
    #[inline]
    fn start(&mut self, rest: &mut &[u8]) -> Result<(), Stop> {
        if self.status.is_none() {
            while let [b'\r' | b'\n', ..] = rest {
                *rest = line_end(rest)?;
            }
            let (status, behind) = status_line(rest)?;
            self.status = Some(status);
            *rest = behind;
        }
        Ok(())
    }

    /// The header section up to its empty line, or to the line that is one too many.
    #[inline]
    fn section(&mut self, rest: &mut &[u8]) -> Result<(), Stop> {
        while self.field_lines <= MAX_HEADERS {
            let behind = scan::past_token(rest);
            let name_bytes = rest.len() - behind.len();
            let [b':', value @ ..] = behind else {
                if name_bytes == 0 {
                    *rest = line_end(behind)?;
                    return Ok(());
                }
                return Err(if behind.is_empty() { Stop::Partial } else { Stop::Syntax });
            };
            if name_bytes == 0 {
                return Err(Stop::Syntax);
            }
            let end = scan::past_text(value);
            let next = line_end(end)?;
            // Lengths first: most names are told apart without looking at a letter.
            if matches!(name_bytes, 10 | 14 | 16 | 17) {
                self.fields.read(&rest[..name_bytes], &value[..value.len() - end.len()]);
            }
            self.field_lines += 1;
            *rest = next;
        }
        Ok(())
    }
}

/// Length of `HTTP/1.1 200`.
const START_BYTES: usize = 12;
const HTTP_1_0: u64 = u64::from_le_bytes(*b"HTTP/1.0");
const HTTP_1_1: u64 = u64::from_le_bytes(*b"HTTP/1.1");

/// The status line at the start of `line`, and the bytes behind it.
#[inline]
fn status_line(line: &[u8]) -> Result<((u16, HttpVersion), &[u8]), Stop> {
    let Some((start, rest)) = line.split_first_chunk::<START_BYTES>() else {
        let right = line.iter().enumerate().all(|(place, &byte)| starts(place, byte));
        return Err(if right { Stop::Partial } else { Stop::Syntax });
    };
    let [version @ .., space, hundreds, tens, ones] = *start;
    // As one number, which is compared at once and not byte by byte.
    let version = match u64::from_le_bytes(version) {
        HTTP_1_1 => HttpVersion::Http11,
        HTTP_1_0 => HttpVersion::Http10,
        _ => return Err(Stop::Syntax),
    };
    if space != b' ' || !(hundreds.is_ascii_digit() && tens.is_ascii_digit() && ones.is_ascii_digit()) {
        return Err(Stop::Syntax);
    }
    let digit = |digit: u8| u16::from(digit - b'0');
    let status = digit(hundreds) * 100 + digit(tens) * 10 + digit(ones);
    match rest {
        [] => Err(Stop::Partial),
        // The phrase may be empty, or missing together with its space.
        [b' ' | b'\r' | b'\n', ..] => Ok(((status, version), line_end(scan::past_text(rest))?)),
        _ => Err(Stop::Syntax),
    }
}

/// Whether a status line may have this byte there.
fn starts(place: usize, byte: u8) -> bool {
    match place {
        0..=6 => byte == b"HTTP/1."[place],
        7 => matches!(byte, b'0' | b'1'),
        8 => byte == b' ',
        _ => byte.is_ascii_digit(),
    }
}

/// The bytes behind the line's end that is at the start of `bytes`.
#[inline]
const fn line_end(bytes: &[u8]) -> Result<&[u8], Stop> {
    match bytes {
        [b'\r', b'\n', behind @ ..] | [b'\n', behind @ ..] => Ok(behind),
        [] | [b'\r'] => Err(Stop::Partial),
        _ => Err(Stop::Syntax),
    }
}

/// The header fields that decide framing, and the coding of the body.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields {
    /// `Content-Length`.
    pub(super) length: Option<u64>,
    chunked: bool,
    /// `Connection: close`.
    pub(super) close: bool,
    /// `Connection: keep-alive`.
    pub(super) keep_alive: bool,
    /// `Content-Encoding`.
    pub(super) coding: ContentCoding,
    /// The first fault of them. It counts when the head is complete, and final.
    wrong: Option<ReplyError>,
}

impl Fields {
    #[inline(never)]
    fn read(&mut self, name: &[u8], value: &[u8]) {
        if same(name, b"connection") {
            self.connection(value);
        } else if same(name, b"content-length") {
            self.content_length(value);
        } else if same(name, b"transfer-encoding") {
            self.transfer_encoding(value);
        } else if same(name, b"content-encoding") {
            self.coding.read(value);
        }
    }

    fn content_length(&mut self, value: &[u8]) {
        match content_length(value) {
            Some(length) if self.length.is_none_or(|before| before == length) => self.length = Some(length),
            _ => self.is_wrong(ReplyError::Length),
        }
    }

    fn transfer_encoding(&mut self, value: &[u8]) {
        if self.chunked || !value.trim_ascii().eq_ignore_ascii_case(b"chunked") {
            self.is_wrong(ReplyError::Coding);
        }
        self.chunked = true;
    }

    fn connection(&mut self, value: &[u8]) {
        match value {
            // As nginx and Apache write them.
            b" keep-alive" | b" Keep-Alive" => self.keep_alive = true,
            b" close" => self.close = true,
            _ => {
                self.close |= has_token(value, b"close");
                self.keep_alive |= has_token(value, b"keep-alive");
            }
        }
    }

    fn is_wrong(&mut self, error: ReplyError) {
        self.wrong.get_or_insert(error);
    }

    /// RFC 9112 section 6.3, in its order. Both lengths at once is the mark of smuggling: no honest server under test
    /// sends it, so it is an error and not a preference.
    #[inline]
    pub(super) fn framing(&self, status: u16, to_head: bool) -> Result<Framing, ReplyError> {
        if let Some(error) = self.wrong {
            return Err(error);
        }
        if to_head || status == 204 || status == 304 {
            return Ok(Framing::None);
        }
        match (self.chunked, self.length) {
            (true, Some(_)) => Err(ReplyError::Length),
            (true, None) => Ok(Framing::Chunked),
            (false, Some(length)) => Ok(Framing::Length(length)),
            (false, None) => Ok(Framing::UntilClose),
        }
    }
}

/// Whether a field has this name, which is in lower case, in any case.
#[inline]
fn same<const BYTES: usize>(name: &[u8], lower: &[u8; BYTES]) -> bool {
    // Of the bytes of a token the lower case of a letter, or a hyphen, comes of nothing else.
    name.len() == BYTES && name.iter().zip(lower).fold(0, |differs, (a, b)| differs | ((a | 0x20) ^ b)) == 0
}
