//! Site: the object of a request, and the answer about it, in either protocol.
//!
//! Hot: no allocation, but for paths with an escape whose decoded form is longer than any before.

use crate::range::{Part, Range};
use bakeoff_content::{Body, Catalogue, MODIFIED_SECS, ObjectId};
use bakeoff_wire::digits::{decimal, parse_hex16};
use bakeoff_wire::http1::{ServerMethod, parse_http_date};

/// A request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SiteRequest<'a> {
    pub(crate) method: ServerMethod,
    pub(crate) target: &'a [u8],
    pub(crate) if_modified_since: Option<&'a [u8]>,
    pub(crate) if_none_match: Option<&'a [u8]>,
    pub(crate) range: Option<&'a [u8]>,
}

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// 200
    Whole(Piece),
    /// 206, and the length of the whole.
    Part(Piece, u64),
    /// 304
    NotModified,
    /// 404
    NotFound,
    /// 405
    NotAllowed,
}

/// A stretch of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) body: Body,
    /// Of the body; before `end` unless there is nothing.
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl Piece {
    pub(crate) const fn of(body: Body) -> Self {
        Self { body, start: 0, end: body.len() }
    }

    pub(crate) fn nothing() -> Self {
        Self::of(Body::new(ObjectId::of_name(b""), 0))
    }

    pub(crate) const fn len(&self) -> u64 {
        self.end - self.start
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Takes at most so many bytes from the front: fewer where they do not lie in one piece.
    pub(crate) fn take(&mut self, at_most: usize) -> &'static [u8] {
        let bytes = self.body.from(self.start);
        let left = usize::try_from(self.len()).unwrap_or(usize::MAX);
        let bytes = &bytes[..bytes.len().min(left).min(at_most)];
        self.start += bytes.len() as u64;
        bytes
    }
}

/// The number in the tag of its object.
pub(crate) fn tag_of(piece: &Piece) -> u64 {
    piece.body.id().get()
}

/// Whether a list as of `If-None-Match` has the tag of this object, weak or strong (RFC 9110 section 13.1.2), or `*`.
pub(crate) fn has_tag_of(list: &[u8], piece: &Piece) -> bool {
    list.split(|&byte| byte == b',').map(<[u8]>::trim_ascii).any(|tag| {
        let strong = tag.strip_prefix(b"W/").unwrap_or(tag);
        let bare = strong.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
        tag == b"*" || bare.and_then(parse_hex16) == Some(tag_of(piece))
    })
}

/// All objects that are served. Only read, so that threads share it.
#[derive(Debug)]
pub(crate) struct Site {
    catalogue: Catalogue,
}

impl Site {
    pub(crate) const fn new(catalogue: Catalogue) -> Self {
        Self { catalogue }
    }

    /// The answer to a request. `scratch` is memory for decoded paths, used again and again.
    pub(crate) fn answer(&self, asked: &SiteRequest<'_>, scratch: &mut Vec<u8>) -> Answer {
        if !matches!(asked.method, ServerMethod::Get | ServerMethod::Head) {
            return Answer::NotAllowed;
        }
        let Some(body) = self.find(asked.target, scratch) else { return Answer::NotFound };
        // A tag goes before a date (RFC 9110 section 13.2.2).
        let is_the_same = match asked.if_none_match {
            Some(tags) => has_tag_of(tags, &Piece::of(body)),
            None => not_modified(asked.if_modified_since),
        };
        if is_the_same {
            return Answer::NotModified;
        }
        match asked.range.and_then(Range::parse).map(|range| range.of(body.len())) {
            Some(Part::Bytes(start, end)) => Answer::Part(Piece { body, start, end }, body.len()),
            // A server may take no notice of a range (RFC 9110 section 14.2), so of one outside of the body, too.
            Some(Part::Nothing) | None => Answer::Whole(Piece::of(body)),
        }
    }

    /// The object of a request target: `/bytes/N`, or the catalogue's object at the path.
    fn find(&self, target: &[u8], scratch: &mut Vec<u8>) -> Option<Body> {
        let path = path_of(target);
        if let Some(digits) = path.strip_prefix(b"/bytes/") {
            return Some(Body::new(ObjectId::of_name(path), decimal(digits)?));
        }
        if !path.contains(&b'%') {
            return self.catalogue.get(path);
        }
        decode(path, scratch)?;
        self.catalogue.get(scratch)
    }
}

/// The path of a request target, which may be a whole URL (RFC 9112 section 3.2.2).
pub(crate) fn path_of(target: &[u8]) -> &[u8] {
    let mut path = target.split(|&byte| byte == b'?').next().unwrap_or(target);
    if !path.starts_with(b"/") {
        let authority = path.strip_prefix(b"http://").or(path.strip_prefix(b"https://"));
        if let Some(rest) = authority {
            path = rest.iter().position(|&byte| byte == b'/').map_or(b"/", |slash| &rest[slash..]);
        }
    }
    path
}

fn not_modified(since: Option<&[u8]>) -> bool {
    since.and_then(parse_http_date).is_some_and(|since| since >= MODIFIED_SECS)
}

/// The path without its escapes.
fn decode(path: &[u8], decoded: &mut Vec<u8>) -> Option<()> {
    decoded.clear();
    let mut bytes = path.iter();
    while let Some(&byte) = bytes.next() {
        if byte == b'%' {
            let digit = |byte: &u8| (*byte as char).to_digit(16);
            let (high, low) = (digit(bytes.next()?)?, digit(bytes.next()?)?);
            decoded.push((high * 16 + low) as u8);
        } else {
            decoded.push(byte);
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_the_body_is_a_part_and_any_other_the_whole() {
        let site = Site::new(Catalogue::default());
        let answer = |range: &'static str| {
            let asked = SiteRequest {
                method: ServerMethod::Get,
                target: b"/bytes/100",
                if_modified_since: None,
                if_none_match: None,
                range: Some(range.as_bytes()),
            };
            match site.answer(&asked, &mut Vec::new()) {
                Answer::Part(piece, 100) => Some((piece.start, piece.end)),
                Answer::Whole(piece) if piece.len() == 100 => None,
                other => panic!("{range}: {other:?}"),
            }
        };
        for (range, part) in [
            ("bytes=0-9", Some((0, 10))),
            ("bytes=-5", Some((95, 100))),
            ("bytes=100-", None),
            ("bytes=0-1,3-4", None),
        ] {
            assert_eq!(answer(range), part, "{range}");
        }
    }

    #[test]
    fn decoding_refuses_what_is_cut_off() {
        let mut decoded = Vec::new();
        assert_eq!((decode(b"/a%20b", &mut decoded), decoded.as_slice()), (Some(()), &b"/a b"[..]));
        assert_eq!(decode(b"/a%2", &mut decoded), None);
        assert_eq!(decode(b"/a%zz", &mut decoded), None);
    }

    #[test]
    fn numbers_are_digits_alone() {
        assert_eq!(decimal(b"18446744073709551615"), Some(u64::MAX));
        for wrong in [&b""[..], b"+5", b"-1", b"5x", b"18446744073709551616"] {
            assert_eq!(decimal(wrong), None);
        }
    }

    #[test]
    fn a_piece_is_taken_to_its_end_across_the_pools() {
        let mut piece =
            Piece { body: Body::new(ObjectId::of_name(b"/x"), 9_000_000), start: 5, end: 8_999_999 };
        let mut at = 5;
        while !piece.is_empty() {
            let bytes = piece.take(1_000_000);
            assert!(!bytes.is_empty() && piece.body.matches(at, bytes));
            at += bytes.len() as u64;
        }
        assert_eq!(at, 8_999_999);
    }
}
