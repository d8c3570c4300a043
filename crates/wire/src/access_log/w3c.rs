//! W3C extended log format, of IIS, CloudFront and others: `#Fields:` names the fields of the lines behind it.
//!
//! Hot. Fields stand between single spaces, or between tabs in a line that has one (CloudFront names them between spaces
//! all the same). Times are UTC.

use super::fields::{is_method, size, status};
use super::{LineError, LogEntry, Stamp, stamp};
use memchr::memchr;

/// What begins the line that names the fields.
const HEADER: &[u8] = b"#Fields:";
/// Of several names for one thing the first that is there counts. CloudFront's `cs(Host)` is its own name,
/// `x-host-header` that which was asked for.
const TARGET: [&str; 2] = ["cs-uri-stem", "cs-uri"];
const HOST: [&str; 3] = ["x-host-header", "cs-host", "cs(Host)"];

/// Places of the fields in a line, from 0.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct LogFields {
    header: Vec<u8>,
    date: Option<usize>,
    time: Option<usize>,
    method: Option<usize>,
    target: usize,
    query: Option<usize>,
    status: usize,
    size: Option<usize>,
    host: Option<usize>,
}

impl LogFields {
    /// From the line that names them; `None` where it is none, or lacks `cs-uri-stem` or `sc-status`. It is kept as long
    /// as the program runs, which reads one or two.
    pub(super) fn of_header(line: &[u8]) -> Option<&'static Self> {
        let header = line.strip_prefix(HEADER)?.trim_ascii();
        let text = std::str::from_utf8(header).ok()?;
        let names: Vec<&str> = text.split_ascii_whitespace().collect();
        let at = |name: &str| names.iter().position(|known| known.eq_ignore_ascii_case(name));
        let fields = Self {
            header: header.to_vec(),
            date: at("date"),
            time: at("time"),
            method: at("cs-method"),
            target: TARGET.into_iter().find_map(at)?,
            query: at("cs-uri-query").filter(|_| at("cs-uri-stem").is_some()),
            status: at("sc-status")?,
            size: at("sc-bytes"),
            host: HOST.into_iter().find_map(at),
        };
        Some(Box::leak(Box::new(fields)))
    }

    /// Whether this line names fields, and if so whether they are these.
    pub(super) fn is_named_by(&self, line: &[u8]) -> Option<bool> {
        line.strip_prefix(HEADER).map(|header| header.trim_ascii() == self.header)
    }
}

pub(super) fn parse<'a>(fields: &LogFields, line: &'a [u8]) -> Result<LogEntry<'a>, LineError> {
    if line.starts_with(b"#") || line.trim_ascii().is_empty() {
        return Err(LineError::Empty);
    }
    let between = if memchr(b'\t', line).is_some() { b'\t' } else { b' ' };
    let mut found = Found::default();
    for (at, field) in line.split(|&byte| byte == between).enumerate() {
        found.take(fields, at, field);
    }
    let method = match fields.method {
        Some(_) => found.method.filter(|method| is_method(method)).unwrap_or_default(),
        None => b"GET",
    };
    Ok(LogEntry {
        at: found.date.zip(found.time).and_then(|(date, time)| moment(date, time)),
        method,
        target: found.target.ok_or(LineError::TooFewFields)?,
        query: found.query.filter(|query| *query != b"-"),
        escaped: false,
        status: status(found.status.ok_or(LineError::TooFewFields)?)?,
        bytes: found.size.map_or(Ok(None), size)?,
        vhost: found.host.filter(|host| *host != b"-"),
    })
}

/// The fields of a line that are needed.
#[derive(Default)]
struct Found<'a> {
    date: Option<&'a [u8]>,
    time: Option<&'a [u8]>,
    method: Option<&'a [u8]>,
    target: Option<&'a [u8]>,
    query: Option<&'a [u8]>,
    status: Option<&'a [u8]>,
    size: Option<&'a [u8]>,
    host: Option<&'a [u8]>,
}

