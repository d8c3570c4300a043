//! Which format a log is in, told from its first lines.
//!
//! Cold: once per log. Each line votes for what it looks like; the majority has it, so that junk at
//! the top of a log, or a user name with a space, does not decide.

use super::fields::skip_spaces;
use super::{Format, LineError, apache, json, nginx, squid};
use std::fmt;

/// No line looks like a format that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DetectError {
    /// How many lines with anything in them were looked at.
    pub lines: usize,
    /// What is wrong with the first of them, read as Combined.
    pub first: Option<LineError>,
}

impl fmt::Display for DetectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.first {
            None => f.write_str("there is no line in it"),
            Some(first) => {
                write!(f, "none of the first {} lines looks like an access log ", self.lines)?;
                write!(f, "(common, combined, vhost-combined, nginx-json, squid); read as combined: {first}")
            }
        }
    }
}

impl std::error::Error for DetectError {}

/// Tells the format from some lines of a log, a hundred or so.
///
/// # Errors
/// No line has any known format.
pub fn detect<'a>(lines: impl IntoIterator<Item = &'a [u8]>) -> Result<Format, DetectError> {
    let mut votes = [0_usize; Format::ALL.len()];
    let mut none = DetectError { lines: 0, first: None };
    for line in lines.into_iter().filter(|line| !line.trim_ascii().is_empty()) {
        none.lines += 1;
        match vote(line) {
            Ok(format) => votes[format as usize] += 1,
            Err(error) => none.first = none.first.or(Some(error)),
        }
    }
    let most = votes.iter().copied().max().unwrap_or(0);
    let winner = Format::ALL.into_iter().rev().find(|format| votes[*format as usize] == most);
    winner.filter(|_| most > 0).ok_or(none)
}

fn vote(line: &[u8]) -> Result<Format, LineError> {
    if json::members(line).is_some() {
        return nginx::parse(line).map(|_| Format::NginxJson);
    }
    match apache::parts(line) {
        Ok(parts) => Ok(apache_kind(&parts)),
        Err(error) => match squid::parse(line) {
            Ok(entry) if entry.at.is_some() => Ok(Format::Squid),
            _ => Err(error),
        },
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
            (JSON, Format::NginxJson),
            (SQUID, Format::Squid),
        ] {
            assert_eq!(detect([line]), Ok(format));
        }
    }

    #[test]
    fn the_majority_decides_and_junk_does_not_vote() {
        assert_eq!(detect([b"# comment", COMBINED, VHOST, COMBINED, b""]), Ok(Format::Combined));
        let refused = detect([&b"hello"[..], b"world"]).unwrap_err();
        assert_eq!(refused, DetectError { lines: 2, first: Some(LineError::NoTime) });
        assert_eq!(detect([&b""[..]]).unwrap_err().to_string(), "there is no line in it");
    }
}
