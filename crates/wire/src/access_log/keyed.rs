//! JSON logs, one object a line, with keys named by the server or its administrator.
//!
//! Owns the mapping from the keys of each log to the fields of an entry. Strings and numbers are taken alike; a key
//! that is not listed is ignored; of several names for one field the better one wins wherever it stands. A name with
//! dots is that of a key in an object that is the value of a key.

use super::fields::{is_method, request_line, status};
use super::json::{Members, Value, members};
use super::{LineError, LogEntry, Stamp, stamp};
use crate::digits::decimal;

/// The field that a key fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    Request,
    Method,
    Target,
    Status,
    Size,
    Time,
    Vhost,
}

/// The keys of one kind of log; for one field the earlier name wins.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct LogKeys {
    pub(super) name: &'static str,
    pub(super) of: &'static [(&'static [u8], Key)],
}

/// `msec` comes first among the times as it is the finest, `uri` last among the targets as nginx has rewritten it and
/// left the query out.
pub(super) const NGINX: LogKeys = LogKeys {
    name: "nginx-json",
    of: &[
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
    ],
};

pub(super) const CADDY: LogKeys = LogKeys {
    name: "caddy",
    of: &[
        (b"request.method", Key::Method),
        (b"request.uri", Key::Target),
        (b"status", Key::Status),
        (b"size", Key::Size),
        (b"ts", Key::Time),
        (b"request.host", Key::Vhost),
    ],
};

pub(super) const TRAEFIK: LogKeys = LogKeys {
    name: "traefik",
    of: &[
        (b"RequestMethod", Key::Method),
        (b"RequestPath", Key::Target),
        (b"DownstreamStatus", Key::Status),
        (b"DownstreamContentSize", Key::Size),
        (b"StartUTC", Key::Time),
        (b"StartLocal", Key::Time),
        (b"time", Key::Time),
        (b"RequestHost", Key::Vhost),
    ],
};

/// The fields that may be on the left side of `path=request.uri`.
const TOLD: [(&str, Key); 7] = [
    ("request", Key::Request),
    ("method", Key::Method),
    ("path", Key::Target),
    ("status", Key::Status),
    ("size", Key::Size),
    ("time", Key::Time),
    ("host", Key::Vhost),
];

impl LogKeys {
    /// From `path=request.uri,status=code`. Fields that are not mapped are not looked for: methods are then GET,
    /// statuses 200, and sizes and times unknown. It is kept as long as the program runs, which reads one such line or
    /// two.
    pub(super) fn of_map(map: &str) -> Option<&'static Self> {
        let map: &'static str = Box::leak(map.to_owned().into_boxed_str());
        let pair = |pair: &'static str| {
            let (told, name) = pair.split_once('=')?;
            let (_, key) = TOLD.iter().find(|(word, _)| *word == told.trim())?;
            (!name.trim().is_empty()).then_some((name.trim().as_bytes(), *key))
        };
        let of: Vec<_> = map.split(',').map(pair).collect::<Option<_>>()?;
        let keys = Self { name: "json", of: of.leak() };
        (keys.tell(Key::Target) || keys.tell(Key::Request)).then(|| &*Box::leak(Box::new(keys)))
    }

    fn tell(&self, what: Key) -> bool {
        self.of.iter().any(|(_, key)| *key == what)
    }
}

/// The best value for each field so far, with the rank of its name.
pub(super) type Found<'a> = [Option<(usize, Value<'a>)>; 7];

pub(super) fn parse<'a>(keys: &LogKeys, line: &'a [u8]) -> Result<LogEntry<'a>, LineError> {
    if line.trim_ascii().is_empty() {
        return Err(LineError::Empty);
    }
    let mut found: Found<'a> = [None; 7];
    gather(keys, b"", members(line).ok_or(LineError::NotJson)?, &mut found);
    entry(keys, &found)
}

/// Looks at the members of an object whose names lie below `prefix`, which ends with a dot unless it is empty.
fn gather<'a>(keys: &LogKeys, prefix: &[u8], members_of: Members<'a>, found: &mut Found<'a>) {
    for (name, value) in members_of {
        let below = |known: &'static [u8]| known.strip_prefix(prefix)?.strip_prefix(name);
        if let Value::Nested(object) = value {
            let inside =
                keys.of.iter().find(|(known, _)| below(known).is_some_and(|rest| rest.starts_with(b".")));
            if let (Some((known, _)), Some(inner)) = (inside, members(object)) {
                gather(keys, &known[..=prefix.len() + name.len()], inner, found);
            }
            continue;
        }
        let Some(rank) = keys.of.iter().position(|(known, _)| below(known) == Some(b"")) else { continue };
        let slot = &mut found[keys.of[rank].1 as usize];
        if slot.is_none_or(|(better, _)| rank < better) {
            *slot = Some((rank, value));
        }
    }
}

