//! Dates of HTTP: seconds since 1970 to text and back.
//!
//! Both sides of the wall. Hot where an origin writes dates into each reply, reads untrusted input.

use httpdate::HttpDate;
use std::io::Write as _;
use std::time::{Duration, UNIX_EPOCH};

/// IMF-fixdate (RFC 9110 section 5.6.7) of seconds since 1970.
pub fn http_date(unix_seconds: u64) -> String {
    http_date_bytes(unix_seconds).map(char::from).iter().collect()
}

/// The last second that an IMF-fixdate can say: the end of the year 9999.
const LAST_SECOND: u64 = 253_402_300_799;

/// The same without an allocation, as bytes of ASCII. Years have four digits: a time after the year 9999 becomes its
/// last second.
pub fn http_date_bytes(unix_seconds: u64) -> [u8; 29] {
    let date = HttpDate::from(UNIX_EPOCH + Duration::from_secs(unix_seconds.min(LAST_SECOND)));
    let mut text = *b"Thu, 01 Jan 1970 00:00:00 GMT";
    let _ = write!(&mut text[..], "{date}"); // always 29 bytes
    text
}

/// Seconds since 1970 of a date in any of the three forms that RFC 9110 section 5.6.7 lets a recipient see.
pub fn parse_http_date(date: &[u8]) -> Option<u64> {
    let date = httpdate::parse_http_date(std::str::from_utf8(date).ok()?).ok()?;
    date.duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs())
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
        for obsolete in ["Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"] {
            assert_eq!(parse_http_date(obsolete.as_bytes()), Some(784_111_777), "{obsolete}");
        }
        for wrong in [
            "yesterday",
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
}
