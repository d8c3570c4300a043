//! Single ranges of bytes (RFC 9110 section 14): read with the request, resolved when the length is known.
//!
//! Hot, reads untrusted input: no allocation.

// A number that no body reaches is as good as the largest.
use bakeoff_wire::digits::decimal_or_most;

/// The bytes named by a `Range`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Range {
    /// From an offset on, to the last byte or to this one.
    From(u64, Option<u64>),
    /// A number of bytes at the end.
    Last(u64),
}

/// The bytes of it for a body of some length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// `start..end`, at least one byte.
    Bytes(u64, u64),
    /// None: no byte of the body lies in it.
    Nothing,
}

impl Range {
    /// Reads a field's value. `None` where it is to be answered with the whole: other units, several ranges, and
    /// malformed ranges.
    pub(crate) fn parse(value: &[u8]) -> Option<Self> {
        let value = value.trim_ascii();
        let (unit, spec) = value.split_at_checked(b"bytes=".len())?;
        if !unit.eq_ignore_ascii_case(b"bytes=") {
            return None;
        }
        let dash = spec.iter().position(|&byte| byte == b'-')?;
        let (from, to) = (spec[..dash].trim_ascii(), spec[dash + 1..].trim_ascii());
        if from.is_empty() {
            return Some(Self::Last(decimal_or_most(to)?));
        }
        let first = decimal_or_most(from)?;
        if to.is_empty() {
            return Some(Self::From(first, None));
        }
        let last = decimal_or_most(to)?;
        (first <= last).then_some(Self::From(first, Some(last)))
    }

    /// The bytes it means of a body of `length`.
    pub(crate) fn of(self, length: u64) -> Part {
        let (start, end) = match self {
            Self::From(start, None) => (start, length),
            Self::From(start, Some(last)) => (start, last.saturating_add(1).min(length)),
            Self::Last(count) => (length.saturating_sub(count), length),
        };
        if start < end { Part::Bytes(start, end) } else { Part::Nothing }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_a_hundred_bytes() {
        for (range, expected) in [
            ("bytes=0-9", Some(Part::Bytes(0, 10))),
            ("bytes=90-", Some(Part::Bytes(90, 100))),
            ("bytes=-5", Some(Part::Bytes(95, 100))),
            ("bytes=-500", Some(Part::Bytes(0, 100))),
            ("Bytes= 90 - 200 ", Some(Part::Bytes(90, 100))),
            ("bytes=99-99", Some(Part::Bytes(99, 100))),
            ("bytes=0-18446744073709551615", Some(Part::Bytes(0, 100))),
            ("bytes=0-99999999999999999999", Some(Part::Bytes(0, 100))),
            ("bytes=100-", Some(Part::Nothing)),
            ("bytes=200-300", Some(Part::Nothing)),
            ("bytes=-0", Some(Part::Nothing)),
            ("bytes=9-0", None),
            ("bytes=0-1,3-4", None),
            ("lines=0-9", None),
            ("bytes=-", None),
            ("bytes=", None),
            ("bytes=+1-2", None),
            ("", None),
        ] {
            assert_eq!(Range::parse(range.as_bytes()).map(|range| range.of(100)), expected, "{range}");
        }
        assert_eq!(Range::From(0, None).of(0), Part::Nothing);
    }
}