pub(super) fn entry<'a>(keys: &LogKeys, found: &Found<'a>) -> Result<LogEntry<'a>, LineError> {
    let value = |key: Key| found[key as usize].map(|(_, value)| value);
    let or_unmapped = |key: Key, else_it_is: &'static [u8]| {
        value(key).and_then(Value::text).or_else(|| (!keys.tell(key)).then_some(else_it_is))
    };
    let line = value(Key::Request);
    let (method, target, escaped) = request(line, or_unmapped(Key::Method, b"GET"), value(Key::Target))?;
    let status = status(or_unmapped(Key::Status, b"200").ok_or(LineError::Status)?)?;
    let bytes = match or_unmapped(Key::Size, b"-").ok_or(LineError::Size)? {
        b"-" | b"" | b"null" => None,
        digits => Some(decimal(digits).ok_or(LineError::Size)?),
    };
    let text = |key: Key| value(key).and_then(Value::text);
    let at: Option<Stamp> = text(Key::Time).and_then(stamp::any);
    Ok(LogEntry { at, method, target, query: None, escaped, status, bytes, vhost: text(Key::Vhost) })
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
    use super::super::{Format, LineError, detect, parse};

    fn ok(line: &[u8]) -> super::LogEntry<'_> {
        parse(Format::NGINX_JSON, line).unwrap()
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
    fn caddy_and_traefik() {
        let line = br#"{"level":"info","ts":1646861401.5241024,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"127.0.0.1","proto":"HTTP/2.0","method":"GET","host":"h:8080","uri":"/a?b","headers":{"User-Agent":["curl/7.82.0"]},"tls":{"resumed":false,"server_name":"x"}},"bytes_read":0,"duration":0.000929675,"size":10900,"status":200,"resp_headers":{"Server":["Caddy"]}}"#;
        let entry = parse(Format::Json(&super::CADDY), line).unwrap();
        assert_eq!((entry.method, entry.target), (&b"GET"[..], &b"/a?b"[..]));
        assert_eq!((entry.status, entry.bytes, entry.vhost), (200, Some(10900), Some(&b"h:8080"[..])));
        assert_eq!(entry.at.unwrap().nanos, 1_646_861_401_524_102_400);
        assert_eq!(detect([&line[..]]), Ok(Format::Json(&super::CADDY)));
        let line = br#"{"ClientAddr":"1.2.3.4:5","DownstreamContentSize":12,"DownstreamStatus":304,"Duration":912,"OriginStatus":200,"RequestHost":"h","RequestMethod":"HEAD","RequestPath":"/a","StartUTC":"2026-02-01T12:00:00.25Z","level":"info","msg":"","time":"2026-02-01T12:00:01Z"}"#;
        let entry = parse(Format::Json(&super::TRAEFIK), line).unwrap();
        assert_eq!((entry.method, entry.target, entry.status), (&b"HEAD"[..], &b"/a"[..], 304));
        assert_eq!(entry.at.unwrap().nanos % 1_000_000_000, 250_000_000, "of the start, not of the end");
        assert_eq!(detect([&line[..]]), Ok(Format::Json(&super::TRAEFIK)));
    }

    #[test]
    fn a_map_of_keys_says_where_things_stand_and_what_is_not_in_it_is_as_usual() {
        let format: Format = "json:path=http.req.url,status=code, time=t,size=n".parse().unwrap();
        let entry = parse(format, br#"{"http":{"version":"1","req":{"urls":[],"url":"/x"},"url":"/y"},"url":"/z","code":404,"t":12.5,"n":"7"}"#);
        let entry = entry.unwrap();
        assert_eq!(
            (entry.method, entry.target, entry.status, entry.bytes),
            (&b"GET"[..], &b"/x"[..], 404, Some(7))
        );
        assert_eq!(parse(format, br#"{"code":200,"n":7}"#), Err(LineError::NoRequest));
        assert_eq!(parse(format, br#"{"http":{"req":{"url":"/x"}},"n":7}"#), Err(LineError::Status));
        let bare = parse("json:path=u".parse().unwrap(), br#"{"u":"/x"}"#).unwrap();
        assert_eq!((bare.status, bare.bytes, bare.at), (200, None, None));
        for wrong in ["json:", "json:path", "json:path=", "json:status=code", "json:url=u", "caddyy"] {
            assert!(wrong.parse::<Format>().unwrap_err().to_string().contains("json:path="), "{wrong}");
        }
    }

    #[test]
    fn a_line_cut_off_behind_what_is_needed_is_good() {
        let entry = ok(br#"{"request":"GET / HTTP/1.1","status":200,"body_bytes_sent":1,"agent":"Moz"#);
        assert_eq!(entry.bytes, Some(1));
    }

    #[test]
    fn what_is_missing_is_named() {
        let error = |line: &'static str| parse(Format::NGINX_JSON, line.as_bytes()).unwrap_err();
        assert_eq!(error("GET / 200"), LineError::NotJson);
        assert_eq!(error("{}"), LineError::NoRequest);
        assert_eq!(error(r#"{"request":"GET / HTTP/1.1"}"#), LineError::Status);
        assert_eq!(error(r#"{"request":"GET / HTTP/1.1","status":200}"#), LineError::Size);
        assert_eq!(error(r#"{"request":"GET / HTTP/1.1","status":200,"size":-4}"#), LineError::Size);
        assert_eq!(error(" "), LineError::Empty);
    }
}
