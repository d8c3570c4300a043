//! Reply heads of HTTP/1.1, put together from prepared pieces.
//!
//! Hot: three copies and the digits of a length; nothing is formatted.

use crate::site::{Answer, Piece, tag_of};
use bakeoff_content::LAST_MODIFIED;
use bakeoff_units::Nanos;
use bakeoff_wire::digits::{push_decimal, push_hex16};
use bakeoff_wire::stamp;

/// The header line on whether the connection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Going {
    /// None: by default it does.
    On,
    /// A keep-alive line, for a client of HTTP/1.0.
    OnAsAsked,
    /// A close line.
    End,
}

impl Going {
    pub(crate) const fn line(self) -> &'static [u8] {
        match self {
            Self::On => b"",
            Self::OnAsAsked => b"Connection: keep-alive\r\n",
            Self::End => b"Connection: close\r\n",
        }
    }
}

const WHOLE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: ";
const PART: &[u8] =
    b"HTTP/1.1 206 Partial Content\r\nContent-Type: application/octet-stream\r\nContent-Length: ";
const NOT_MODIFIED: &[u8] = b"HTTP/1.1 304 Not Modified";
const NOT_FOUND: &[u8] = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n";
const NOT_ALLOWED: &[u8] = b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\nAllow: GET, HEAD\r\n";

/// Caching directives of replies about a site, for a cache before the origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForCaches {
    /// They are fresh for so long, in whole seconds; `ETag` stands beside `Last-Modified`.
    pub max_age: Nanos,
}

/// The lines behind the length, prepared once.
#[derive(Clone, Debug)]
pub(crate) struct Heads {
    /// The end of the line before, the modification date, and the lifetime.
    modified: Vec<u8>,
    /// The same with the end of the head.
    modified_end: Vec<u8>,
    /// Numbers of replies, where a cache stands before the origin.
    serials: Option<Serials>,
}

/// Numbers that no two replies of an origin have: each of its threads counts in steps of their number.
#[derive(Clone, Copy, Debug)]
struct Serials {
    next: u64,
    step: u64,
}

impl Heads {
    /// For replies without a directive for caches but the modification date.
    pub(crate) fn new() -> Self {
        Self::with(&format!("\r\nLast-Modified: {LAST_MODIFIED}\r\n"), None)
    }

    /// For replies that a cache may keep, by the `thread`-th of so many threads.
    pub(crate) fn for_caches(caches: ForCaches, thread: usize, threads: usize) -> Self {
        let seconds = caches.max_age.whole_secs();
        let lines =
            format!("\r\nLast-Modified: {LAST_MODIFIED}\r\nCache-Control: public, max-age={seconds}\r\n");
        Self::with(&lines, Some(Serials { next: thread as u64 + 1, step: threads.max(1) as u64 }))
    }

    fn with(modified: &str, serials: Option<Serials>) -> Self {
        Self { modified_end: format!("{modified}\r\n").into(), modified: modified.into(), serials }
    }

    pub(crate) fn write(&mut self, answer: &Answer, going: Going, head: &mut Vec<u8>) {
        match answer {
            Answer::Whole(piece) => {
                head.extend_from_slice(WHOLE);
                push_decimal(piece.len(), head);
                if going == Going::On && self.serials.is_none() {
                    return head.extend_from_slice(&self.modified_end);
                }
                head.extend_from_slice(&self.modified);
                self.push_tag(piece, head);
            }
            Answer::Part(piece, whole) => {
                head.extend_from_slice(PART);
                push_decimal(piece.len(), head);
                head.extend_from_slice(&self.modified);
                self.push_tag(piece, head);
                head.extend_from_slice(b"Content-Range: ");
                push_range(piece.start, piece.end, *whole, head);
                head.extend_from_slice(b"\r\n");
            }
            Answer::NotModified => {
                head.extend_from_slice(NOT_MODIFIED);
                head.extend_from_slice(&self.modified);
            }
            Answer::NotFound => head.extend_from_slice(NOT_FOUND),
            Answer::NotAllowed => head.extend_from_slice(NOT_ALLOWED),
        }
        if !matches!(answer, Answer::NotModified) {
            self.push_serial(head);
        }
        head.extend_from_slice(going.line());
        head.extend_from_slice(b"\r\n");
    }

