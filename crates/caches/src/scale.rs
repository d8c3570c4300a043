//! Scale of a bake-off: how much shorter it is than the published procedure, and the limits of that.
//!
//! Measuring side, cold, pure. Owns which scales are refused.

use bakeoff_units::{Bytes, Nanos, PerSecond};
use std::fmt;
use std::str::FromStr;

/// Least duration of a measured phase, but in a plan with an outage, which measures moments ...
pub const SHORTEST: Nanos = Nanos::from_secs(30);
/// ... and least number of replies: below, neither the hit ratio nor the rate is known to a point or a percent.
pub const FEWEST_REPLIES: f64 = 2_000.0;
/// An advised scale is `1/n` from this n on: below, one lies too far above the next ...
const FEWEST_PARTS: u32 = 10;
/// ... and up to this one, below which no published phase is.
const MOST_PARTS: f64 = 1e6;

/// The share of the published durations: above 0, at most 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeScale(f64);

/// A text that is no scale.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no scale; write a fraction such as 1/60, or a number above 0 and at most 1")]
pub struct NoScale(String);

/// Reasons why a bake-off cannot be that short.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TooShort {
    /// By time.
    #[error(
        "at scale {scale} the phase `{phase}` holds {holds}, and a measured phase must hold {SHORTEST}: give a \
         scale of at least {least}"
    )]
    Time {
        /// The scale.
        scale: TimeScale,
        /// The phase.
        phase: String,
        /// Its duration at that scale.
        holds: Nanos,
        /// The least scale that suffices.
        least: TimeScale,
    },
    /// By time, and no scale would help.
    #[error(
        "the phase `{phase}` holds {holds} at full scale, and a measured phase must hold {SHORTEST}: make it longer in the plan"
    )]
    Published {
        /// The phase.
        phase: String,
        /// Its duration in the plan.
        holds: Nanos,
    },
    /// By replies.
    #[error(
        "at scale {scale} the phase `{phase}` has some {replies:.0} replies at {rate}, and a measured phase must have \
         {FEWEST_REPLIES:.0}: give a scale of at least {least}, or a higher rate"
    )]
    Replies {
        /// The scale.
        scale: TimeScale,
        /// The phase.
        phase: String,
        /// Replies to be expected.
        replies: f64,
        /// Rate asked for.
        rate: PerSecond,
        /// The least scale that suffices.
        least: TimeScale,
    },
    /// By the bytes that go into the store: no scale changes that.
    #[error(
        "the phase `{phase}` ends when {fill} went into the store, which takes some {replies:.0} replies, and a measured \
         phase must have {FEWEST_REPLIES:.0}: give the store more room"
    )]
    Fill {
        /// The phase.
        phase: String,
        /// Bytes that end it.
        fill: Bytes,
        /// Replies that bring it, if none is a hit.
        replies: f64,
    },
    /// By replies, and no scale would help.
    #[error(
        "the phase `{phase}` has some {replies:.0} replies at {rate} even at full scale, and a measured phase must have \
         {FEWEST_REPLIES:.0}: give a higher rate"
    )]
    Rate {
        /// The phase.
        phase: String,
        /// Replies to be expected at full scale.
        replies: f64,
        /// Rate asked for.
        rate: PerSecond,
    },
}

impl TooShort {
    /// The scale that it takes; above 1 if none would do.
    pub(crate) fn needs(&self) -> f64 {
        match self {
            Self::Time { least, .. } | Self::Replies { least, .. } => least.get(),
            Self::Published { .. } | Self::Rate { .. } | Self::Fill { .. } => f64::INFINITY,
        }
    }

    /// Whether a measured phase that ends after `fill` bytes is too short, with replies of this mean size.
    pub(crate) fn of_fill(phase: &str, fill: Bytes, mean_bytes: f64) -> Option<Self> {
        let replies = fill.get() as f64 / mean_bytes;
        (replies < FEWEST_REPLIES).then(|| Self::Fill { phase: phase.to_owned(), fill, replies })
    }
}

impl TimeScale {
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
        let (holds, replies) = (self.of(published), self.replies(published, rate));
        let phase = phase.to_owned();
        if holds >= SHORTEST && replies >= FEWEST_REPLIES {
            return Ok(());
        }
        if published < SHORTEST {
            return Err(TooShort::Published { phase, holds: published });
        }
        let needs = SHORTEST.as_secs_f64().max(FEWEST_REPLIES / rate.get()) / published.as_secs_f64();
        // Checked, not trusted: an advised scale must suffice when it is typed.
        let does = |scale: &Self| {
            scale.of(published) >= SHORTEST && scale.replies(published, rate) >= FEWEST_REPLIES
        };
        let least = Self::upwards(needs).find(does);
        match least {
            None => Err(TooShort::Rate { phase, replies: Self::FULL.replies(published, rate), rate }),
            Some(least) if holds < SHORTEST => Err(TooShort::Time { scale: self, phase, holds, least }),
            Some(least) => Err(TooShort::Replies { scale: self, phase, replies, rate, least }),
        }
    }

    fn replies(self, published: Nanos, rate: PerSecond) -> f64 {
        rate.get() * self.of(published).as_secs_f64()
    }

    /// Scales that are short to type, from about this share up to the whole: `1/n`, and thousandths where these lie too
    /// far apart.
    fn upwards(share: f64) -> impl Iterator<Item = Self> {
        let parts = (1.0 / share).clamp(1.0, MOST_PARTS) as u32;
        let fractions = (FEWEST_PARTS..=parts).rev().map(|parts| 1.0 / f64::from(parts));
        let begin =
            if parts < FEWEST_PARTS { (share * 1000.0).floor().clamp(1.0, 1000.0) as u32 } else { 100 };
        let thousandths = (begin..=1000).map(|thousandths| f64::from(thousandths) / 1000.0);
        fractions.chain(thousandths).filter_map(Self::new)
    }
}

