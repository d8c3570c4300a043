//! Access logs: parsers for the lines that web servers write.
//!
//! Shared by both sides, no I/O, hot: replaying a log parses every line of it, many gigabytes, and a log is untrusted
//! input. Owns the meaning of the fields of a line. Does not decide which requests are fit to be sent again (`workload`
//! does) and does not read files.
//!
//! No allocation, no regular expressions, no check of whole lines for UTF-8: fields are borrowed as bytes, with the
//! escapes of the log still in them ([`unescape`] takes them out). Only the fields that a replay needs are parsed: a
//! line that was cut off behind status and size is still good.

mod apache;
mod detect;
mod fields;
mod json;
mod keyed;
mod pattern;
mod squid;
mod stamp;
mod w3c;

pub use detect::{DetectError, detect};
pub use fields::unescape;
pub use keyed::LogKeys;
pub use pattern::LogPattern;
pub use stamp::Stamp;
pub use w3c::LogFields;

use std::fmt;
use std::str::FromStr;

/// The formats that are understood. Each says which end of a request its stamp marks: a log that stamps the end shows
/// long replies later than their requests came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// `host ident user [time] "request" status bytes`, the Common Log Format. Apache's `%t` is
    /// the moment the request was received (its start), although lines are written at its end and
    /// therefore stand out of order; other servers stamp the end.
    Common,
    /// Common with referrer and user agent behind it, and whatever else the administrator added.
    /// Written by Apache the stamp is the start of the request (`%t`); written by nginx, whose
    /// `combined` looks the same, it is the end (`$time_local`, when the line is logged).
    Combined,
    /// Combined with the virtual host (`name:port`) before it, as Debian's Apache sets up for
    /// hosts without a log of their own. The stamp is the start of the request (`%t`).
    VhostCombined,
    /// One JSON object a line. Values may be strings or numbers.
    ///
    /// [`Format::NGINX_JSON`] as nginx's `log_format ... escape=json` is mostly used, flat; all of nginx's times
    /// (`$time_local`, `$time_iso8601`, `$msec`) are the end of the request. Keys, of several for one thing the first:
    /// `request`, or `request_method` (`method`) with `request_uri` (`url`, `path`, `uri`); `status`; `body_bytes_sent`
    /// (`bytes_sent`, `bytes`, `size`); `msec` (`time_iso8601`, `@timestamp`, `timestamp`, `time_local`, `time`);
    /// `host` (`server_name`, `vhost`).
    ///
    /// [`Format::CADDY`] as Caddy logs; `ts` is the end of the request. [`Format::TRAEFIK`] as Traefik does with
    /// `accesslog.format=json`; `StartUTC` is its start. Any other from `json:path=KEY,status=KEY,...`.
    Json(&'static LogKeys),
    /// Squid's native format: `time elapsed client code/status bytes method URL ...`. The stamp,
    /// in milliseconds, is the end of the request; sizes include the reply's header section.
    Squid,
    /// The administrator's own, told in the words of nginx' `log_format`, from `nginx:$remote_addr ... "$request"`. Times
    /// are those of [`Format::NGINX_JSON`].
    Pattern(&'static LogPattern),
    /// W3C extended, told by the log's `#Fields:`, as IIS and CloudFront write it. The stamp is the end of the request;
    /// sizes include the reply's header section.
    W3c(&'static LogFields),
}

impl Format {
    /// nginx's JSON.
    pub const NGINX_JSON: Self = Self::Json(&keyed::NGINX);
    /// Caddy's.
    pub const CADDY: Self = Self::Json(&keyed::CADDY);
    /// Traefik's.
    pub const TRAEFIK: Self = Self::Json(&keyed::TRAEFIK);

    /// The formats that have a name.
    pub const ALL: [Self; 7] = [
        Self::Common,
        Self::Combined,
        Self::VhostCombined,
        Self::NGINX_JSON,
        Self::CADDY,
        Self::TRAEFIK,
        Self::Squid,
    ];

    /// The name in plans and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Common => "common",
            Self::Combined => "combined",
            Self::VhostCombined => "vhost-combined",
            Self::Json(keys) => keys.name,
            Self::Squid => "squid",
            Self::Pattern(_) => "nginx",
            Self::W3c(_) => "w3c",
        }
    }

    /// Whether this line of a log names its fields, and if so whether they are those of this format.
    pub fn is_named_by(self, line: &[u8]) -> Option<bool> {
        match self {
            Self::W3c(fields) => fields.is_named_by(line),
            _ => None,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text names no format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseFormatError {
    /// No name, and no map of keys.
    Unknown(String),
    /// A `log_format` that cannot be read back.
    Pattern {
        /// As it was given.
        text: String,
        /// The fault, and what to write.
        why: String,
    },
}

impl fmt::Display for ParseFormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(text) => {
                let known = Format::ALL.map(Format::as_str).join(", ");
                write!(
                    f,
                    "`{text}` is no log format; known are {known}, JSON with keys of its own as in \
                     json:path=request.uri,method=request.method,status=status,size=size,time=ts, and any text described as \
                     nginx' log_format does, {PATTERN}"
                )
            }
            Self::Pattern { text, why } => {
                write!(f, "`{text}` cannot be read back: {why}; such as {PATTERN}")
            }
        }
    }
}

