//! Parsers of times and durations as people type them.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};

/// The next such time, in seconds since 1970: `18:00`, `2026-12-24`, `2026-12-24T18:00`, or with its offset.
pub(crate) fn until(text: &str) -> Result<u64, String> {
    let now = Zoned::now();
    let moment = read(text, &now).filter(|moment| *moment > now.timestamp());
    let seconds = moment.and_then(|moment| u64::try_from(moment.as_second()).ok());
    seconds.ok_or_else(|| "no moment to come; write 18:00, 2026-12-24 or 2026-12-24T18:00".to_owned())
}

/// A moment as people read it, by the local clock.
pub(crate) fn text(unix_s: u64) -> String {
    let moment = i64::try_from(unix_s).ok().and_then(|s| Timestamp::from_second(s).ok());
    moment.map_or_else(|| unix_s.to_string(), |at| at.to_zoned(TimeZone::system()).to_string())
}

/// A duration, in seconds: `8h`, `15m`.
pub(crate) fn seconds(text: &str) -> Result<u64, String> {
    let span = text.parse::<SignedDuration>().ok().filter(|span| span.subsec_nanos() == 0);
    let seconds = span.and_then(|span| u64::try_from(span.as_secs()).ok()).filter(|seconds| *seconds > 0);
    seconds.ok_or_else(|| "no time in whole seconds; write 8h or 15m".to_owned())
}

/// By the local clock and calendar; a time without a date is today's, or tomorrow's if it is over.
fn read(text: &str, now: &Zoned) -> Option<Timestamp> {
    if let Ok(moment) = text.parse() {
        return Some(moment);
    }
    let here = |moment: DateTime| Some(moment.to_zoned(now.time_zone().clone()).ok()?.timestamp());
    // Text with a date and a time also parses as either alone: so it comes first.
    if let Ok(moment) = text.parse::<DateTime>() {
        return here(moment);
    }
    if let Ok(date) = text.parse::<Date>() {
        return here(date.to_datetime(Time::midnight()));
    }
    let time = text.parse::<Time>().ok().filter(|_| text.contains(':'))?;
    let today = here(now.date().to_datetime(time))?;
    if today > now.timestamp() { Some(today) } else { here(now.date().tomorrow().ok()?.to_datetime(time)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_the_next_that_is_meant() {
        let now: Zoned = "2026-12-24T17:00+01:00[+01:00]".parse().unwrap();
        let read = |text: &str| read(text, &now).map(|moment| moment.to_string());
        for (text, moment) in [
            ("18:00", "2026-12-24T17:00:00Z"),
            ("16:30", "2026-12-25T15:30:00Z"),
            ("17:00", "2026-12-25T16:00:00Z"),
            ("2026-12-31", "2026-12-30T23:00:00Z"),
            ("2026-07-01T08:00", "2026-07-01T07:00:00Z"),
            ("2026-12-31T00:00:00Z", "2026-12-31T00:00:00Z"),
        ] {
            assert_eq!(read(text).as_deref(), Some(moment), "{text}");
        }
        assert!(["", "soon", "25:00", "2026-13-01"].iter().all(|text| read(text).is_none()));
        assert!(until("2020-01-01").is_err(), "it is over");
    }

    #[test]
    fn a_span_has_whole_seconds_and_some_of_them() {
        assert_eq!((seconds("8h"), seconds("15m"), seconds("1h30m")), (Ok(28_800), Ok(900), Ok(5400)));
        assert!(["", "8", "0s", "-1h", "500ms", "1.5s"].iter().all(|text| seconds(text).is_err()));
    }
}
