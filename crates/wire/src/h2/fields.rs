//! Header fields of messages: their rules (RFC 9113 section 8), and the values that each role needs.
//!
//! Both roles. Hot, reads untrusted input.

use super::Malformed;
use super::hpack::sound;
use crate::http1::{ContentCoding, ServerMethod, content_length};
use std::ops::Range;

/// Whether a request may have this field besides those that [`request`](super::ClientConnection::request)
/// makes itself: a name in lower case, no field of HTTP/1.1 connections, no line breaks.
pub fn field_fits(name: &[u8], value: &[u8]) -> bool {
    let sound = sound::name(name) && sound::value(value) && name.first() != Some(&b':');
    regular(name, value, sound).is_ok()
}

/// The rules for a field that is no pseudo-header field.
fn regular(name: &[u8], value: &[u8], sound: bool) -> Result<(), Malformed> {
    if !sound {
        return Err(Malformed::Field);
    }
    let of_connections = match name.len() {
        2 => name == b"te" && value != b"trailers",
        7 => name == b"upgrade",
        10 => name == b"connection" || name == b"keep-alive",
        16 => name == b"proxy-connection",
        17 => name == b"transfer-encoding",
        _ => false,
    };
    if of_connections { Err(Malformed::ConnectionField) } else { Ok(()) }
}

/// Keeps the first fault.
fn note(first: &mut Option<Malformed>, found: Result<(), Malformed>) {
    *first = first.or(found.err());
}

/// `Content-Length`, once or often the same.
fn length(known: &mut Option<u64>, value: &[u8]) -> Result<(), Malformed> {
    let length = content_length(value).ok_or(Malformed::Length)?;
    if known.is_some_and(|before| before != length) {
        return Err(Malformed::Length);
    }
    *known = Some(length);
    Ok(())
}

/// The values that a client takes from a header block.
#[derive(Debug, Default)]
pub(super) struct ReplyFields {
    pub(super) status: Option<u16>,
    pub(super) length: Option<u64>,
    pub(super) coding: ContentCoding,
    pub(super) wrong: Option<Malformed>,
    regular: bool,
}

impl ReplyFields {
    pub(super) fn field(&mut self, name: &[u8], value: &[u8], sound: bool) {
        let found = if name.first() == Some(&b':') {
            self.pseudo(name, value)
        } else {
            self.regular(name, value, sound)
        };
        note(&mut self.wrong, found);
    }

    fn pseudo(&mut self, name: &[u8], value: &[u8]) -> Result<(), Malformed> {
        match value {
            [h @ b'1'..=b'9', t @ b'0'..=b'9', u @ b'0'..=b'9']
                if name == b":status" && self.status.is_none() && !self.regular =>
            {
                let digit = |byte: &u8| u16::from(byte - b'0');
                self.status = Some(digit(h) * 100 + digit(t) * 10 + digit(u));
                Ok(())
            }
            _ => Err(Malformed::Pseudo),
        }
    }

    fn regular(&mut self, name: &[u8], value: &[u8], sound: bool) -> Result<(), Malformed> {
        self.regular = true;
        regular(name, value, sound)?;
        match name {
            b"content-length" => length(&mut self.length, value)?,
            b"content-encoding" => self.coding.read(value),
            _ => {}
        }
        Ok(())
    }
}

/// The values that a server takes from a header block. Its buffer is reused.
#[derive(Clone, Debug, Default)]
pub(super) struct RequestFields {
    pub(super) method: Option<ServerMethod>,
    pub(super) length: Option<u64>,
    pub(super) wrong: Option<Malformed>,
    text: Vec<u8>,
    path: Option<Range<usize>>,
    range: Option<Range<usize>>,
    if_modified_since: Option<Range<usize>>,
    scheme: bool,
    authority: bool,
    regular: bool,
}

impl RequestFields {
    /// Makes ready for another header block.
    pub(super) fn clear(&mut self) {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        *self = Self { text, ..Self::default() };
    }

