//! Request heads of one target, rendered for either protocol.
//!
//! Measuring side, hot: once a request. The parts that all requests have in common are prepared once.

use crate::exchange::Exchange;
use crate::job::{Reuse, Target};
use bakeoff_content::Body;
use bakeoff_wire::h2::{CannotOpen, ClientConnection, StreamId};

/// Fields about an HTTP/1 connection, which have no place in HTTP/2 (RFC 9113 section 8.2.2); the host is `:authority`
/// there.
const OF_CONNECTIONS: [&[u8]; 6] =
    [b"connection", b"host", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"];

/// Between the target and the header lines.
const VERSION: &str = " HTTP/1.1\r\n";
/// A request's own `Host` line stands first among its header lines, and begins so.
const HOST: &str = "Host: ";

/// Writes request heads of one target.
pub(crate) struct Renderer {
    /// The CONNECT request to a proxy.
    connect: Vec<u8>,
    /// From behind the target on, the `Host` line first.
    after_target: Vec<u8>,
    /// Where the lines behind `Host` begin in it.
    after_host: usize,
    /// Whether that line stands in place of those that requests bring.
    host_is_fixed: bool,
    /// The end of a head whose request has no body of its own, and the body that all then have.
    end: Vec<u8>,
    scheme: &'static [u8],
    authority: Vec<u8>,
    /// Names in lower case.
    fields: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Renderer {
    pub(crate) fn new(target: &Target) -> Self {
        let mut after_target = format!("{VERSION}{HOST}{}\r\n", target.host).into_bytes();
        let after_host = after_target.len();
        after_target.extend_from_slice(&target.headers);
        if target.reuse == Reuse::Never {
            after_target.extend_from_slice(b"Connection: close\r\n");
        }
        let mut end = Vec::new();
        if !target.body.is_empty() {
            end.extend_from_slice(format!("Content-Length: {}\r\n", target.body.len()).as_bytes());
        }
        end.extend_from_slice(b"\r\n");
        end.extend_from_slice(&target.body);
        Self {
            end,
            connect: format!("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n\r\n", target.address).into_bytes(),
            after_target,
            after_host,
            host_is_fixed: target.host_is_fixed,
            scheme: if target.tls.is_some() { b"https" } else { b"http" },
            authority: target.host.clone().into_bytes(),
            fields: fields(&target.headers),
        }
    }

    /// The CONNECT request for the target.
    pub(super) fn connect(&self) -> &[u8] {
        &self.connect
    }

    pub(crate) fn http1(&self, exchange: &Exchange, out: &mut Vec<u8>) {
        out.extend_from_slice(exchange.method.as_str().as_bytes());
        out.push(b' ');
        out.extend_from_slice(exchange.words.target());
        let (host, own) = self.own_lines(exchange);
        match host {
            None => out.extend_from_slice(&self.after_target),
            Some(host) => {
                out.extend_from_slice(VERSION.as_bytes());
                out.extend_from_slice(host);
                out.extend_from_slice(&self.after_target[self.after_host..]);
            }
        }
        out.extend_from_slice(own);
        match exchange.sends() {
            None => out.extend_from_slice(&self.end),
            Some(body) => with_body(body, out),
        }
    }

    pub(super) fn http2(
        &self,
        exchange: &Exchange,
        wire: &mut ClientConnection,
    ) -> Result<StreamId, CannotOpen> {
        // Mostly none, and then nothing is allocated.
        let (host, own) = self.own_lines(exchange);
        let host = host.map(|line| line[HOST.len()..].trim_ascii_end());
        let (authority, own) = (host.unwrap_or(&self.authority), fields(own));
        let all = self.fields.iter().chain(&own).map(|(name, value)| (name.as_slice(), value.as_slice()));
        let method = exchange.method.as_str().as_bytes();
        wire.request(method, self.scheme, authority, exchange.words.target(), all)
    }

    /// A request's own `Host` line, unless that of the target stands in its place, and its other lines.
    fn own_lines<'e>(&self, exchange: &'e Exchange) -> (Option<&'e [u8]>, &'e [u8]) {
        let (host, own) = split_host(exchange.words.headers());
        (host.filter(|_| !self.host_is_fixed), own)
    }
}

/// A request's own `Host` line, and its other header lines.
fn split_host(lines: &[u8]) -> (Option<&[u8]>, &[u8]) {
    if !lines.starts_with(HOST.as_bytes()) {
        return (None, lines);
    }
    let end = lines.iter().position(|&byte| byte == b'\n').map_or(lines.len(), |at| at + 1);
    let (host, others) = lines.split_at(end);
    (Some(host), others)
}

/// Writes the end of a head whose message has a body, and the body.
#[cold]
fn with_body(body: Body, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
    let mut offset = 0;
    while offset < body.len() {
        let piece = body.from(offset);
        out.extend_from_slice(piece);
        offset += piece.len() as u64;
    }
}

/// Header lines, each ended by CRLF, as the fields of HTTP/2.
fn fields(lines: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut fields = Vec::new();
    for line in lines.split(|&byte| byte == b'\n') {
        let Some(colon) = line.iter().position(|&byte| byte == b':') else { continue };
        let name = line[..colon].to_ascii_lowercase();
        if !OF_CONNECTIONS.contains(&name.as_slice()) {
            fields.push((name, line[colon + 1..].trim_ascii().to_vec()));
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_of_the_requests_own_stands_first() {
        let (host, range) = (&b"Host: shop.example:81\r\n"[..], &b"Range: bytes=0-1\r\n"[..]);
        assert_eq!(split_host(&[host, range].concat()), (Some(host), range));
        assert_eq!(split_host(host), (Some(host), &b""[..]));
        assert_eq!(split_host(range), (None, range));
        assert_eq!(split_host(b""), (None, &b""[..]));
    }

    #[test]
    fn header_lines_become_fields_without_those_of_the_connection() {
        let found = fields(b"Accept-Encoding: gzip \r\nHost: x\r\nConnection: close\r\nX-A:b\r\n");
        let expected = [("accept-encoding", "gzip"), ("x-a", "b")];
        let expected = expected.map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()));
        assert_eq!(found, expected);
        assert!(fields(b"").is_empty());
    }
}