/// A text that can be typed again and is the same scale: a part if it is exactly one, else the number.
impl fmt::Display for TimeScale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = (1.0 / self.0).round();
        if parts > 1.0 && 1.0 / parts == self.0 { write!(f, "1/{parts}") } else { write!(f, "{}", self.0) }
    }
}

impl FromStr for TimeScale {
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
            assert_eq!(text.parse::<TimeScale>().unwrap().get(), share, "{text}");
        }
        for text in ["0", "2", "-1", "1/0", "x", "", "nan", "1/", "inf"] {
            assert!(text.parse::<TimeScale>().is_err(), "{text}");
        }
        assert_eq!(
            ("1/60".parse::<TimeScale>().unwrap().to_string(), TimeScale::FULL.to_string()),
            ("1/60".into(), "1".into())
        );
    }

    #[test]
    fn an_hour_may_shrink_to_half_a_minute_and_no_further() {
        let hour = Nanos::from_secs(3600);
        assert!("1/120".parse::<TimeScale>().unwrap().holds("meas", hour, rate(100.0)).is_ok());
        let too_short = "1/121".parse::<TimeScale>().unwrap().holds("meas", hour, rate(1e6)).unwrap_err();
        let TooShort::Time { least, .. } = too_short else { panic!("{too_short}") };
        assert!(least.holds("meas", hour, rate(1e6)).is_ok(), "what is advised must do");
    }

    #[test]
    fn what_is_shown_is_the_same_scale_when_it_is_typed_again() {
        for (text, shown) in
            [("1/60", "1/60"), ("1", "1"), ("0.7", "0.7"), ("0.25", "1/4"), ("2/3", "0.6666666666666666")]
        {
            let scale: TimeScale = text.parse().unwrap();
            assert_eq!((scale.to_string().as_str(), scale.to_string().parse()), (shown, Ok(scale)), "{text}");
        }
        for n in 1..2_000 {
            for share in [1.0 / f64::from(n), f64::from(n) / 1_999.0, 1.0 / (f64::from(n) + 0.0004)] {
                let scale = TimeScale::new(share).unwrap();
                assert_eq!(scale.to_string().parse(), Ok(scale), "{share}");
            }
        }
    }

    #[test]
    fn what_is_advised_does_when_it_is_typed_and_is_hardly_more_than_is_needed() {
        let short = TimeScale::new(1e-6).unwrap();
        for seconds in [30, 31, 61, 360, 599, 3_240, 3_600, 14_400] {
            for tenths in (1..600).chain([1_000, 2_777, 8_000, 10_000_000]) {
                let (published, rate) = (Nanos::from_secs(seconds), rate(f64::from(tenths) / 10.0));
                let least = match short.holds("meas", published, rate).unwrap_err() {
                    TooShort::Time { least, .. } | TooShort::Replies { least, .. } => least,
                    TooShort::Rate { .. } => {
                        assert!(TimeScale::FULL.holds("meas", published, rate).is_err());
                        continue;
                    }
                    other => panic!("{other}"),
                };
                let typed: TimeScale = least.to_string().parse().unwrap();
                assert_eq!(typed.holds("meas", published, rate), Ok(()), "{least} of {published} at {rate}");
                let needs = SHORTEST.as_secs_f64().max(FEWEST_REPLIES / rate.get()) / published.as_secs_f64();
                assert!(typed.get() / needs < 1.15, "{least} where {needs} would do");
            }
        }
    }

    #[test]
    fn where_no_scale_would_do_none_is_advised() {
        let said = TimeScale::FULL.holds("meas", Nanos::from_secs(20), rate(1e3)).unwrap_err().to_string();
        assert!(said.contains("20 s at full scale") && said.contains("in the plan"), "{said}");
        let said = TimeScale::FULL.holds("meas", Nanos::from_secs(60), rate(1.0)).unwrap_err().to_string();
        assert!(said.contains("60 replies") && said.contains("a higher rate"), "{said}");
    }

    #[test]
    fn too_few_replies_are_refused_with_what_would_do() {
        let hour = Nanos::from_secs(3600);
        let few = "1/60".parse::<TimeScale>().unwrap().holds("meas", hour, rate(25.0)).unwrap_err();
        let TooShort::Replies { replies, least, .. } = few else { panic!("{few}") };
        assert_eq!(replies, 1_500.0);
        assert!(least.holds("meas", hour, rate(25.0)).is_ok());
    }

    #[test]
    fn a_fill_of_too_few_replies_is_refused_with_what_would_do() {
        let of = |fill| TooShort::of_fill("meas", Bytes::new(fill), 1_000.0);
        assert_eq!(of(2_000_000), None);
        let said = of(1_999_000).unwrap().to_string();
        assert!(
            said.contains("`meas`") && said.contains("1999 replies") && said.contains("more room"),
            "{said}"
        );
    }
}
