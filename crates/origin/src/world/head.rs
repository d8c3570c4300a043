//! Reply heads for objects of a world.
//!
//! Hot: copies and digits, nothing is allocated.

use super::request::{Request, Verdict};
use crate::head::{Going, push_range};
use bakeoff_content::world::Version;
use bakeoff_wire::digits::{push_decimal, push_hex16};
use bakeoff_wire::http1::http_date_bytes;
use bakeoff_wire::stamp::{OriginAction, ReplyStamp, Words};
use std::time::{SystemTime, UNIX_EPOCH};

/// Largest `max-age` that caches have to understand (RFC 9111 section 1.2.2).
const MAX_AGE_AT_MOST: u64 = (1 << 31) - 1;

/// The form of the object in a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// The only one.
    Only,
    /// Uncoded, where it exists in gzip, too.
    Plain,
    /// In gzip.
    Gzip,
}

/// The contents of a head.
pub(super) struct Reply<'a> {
    pub(super) request: &'a Request,
    pub(super) words: &'a Words,
    pub(super) verdict: Verdict,
    /// Whether caches may keep it.
    pub(super) cachable: bool,
    pub(super) version: &'a Version,
    pub(super) form: Form,
    /// Of the whole object, in bytes.
    pub(super) length: u64,
    /// Of its form, in bytes.
    pub(super) form_length: u64,
    pub(super) media_type: &'a str,
    pub(super) id: &'a [u8],
    pub(super) date: &'a [u8],
    pub(super) now_secs: u64,
}

/// Writes the whole head.
pub(super) fn write_head(reply: &Reply<'_>, going: Going, out: &mut Vec<u8>) {
    let status: &[u8] = match reply.verdict {
        Verdict::Whole => b"200 OK",
        Verdict::Part(..) => b"206 Partial Content",
        Verdict::NotModified => b"304 Not Modified",
        Verdict::NotAllowed => b"405 Method Not Allowed",
        Verdict::Failed => b"412 Precondition Failed",
        Verdict::NotSatisfiable => b"416 Range Not Satisfiable",
    };
    start(status, reply.date, out);
    match reply.verdict {
        Verdict::Whole => {
            about_the_object(reply, out);
            if reply.form == Form::Gzip {
                out.extend_from_slice(b"Content-Encoding: gzip\r\n");
            }
            content(reply.media_type, reply.form_length, out);
        }
        Verdict::Part(start, end) => {
            about_the_object(reply, out);
            content(reply.media_type, end - start, out);
            out.extend_from_slice(b"Content-Range: ");
            push_range(start, end, reply.length, out);
            out.extend_from_slice(b"\r\n");
        }
        Verdict::NotModified => about_the_object(reply, out),
        Verdict::NotAllowed => out.extend_from_slice(
            b"Allow: GET, HEAD, POST, PUT\r\nCache-Control: no-store\r\nContent-Length: 0\r\n",
        ),
        Verdict::Failed => out.extend_from_slice(b"Cache-Control: no-store\r\nContent-Length: 0\r\n"),
        Verdict::NotSatisfiable => {
            out.extend_from_slice(b"Content-Range: bytes */");
            push_decimal(reply.length, out);
            out.extend_from_slice(b"\r\nCache-Control: no-store\r\nContent-Length: 0\r\n");
        }
    }
    end(going, out);
}

/// The head of a reply about a name without an object.
pub(super) fn write_not_found(date: &[u8], going: Going, out: &mut Vec<u8>) {
    start(b"404 Not Found", date, out);
    out.extend_from_slice(b"Cache-Control: no-store\r\nContent-Length: 0\r\n");
    end(going, out);
}

/// A whole reply that no cache may keep.
pub(super) fn write_text(status: &[u8], date: &[u8], text: &[u8], going: Going, out: &mut Vec<u8>) {
    start(status, date, out);
    out.extend_from_slice(b"Cache-Control: no-store\r\n");
    content("text/plain", text.len() as u64, out);
    end(going, out);
    out.extend_from_slice(text);
}

fn start(status: &[u8], date: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(status);
    line(b"\r\nDate: ", date, out);
}

fn end(going: Going, out: &mut Vec<u8>) {
    out.extend_from_slice(going.line());
    out.extend_from_slice(b"\r\n");
}

fn line(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(name);
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

fn content(media_type: &str, length: u64, out: &mut Vec<u8>) {
    line(b"Content-Type: ", media_type.as_bytes(), out);
    out.extend_from_slice(b"Content-Length: ");
    push_decimal(length, out);
    out.extend_from_slice(b"\r\n");
}

/// The lines that 200, 206 and 304 share: lifetime, version, and the request that it was made for.
fn about_the_object(reply: &Reply<'_>, out: &mut Vec<u8>) {
    if reply.cachable {
        freshness(reply.version, reply.now_secs, out);
    } else {
        out.extend_from_slice(b"Cache-Control: private, no-cache\r\n");
    }
    // Two forms of an object are equivalent and not the same bytes: the second has a weak tag.
    out.extend_from_slice(match reply.form {
        Form::Only => b"ETag: \"".as_slice(),
        Form::Plain => b"Vary: Accept-Encoding\r\nETag: \"",
        Form::Gzip => b"Vary: Accept-Encoding\r\nETag: W/\"",
    });
    push_hex16(reply.version.etag, out);
    out.extend_from_slice(b"\"\r\n");
    let ask = reply.request.ask;
    let told = if reply.verdict == Verdict::NotModified {
        OriginAction::Valid(ask)
    } else {
        OriginAction::Made(ask)
    };
    out.extend_from_slice(reply.words.field.as_bytes());
    out.extend_from_slice(b": ");
    ReplyStamp { told, object: reply.id, version: reply.version.number, posted: reply.request.upload }
        .write(reply.words, out);
    out.extend_from_slice(b"\r\n");
}

/// Dates, and the same as an age, which counts more.
fn freshness(version: &Version, now_secs: u64, out: &mut Vec<u8>) {
    if let Some(modified) = version.last_modified {
        line(b"Last-Modified: ", &http_date_bytes(modified), out);
    }
    let Some(expires) = version.expires else {
        return out.extend_from_slice(b"Cache-Control: public\r\n");
    };
    line(b"Expires: ", &http_date_bytes(expires), out);
    out.extend_from_slice(b"Cache-Control: public, max-age=");
    push_decimal(expires.saturating_sub(now_secs).min(MAX_AGE_AT_MOST), out);
    out.extend_from_slice(b"\r\n");
}

/// The wall clock in seconds, with its text written once a second.
#[derive(Debug)]
pub(super) struct DateClock {
    secs: u64,
    text: [u8; 29],
}

impl Default for DateClock {
    fn default() -> Self {
        Self { secs: 0, text: http_date_bytes(0) }
    }
}

impl DateClock {
    /// Seconds since 1970 now.
    pub(super) fn look(&mut self) -> u64 {
        // A clock that is set before 1970 says 1970.
        let secs = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        if secs != self.secs {
            *self = Self { secs, text: http_date_bytes(secs) };
        }
        secs
    }

    /// The second of the last look, as `Date` writes it.
    pub(super) const fn text(&self) -> &[u8] {
        &self.text
    }
}
