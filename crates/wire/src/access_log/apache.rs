//! Common, Combined and Combined with a virtual host: parser for Apache's log formats, one grammar.
//!
//! Hot. The time in brackets is the anchor: names of users before it may hold spaces. Text behind the size (referrer,
//! agent, anything an administrator added) is not looked at.

use super::fields::{quoted, request_line, size, skip_spaces, status, token};
use super::{LineError, LogEntry, stamp};
use memchr::memchr;

/// A line in three parts: the entry, and the text around it by which the formats are told apart.
pub(super) struct Parts<'a> {
    /// The entry, without virtual host.
    pub(super) entry: LogEntry<'a>,
    /// Text before the time, trailing space included.
    pub(super) lead: &'a [u8],
    /// Text behind the size, leading space included.
    pub(super) tail: &'a [u8],
}

#[inline]
pub(super) fn parse(line: &[u8], vhost: bool) -> Result<LogEntry<'_>, LineError> {
    let mut parts = parts(line)?;
    if vhost {
        let (host, others) = token(skip_spaces(parts.lead));
        if others.is_empty() {
            return Err(LineError::TooFewFields);
        }
        parts.entry.vhost = Some(host);
    }
    Ok(parts.entry)
}

#[inline]
pub(super) fn parts(line: &[u8]) -> Result<Parts<'_>, LineError> {
    let (lead, time, rest) = time(line)?;
    let rest = skip_spaces(rest).strip_prefix(b"\"").ok_or(LineError::NoRequest)?;
    let request = quoted(rest)?;
    let (method, target) = request_line(request.text);
    let rest = skip_spaces(request.rest);
    let (code, rest) = rest.split_at_checked(3).ok_or(LineError::Status)?;
    let status = status(code)?;
    let rest =
        rest.strip_prefix(b" ").ok_or(if rest.is_empty() { LineError::Size } else { LineError::Status })?;
    let end = memchr(b' ', rest).unwrap_or(rest.len());
    let bytes = size(&rest[..end])?;
    let at = stamp::common(time);
    let entry =
        LogEntry { at, method, target, query: None, escaped: request.escaped, status, bytes, vhost: None };
    Ok(Parts { entry, lead, tail: &rest[end..] })
}

/// Text before `[time]`, in it, and behind it.
type Around<'a> = (&'a [u8], &'a [u8], &'a [u8]);

/// Splits at `[time]`: the first bracket with a space before it that closes again.
#[inline]
fn time(line: &[u8]) -> Result<Around<'_>, LineError> {
    let mut from = 0;
    while let Some(found) = memchr(b'[', &line[from..]) {
        let open = from + found;
        if open > 0 && line[open - 1] == b' ' {
            let rest = &line[open + 1..];
            let close = memchr(b']', rest).ok_or(LineError::NoTime)?;
            return Ok((&line[..open], &rest[..close], &rest[close + 1..]));
        }
        from = open + 1;
    }
    let blank = line.iter().all(u8::is_ascii_whitespace);
    Err(if blank { LineError::Empty } else { LineError::NoTime })
}

#[cfg(test)]
mod tests {
    use super::super::{Format, LineError, parse};

    const LINE: &[u8] =
        br#"10.0.0.1 - - [17/May/2015:10:05:03 +0000] "GET /a?b=c HTTP/1.1" 200 203023 "-" "curl""#;

    #[test]
    fn a_combined_line() {
        let entry = parse(Format::Combined, LINE).unwrap();
        assert_eq!((entry.method, entry.target), (&b"GET"[..], &b"/a?b=c"[..]));
        assert_eq!((entry.status, entry.bytes, entry.escaped), (200, Some(203_023), false));
        assert_eq!(entry.at.unwrap().nanos, 1_431_857_103_000_000_000);
        assert_eq!(entry.vhost, None);
    }

    #[test]
    fn a_virtual_host_and_trailing_fields() {
        let line = [b"www.example.org:443 ", LINE, b" 1234 \"extra\" TLSv1.3"].concat();
        let entry = parse(Format::VhostCombined, &line).unwrap();
        assert_eq!(entry.vhost, Some(&b"www.example.org:443"[..]));
        assert_eq!((entry.target, entry.bytes), (&b"/a?b=c"[..], Some(203_023)));
        let six = parse(
            Format::VhostCombined,
            br#"[::1]:80 ::1 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1"#,
        );
        assert_eq!(six.unwrap().vhost, Some(&b"[::1]:80"[..]));
    }

    #[test]
    fn a_line_cut_off_behind_the_size_is_good_and_before_it_is_not() {
        let size_ends = LINE.len() - br#" "-" "curl""#.len();
        for cut in size_ends..LINE.len() {
            assert!(parse(Format::Combined, &LINE[..cut]).is_ok(), "{cut}");
        }
        let cut = |text: &str| parse(Format::Combined, text.as_bytes()).err();
        assert_eq!(cut(""), Some(LineError::Empty));
        assert_eq!(cut("10.0.0.1 - - "), Some(LineError::NoTime));
        assert_eq!(cut("10.0.0.1 - - [17/May/2015:10:05"), Some(LineError::NoTime));
        assert_eq!(cut("1 - - [17/May/2015:10:05:03 +0000] "), Some(LineError::NoRequest));
        assert_eq!(cut("1 - - [17/May/2015:10:05:03 +0000] \"GET /"), Some(LineError::OpenQuote));
        assert_eq!(cut("1 - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 20"), Some(LineError::Status));
        assert_eq!(cut("1 - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200"), Some(LineError::Size));
        assert_eq!(cut("1 - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 x"), Some(LineError::Size));
    }

    #[test]
    fn users_with_spaces_escaped_quotes_and_no_size() {
        let line = br#"h - John [x Doe [17/May/2015:10:05:03 +0200] "GET /\"\xe9 HTTP/1.0" 304 -"#;
        assert_eq!(parse(Format::Common, line).unwrap().at, None, "the first bracket is the time's");
        let line = br#"h - John Doe [17/May/2015:10:05:03 +0200] "GET /\"\xe9 HTTP/1.0" 304 -"#;
        let entry = parse(Format::Common, line).unwrap();
        assert_eq!((entry.target, entry.escaped, entry.bytes), (&br#"/\"\xe9"#[..], true, None));
        assert_eq!(entry.at.unwrap().nanos, 1_431_849_903_000_000_000);
    }

    #[test]
    fn what_is_no_request_has_no_method() {
        let line = br#"h - - [17/May/2015:10:05:03 +0000] "\x16\x03\x01" 400 226 "-" "-""#;
        let entry = parse(Format::Combined, line).unwrap();
        assert_eq!((entry.method, entry.target), (&b""[..], &br"\x16\x03\x01"[..]));
    }

    #[test]
    fn a_time_that_cannot_be_read_costs_the_stamp_alone() {
        let entry = parse(Format::Common, br#"h - - [yesterday] "GET / HTTP/1.1" 200 1"#).unwrap();
        assert_eq!(entry.at, None);
    }
}
