//! nginx's JSON: one object a line, keys named as the administrator pleased.
//!
//! Owns which key names are understood. Strings and numbers are taken alike; a key that is not
//! listed is ignored; of several names for one thing the better one wins wherever it stands.

use super::fields::{is_method, request_line, status};
use super::json::{Value, members};
use super::{Entry, LineError, Stamp, stamp};
use crate::digits::decimal;

/// What a key tells.
#[derive(Clone, Copy)]
enum Key {
    Request,
    Method,
    Target,
    Status,
    Size,
    Time,
    Vhost,
}

/// The known names; for one thing the earlier name wins. `msec` comes first among the times as it
/// is the finest, `uri` last among the targets as nginx has rewritten it and left the query out.
const KEYS: [(&[u8], Key); 21] = [
    (b"request", Key::Request),
    (b"request_method", Key::Method),
    (b"method", Key::Method),
    (b"request_uri", Key::Target),
    (b"url", Key::Target),
    (b"path", Key::Target),
    (b"uri", Key::Target),
    (b"status", Key::Status),
    (b"body_bytes_sent", Key::Size),
    (b"bytes_sent", Key::Size),
    (b"bytes", Key::Size),
    (b"size", Key::Size),
    (b"msec", Key::Time),
    (b"time_iso8601", Key::Time),
    (b"@timestamp", Key::Time),
    (b"timestamp", Key::Time),
    (b"time_local", Key::Time),
    (b"time", Key::Time),
    (b"host", Key::Vhost),
    (b"server_name", Key::Vhost),
    (b"vhost", Key::Vhost),
];

/// The best value for each thing so far, with the rank of its name.
type Found<'a> = [Option<(usize, Value<'a>)>; 7];

pub(super) fn parse(line: &[u8]) -> Result<Entry<'_>, LineError> {
    if line.trim_ascii().is_empty() {
        return Err(LineError::Empty);
    }
    let mut found: Found<'_> = [None; 7];
    for (name, value) in members(line).ok_or(LineError::NotJson)? {
        let Some(rank) = KEYS.iter().position(|(known, _)| *known == name) else { continue };
        let slot = &mut found[KEYS[rank].1 as usize];
        if slot.is_none_or(|(better, _)| rank < better) {
            *slot = Some((rank, value));
        }
    }
    entry(&found)
}

fn entry<'a>(found: &Found<'a>) -> Result<Entry<'a>, LineError> {
    let value = |key: Key| found[key as usize].map(|(_, value)| value);
    let text = |key: Key| value(key).and_then(Value::text);
    let (method, target, escaped) = request(value(Key::Request), text(Key::Method), value(Key::Target))?;
    let status = status(text(Key::Status).ok_or(LineError::Status)?)?;
    let bytes = match text(Key::Size).ok_or(LineError::Size)? {
        b"-" | b"" | b"null" => None,
        digits => Some(decimal(digits).ok_or(LineError::Size)?),
    };
    let at: Option<Stamp> = text(Key::Time).and_then(stamp::any);
    Ok(Entry { at, method, target, escaped, status, bytes, vhost: text(Key::Vhost) })
}

/// From the whole request line, or else from method and target apart.
fn request<'a>(
    line: Option<Value<'a>>,
    method: Option<&'a [u8]>,
    target: Option<Value<'a>>,
) -> Result<(&'a [u8], &'a [u8], bool), LineError> {
    if let Some(Value::Text { text, escaped }) = line {
        let (method, target) = request_line(text);
        return Ok((method, target, escaped));
    }
    match (method, target) {
        (Some(method), Some(Value::Text { text, escaped })) if is_method(method) => {
            Ok((method, text, escaped))
        }
        (Some(_), Some(Value::Text { text, escaped })) => Ok((&[], text, escaped)),
        _ => Err(LineError::NoRequest),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Format, LineError, parse};

    fn ok(line: &[u8]) -> super::Entry<'_> {
        parse(Format::NginxJson, line).unwrap()
    }

    #[test]
    fn the_usual_keys_in_any_order_and_type() {
        let entry = ok(br#"{"time_local":"17/May/2015:10:05:03 +0000","msec":"1431857103.250","remote_addr":"1.2.3.4","request":"GET /a?b HTTP/1.1","status":"200","bytes_sent":900,"body_bytes_sent":700,"host":"h"}"#);
        assert_eq!((entry.method, entry.target), (&b"GET"[..], &b"/a?b"[..]));
        assert_eq!((entry.status, entry.bytes, entry.vhost), (200, Some(700), Some(&b"h"[..])));
        assert_eq!(entry.at.unwrap().nanos, 1_431_857_103_250_000_000);
        let entry = ok(br#"{"status":404,"uri":"/a","request_uri":"/b\u0022","request_method":"HEAD","bytes_sent":"-","@timestamp":"2015-05-17T10:05:03+00:00"}"#);
        assert_eq!((entry.method, entry.target, entry.escaped), (&b"HEAD"[..], &br"/b\u0022"[..], true));
        assert_eq!((entry.status, entry.bytes), (404, None));
    }

    #[test]
    fn a_line_cut_off_behind_what_is_needed_is_good() {
        let entry = ok(br#"{"request":"GET / HTTP/1.1","status":200,"body_bytes_sent":1,"agent":"Moz"#);
        assert_eq!(entry.bytes, Some(1));
    }

    #[test]
    fn what_is_missing_is_named() {
        let error = |line: &'static str| parse(Format::NginxJson, line.as_bytes()).unwrap_err();
        assert_eq!(error("GET / 200"), LineError::NotJson);
        assert_eq!(error("{}"), LineError::NoRequest);
        assert_eq!(error(r#"{"request":"GET / HTTP/1.1"}"#), LineError::Status);
        assert_eq!(error(r#"{"request":"GET / HTTP/1.1","status":200}"#), LineError::Size);
        assert_eq!(error(r#"{"request":"GET / HTTP/1.1","status":200,"size":-4}"#), LineError::Size);
        assert_eq!(error(" "), LineError::Empty);
    }
}
