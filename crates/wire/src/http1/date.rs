//! The one date format of HTTP: seconds since 1970 to text and back.
//!
//! Both sides of the wall. Hot where an origin writes dates into each reply, and fed by strangers.

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
}