impl std::error::Error for ParseFormatError {}

/// A format that describes lines, for messages.
const PATTERN: &str = r#"nginx:$remote_addr [$time_local] "$request" $status $body_bytes_sent"#;

impl FromStr for Format {
    type Err = ParseFormatError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(pattern) = text.strip_prefix("nginx:") {
            let wrong = |why| ParseFormatError::Pattern { text: text.to_owned(), why };
            return LogPattern::of_text(pattern).map(Self::Pattern).map_err(wrong);
        }
        let named = match text.strip_prefix("json:") {
            Some(map) => LogKeys::of_map(map).map(Self::Json),
            None => Self::ALL.into_iter().find(|format| format.as_str() == text),
        };
        named.ok_or_else(|| ParseFormatError::Unknown(text.to_owned()))
    }
}

/// One request as a line describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEntry<'a> {
    /// The moment, where the line has one that can be read.
    pub at: Option<Stamp>,
    /// The method; empty when the request is none (`-`, or TLS bytes on a plain port): then the
    /// target is all that was logged.
    pub method: &'a [u8],
    /// The request target as it was logged, in any form, escapes still in it.
    pub target: &'a [u8],
    /// The query, where the log has it apart from the target: without the `?`, not escaped.
    pub query: Option<&'a [u8]>,
    /// Whether the target holds escapes of the log, for [`unescape`].
    pub escaped: bool,
    /// The status of the reply, 0 to 999.
    pub status: u16,
    /// Bytes of the reply's body; `None` for `-`. In `squid`, and in `nginx-json` when only
    /// `bytes_sent` is logged, the header section is counted too.
    pub bytes: Option<u64>,
    /// The virtual host, where the format has one.
    pub vhost: Option<&'a [u8]>,
}

/// Fault of a line that is not in its format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LineError {
    /// Nothing but white space.
    Empty,
    /// No `[time]` where Common has it.
    NoTime,
    /// No quoted request behind the time, or no request among the keys.
    NoRequest,
    /// The request's quotes are never closed: the line was cut off in it.
    OpenQuote,
    /// The status is missing or not a number of three digits.
    Status,
    /// The size is missing or neither a number nor `-`.
    Size,
    /// Not a JSON object.
    NotJson,
    /// Fewer fields than the format has.
    TooFewFields,
    /// Behind a `#Fields:` that is not that of the log's beginning.
    OtherFields,
}

impl LineError {
    /// The label in counts and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "empty-line",
            Self::NoTime => "no-time",
            Self::NoRequest => "no-request",
            Self::OpenQuote => "open-quote",
            Self::Status => "bad-status",
            Self::Size => "bad-size",
            Self::NotJson => "not-json",
            Self::TooFewFields => "too-few-fields",
            Self::OtherFields => "other-fields",
        }
    }
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::error::Error for LineError {}

/// Parses one line; `line` has no line feed (a carriage return is ignored).
///
/// # Errors
///
/// The fault of the line. Never panics, whatever the bytes.
#[inline]
pub fn parse(format: Format, line: &[u8]) -> Result<LogEntry<'_>, LineError> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    match format {
        Format::Common | Format::Combined => apache::parse(line, false),
        Format::VhostCombined => apache::parse(line, true),
        Format::Json(keys) => keyed::parse(keys, line),
        Format::Squid => squid::parse(line),
        Format::Pattern(pattern) => pattern::parse(pattern, line),
        Format::W3c(fields) => w3c::parse(fields, line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_a_name_that_parses() {
        for format in Format::ALL {
            assert_eq!(format.as_str().parse(), Ok(format));
        }
        assert!("combine".parse::<Format>().unwrap_err().to_string().contains("vhost-combined"));
    }

    /// No bytes make a parser panic: every cut of every line, and every byte of it changed.
    #[test]
    fn cut_and_damaged_lines_never_panic() {
        let lines: [&[u8]; 4] = [
            br#"h:80 1.2.3.4 - - [17/May/2015:10:05:03 +0000] "GET /a\"\x41 HTTP/1.1" 200 12 "-" "x""#,
            br#"{"msec":1.5,"request":"GET /\u0041 HTTP/1.1","status":"200","n":[{}],"body_bytes_sent":7}"#,
            b"1066036250.603    310 10.0.0.1 TCP_MISS/200 1040 GET http://h/a - DIRECT/10.0.0.2 text/html",
            b"1.2.3.4 - - [17/May/2015:10:05:03 +0000] \"\\",
        ];
        for line in lines {
            for format in Format::ALL {
                for cut in 0..line.len() {
                    let _ = parse(format, &line[..cut]);
                    let mut damaged = line.to_vec();
                    for byte in [0, b'"', b'\\', b' ', b'[', b'{', b'9', 0xff] {
                        damaged[cut] = byte;
                        let _ = parse(format, &damaged);
                        let _ = detect([&damaged[..]]);
                    }
                }
            }
        }
    }
}