    pub(super) fn field(&mut self, name: &[u8], value: &[u8], sound: bool) {
        let found = if name.first() == Some(&b':') {
            self.pseudo(name, value, sound)
        } else {
            self.regular(name, value, sound)
        };
        note(&mut self.wrong, found);
    }

    /// Whether all is there that a request needs, or nothing that trailers must not have.
    pub(super) fn verdict(&self, trailers: bool) -> Result<(), Malformed> {
        if let Some(wrong) = self.wrong {
            return Err(wrong);
        }
        let (method, path) = (self.method.is_some(), self.path.is_some());
        let fits = if trailers {
            !(method || path || self.scheme || self.authority)
        } else {
            method && path && self.scheme
        };
        if fits { Ok(()) } else { Err(Malformed::Pseudo) }
    }

    pub(super) fn path(&self) -> &[u8] {
        self.slice(&self.path).unwrap_or_default()
    }

    pub(super) fn range(&self) -> Option<&[u8]> {
        self.slice(&self.range)
    }

    pub(super) fn if_modified_since(&self) -> Option<&[u8]> {
        self.slice(&self.if_modified_since)
    }

    fn slice(&self, range: &Option<Range<usize>>) -> Option<&[u8]> {
        self.text.get(range.clone()?)
    }

    fn keep(&mut self, value: &[u8]) -> Option<Range<usize>> {
        let start = self.text.len();
        self.text.extend_from_slice(value);
        Some(start..self.text.len())
    }

    fn pseudo(&mut self, name: &[u8], value: &[u8], sound: bool) -> Result<(), Malformed> {
        let again = match name {
            b":method" => self.method.is_some(),
            b":path" => self.path.is_some(),
            b":scheme" => self.scheme,
            b":authority" => self.authority,
            _ => true,
        };
        if again || self.regular || !sound {
            return Err(Malformed::Pseudo);
        }
        match name {
            b":method" => {
                self.method = Some(match value {
                    b"GET" => ServerMethod::Get,
                    b"HEAD" => ServerMethod::Head,
                    b"" => return Err(Malformed::Pseudo),
                    _ => ServerMethod::Other,
                });
            }
            b":path" if value.is_empty() => return Err(Malformed::Pseudo),
            b":path" => self.path = self.keep(value),
            b":scheme" => self.scheme = true,
            _ => self.authority = true,
        }
        Ok(())
    }

    fn regular(&mut self, name: &[u8], value: &[u8], sound: bool) -> Result<(), Malformed> {
        self.regular = true;
        regular(name, value, sound)?;
        match name {
            b"content-length" => length(&mut self.length, value)?,
            b"range" => self.range = self.keep(value),
            b"if-modified-since" => self.if_modified_since = self.keep(value),
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_learns_length_and_coding() {
        let mut fields = ReplyFields::default();
        for (name, value) in [(":status", "200"), ("content-length", "7"), ("content-encoding", "gzip")] {
            fields.field(name.as_bytes(), value.as_bytes(), true);
        }
        assert_eq!((fields.status, fields.length, fields.wrong), (Some(200), Some(7), None));
        assert_eq!(fields.coding, ContentCoding::Gzip);
    }

    #[test]
    fn fields_of_connections_capitals_and_line_breaks_do_not_fit() {
        for (name, value) in
            [("accept", "*/*"), ("te", "trailers"), ("x-empty", ""), ("cookie", "a=\"b\"; c")]
        {
            assert!(field_fits(name.as_bytes(), value.as_bytes()), "{name}");
        }
        let wrong = [
            ("Accept", "*/*"),
            ("", "x"),
            (":path", "/"),
            ("a b", "x"),
            ("x", "a\r\nb"),
            ("x", "a\0"),
            ("x", " a"),
            ("x", "a\t"),
            ("te", "gzip"),
            ("connection", "close"),
            ("keep-alive", "1"),
            ("upgrade", "x"),
            ("proxy-connection", "x"),
            ("transfer-encoding", "chunked"),
        ];
        for (name, value) in wrong {
            assert!(!field_fits(name.as_bytes(), value.as_bytes()), "{name}: {value:?}");
        }
    }
}