impl<'a> Found<'a> {
    fn take(&mut self, fields: &LogFields, at: usize, field: &'a [u8]) {
        for (place, slot) in [
            (fields.date, &mut self.date),
            (fields.time, &mut self.time),
            (fields.method, &mut self.method),
            (Some(fields.target), &mut self.target),
            (fields.query, &mut self.query),
            (Some(fields.status), &mut self.status),
            (fields.size, &mut self.size),
            (fields.host, &mut self.host),
        ] {
            if place == Some(at) {
                *slot = Some(field);
            }
        }
    }
}

/// `2019-12-04` and `21:02:31`, with or without a fraction.
fn moment(date: &[u8], time: &[u8]) -> Option<Stamp> {
    let mut both = [b' '; 40];
    both.get_mut(..date.len())?.copy_from_slice(date);
    let end = date.len() + 1 + time.len();
    both.get_mut(date.len() + 1..end)?.copy_from_slice(time);
    stamp::iso(&both[..end])
}

#[cfg(test)]
mod tests {
    use super::super::{LineError, detect, parse};

    const IIS: &[u8] =
        b"#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port sc-status sc-bytes time-taken\r";
    const CLOUDFRONT: &[u8] = b"#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs-uri-query x-host-header";

    #[test]
    fn iis_and_cloudfront() {
        let lines: [&[u8]; 4] = [b"#Software: Microsoft IIS", b"#Version: 1.0", IIS, b"x"];
        let format = detect(lines).unwrap();
        assert_eq!(format.as_str(), "w3c");
        let entry = parse(format, b"2015-05-17 10:05:03 ::1 GET /a x=1 80 404 1245 15\r").unwrap();
        assert_eq!((entry.method, entry.target, entry.query), (&b"GET"[..], &b"/a"[..], Some(&b"x=1"[..])));
        assert_eq!((entry.status, entry.bytes, entry.vhost), (404, Some(1245), None));
        assert_eq!(entry.at.unwrap().nanos, 1_431_857_103_000_000_000);
        let format = detect([CLOUDFRONT]).unwrap();
        let entry = parse(format, b"2015-05-17\t10:05:03\tFRA2\t392\t1.2.3.4\tHEAD\td1.cloudfront.net\t/a%20b\t200\t-\t-\twww.example.com").unwrap();
        assert_eq!((entry.method, entry.target, entry.query), (&b"HEAD"[..], &b"/a%20b"[..], None));
        assert_eq!((entry.status, entry.bytes, entry.vhost), (200, Some(392), Some(&b"www.example.com"[..])));
    }

    #[test]
    fn comments_are_no_lines_and_cut_lines_are_bad() {
        let format = detect([IIS]).unwrap();
        assert_eq!(parse(format, b"#Date: 2015-05-17 10:05:03"), Err(LineError::Empty));
        assert_eq!(parse(format, b"2015-05-17 10:05:03 ::1 GET /a - 80"), Err(LineError::TooFewFields));
        assert_eq!(parse(format, b"2015-05-17 10:05:03 ::1 GET /a - 80 20x 1 1"), Err(LineError::Status));
        assert_eq!(
            parse(format, b"2015-05-17 10:05:03 ::1 GET /a - 80 200").unwrap().bytes,
            None,
            "cut behind the status"
        );
    }

    #[test]
    fn another_header_is_told_and_one_without_a_path_is_no_format() {
        let format = detect([IIS]).unwrap();
        assert_eq!(format.is_named_by(IIS), Some(true));
        assert_eq!(format.is_named_by(CLOUDFRONT), Some(false));
        assert_eq!(format.is_named_by(b"2015-05-17"), None);
        let refused = detect([&b"#Fields: date time c-ip"[..]]).unwrap_err().to_string();
        assert!(refused.contains("cs-uri-stem"), "{refused}");
    }
}
