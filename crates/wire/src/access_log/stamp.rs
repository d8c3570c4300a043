//! Time stamps of logs, parsed by fixed positions.
//!
//! Hot: once per line. Three spellings: `17/May/2015:10:05:03 +0200`, ISO 8601, and seconds since
//! the epoch with an optional fraction. Leap seconds (`:60`) become the second after.

use crate::digits::decimal;

/// A moment since 1970-01-01T00:00:00Z, up to the year 2554.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp {
    /// Nanoseconds since the epoch.
    pub nanos: u64,
    /// Whether the log writes parts of a second. When not, requests of one second cannot be told
    /// apart by it.
    pub fine: bool,
}

const SECOND: u64 = 1_000_000_000;

/// `17/May/2015:10:05:03 +0200`, also with a fraction behind the seconds.
#[inline]
pub(super) fn common(text: &[u8]) -> Option<Stamp> {
    let (head, rest) = text.split_at_checked(20)?;
    if head[2] != b'/' || head[6] != b'/' || head[11] != b':' || head[14] != b':' || head[17] != b':' {
        return None;
    }
    let month = month(&head[3..6])?;
    let days = days(digits(&head[7..11])?, month, digits(&head[..2])?)?;
    let clock = seconds(digits(&head[12..14])?, digits(&head[15..17])?, digits(&head[18..20])?)?;
    let (fraction, zone) = fraction(rest);
    stamp(days * 86_400 + clock - offset(zone.strip_prefix(b" ").unwrap_or(zone))?, fraction)
}

/// `2015-05-17T10:05:03.25+02:00`, also with a space for the `T`, `Z`, `+0200` or no zone (UTC).
pub(super) fn iso(text: &[u8]) -> Option<Stamp> {
    let (head, rest) = text.split_at_checked(19)?;
    if head[4] != b'-' || head[7] != b'-' || head[13] != b':' || head[16] != b':' {
        return None;
    }
    if !matches!(head[10], b'T' | b't' | b' ') {
        return None;
    }
    let days = days(digits(&head[..4])?, digits(&head[5..7])?, digits(&head[8..10])?)?;
    let clock = seconds(digits(&head[11..13])?, digits(&head[14..16])?, digits(&head[17..19])?)?;
    let (fraction, zone) = fraction(rest);
    stamp(days * 86_400 + clock - offset(zone)?, fraction)
}

/// `1431857103.250`: seconds since the epoch, digits beyond nanoseconds dropped.
pub(super) fn epoch(text: &[u8]) -> Option<Stamp> {
    let whole = text.iter().position(|&b| b == b'.').unwrap_or(text.len());
    let (fraction, rest) = fraction(&text[whole..]);
    let seconds = i64::try_from(decimal(&text[..whole])?).ok()?;
    if rest.is_empty() { stamp(seconds, fraction) } else { None }
}

/// Any of the three spellings.
pub(super) fn any(text: &[u8]) -> Option<Stamp> {
    common(text).or_else(|| iso(text)).or_else(|| epoch(text))
}

fn stamp(seconds: i64, fraction: Option<u64>) -> Option<Stamp> {
    let whole = u64::try_from(seconds).ok()?.checked_mul(SECOND)?;
    Some(Stamp { nanos: whole.checked_add(fraction.unwrap_or(0))?, fine: fraction.is_some() })
}

#[inline]
fn digits(text: &[u8]) -> Option<i64> {
    text.iter().try_fold(0, |value, &b| b.is_ascii_digit().then(|| value * 10 + i64::from(b - b'0')))
}

#[inline]
fn month(name: &[u8]) -> Option<i64> {
    const NAMES: [&[u8; 3]; 12] =
        [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];
    NAMES.iter().position(|known| *known == name).map(|at| at as i64 + 1)
}

