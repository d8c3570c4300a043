//! Text of a request: target and header lines, and the reply that is expected.
//!
//! Measuring side, hot: into buffers that are reused.

use super::Flight;
use crate::judge::{Accepts, RequestKind};
use bakeoff_content::Body;
use bakeoff_content::world::{Model, Object};
use bakeoff_wire::digits::push_hex16;
use bakeoff_wire::http1;
use bakeoff_wire::stamp::Words;
use bakeoff_workload::{Expect, Method};

/// The form in which a request names its object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetForm {
    /// By its path: towards an origin, or a reverse proxy.
    Origin,
    /// By its whole URL: towards a forward proxy. The authority, such as `127.0.0.1:8080`, is that of the origin.
    Absolute(String),
}

/// Buffers of one request.
#[derive(Clone, Debug, Default)]
pub(super) struct RequestText {
    pub(super) target: Vec<u8>,
    pub(super) headers: Vec<u8>,
}

impl RequestText {
    /// Writes a request; `unix_secs` is the moment at which it is sent, or almost.
    pub(super) fn write(
        &mut self,
        object: &Object,
        flight: &Flight,
        (model, form, words): (&Model, &TargetForm, &Words),
        unix_secs: u64,
    ) {
        self.target.clear();
        if let TargetForm::Absolute(authority) = form {
            self.target.extend_from_slice(b"http://");
            self.target.extend_from_slice(authority.as_bytes());
        }
        object.name.write_path(model, &mut self.target);
        self.headers.clear();
        self.headers.extend_from_slice(words.field.as_bytes());
        self.headers.extend_from_slice(b": ");
        words.write_ask(flight.stamp, &mut self.headers);
        self.headers.extend_from_slice(b"\r\n");
        self.headers.extend_from_slice(match flight.accepts {
            Accepts::Anything => b"".as_slice(),
            Accepts::Identity => b"Accept-Encoding: identity\r\n",
            Accepts::Gzip => b"Accept-Encoding: gzip\r\n",
        });
        self.further(object, flight.kind, words, unix_secs);
    }

    /// Its length in bytes.
    pub(super) fn bytes(&self, kind: RequestKind) -> u64 {
        (method(kind).as_str().len() + self.target.len() + self.headers.len()) as u64
    }

    /// As text.
    pub(super) fn text(&self, kind: RequestKind) -> Vec<u8> {
        let method = method(kind).as_str().as_bytes();
        [method, b" ", &self.target, b" HTTP/1.1\r\n", &self.headers, b"\r\n"].concat()
    }

    fn further(&mut self, object: &Object, kind: RequestKind, words: &Words, unix_secs: u64) {
        let out = &mut self.headers;
        let changed = || object.at(unix_secs).last_modified.unwrap_or(unix_secs);
        match kind {
            RequestKind::Ims200 => since(changed().saturating_sub(1), out),
            RequestKind::Ims304 => since(changed(), out),
            RequestKind::Etag200 => none_match(object.at(unix_secs).etag.wrapping_add(1), out),
            RequestKind::Etag304 => none_match(object.at(unix_secs).etag, out),
            RequestKind::Match412 => {
                out.extend_from_slice(b"If-Match: ");
                tag(object.at(unix_secs).etag.wrapping_add(1), out);
            }
            RequestKind::Hop => {
                for name in [b"Connection: ".as_slice(), b"\r\n"] {
                    out.extend_from_slice(name);
                    out.extend_from_slice(words.hop.as_bytes());
                }
                out.extend_from_slice(b": 1\r\n");
            }
            RequestKind::Reload => out.extend_from_slice(b"Cache-Control: no-cache\r\nPragma: no-cache\r\n"),
            RequestKind::Range { first, last } => {
                out.extend_from_slice(format!("Range: bytes={first}-{last}\r\n").as_bytes());
            }
            RequestKind::Basic | RequestKind::Head | RequestKind::Post | RequestKind::Abort => {}
        }
    }
}

fn since(unix_secs: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(b"If-Modified-Since: ");
    out.extend_from_slice(&http1::http_date_bytes(unix_secs));
    out.extend_from_slice(b"\r\n");
}

fn none_match(etag: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(b"If-None-Match: ");
    tag(etag, out);
}

fn tag(etag: u64, out: &mut Vec<u8>) {
    out.push(b'"');
    push_hex16(etag, out);
    out.extend_from_slice(b"\"\r\n");
}

/// The method of a kind of request.
pub(super) const fn method(kind: RequestKind) -> Method {
    match kind {
        RequestKind::Head => Method::Head,
        RequestKind::Post => Method::Post,
        _ => Method::Get,
    }
}

/// The expected reply, as far as the load generator can tell: the rest is the judge's.
pub(super) fn expect(body: Body, kind: RequestKind) -> Expect {
    match kind {
        RequestKind::Basic
        | RequestKind::Reload
        | RequestKind::Hop
        | RequestKind::Head
        | RequestKind::Post => Expect::Body(body),
        RequestKind::Ims200
        | RequestKind::Ims304
        | RequestKind::Etag200
        | RequestKind::Etag304
        | RequestKind::Match412 => Expect::Selected { body, first: 0, len: body.len() },
        RequestKind::Range { first, last } => Expect::Selected { body, first, len: last - first + 1 },
        RequestKind::Abort => Expect::Anything,
    }
}
