//! The server's half: reads requests, and knows the one date format.

use super::{MAX_HEAD_BYTES, MAX_HEADERS, content_length, has_token};
use crate::stamp;
use std::mem::MaybeUninit;

/// Methods as a server tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerMethod {
    /// GET
    Get,
    /// HEAD
    Head,
    /// POST
    Post,
    /// PUT
    Put,
    /// Any other.
    Other,
}

/// One request's head. Borrowed from the reader's input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestHead<'a> {
    /// The method.
    pub method: ServerMethod,
    /// The target as it was sent.
    pub target: &'a [u8],
    /// Whether the connection may carry another request.
    pub keep_alive: bool,
    /// Bytes of body that follow and are to be passed over; 0 if it comes in chunks.
    pub body_bytes: u64,
    /// Whether a body in chunks follows, which no safe method needs:
    /// [`UnreadChunks`](super::UnreadChunks) finds its end.
    pub chunked: bool,
    /// Whether the client waits for a 100 before it sends the body (`Expect: 100-continue`).
    pub expects_continue: bool,
    /// `If-Modified-Since`, as it was sent.
    pub if_modified_since: Option<&'a [u8]>,
    /// `If-None-Match`, as it was sent.
    pub if_none_match: Option<&'a [u8]>,
    /// `Range`, as it was sent.
    pub range: Option<&'a [u8]>,
    /// `If-Range`, as it was sent.
    pub if_range: Option<&'a [u8]>,
    /// [`X-Bakeoff`](crate::stamp), as it was sent.
    pub stamp: Option<&'a [u8]>,
    /// Bytes of the head.
    pub head_bytes: usize,
}

/// Why the bytes are no request; the label is the answer's status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// 400: breaks the grammar, or an ambiguous length.
    #[error("400 Bad Request")]
    Bad,
    /// 431: more than [`MAX_HEAD_BYTES`] or [`MAX_HEADERS`].
    #[error("431 Request Header Fields Too Large")]
    TooLarge,
    /// 501: a body in a transfer coding that is not understood.
    #[error("501 Not Implemented")]
    Coding,
}

/// Reads request heads.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestReader;

impl RequestReader {
    /// The head at the start of `input`, `None` when it is not all there yet.
    ///
    /// # Errors
    /// When the bytes are no request that this server understands.
    pub fn head(input: &[u8]) -> Result<Option<RequestHead<'_>>, RequestError> {
        let mut lines = [const { MaybeUninit::uninit() }; MAX_HEADERS];
        let mut request = httparse::Request::new(&mut []);
        let length = match request.parse_with_uninit_headers(input, &mut lines) {
            Ok(httparse::Status::Complete(length)) if length > MAX_HEAD_BYTES => {
                return Err(RequestError::TooLarge);
            }
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) if input.len() > MAX_HEAD_BYTES => {
                return Err(RequestError::TooLarge);
            }
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => return Err(RequestError::TooLarge),
            Err(_) => return Err(RequestError::Bad),
        };
        let method = match request.method {
            Some("GET") => ServerMethod::Get,
            Some("HEAD") => ServerMethod::Head,
            Some("POST") => ServerMethod::Post,
            Some("PUT") => ServerMethod::Put,
            _ => ServerMethod::Other,
        };
        let target = request.path.ok_or(RequestError::Bad)?.as_bytes();
        let mut head = RequestHead {
            method,
            target,
            keep_alive: request.version == Some(1),
            body_bytes: 0,
            chunked: false,
            expects_continue: false,
            if_modified_since: None,
            if_none_match: None,
            range: None,
            if_range: None,
            stamp: None,
            head_bytes: length,
        };
        read_fields(request.headers, &mut head)?;
        if head.chunked && request.version != Some(1) {
            return Err(RequestError::Bad); // HTTP/1.0 has no chunks: who put the line there?
        }
        head.expects_continue &= request.version == Some(1) && (head.body_bytes > 0 || head.chunked);
        Ok(Some(head))
    }
}

