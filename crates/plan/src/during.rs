//! `during` of a population: the part of a slice in which it sends requests, so that load goes up and down within one.
//!
//! Measuring side, cold, pure.

use bakeoff_units::{Nanos, ParseQuantityError};
use std::fmt;
use std::str::FromStr;

/// Begin and end of the part, both from the slice's beginning; it ends after it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct During {
    /// The first request may be due then.
    pub from: Nanos,
    /// No request is due from then on; those in flight are followed to the slice's end.
    pub until: Nanos,
}

/// Faults of a part of a slice.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseDuringError {
    /// No two times.
    #[error("`{0}` is no part of a slice; say from when until when, such as \"5s-10s\"")]
    NoPart(String),
    /// One of them is no time.
    #[error("{0}")]
    NoTime(#[from] ParseQuantityError),
    /// The part is empty.
    #[error("it ends before it begins: {0}")]
    Empty(During),
}

impl fmt::Display for During {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.from {
            Nanos::ZERO => write!(f, "until {}", self.until),
            from => write!(f, "from {from} to {}", self.until),
        }
    }
}

impl FromStr for During {
    type Err = ParseDuringError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let no_part = || ParseDuringError::NoPart(text.to_owned());
        let (from, until) = text.split_once('-').ok_or_else(no_part)?;
        let during = Self { from: from.trim().parse()?, until: until.trim().parse()? };
        if during.from < during.until { Ok(during) } else { Err(ParseDuringError::Empty(during)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_times_make_a_part_of_a_slice() {
        let part = |text: &str| text.parse::<During>().map_err(|error| error.to_string());
        let during = part("500ms-10s").unwrap();
        assert_eq!((during.from, during.until), (Nanos::from_millis(500), Nanos::from_secs(10)));
        assert_eq!(during.to_string(), "from 500 ms to 10 s");
        assert_eq!(part("0s-3s").unwrap().to_string(), "until 3 s");
        assert!(part("5s").unwrap_err().contains("such as \"5s-10s\""));
        assert!(part("5s-5s").unwrap_err().contains("ends before it begins: from 5 s to 5 s"));
        assert!(part("5s-x").unwrap_err().contains("a time such as"));
    }
}
