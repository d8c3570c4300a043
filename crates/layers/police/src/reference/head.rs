//! HTTP request heads in TCP segments: whether one begins, whether it is plain, and where the next can begin.
//!
//! Measured side, pure, fed by strangers. Strict: a head that two servers could read in two ways is not plain. Reads
//! no more than [`READ`] bytes, so the rest of a longer head is assumed to be one whole head without a body.

use crate::rules::not_plain;
use crate::rules::table::READ;
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
    /// A body of unknown length: chunked, or not stated within the part that is read.
    Unseen,
    /// A server's reading of it is unknown: split, pipelined, or of another form.
    Odd,
}

/// The longest method.
const METHOD_MAX: usize = 15;
/// Digits of a Content-Length: lengths stay below 2^30, as sequence numbers are compared within 2^31.
const DIGITS_MAX: usize = 9;

/// Whether a segment begins like a request: with capital letters and a space or, as some servers accept, a tab, or it
/// ends before that; or with an end of line, which servers skip.
pub fn begins(payload: &[u8]) -> bool {
    let letters = payload.iter().take(METHOD_MAX + 1).take_while(|byte| byte.is_ascii_uppercase()).count();
    match payload.get(letters) {
        Some(b'\r' | b'\n') => letters == 0,
        Some(b' ' | b'\t') => (1..=METHOD_MAX).contains(&letters),
        Some(_) => false,
        None => (1..=METHOD_MAX).contains(&letters),
    }
}

/// Reads the head of a request that begins a segment.
pub fn head(payload: &[u8]) -> SegmentHead<'_> {
    let read = payload.get(..READ).unwrap_or(payload);
    let odd = |after| SegmentHead { plain: None, after };
    let Some((method, behind)) = method(read) else { return odd(After::Odd) };
    let cut = Cut { more: payload.len() > READ, body: has_body(method) };
    let Some(end) = behind.iter().position(|byte| !byte.is_ascii_graphic()) else { return odd(cut.odd()) };
    let (target, behind) = behind.split_at(end);
    let plain = plain_path(target);
    let (version, crlf) = (b" HTTP/1.", b"\r\n");
    let Some(behind) = expect(behind, version) else { return odd(After::Odd) };
    if behind.is_none() {
        return odd(cut.odd());
    }
    let behind = behind.unwrap_or_default();
    let behind = match behind.split_first() {
        Some((b'0' | b'1', behind)) => expect(behind, crlf),
        Some(_) => None,
        None => Some(None),
    };
    match behind {
        None => odd(After::Odd),
        Some(None) => cut.head(plain),
        Some(Some(behind)) => fields(payload.len(), read.len() - behind.len(), behind, plain, &cut),
    }
}

/// A head that ends beyond the part that is read.
struct Cut {
    /// The segment is longer than the part that is read.
    more: bool,
    /// Its method has a body.
    body: bool,
}

impl Cut {
    /// Next data, if the head itself is odd.
    const fn odd(&self) -> After {
        match (self.more, self.body) {
            (false, _) => After::Odd,
            (true, true) => After::Unseen,
            (true, false) => After::Head,
        }
    }

    /// The head: one that is not whole in the segment is split, and odd.
    fn head<'p>(&self, plain: Option<&'p [u8]>) -> SegmentHead<'p> {
        SegmentHead { plain: plain.filter(|_| self.more), after: self.odd() }
    }
}

/// The bytes behind a word; `Some(None)` if they end within it, `None` if they differ.
fn expect<'p>(bytes: &'p [u8], word: &[u8]) -> Option<Option<&'p [u8]>> {
    match bytes.strip_prefix(word) {
        Some(behind) => Some(Some(behind)),
        None => word.starts_with(bytes).then_some(None),
    }
}

/// The method, and the bytes behind its space.
fn method(read: &[u8]) -> Option<(&[u8], &[u8])> {
    let letters = read.iter().take_while(|byte| byte.is_ascii_uppercase()).count();
    let (method, behind) = read.split_at(letters);
    let behind = behind.strip_prefix(b" ")?;
    (1..=METHOD_MAX).contains(&letters).then_some((method, behind))
}

const fn has_body(method: &[u8]) -> bool {
    matches!(method, b"POST" | b"PUT" | b"PATCH")
}

/// The path of an unambiguous target.
fn plain_path(target: &[u8]) -> Option<&[u8]> {
    let path = target.split(|byte| *byte == b'?').next().unwrap_or(target);
    not_plain(path).is_none().then_some(path)
}

/// Body according to the fields.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Body {
    Unsaid,
    Length(u32),
    Unclear,
}

/// Goes through the fields, which begin at `at`.
fn fields<'p>(
    payload: usize,
    mut at: usize,
    mut behind: &[u8],
    plain: Option<&'p [u8]>,
    cut: &Cut,
) -> SegmentHead<'p> {
    let odd = SegmentHead { plain: None, after: After::Odd };
    let mut body = Body::Unsaid;
    loop {
        let Some(end) = behind.iter().position(|byte| matches!(byte, b'\r' | b'\n')) else {
            return cut.head(plain);
        };
        let (line, ending) = behind.split_at(end);
        match expect(ending, b"\r\n") {
            None => return odd,
            Some(None) => return cut.head(plain),
            Some(Some(next)) => behind = next,
        }
        at += end + 2;
        if line.is_empty() {
            return whole(payload, at, body, plain, cut);
        }
        if line.starts_with(b" ") || line.starts_with(b"\t") {
            return odd;
        }
        body = said(body, line);
    }
}

/// State of the body after one more field.
fn said(before: Body, line: &[u8]) -> Body {
    let begins = |name: &[u8]| line.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name));
    if begins(b"transfer-encoding") {
        return Body::Unclear;
    }
    let name = b"content-length";
    if !begins(name) {
        return before;
    }
    let value = line.get(name.len()..).and_then(|value| value.strip_prefix(b":")).unwrap_or_default();
    let value = std::str::from_utf8(value).unwrap_or_default().trim_matches([' ', '\t']);
    let digits = value.len() <= DIGITS_MAX && value.bytes().all(|byte| byte.is_ascii_digit());
    let length = value.parse().ok().filter(|_| digits);
    match (before, length) {
        (Body::Unsaid, Some(length)) => Body::Length(length),
        _ => Body::Unclear,
    }
}

/// Result for a head that was read to its end, `at`.
fn whole<'p>(payload: usize, at: usize, body: Body, plain: Option<&'p [u8]>, cut: &Cut) -> SegmentHead<'p> {
    let more = (payload - at) as u64;
    let odd = SegmentHead { plain: None, after: After::Odd };
    let length = match body {
        Body::Unsaid => 0,
        Body::Length(length) if cut.body => length,
        Body::Unclear if cut.body => return SegmentHead { plain, after: After::Unseen },
        _ => return odd,
    };
    match more.cmp(&u64::from(length)) {
        Ordering::Less => SegmentHead { plain, after: After::Body(at as u32 + length) },
        Ordering::Equal => SegmentHead { plain, after: After::Head },
        Ordering::Greater => odd,
    }
}
