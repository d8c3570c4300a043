//! Share of connections, and the rule that picks the connections of that share.

use bakeoff_units::{ParseQuantityError, Ratio};
use std::fmt;
use std::str::FromStr;

/// A whole in the unit of [`Share`]: millionths, so that the rule counts in whole numbers.
const WHOLE: u32 = 1_000_000;

/// A share of connections, from none to all, to a millionth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share(u32);

impl Share {
    /// No connection.
    pub const NONE: Self = Self(0);
    /// Every connection.
    pub const ALL: Self = Self(WHOLE);

    /// From a fraction; `None` unless it is from 0 to 1.
    pub fn new(fraction: Ratio) -> Option<Self> {
        let fraction = fraction.get();
        (0.0..=1.0).contains(&fraction).then(|| Self((fraction * f64::from(WHOLE)).round() as u32))
    }

    /// The fraction.
    pub fn ratio(self) -> Ratio {
        // Finite by construction; the default would be seen as 0 %.
        Ratio::new(f64::from(self.0) / f64::from(WHOLE)).unwrap_or_default()
    }

    /// Number of the first `connections` that it takes: the share of them, rounded up.
    pub fn of(self, connections: u64) -> u64 {
        let parts = u128::from(connections) * u128::from(self.0);
        // A share is at most the whole, so that the quotient is at most `connections`.
        u64::try_from(parts.div_ceil(u128::from(WHOLE))).unwrap_or(connections)
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.ratio().fmt(f)
    }
}

/// Error in the text of a share.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseShareError {
    /// It is no quantity at all.
    #[error(transparent)]
    Quantity(#[from] ParseQuantityError),
    /// It is more than everything.
    #[error("`{0}` is more than 100%")]
    MoreThanAll(String),
}

impl FromStr for Share {
    type Err = ParseShareError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::new(text.parse()?).ok_or_else(|| ParseShareError::MoreThanAll(text.to_owned()))
    }
}

/// Takes connections one by one, as evenly as whole numbers allow: of the first n it takes the share of n, rounded up,
/// for every n. The first is always taken when any is: resumption needs a session that another connection has begun.
#[derive(Clone, Debug)]
pub(super) struct ShareRule {
    share: Share,
    /// The share that is due, in millionths of a connection.
    owed: u32,
}

impl ShareRule {
    pub(super) const fn new(share: Share) -> Self {
        Self { share, owed: WHOLE - 1 }
    }

    /// Whether the next connection is taken.
    pub(super) const fn takes_next(&mut self) -> bool {
        self.owed += self.share.0;
        let taken = self.owed >= WHOLE;
        if taken {
            self.owed -= WHOLE;
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(share: &str, connections: usize) -> Vec<usize> {
        let mut rule = ShareRule::new(share.parse().unwrap());
        (0..connections).filter(|_| rule.takes_next()).collect()
    }

    #[test]
    fn a_quarter_takes_every_fourth_from_the_first_on() {
        assert_eq!(taken("25%", 12), [0, 4, 8]);
        assert_eq!(taken("50%", 6), [0, 2, 4]);
        assert_eq!(taken("75%", 8), [0, 1, 2, 4, 5, 6]);
    }

    #[test]
    fn none_and_all_are_exact() {
        assert!(taken("0%", 10_000).is_empty());
        assert_eq!(taken("100%", 10_000).len(), 10_000);
    }

    #[test]
    fn of_every_number_of_connections_the_share_is_taken_rounded_up() {
        for text in ["0.0001%", "1%", "10%", "33.3333%", "50%", "99.9999%"] {
            let share: Share = text.parse().unwrap();
            let mut rule = ShareRule::new(share);
            let mut count = 0;
            for n in 1..=5_000 {
                count += u64::from(rule.takes_next());
                assert_eq!(count, share.of(n), "{text} of {n}");
            }
        }
        assert_eq!("10%".parse::<Share>().unwrap().of(30), 3);
    }

    #[test]
    fn more_than_all_is_refused() {
        assert_eq!("101%".parse::<Share>().unwrap_err().to_string(), "`101%` is more than 100%");
        assert!("0.5".parse::<Share>().is_err());
        assert_eq!("100%".parse::<Share>(), Ok(Share::ALL));
        assert_eq!(Share::new(Ratio::new(-0.1).unwrap()), None);
        assert_eq!("12.5%".parse::<Share>().unwrap().to_string(), "12.5 %");
    }
}