/// Days from 1970-01-01 in the Gregorian calendar. The year is taken to begin in March, so that
/// the leap day is its last; 719,468 days lie between 0000-03-01 and the epoch (H. Hinnant,
/// "chrono-compatible low-level date algorithms", days_from_civil).
#[inline]
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some(era * 146_097 + day_of_era - 719_468)
}

#[inline]
fn seconds(hour: i64, minute: i64, second: i64) -> Option<i64> {
    (hour < 24 && minute < 60 && second <= 60).then_some(hour * 3600 + minute * 60 + second)
}

/// Seconds east of Greenwich: nothing, `Z`, `+HHMM` or `+HH:MM`.
#[inline]
fn offset(text: &[u8]) -> Option<i64> {
    let (sign, hours, minutes) = match text {
        [] | [b'Z' | b'z'] => return Some(0),
        &[sign, a, b, c, d] | &[sign, a, b, b':', c, d] => (sign, digits(&[a, b])?, digits(&[c, d])?),
        _ => return None,
    };
    let seconds = hours * 3600 + minutes * 60;
    match sign {
        b'+' => Some(seconds),
        b'-' => Some(-seconds),
        _ => None,
    }
}

/// Nanoseconds of `.digits` (or `,digits`) at the start of `text`, if any, and what follows.
#[inline]
fn fraction(text: &[u8]) -> (Option<u64>, &[u8]) {
    let Some((b'.' | b',', rest)) = text.split_first() else { return (None, text) };
    let count = rest.iter().position(|b| !b.is_ascii_digit()).unwrap_or(rest.len());
    if count == 0 {
        return (None, text);
    }
    let digits = rest[..count].iter().map(|digit| u64::from(digit - b'0')).chain(std::iter::repeat(0));
    let nanos = digits.take(9).fold(0, |nanos, digit| nanos * 10 + digit);
    (Some(nanos), &rest[count..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nanos(stamp: Option<Stamp>) -> u64 {
        stamp.unwrap().nanos
    }

    #[test]
    fn known_moments() {
        let moment = 1_431_857_103_000_000_000;
        assert_eq!(nanos(common(b"17/May/2015:10:05:03 +0000")), moment);
        assert_eq!(nanos(common(b"17/May/2015:12:35:03 +0230")), moment);
        assert_eq!(nanos(common(b"16/May/2015:22:05:03 -1200")), moment);
        assert_eq!(nanos(common(b"17/May/2015:10:05:03.250 +0000")), moment + 250_000_000);
        assert_eq!(nanos(iso(b"2015-05-17T12:05:03+02:00")), moment);
        assert_eq!(nanos(iso(b"2015-05-17T10:05:03Z")), moment);
        assert_eq!(nanos(iso(b"2015-05-17 10:05:03.1234567891")), moment + 123_456_789);
        assert_eq!(nanos(epoch(b"1431857103.007")), moment + 7_000_000);
        assert_eq!(nanos(common(b"01/Jan/1970:00:00:00 +0000")), 0);
        assert_eq!(nanos(common(b"29/Feb/2000:00:00:00 +0000")), 951_782_400_000_000_000);
        assert_eq!(nanos(common(b"01/Mar/2100:00:00:00 +0000")), 4_107_542_400_000_000_000);
    }

    #[test]
    fn fine_stamps_are_told_from_whole_seconds() {
        assert!(!common(b"17/May/2015:10:05:03 +0000").unwrap().fine);
        assert!(!epoch(b"1431857103").unwrap().fine);
        assert!(epoch(b"1431857103.000").unwrap().fine);
    }

    #[test]
    fn what_is_no_time() {
        for wrong in [
            "",
            "-",
            "17/Mai/2015:10:05:03 +0000",
            "17/May/2015:25:05:03 +0000",
            "00/May/2015:10:05:03 +0000",
            "17/May/2015:10:05:03 0000",
            "17/May/2015 10:05:03 +0000",
            "01/Jan/1969:00:00:00 +0000",
            "1.5x",
            "99999999999999999999",
            "17/May/2015:10:05:03 +00000",
        ] {
            assert_eq!(any(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
