//! From a request's head to the reply's head and body.

use bakeoff_content::{Body, Catalogue, LAST_MODIFIED, MODIFIED_SECS, ObjectId};
use bakeoff_wire::http1::{RequestHead, ServerMethod, parse_http_date};
use std::io::Write as _;

/// A reply that is ready to be sent.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) head: Vec<u8>,
    /// Body bytes to send: from `offset` to `end` of `body`.
    pub(crate) body: Body,
    pub(crate) offset: u64,
    pub(crate) end: u64,
}

/// Decides on replies. Cheap to share: it is only read.
#[derive(Debug)]
pub(crate) struct Responder {
    catalogue: Catalogue,
}

impl Responder {
    pub(crate) fn new(catalogue: Catalogue) -> Self {
        Self { catalogue }
    }

    /// Writes the reply to `request` into `reply`, whose memory is used again. `connection` is the
    /// header line that says whether the connection goes on, empty where that is understood.
    pub(crate) fn respond(&self, request: &RequestHead<'_>, connection: &str, reply: &mut Reply) {
        reply.head.clear();
        let nothing = Body::new(ObjectId::of_name(b""), 0);
        (reply.body, reply.offset, reply.end) = (nothing, 0, 0);
        if request.method == ServerMethod::Other {
            return head(reply, "405 Method Not Allowed", 0, "Allow: GET, HEAD\r\n", connection);
        }
        let Some(body) = self.find(request.target) else {
            return head(reply, "404 Not Found", 0, "", connection);
        };
        if not_modified(request.if_modified_since) {
            return write_head(
                reply,
                format_args!(
                    "HTTP/1.1 304 Not Modified\r\nLast-Modified: {}\r\n{connection}\r\n",
                    LAST_MODIFIED
                ),
            );
        }
        let range = request.range.and_then(|range| single_range(range, body.len()));
        let (start, end) = range.unwrap_or((0, body.len()));
        let (status, more) = match range {
            None => ("200 OK", String::new()),
            Some(_) => (
                "206 Partial Content",
                format!("Content-Range: bytes {start}-{}/{}\r\n", end - 1, body.len()),
            ),
        };
        write_head(
            reply,
            format_args!(
                "HTTP/1.1 {status}\r\nContent-Type: application/octet-stream\r\nContent-Length: {}\r\n\
                 Last-Modified: {}\r\n{more}{connection}\r\n",
                end - start,
                LAST_MODIFIED
            ),
        );
        if request.method == ServerMethod::Get {
            (reply.body, reply.offset, reply.end) = (body, start, end);
        }
    }

    /// The object of a request target: `/bytes/N`, or what the catalogue holds under the path.
    fn find(&self, target: &[u8]) -> Option<Body> {
        let path = path_of(target);
        if let Some(digits) = path.strip_prefix(b"/bytes/") {
            if !digits.iter().all(u8::is_ascii_digit) {
                return None; // a sign would parse
            }
            let length = std::str::from_utf8(digits).ok()?.parse().ok()?;
            return Some(Body::new(ObjectId::of_name(path), length));
        }
        if path.contains(&b'%') {
            self.catalogue.get(&percent_decoded(path)?)
        } else {
            self.catalogue.get(path)
        }
    }
}

/// The path of a request target, which may be a whole URL (RFC 9112 section 3.2.2).
fn path_of(target: &[u8]) -> &[u8] {
    let mut path = target.split(|&byte| byte == b'?').next().unwrap_or(target);
    if !path.starts_with(b"/") {
        let authority = path.strip_prefix(b"http://").or(path.strip_prefix(b"https://"));
        if let Some(rest) = authority {
            path = rest.iter().position(|&byte| byte == b'/').map_or(b"/", |slash| &rest[slash..]);
        }
    }
    path
}

/// The reply to bytes that are no request.
pub(crate) fn refuse(status: &str, reply: &mut Reply) {
    reply.head.clear();
    (reply.offset, reply.end) = (0, 0);
    head(reply, status, 0, "", "Connection: close\r\n");
}

fn head(reply: &mut Reply, status: &str, length: u64, more: &str, close: &str) {
    write_head(reply, format_args!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{more}{close}\r\n"));
}

fn write_head(reply: &mut Reply, head: std::fmt::Arguments<'_>) {
    // Writing into memory does not fail.
    let _ = reply.head.write_fmt(head);
}

fn not_modified(since: Option<&[u8]>) -> bool {
    since.and_then(parse_http_date).is_some_and(|since| since >= MODIFIED_SECS)
}

/// `bytes=a-b`, `bytes=a-` or `bytes=-n` within `length`; anything else is answered with the whole.
fn single_range(range: &[u8], length: u64) -> Option<(u64, u64)> {
    let (from, to) = std::str::from_utf8(range).ok()?.strip_prefix("bytes=")?.split_once('-')?;
    let (start, end) = match (from.trim(), to.trim()) {
        ("", last) => (length.saturating_sub(last.parse().ok()?), length),
        (first, "") => (first.parse().ok()?, length),
        (first, last) => (first.parse().ok()?, last.parse::<u64>().ok()?.saturating_add(1).min(length)),
    };
    (start < end).then_some((start, end))
}

fn percent_decoded(path: &[u8]) -> Option<Vec<u8>> {
    let mut decoded = Vec::with_capacity(path.len());
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
    Some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_are_understood_and_others() {
        for (range, expected) in [
            ("bytes=0-9", Some((0, 10))),
            ("bytes=90-", Some((90, 100))),
            ("bytes=-5", Some((95, 100))),
            ("bytes=90-200", Some((90, 100))),
            ("bytes=100-", None),
            ("bytes=9-0", None),
            ("bytes=0-1,3-4", None),
            ("lines=0-9", None),
            ("bytes=0-18446744073709551615", Some((0, 100))),
        ] {
            assert_eq!(single_range(range.as_bytes(), 100), expected, "{range}");
        }
    }

    #[test]
    fn decoding_refuses_what_is_cut_off() {
        assert_eq!(percent_decoded(b"/a%20b"), Some(b"/a b".to_vec()));
        assert_eq!(percent_decoded(b"/a%2"), None);
        assert_eq!(percent_decoded(b"/a%zz"), None);
    }
}
