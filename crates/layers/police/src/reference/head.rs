//! HTTP request heads in TCP segments: whether one is plain, and what comes behind it in its connection.
//!
//! Measured side, pure, fed by strangers. Strict: a head that two servers could read in two ways is not plain. The
//! first line is read within [`READ`] bytes, as is any field; the head may be longer, and go on in later segments.

mod fields;

use crate::rules::not_plain;
use crate::rules::table::READ;
use bakeoff_layers_base::named;
use fields::{Body, Fields, FieldsEnd};
pub use fields::{Broken, BrokenHead};
use std::cmp::Ordering;

/// A request that begins in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentHead<'p> {
    /// The path without its query, where the head is plain.
    pub plain: Option<&'p [u8]>,
    /// Next data after it.
    pub after: After,
}

/// Next data after a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// The next request begins in the next segment.
    Head,
    /// A body, which ends at this offset from the start of the segment: beyond its end.
    Body(u32),
    /// Data that is not read.
    Unread(Unread),
    /// The rest of the head.
    Long(BrokenHead),
    /// A server's reading of it is unknown: split, pipelined, or of another form.
    Odd,
}

named! {
    /// Kind of a connection that is not read any more: the label of its counter.
    pub enum Unread {
        /// It speaks TLS.
        Tls "tls",
        /// It speaks HTTP/2 from its beginning.
        Http2 "http2",
        /// It asked for another protocol.
        Upgrade "upgrade",
        /// It has a body whose end is not known.
        Body "body",
    }
}

impl Unread {
    /// Whether such a connection begins with a request that can be read.
    pub const fn begins_with_head(self) -> bool {
        matches!(self, Self::Upgrade | Self::Body)
    }
}

/// The longest method.
const METHOD_MAX: usize = 15;
const ODD: SegmentHead<'static> = SegmentHead { plain: None, after: After::Odd };

/// Reads the head of a request that begins a segment.
pub fn head(payload: &[u8]) -> SegmentHead<'_> {
    let read = payload.get(..READ).unwrap_or(payload);
    if let Some(kind) = unreadable(read) {
        return SegmentHead { plain: None, after: After::Unread(kind) };
    }
    let Some((method, behind)) = method(read) else { return ODD };
    let has_body = matches!(method, b"POST" | b"PUT" | b"PATCH");
    match first_line(behind) {
        FirstLine::Odd => ODD,
        // A head that a short segment does not hold whole is split.
        FirstLine::Cut(_) if payload.len() <= READ => ODD,
        FirstLine::Cut(plain) => fields(payload, Fields::within_a_line(READ - 1), plain, has_body),
        FirstLine::Whole(plain, behind) => {
            fields(payload, Fields::at(read.len() - behind.len()), plain, has_body)
        }
    }
}

/// Reads on in a head that was broken off by the end of its segment; plain with an empty path unless that is odd.
pub fn rest(payload: &[u8], broken: BrokenHead) -> SegmentHead<'_> {
    fields(payload, Fields::behind(broken), Some(&[]), false)
}

/// TLS records, and the preface of HTTP/2, of which the first line alone is a request to some servers.
fn unreadable(read: &[u8]) -> Option<Unread> {
    match read {
        [0x14..=0x17, 3, ..] => Some(Unread::Tls),
        _ if read.starts_with(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") => Some(Unread::Http2),
        _ => None,
    }
}

/// The method, and the bytes behind its space.
fn method(read: &[u8]) -> Option<(&[u8], &[u8])> {
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    let (method, behind) = read.split_at(read.iter().take_while(|byte| is_token(byte)).count());
    let behind = behind.strip_prefix(b" ")?;
    (1..=METHOD_MAX).contains(&method.len()).then_some((method, behind))
}

/// The first line behind the method.
enum FirstLine<'p> {
    /// The path if it is plain, and the bytes behind the line.
    Whole(Option<&'p [u8]>, &'p [u8]),
    /// It ends beyond what is read.
    Cut(Option<&'p [u8]>),
    Odd,
}

fn first_line(behind: &[u8]) -> FirstLine<'_> {
    let Some(end) = behind.iter().position(|byte| !byte.is_ascii_graphic()) else {
        return FirstLine::Cut(None);
    };
    let (target, behind) = behind.split_at(end);
    let path = target.split(|byte| *byte == b'?').next().unwrap_or(target);
    let plain = not_plain(path).is_none().then_some(path);
    let behind = match expect(behind, b" HTTP/1.") {
        None => return FirstLine::Odd,
        Some(None) => return FirstLine::Cut(None),
        Some(Some(behind)) => behind,
    };
    let ending = match behind {
        [] => return FirstLine::Cut(plain),
        [b'0' | b'1', ending @ ..] => expect(ending, b"\r\n"),
        _ => None,
    };
    match ending {
        None => FirstLine::Odd,
        Some(None) => FirstLine::Cut(plain),
        Some(Some(behind)) => FirstLine::Whole(plain, behind),
    }
}

/// The bytes behind a word; `Some(None)` if they end within it, `None` if they differ.
fn expect<'p>(bytes: &'p [u8], word: &[u8]) -> Option<Option<&'p [u8]>> {
    match bytes.strip_prefix(word) {
        Some(behind) => Some(Some(behind)),
        None => word.starts_with(bytes).then_some(None),
    }
}

/// Goes through the fields, and tells what comes after them.
fn fields<'p>(
    payload: &'p [u8],
    mut fields: Fields,
    plain: Option<&'p [u8]>,
    has_body: bool,
) -> SegmentHead<'p> {
    match fields.read(payload) {
        FieldsEnd::Odd => ODD,
        FieldsEnd::Whole(end) => whole(payload.len(), end, &fields, plain, has_body),
        FieldsEnd::Broken(_) if payload.len() <= READ && !fields.of_broken => ODD,
        FieldsEnd::Broken(_) if has_body => SegmentHead { plain, after: After::Unread(Unread::Body) },
        FieldsEnd::Broken(_) if !matches!(fields.body, Body::Unsaid | Body::Length(0)) => ODD,
        FieldsEnd::Broken(at) => {
            SegmentHead { plain, after: After::Long(BrokenHead { at, upgrade: fields.upgrade }) }
        }
    }
}

/// Result for a head that was read to its end.
fn whole<'p>(
    payload: usize,
    end: usize,
    fields: &Fields,
    plain: Option<&'p [u8]>,
    has_body: bool,
) -> SegmentHead<'p> {
    let length = match fields.body {
        Body::Unsaid | Body::Length(0) => 0,
        Body::Length(length) if has_body => length,
        Body::Unclear if has_body => return SegmentHead { plain, after: After::Unread(Unread::Body) },
        _ => return ODD,
    };
    let after = match ((payload - end) as u64).cmp(&u64::from(length)) {
        Ordering::Greater => return ODD,
        _ if fields.upgrade => After::Unread(Unread::Upgrade),
        Ordering::Less => After::Body(end as u32 + length),
        Ordering::Equal => After::Head,
    };
    SegmentHead { plain, after }
}
