//! Beat of a console: a part of an interval that has a record of its own.

use super::INTERVAL;
use bakeoff_units::Nanos;
use std::fmt;
use std::str::FromStr;

/// The shortest: a record takes some microseconds to put together.
const SHORTEST: Nanos = Nanos::from_millis(100);

/// Length of a beat, of which an interval has a whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beat(Nanos);

impl Beat {
    /// Its length.
    pub const fn get(self) -> Nanos {
        self.0
    }
}

/// Reason why a time is no beat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoBeat(String);

impl fmt::Display for NoBeat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoBeat {}

impl FromStr for Beat {
    type Err = NoBeat;

    fn from_str(text: &str) -> Result<Self, NoBeat> {
        let every: Nanos = text.parse().map_err(|why| NoBeat(format!("{why}")))?;
        if every < SHORTEST || !INTERVAL.get().is_multiple_of(every.get()) {
            let why = format!(
                "an interval of {INTERVAL} has no whole number of them, or they are below {SHORTEST}"
            );
            return Err(NoBeat(format!("{why}; such as 1s")));
        }
        Ok(Self(every))
    }
}

impl fmt::Display for Beat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_has_a_whole_number_of_beats() {
        for (text, millis) in [("1s", 1_000), ("500ms", 500), ("100ms", 100), ("5s", 5_000)] {
            assert_eq!(text.parse::<Beat>().unwrap().get(), Nanos::from_millis(millis));
        }
        for text in ["0s", "2s", "50ms", "10s", "1", ""] {
            assert!(text.parse::<Beat>().is_err(), "{text}");
        }
    }
}
