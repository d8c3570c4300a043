//! Quantities. Each parses from `NUMBER UNIT` as plans write it and prints for people.

use std::fmt;
use std::ops::{Add, AddAssign};
use std::str::FromStr;
use std::time::Duration;

/// A span of time in nanoseconds, 0 to 584 years. All arithmetic saturates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(u64);

/// A number of bytes. `KB`, `MB`, `GB` are powers of 1000, `KiB`, `MiB`, `GiB` powers of 1024.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

/// Events per second, finite and above zero.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct PerSecond(f64);

/// A share or a relative change: 0.014 is 1.4 %. Finite.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Ratio(f64);

/// A text that is no quantity: the expected form, with an example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseQuantityError {
    text: String,
    expected: &'static str,
}

impl fmt::Display for ParseQuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not {}", self.text, self.expected)
    }
}

impl std::error::Error for ParseQuantityError {}

impl Nanos {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest span.
    pub const MAX: Self = Self(u64::MAX);

    /// From whole nanoseconds.
    pub const fn new(nanos: u64) -> Self {
        Self(nanos)
    }

    /// From whole microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros.saturating_mul(1_000))
    }

    /// From whole milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// From whole seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000_000))
    }

    /// From seconds; negative and NaN become zero, too large becomes the longest span.
    pub fn from_secs_f64(secs: f64) -> Self {
        Self((secs * 1e9) as u64) // `as` saturates and maps NaN to 0
    }

    /// From the standard library's type.
    pub fn from_duration(duration: Duration) -> Self {
        Self(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }

    /// Whole nanoseconds.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Whole seconds, as HTTP's dates have them; a fraction is dropped.
    pub const fn whole_secs(self) -> u64 {
        self.0 / 1_000_000_000
    }

    /// Seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// As the standard library's type.
    pub const fn as_duration(self) -> Duration {
        Duration::from_nanos(self.0)
    }

    /// The time from `earlier` to `self`, zero when `earlier` is later: threads read clocks in
    /// no fixed order.
    pub const fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }

    /// This span `factor` times.
    pub fn times(self, factor: f64) -> Self {
        Self((self.0 as f64 * factor) as u64)
    }
}

impl Add for Nanos {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = self.0 as f64;
        match self.0 {
            0..=999 => write!(f, "{} ns", self.0),
            1_000..=999_999 => write!(f, "{} us", three_digits(n / 1e3)),
            1_000_000..=999_999_999 => write!(f, "{} ms", three_digits(n / 1e6)),
            1_000_000_000..=119_999_999_999 => write!(f, "{} s", three_digits(n / 1e9)),
            120_000_000_000..=7_199_999_999_999 => write!(f, "{} min", three_digits(n / 60e9)),
            _ => write!(f, "{} h", three_digits(n / 3600e9)),
        }
    }
}

impl FromStr for Nanos {
    type Err = ParseQuantityError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let expected = "a time such as 200ms, 2us, 1.5s, 5min or 1h";
        let (number, unit) = split(text, expected)?;
        let scale = match unit {
            "ns" => 1e-9,
            "us" | "µs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "min" | "m" => 60.0,
            "h" => 3600.0,
            _ => return Err(error(text, expected)),
        };
        Ok(Self::from_secs_f64(number * scale))
    }
}

impl Bytes {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// From a count of bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// The count of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = self.0 as f64;
        match self.0 {
            0..=999 => write!(f, "{} B", self.0),
            1_000..=999_999 => write!(f, "{} KB", three_digits(n / 1e3)),
            1_000_000..=999_999_999 => write!(f, "{} MB", three_digits(n / 1e6)),
            _ => write!(f, "{} GB", three_digits(n / 1e9)),
        }
    }
}

impl FromStr for Bytes {
    type Err = ParseQuantityError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let expected = "a size such as 500B, 13KB, 2GB or 4KiB";
        let (number, unit) = split(text, expected)?;
        let scale = match unit {
            "B" | "" => 1.0,
            "KB" => 1e3,
            "MB" => 1e6,
            "GB" => 1e9,
            "KiB" => 1024.0,
            "MiB" => 1024.0 * 1024.0,
            "GiB" => 1024.0 * 1024.0 * 1024.0,
            _ => return Err(error(text, expected)),
        };
        Ok(Self((number * scale) as u64))
    }
}

impl PerSecond {
    /// Once a second.
    pub const ONE: Self = Self(1.0);