    fn push_tag(&self, piece: &Piece, head: &mut Vec<u8>) {
        if self.serials.is_some() {
            head.extend_from_slice(b"ETag: \"");
            push_hex16(tag_of(piece), head);
            head.extend_from_slice(b"\"\r\n");
        }
    }

    fn push_serial(&mut self, head: &mut Vec<u8>) {
        let Some(serials) = &mut self.serials else { return };
        head.extend_from_slice(stamp::NAME.as_bytes());
        head.extend_from_slice(b": ");
        stamp::write_serial(serials.next, head);
        head.extend_from_slice(b"\r\n");
        serials.next += serials.step;
    }
}

/// The reply to bytes that are no request; the connection ends with it.
pub(crate) fn refuse(status: &str, head: &mut Vec<u8>) {
    head.extend_from_slice(b"HTTP/1.1 ");
    head.extend_from_slice(status.as_bytes());
    head.extend_from_slice(b"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
}

/// The value of `Content-Range` for `start..end`.
pub(crate) fn push_range(start: u64, end: u64, whole: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(b"bytes ");
    push_decimal(start, out);
    out.push(b'-');
    push_decimal(end - 1, out);
    out.push(b'/');
    push_decimal(whole, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::has_tag_of;
    use bakeoff_content::{Body, ObjectId};

    fn head(answer: Answer, going: Going) -> String {
        let mut head = Vec::new();
        Heads::new().write(&answer, going, &mut head);
        String::from_utf8(head).unwrap()
    }

    #[test]
    fn for_caches_replies_have_a_lifetime_a_tag_and_numbers_of_their_own() {
        let piece = Piece::of(Body::new(ObjectId::of_name(b"/a"), 1000));
        let mut heads = Heads::for_caches(ForCaches { max_age: Nanos::from_secs(3600) }, 1, 4);
        let mut write = |answer| {
            let mut head = Vec::new();
            heads.write(&answer, Going::On, &mut head);
            String::from_utf8(head).unwrap()
        };
        let first = write(Answer::Whole(piece));
        let tag = first.split("ETag: ").nth(1).unwrap().split("\r\n").next().unwrap().to_owned();
        assert!(has_tag_of(format!("\"x\", W/{tag}").as_bytes(), &piece) && has_tag_of(b"*", &piece));
        assert!(!has_tag_of(b"\"0000000000000000\"", &piece));
        assert!(first.contains("\r\nCache-Control: public, max-age=3600\r\n"), "{first}");
        let serials = [first, write(Answer::NotFound), write(Answer::Whole(piece))];
        assert_eq!(serials.map(|head| stamp::serial_of(head.as_bytes())), [Some(2), Some(6), Some(10)]);
        assert_eq!(
            stamp::serial_of(write(Answer::NotModified).as_bytes()),
            None,
            "the stored one keeps its own"
        );
    }

    #[test]
    fn heads_are_what_they_always_were() {
        let piece = Piece::of(Body::new(ObjectId::of_name(b"/a"), 1000));
        let ok = "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: 1000\r\n\
            Last-Modified: Sun, 17 May 2015 10:05:03 GMT\r\n";
        assert_eq!(head(Answer::Whole(piece), Going::On), format!("{ok}\r\n"));
        assert_eq!(head(Answer::Whole(piece), Going::End), format!("{ok}Connection: close\r\n\r\n"));
        let part = Answer::Part(Piece { start: 3, end: 10, ..piece }, 1000);
        let partial = ok.replace("200 OK", "206 Partial Content").replace("1000", "7");
        let said = format!("{partial}Content-Range: bytes 3-9/1000\r\nConnection: keep-alive\r\n\r\n");
        assert_eq!(head(part, Going::OnAsAsked), said);
        let date = "Last-Modified: Sun, 17 May 2015 10:05:03 GMT";
        assert_eq!(
            head(Answer::NotModified, Going::On),
            format!("HTTP/1.1 304 Not Modified\r\n{date}\r\n\r\n")
        );
        let nothing = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
        assert_eq!(head(Answer::NotFound, Going::On), nothing);
    }
}
