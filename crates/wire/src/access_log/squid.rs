//! Squid's native format: `time elapsed client code/status bytes method URL user hier/peer type`.
//!
//! The first seven fields are needed; a line cut off behind the URL is good.

use super::fields::{is_method, skip_spaces, status, token};
use super::{LineError, LogEntry, stamp};
use crate::digits::decimal;
use memchr::memrchr;

pub(super) fn parse(line: &[u8]) -> Result<LogEntry<'_>, LineError> {
    let rest = skip_spaces(line);
    if rest.is_empty() {
        return Err(LineError::Empty);
    }
    let (time, rest) = token(rest);
    let (_elapsed, rest) = token(rest);
    let (_client, rest) = token(rest);
    let (code, rest) = token(rest);
    let (bytes, rest) = token(rest);
    let (method, rest) = token(rest);
    let (target, _) = token(rest);
    if target.is_empty() {
        return Err(LineError::TooFewFields);
    }
    let slash = memrchr(b'/', code).ok_or(LineError::Status)?;
    let status = status(&code[slash + 1..])?;
    let bytes = Some(decimal(bytes).ok_or(LineError::Size)?);
    let method = if is_method(method) { method } else { &[] };
    Ok(LogEntry {
        at: stamp::epoch(time),
        method,
        target,
        query: None,
        escaped: false,
        status,
        bytes,
        vhost: None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Format, LineError, parse};

    #[test]
    fn a_line_as_squid_writes_it() {
        let line = b"1066036250.603    310 192.168.0.68 TCP_MISS/200 1040 GET http://www.example.com/i.gif - HIER_DIRECT/10.1.2.3 image/gif";
        let entry = parse(Format::Squid, line).unwrap();
        assert_eq!((entry.method, entry.target), (&b"GET"[..], &b"http://www.example.com/i.gif"[..]));
        assert_eq!((entry.status, entry.bytes), (200, Some(1040)));
        let at = entry.at.unwrap();
        assert_eq!((at.nanos, at.fine), (1_066_036_250_603_000_000, true));
    }

    #[test]
    fn aborted_tunnels_and_cut_lines() {
        let entry =
            parse(Format::Squid, b"1.5 0 h TCP_TUNNEL/000 0 CONNECT example.com:443 - NONE/- -").unwrap();
        assert_eq!((entry.status, entry.target), (0, &b"example.com:443"[..]));
        assert!(parse(Format::Squid, b"1.5 0 h TCP_HIT/200 0 GET http://e/").is_ok());
        assert_eq!(parse(Format::Squid, b"1.5 0 h TCP_HIT/200 0 GET"), Err(LineError::TooFewFields));
        assert_eq!(parse(Format::Squid, b"1.5 0 h TCP_HIT 0 GET /"), Err(LineError::Status));
        assert_eq!(parse(Format::Squid, b"  "), Err(LineError::Empty));
    }
}