fn read_fields<'a>(headers: &[httparse::Header<'a>], head: &mut RequestHead<'a>) -> Result<(), RequestError> {
    let mut length = None;
    for header in headers {
        match header.name.len() {
            14 if header.name.eq_ignore_ascii_case("content-length") => {
                let value = content_length(header.value).ok_or(RequestError::Bad)?;
                if length.is_some_and(|before| before != value) {
                    return Err(RequestError::Bad);
                }
                length = Some(value);
            }
            17 if header.name.eq_ignore_ascii_case("transfer-encoding") => {
                if head.chunked || !header.value.trim_ascii().eq_ignore_ascii_case(b"chunked") {
                    return Err(RequestError::Coding);
                }
                head.chunked = true;
            }
            10 if header.name.eq_ignore_ascii_case("connection") => {
                if has_token(header.value, b"close") {
                    head.keep_alive = false;
                } else if has_token(header.value, b"keep-alive") {
                    head.keep_alive = true; // HTTP/1.0 clients such as ab ask for it
                }
            }
            17 if header.name.eq_ignore_ascii_case("if-modified-since") => {
                head.if_modified_since = Some(header.value)
            }
            6 if header.name.eq_ignore_ascii_case("expect") => {
                head.expects_continue = has_token(header.value, b"100-continue");
            }
            13 if header.name.eq_ignore_ascii_case("if-none-match") => {
                head.if_none_match = Some(header.value)
            }
            8 if header.name.eq_ignore_ascii_case("if-range") => head.if_range = Some(header.value),
            9 if header.name.eq_ignore_ascii_case(stamp::NAME) => head.stamp = Some(header.value),
            5 if header.name.eq_ignore_ascii_case("range") => head.range = Some(header.value),
            _ => {}
        }
    }
    if head.chunked && length.is_some() {
        return Err(RequestError::Bad); // two lengths at once are what smuggling looks like
    }
    head.body_bytes = length.unwrap_or(0);
    Ok(())
}

const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]; // 1 January 1970 was a Thursday
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// IMF-fixdate (RFC 9110 section 5.6.7) of seconds since 1970.
pub fn http_date(unix_seconds: u64) -> String {
    http_date_bytes(unix_seconds).map(char::from).iter().collect()
}

/// The last second that an IMF-fixdate can say: the end of the year 9999.
const LAST_SECOND: u64 = 253_402_300_799;

/// The same without an allocation, as bytes of ASCII. Years have four digits: what is later than the year
/// 9999 becomes its last second.
pub fn http_date_bytes(unix_seconds: u64) -> [u8; 29] {
    let unix_seconds = unix_seconds.min(LAST_SECOND);
    let (days, second) = (unix_seconds / 86_400, unix_seconds % 86_400);
    let (year, month, day) = civil(days);
    let mut date = *b"Thu, 01 Jan 1970 00:00:00 GMT";
    date[..3].copy_from_slice(DAYS[(days % 7) as usize].as_bytes());
    date[8..11].copy_from_slice(MONTHS[(month - 1) as usize].as_bytes());
    let pairs = [
        (5, day),
        (12, year / 100),
        (14, year % 100),
        (17, second / 3600),
        (20, second / 60 % 60),
        (23, second % 60),
    ];
    for (place, number) in pairs {
        date[place] = b'0' + (number / 10) as u8;
        date[place + 1] = b'0' + (number % 10) as u8;
    }
    date
}

/// Seconds since 1970 of an IMF-fixdate; `None` for the obsolete forms, which nobody sends here. Other white
/// space and numbers of other lengths are taken too.
pub fn parse_http_date(date: &[u8]) -> Option<u64> {
    let Date { year, month, day, clock: [hour, minute, second] } =
        <&[u8; 29]>::try_from(date).ok().and_then(fixed_date).or_else(|| spaced_date(date))?;
    let month = MONTHS.iter().position(|name| name.as_bytes() == month)? as u64 + 1;
    if !(1970..=9999).contains(&year) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let seconds = days_since_1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
    Some(seconds.min(LAST_SECOND)) // beyond it there is only a leap second
}

/// The parts of a date, as they were read.
struct Date<'a> {
    year: u64,
    month: &'a [u8],
    day: u64,
    clock: [u64; 3],
}

/// As all write it: everything at its place.
#[inline]
fn fixed_date(date: &[u8; 29]) -> Option<Date<'_>> {
    let pair = |at: usize| {
        let (tens, ones) = (date[at].wrapping_sub(b'0'), date[at + 1].wrapping_sub(b'0'));
        (tens < 10 && ones < 10).then(|| u64::from(tens) * 10 + u64::from(ones))
    };
    let marks = [(3, b','), (4, b' '), (7, b' '), (11, b' '), (16, b' '), (19, b':'), (22, b':')];
    if date[25..] != *b" GMT" || marks.iter().any(|&(at, mark)| date[at] != mark) {
        return None;
    }
    let clock = [pair(17)?, pair(20)?, pair(23)?];
    Some(Date { year: pair(12)? * 100 + pair(14)?, month: &date[8..11], day: pair(5)?, clock })
}

/// With other white space.
#[cold]
fn spaced_date(date: &[u8]) -> Option<Date<'_>> {
    let text = std::str::from_utf8(date).ok()?;
    let mut fields = text.split_ascii_whitespace().skip(1); // the day of the week
    let (day, month, year, time) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    if fields.next() != Some("GMT") || fields.next().is_some() {
        return None;
    }
    let mut clock = time.split(':').map(|part| part.parse::<u64>().ok());
    let clock = [clock.next()??, clock.next()??, clock.next()??];
    Some(Date { year: year.parse().ok()?, month: month.as_bytes(), day: day.parse().ok()?, clock })
}

