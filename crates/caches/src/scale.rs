//! How much shorter than the published procedure a bake-off is, and what that does not shorten.
//!
//! Measuring side, cold, pure. Owns which shortening is refused.

use bakeoff_units::{Nanos, PerSecond};
use std::fmt;
use std::str::FromStr;

/// A measured phase holds at least this long ...
pub const SHORTEST: Nanos = Nanos::from_secs(30);
/// ... and so many replies: below, neither the hit ratio nor the rate is known to a point or a percent.
pub const FEWEST_REPLIES: f64 = 2_000.0;

/// The share of the published durations: above 0, at most 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale(f64);

/// A text that is no scale.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no scale; write a fraction such as 1/60, or a number above 0 and at most 1")]
pub struct NoScale(String);

/// Why a bake-off cannot be so short.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TooShort {
    /// By time.
    #[error(
        "at scale {scale} the phase `{phase}` holds {holds}, and a measured phase must hold {SHORTEST}: give a \
         scale of at least {least}"
    )]
    Time {
        /// The scale.
        scale: Scale,
        /// The phase.
        phase: String,
        /// How long it would be.
        holds: Nanos,
        /// What would do.
        least: Scale,
    },
    /// By replies.
    #[error(
        "at scale {scale} the phase `{phase}` has some {replies:.0} replies at {rate}, and a measured phase must have \
         {FEWEST_REPLIES:.0}: give a scale of at least {least}, or a higher rate"
    )]
    Replies {
        /// The scale.
        scale: Scale,
        /// The phase.
        phase: String,
        /// Replies to be expected.
        replies: f64,
        /// Rate asked for.
        rate: PerSecond,
        /// What would do.
        least: Scale,
    },
}

impl Scale {
    /// As published.
    pub const FULL: Self = Self(1.0);

    /// A share above 0 and at most 1.
    pub fn new(share: f64) -> Option<Self> {
        (share > 0.0 && share <= 1.0).then_some(Self(share))
    }

    /// The share.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// A published duration at this scale.
    pub fn of(self, published: Nanos) -> Nanos {
        published.times(self.0)
    }

    /// Whether a measured phase of this published duration is long enough at this rate.
    ///
    /// # Errors
    /// It is not.
    pub fn holds(self, phase: &str, published: Nanos, rate: PerSecond) -> Result<(), TooShort> {
        let holds = self.of(published);
        let least = |share: f64| Scale((share * 1.0001).min(1.0));
        if holds < SHORTEST {
            let least = least(SHORTEST.as_secs_f64() / published.as_secs_f64());
            return Err(TooShort::Time { scale: self, phase: phase.to_owned(), holds, least });
        }
        let replies = rate.get() * holds.as_secs_f64();
        if replies < FEWEST_REPLIES {
            let least = least(FEWEST_REPLIES / rate.get() / published.as_secs_f64());
            return Err(TooShort::Replies { scale: self, phase: phase.to_owned(), replies, rate, least });
        }
        Ok(())
    }

    /// What stays as long or as large as in the published procedure, in words; nothing at full scale.
    pub fn leaves(self, think_mean: Nanos, store: Option<u64>) -> Vec<String> {
        if self.0 >= 1.0 {
            return Vec::new();
        }
        let mut lines = vec![format!(
            "the origin's think time stays {think_mean} in the mean: of what is asked for again, {:.0} times as large a \
             share as in the published procedure is asked for while its first fetch is under way, and cannot be a hit",
            1.0 / self.0
        )];
        lines.push(format!(
            "the working set grows to {} of its published size at the same rate, since it grows with time",
            self
        ));
        lines.push("no warm-up is shortened below 10 s".to_owned());
        lines.push(match store {
            Some(bytes) => format!(
                "the store is {}, whatever the scale: how soon it evicts depends on the rate and the time together",
                bakeoff_units::Bytes::new(bytes)
            ),
            None => "the store is as the product's own configuration says, whatever the scale".to_owned(),
        });
        lines
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = 1.0 / self.0;
        if self.0 == 1.0 {
            f.write_str("1")
        } else if (parts - parts.round()).abs() < 1e-3 * parts {
            write!(f, "1/{:.0}", parts.round())
        } else {
            write!(f, "1/{:.1}", (parts * 10.0).floor() / 10.0)
        }
    }
}

impl FromStr for Scale {
    type Err = NoScale;

    fn from_str(text: &str) -> Result<Self, NoScale> {
        let wrong = || NoScale(text.to_owned());
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
        let share = match text.split_once('/') {
            Some((above, below)) => {
                number(above).zip(number(below)).filter(|(_, below)| *below > 0.0).map(|(a, b)| a / b)
            }
            None => number(text),
        };
        share.and_then(Self::new).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(per_second: f64) -> PerSecond {
        PerSecond::new(per_second).unwrap()
    }

    #[test]
    fn fractions_and_numbers_are_scales_and_nothing_else() {
        for (text, share) in [("1/60", 1.0 / 60.0), ("1", 1.0), ("0.25", 0.25), (" 1 / 4 ", 0.25)] {
            assert_eq!(text.parse::<Scale>().unwrap().get(), share, "{text}");
        }
        for text in ["0", "2", "-1", "1/0", "x", "", "nan", "1/", "inf"] {
            assert!(text.parse::<Scale>().is_err(), "{text}");
        }
        assert_eq!(
            ("1/60".parse::<Scale>().unwrap().to_string(), Scale::FULL.to_string()),
            ("1/60".into(), "1".into())
        );
    }

    #[test]
    fn an_hour_may_shrink_to_half_a_minute_and_no_further() {
        let hour = Nanos::from_secs(3600);
        assert!("1/120".parse::<Scale>().unwrap().holds("meas", hour, rate(100.0)).is_ok());
        let too_short = "1/121".parse::<Scale>().unwrap().holds("meas", hour, rate(1e6)).unwrap_err();
        let TooShort::Time { least, .. } = too_short else { panic!("{too_short}") };
        assert!(least.holds("meas", hour, rate(1e6)).is_ok(), "what is advised must do");
    }

    #[test]
    fn too_few_replies_are_refused_with_what_would_do() {
        let hour = Nanos::from_secs(3600);
        let few = "1/60".parse::<Scale>().unwrap().holds("meas", hour, rate(25.0)).unwrap_err();
        let TooShort::Replies { replies, least, .. } = few else { panic!("{few}") };
        assert_eq!(replies, 1_500.0);
        assert!(least.holds("meas", hour, rate(25.0)).is_ok());
    }

    #[test]
    fn at_full_scale_nothing_is_left_unscaled() {
        assert!(Scale::FULL.leaves(Nanos::from_secs(3), None).is_empty());
        let left = "1/60".parse::<Scale>().unwrap().leaves(Nanos::from_secs(3), Some(1 << 26));
        assert!(left[0].contains("60 times") && left.len() == 4, "{left:?}");
    }
}