    /// A rate; `None` unless finite and above zero.
    pub fn new(rate: f64) -> Option<Self> {
        (rate.is_finite() && rate > 0.0).then_some(Self(rate))
    }

    /// Events per second.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// The mean time from one event to the next.
    pub fn gap(self) -> Nanos {
        Nanos::from_secs_f64(1.0 / self.0)
    }
}

impl fmt::Display for PerSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/s", three_digits(self.0))
    }
}

impl FromStr for PerSecond {
    type Err = ParseQuantityError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let expected = "a rate above zero such as 1000/s or 90/min";
        let (number, unit) = split(text, expected)?;
        let scale = match unit {
            "/s" | "" => 1.0,
            "/min" => 1.0 / 60.0,
            "/h" => 1.0 / 3600.0,
            _ => return Err(error(text, expected)),
        };
        Self::new(number * scale).ok_or_else(|| error(text, expected))
    }
}

impl Ratio {
    /// From a fraction (0.014 is 1.4 %); `None` unless finite.
    pub fn new(fraction: f64) -> Option<Self> {
        fraction.is_finite().then_some(Self(fraction))
    }

    /// The fraction.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", three_digits(self.0 * 100.0))
    }
}

impl FromStr for Ratio {
    type Err = ParseQuantityError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let expected = "a share such as 1% or 0.5%";
        let (number, unit) = split(text, expected)?;
        match unit {
            "%" => Ok(Self(number / 100.0)),
            _ => Err(error(text, expected)),
        }
    }
}

/// Splits `12.5 ms` into the number (finite, not negative) and its unit.
pub(crate) fn split<'t>(text: &'t str, expected: &'static str) -> Result<(f64, &'t str), ParseQuantityError> {
    let trimmed = text.trim();
    let end = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(end);
    let number: f64 = number.replace('_', "").parse().map_err(|_| error(text, expected))?;
    if number.is_finite() { Ok((number, unit.trim())) } else { Err(error(text, expected)) }
}

pub(crate) fn error(text: &str, expected: &'static str) -> ParseQuantityError {
    ParseQuantityError { text: text.to_owned(), expected }
}

/// Three significant digits, without an exponent and without trailing zeros after a point that say nothing: 1.23, 12.3,
/// 123, 1234.
pub(crate) fn three_digits(x: f64) -> String {
    let decimals = match x.abs() {
        a if a >= 99.95 => 0,
        a if a >= 9.995 => 1,
        _ => 2,
    };
    let text = format!("{x:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_parse_and_print() {
        for (text, nanos, printed) in [
            ("2us", 2_000, "2 us"),
            ("200ms", 200_000_000, "200 ms"),
            ("1.5s", 1_500_000_000, "1.5 s"),
            ("5min", 300_000_000_000, "5 min"),
            ("12 ns", 12, "12 ns"),
            ("1h", 3_600_000_000_000, "60 min"),
            ("14h", 50_400_000_000_000, "14 h"),
        ] {
            let parsed: Nanos = text.parse().unwrap();
            assert_eq!(parsed, Nanos::new(nanos), "{text}");
            assert_eq!(parsed.to_string(), printed);
        }
        for wrong in ["", "5", "5 parsecs", "-1s", "s", "1e400s", "NaNs"] {
            assert!(wrong.parse::<Nanos>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_tell_thousands_from_1024() {
        assert_eq!("13KB".parse(), Ok(Bytes::new(13_000)));
        assert_eq!("13KiB".parse(), Ok(Bytes::new(13_312)));
        assert_eq!("2GB".parse::<Bytes>().unwrap().to_string(), "2 GB");
        assert!("2gb".parse::<Bytes>().is_err());
    }

    #[test]
    fn rates_are_above_zero() {
        assert_eq!("1000/s".parse::<PerSecond>().unwrap().gap(), Nanos::from_millis(1));
        assert_eq!("90/min".parse::<PerSecond>().unwrap().get(), 1.5);
        assert!("0/s".parse::<PerSecond>().is_err());
    }

    #[test]
    fn shares_are_fractions_inside() {
        assert_eq!("1%".parse::<Ratio>().unwrap().get(), 0.01);
        assert_eq!(Ratio::new(0.0149).unwrap().to_string(), "1.49 %");
        assert!("1".parse::<Ratio>().is_err());
    }

    #[test]
    fn subtraction_saturates() {
        assert_eq!(Nanos::new(1).since(Nanos::new(2)), Nanos::ZERO);
        assert_eq!(Nanos::MAX + Nanos::new(1), Nanos::MAX);
    }
}