/// Year, month, day of a day number. Howard Hinnant, "chrono-compatible low-level date algorithms".
const fn civil(days: u64) -> (u64, u64, u64) {
    let z = days + 719_468;
    let (era, day_of_era) = (z / 146_097, z % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + (month <= 2) as u64, month, day)
}

/// The inverse of [`civil`], same source. For years from 1970 on.
const fn days_since_1970(year: u64, month: u64, day: u64) -> u64 {
    let year = year - (month <= 2) as u64;
    let (era, year_of_era) = (year / 400, year % 400);
    let shifted = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * shifted + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_go_there_and_back() {
        assert_eq!(http_date(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT"); // the RFC's example
        for seconds in [0, 951_782_400, 1_431_857_103, 4_102_444_800] {
            assert_eq!(parse_http_date(http_date(seconds).as_bytes()), Some(seconds));
        }
        for second in (0..4_000_000_000).step_by(86_399_977) {
            assert_eq!(parse_http_date(&http_date_bytes(second)), Some(second));
        }
        assert_eq!(parse_http_date(b" Sun,  6 Nov 1994  08:49:37 GMT"), Some(784_111_777));
        for wrong in [
            "yesterday",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 UTC",
            "Sun, 06 Nov 1994 24:49:37 GMT",
            "Sun, 00 Nov 1994 08:49:37 GMT",
            "Sun, 06 nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:4x:37 GMT",
        ] {
            assert_eq!(parse_http_date(wrong.as_bytes()), None, "{wrong}");
        }
        assert_eq!(http_date(u64::MAX), "Fri, 31 Dec 9999 23:59:59 GMT");
    }

    #[test]
    fn a_request_of_curl_and_one_of_ab() {
        let curl = b"GET /a?b HTTP/1.1\r\nHost: x\r\nUser-Agent: curl\r\nRange: bytes=0-9\r\n\r\nGET";
        let head = RequestReader::head(curl).unwrap().unwrap();
        assert_eq!((head.method, head.target, head.keep_alive), (ServerMethod::Get, &b"/a?b"[..], true));
        assert_eq!((head.head_bytes, head.range), (curl.len() - 3, Some(&b"bytes=0-9"[..])));
        let ab = b"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\nHost: x\r\n\r\n";
        assert!(RequestReader::head(ab).unwrap().unwrap().keep_alive);
        assert_eq!(RequestReader::head(&ab[..20]), Ok(None));
    }

    #[test]
    fn conditions_and_the_stamp_are_handed_out_as_they_were_sent() {
        let request =
            b"POST /a HTTP/1.1\r\nx-bakeoff: ask=00000000000000ff\r\nIf-None-Match: \"a\", W/\"b\"\r\n\
            If-Range: \"c\"\r\nContent-Length: 3\r\n\r\nabc";
        let head = RequestReader::head(request).unwrap().unwrap();
        assert_eq!((head.method, head.body_bytes), (ServerMethod::Post, 3));
        assert_eq!(head.stamp.and_then(stamp::parse_ask), Some(255));
        assert_eq!(head.if_none_match, Some(&b"\"a\", W/\"b\""[..]));
        assert_eq!(head.if_range, Some(&b"\"c\""[..]));
        for (version, length, waits) in [("1.1", 3, true), ("1.1", 0, false), ("1.0", 3, false)] {
            let request =
                format!("PUT / HTTP/{version}\r\nExpect: 100-Continue\r\nContent-Length: {length}\r\n\r\n");
            let head = RequestReader::head(request.as_bytes()).unwrap().unwrap();
            assert_eq!(head.expects_continue, waits, "{request}");
        }
        let plain = RequestReader::head(b"PUT / HTTP/1.1\r\n\r\n").unwrap().unwrap();
        assert_eq!((plain.method, plain.stamp, plain.if_none_match), (ServerMethod::Put, None, None));
    }

    #[test]
    fn what_could_smuggle_is_refused() {
        let two = b"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n";
        assert_eq!(RequestReader::head(two), Err(RequestError::Bad));
        let head = |lines: &str| {
            let request = format!("POST / HTTP/{lines}\r\n\r\n");
            RequestReader::head(request.as_bytes())
                .map(|head| head.map(|head| (head.chunked, head.body_bytes)))
        };
        assert_eq!(head("1.1\r\nTransfer-Encoding: chunked"), Ok(Some((true, 0))));
        for (lines, error) in [
            ("1.1\r\nTransfer-Encoding: gzip, chunked", RequestError::Coding),
            ("1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked", RequestError::Coding),
            ("1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3", RequestError::Bad),
            ("1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked", RequestError::Bad),
            ("1.0\r\nTransfer-Encoding: chunked", RequestError::Bad),
        ] {
            assert_eq!(head(lines), Err(error), "{lines}");
        }
        let huge = [b"GET /".as_slice(), &[b'a'; MAX_HEAD_BYTES + 1]].concat();
        assert_eq!(RequestReader::head(&huge), Err(RequestError::TooLarge));
    }
}
