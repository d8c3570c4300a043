//! Dates as HTTP writes them (RFC 9110 section 5.6.7).
//!
//! Measuring side, hot for conditional requests. Days to dates after Hinnant, "chrono-compatible low-level
//! date algorithms", `civil_from_days`.

const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]; // 1970 began on a Thursday
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Appends the date of a moment in seconds since 1970, such as `Sun, 06 Nov 1994 08:49:37 GMT`; years
/// beyond 9999 become that.
pub(super) fn push(unix_secs: u64, out: &mut Vec<u8>) {
    let secs = unix_secs.min(253_402_300_799);
    let (days, of_day) = (secs / 86_400, secs % 86_400);
    let (year, month, day) = civil(days);
    out.extend_from_slice(DAYS[(days % 7) as usize].as_bytes());
    out.extend_from_slice(b", ");
    two(day, out);
    out.push(b' ');
    out.extend_from_slice(MONTHS[month as usize - 1].as_bytes());
    out.push(b' ');
    two(year / 100, out);
    two(year % 100, out);
    for (before, number) in [(b' ', of_day / 3600), (b':', of_day / 60 % 60), (b':', of_day % 60)] {
        out.push(before);
        two(number, out);
    }
    out.extend_from_slice(b" GMT");
}

fn two(number: u64, out: &mut Vec<u8>) {
    out.extend([b'0' + (number / 10 % 10) as u8, b'0' + (number % 10) as u8]);
}

/// Year, month and day of a day since 1970.
fn civil(days: u64) -> (u64, u64, u64) {
    let from_march_0 = days + 719_468; // days since 1 March of year 0
    let era = from_march_0 / 146_097; // of 400 years
    let of_era = from_march_0 % 146_097;
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments() {
        for (secs, date) in [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), // the example of RFC 9110
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (1_795_305_599, "Sat, 21 Nov 2026 23:59:59 GMT"),
            (u64::MAX, "Fri, 31 Dec 9999 23:59:59 GMT"),
        ] {
            let mut out = Vec::new();
            push(secs, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), date);
        }
    }
}
