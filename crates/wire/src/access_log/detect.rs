//! Detection of a log's format from its first lines.
//!
//! Cold: once per log. Each line votes for the format that it looks like; the majority decides, so that junk at the top
//! of a log, or a user name with a space, does not.

use super::fields::skip_spaces;
use super::{Format, LogFields, PATTERN, apache, json, parse, squid};
use std::fmt;

/// No line looks like a known format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetectError {
    /// Number of lines that were looked at and not empty.
    pub lines: usize,
    /// The beginning of the first of them.
    pub first: String,
}

/// Bytes of a line that are shown.
const SHOWN: usize = 160;

impl fmt::Display for DetectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.lines == 0 {
            return f.write_str("there is no line in it");
        }
        let known = Format::ALL.map(Format::as_str).join(", ");
        write!(
            f,
            "none of the first {} lines looks like an access log ({known}); the first is `{}`",
            self.lines, self.first
        )?;
        match self.first.as_bytes().first() {
            Some(b'{') => f.write_str(
                "; of JSON say which keys tell what: json:path=KEY,method=KEY,status=KEY,size=KEY,time=KEY",
            ),
            Some(b'#') => f.write_str("; a W3C log needs cs-uri-stem and sc-status in its `#Fields:`"),
            _ => write!(f, "; other lines are described as nginx' log_format does, --format '{PATTERN}'"),
        }
    }
}

impl std::error::Error for DetectError {}

/// Tells the format from some lines of a log, a hundred or so.
///
/// # Errors
/// No line has any known format.
pub fn detect<'a>(lines: impl IntoIterator<Item = &'a [u8]>) -> Result<Format, DetectError> {
    let lines: Vec<&[u8]> = lines.into_iter().collect();
    if let Some(fields) = lines.iter().find_map(|line| LogFields::of_header(line)) {
        return Ok(Format::W3c(fields));
    }
    let mut votes = [0_usize; Format::ALL.len()];
    let mut none = DetectError { lines: 0, first: String::new() };
    for line in lines.into_iter().filter(|line| !line.trim_ascii().is_empty()) {
        none.lines += 1;
        if none.lines == 1 {
            let shown = &line[..line.len().min(SHOWN)];
            none.first = String::from_utf8_lossy(shown).replace(char::is_control, " ").trim().to_owned();
        }
        let vote = vote(line).and_then(|format| Format::ALL.iter().position(|known| *known == format));
        if let Some(place) = vote {
            votes[place] += 1;
        }
    }
    let most = votes.iter().copied().max().unwrap_or(0);
    let winner = votes.iter().rposition(|votes| *votes == most && most > 0);
    winner.map(|place| Format::ALL[place]).ok_or(none)
}

fn vote(line: &[u8]) -> Option<Format> {
    if json::members(line).is_some() {
        let kinds = [Format::NGINX_JSON, Format::CADDY, Format::TRAEFIK];
        return kinds.into_iter().find(|format| parse(*format, line).is_ok());
    }
    match apache::parts(line) {
        Ok(parts) => Some(apache_kind(&parts)),
        Err(_) => squid::parse(line).is_ok_and(|entry| entry.at.is_some()).then_some(Format::Squid),
    }
}

/// Four names before the time mean a virtual host; anything behind the size means Combined.
fn apache_kind(parts: &apache::Parts<'_>) -> Format {
    let names = parts.lead.split(|&b| b == b' ').filter(|name| !name.is_empty()).count();
    let tail = skip_spaces(parts.tail);
    match (names, tail.is_empty()) {
        (4.., _) => Format::VhostCombined,
        (_, true) => Format::Common,
        (_, false) => Format::Combined,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMON: &[u8] = br#"1.2.3.4 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1"#;
    const COMBINED: &[u8] = br#"1.2.3.4 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1 "-" "-""#;
    const VHOST: &[u8] = br#"h:80 1.2.3.4 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1 "-" "-""#;
    const JSON: &[u8] = br#"{"request":"GET / HTTP/1.1","status":200,"body_bytes_sent":1}"#;
    const SQUID: &[u8] = b"1066036250.603    310 h TCP_MISS/200 1040 GET http://e/ - DIRECT/1.2.3.4 -";

    #[test]
    fn each_format_is_told_from_one_line() {
        for (line, format) in [
            (COMMON, Format::Common),
            (COMBINED, Format::Combined),
            (VHOST, Format::VhostCombined),
            (JSON, Format::NGINX_JSON),
            (SQUID, Format::Squid),
        ] {
            assert_eq!(detect([line]), Ok(format));
        }
    }

    #[test]
    fn the_majority_decides_and_junk_does_not_vote() {
        assert_eq!(detect([b"# comment", COMBINED, VHOST, COMBINED, b""]), Ok(Format::Combined));
        let refused = detect([&b"hello"[..], b"world"]).unwrap_err();
        assert_eq!(refused, DetectError { lines: 2, first: "hello".to_owned() });
        let said = refused.to_string();
        assert!(
            said.contains("the first is `hello`") && said.contains("--format 'nginx:$remote_addr"),
            "{said}"
        );
        let refused = detect([&br#"{"msg":"hello","u":"/"}"#[..]]).unwrap_err().to_string();
        assert!(refused.contains("json:path=KEY"), "{refused}");
        assert_eq!(detect([&b""[..]]).unwrap_err().to_string(), "there is no line in it");
    }
}
