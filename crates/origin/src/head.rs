//! Heads of replies of HTTP/1.1, put together from prepared pieces.
//!
//! Hot: three copies and the digits of a length; nothing is formatted.

use crate::site::Answer;
use bakeoff_content::LAST_MODIFIED;
use bakeoff_wire::digits::push_decimal;

/// The header line that says whether the connection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Going {
    /// It is understood that it does.
    On,
    /// A client of HTTP/1.0 wants to be told.
    OnAsAsked,
    /// It ends.
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

/// What stands behind the length, prepared once.
#[derive(Clone, Debug)]
pub(crate) struct Heads {
    /// The end of the line before, and when the object was modified.
    modified: Vec<u8>,
    /// The same with the end of the head.
    modified_end: Vec<u8>,
}

impl Heads {
    pub(crate) fn new() -> Self {
        let modified = format!("\r\nLast-Modified: {LAST_MODIFIED}\r\n");
        Self { modified_end: format!("{modified}\r\n").into(), modified: modified.into() }
    }

    pub(crate) fn write(&self, answer: &Answer, going: Going, head: &mut Vec<u8>) {
        match answer {
            Answer::Whole(piece) => {
                head.extend_from_slice(WHOLE);
                push_decimal(piece.len(), head);
                if going == Going::On {
                    return head.extend_from_slice(&self.modified_end);
                }
                head.extend_from_slice(&self.modified);
            }
            Answer::Part(piece, whole) => {
                head.extend_from_slice(PART);
                push_decimal(piece.len(), head);
                head.extend_from_slice(&self.modified);
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
        head.extend_from_slice(going.line());
        head.extend_from_slice(b"\r\n");
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
    use crate::site::Piece;
    use bakeoff_content::{Body, ObjectId};

    fn head(answer: Answer, going: Going) -> String {
        let mut head = Vec::new();
        Heads::new().write(&answer, going, &mut head);
        String::from_utf8(head).unwrap()
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
