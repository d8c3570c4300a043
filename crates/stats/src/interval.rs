//! Confidence levels and intervals.

use std::cmp::Ordering;

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// A two-sided confidence level, strictly between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Level(f64);

impl Level {
    /// The level at which A and A' are tested for a difference (verdict rule 2).
    pub const NULL: Level = Level(0.999);

    /// The usual level, for results that are looked at once.
    pub const ONCE: Level = Level(0.95);

    /// `None` unless `0 < level < 1`.
    pub fn new(level: f64) -> Option<Level> {
        (level > 0.0 && level < 1.0).then_some(Level(level))
    }

    /// The share of intervals meant to hold the truth.
    pub fn get(self) -> f64 {
        self.0
    }

    /// The share meant to miss it, both sides together.
    pub fn alpha(self) -> f64 {
        1.0 - self.0
    }

    /// Half-width of this level in standard errors of Student's t with `freedom` degrees.
    pub(crate) fn t(self, freedom: usize) -> f64 {
        self.t_of(freedom as f64)
    }

    /// The same for degrees that are no whole number, as Welch's.
    pub(crate) fn t_of(self, freedom: f64) -> f64 {
        match StudentsT::new(0.0, 1.0, freedom) {
            // From the lower tail: the upper one loses digits in 1 - x.
            Ok(t) => -t.inverse_cdf(self.alpha() / 2.0),
            Err(_) => f64::INFINITY, // no degree of freedom, no bound
        }
    }

    /// The same for the normal distribution.
    pub(crate) fn z(self) -> f64 {
        -Normal::standard().inverse_cdf(self.alpha() / 2.0)
    }
}

/// Both ends of an interval, on the fraction scale: 0.014 is 1.4 % more than the reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end; not below `low`.
    pub high: f64,
}

impl Interval {
    /// Whether `x` lies inside, ends included.
    pub fn contains(&self, x: f64) -> bool {
        self.low <= x && x <= self.high
    }

    /// Half of the distance between the ends: the resolution.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// The end that is farther from 0, without its sign.
    pub fn reach(&self) -> f64 {
        self.low.abs().max(self.high.abs())
    }

    /// Whether it lies strictly inside (-margin, +margin).
    pub fn inside(&self, margin: f64) -> bool {
        -margin < self.low && self.high < margin
    }

    /// The side of 0 on which it lies; `Equal`: 0 is inside, or an end.
    pub fn side(&self) -> Ordering {
        match (self.low > 0.0, self.high < 0.0) {
            (true, _) => Ordering::Greater,
            (_, true) => Ordering::Less,
            _ => Ordering::Equal,
        }
    }

    /// Whether the two lie on opposite sides of 0.
    pub fn opposes(&self, other: &Interval) -> bool {
        self.side() != Ordering::Equal && self.side() == other.side().reverse()
    }

    pub(crate) fn around(middle: f64, half_width: f64) -> Interval {
        Interval { low: middle - half_width, high: middle + half_width }
    }

    pub(crate) fn hull(&self, other: &Interval) -> Interval {
        Interval { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    pub(crate) fn map(&self, monotone: impl Fn(f64) -> f64) -> Interval {
        Interval { low: monotone(self.low), high: monotone(self.high) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn level_is_strictly_between_0_and_1() {
        for wrong in [0.0, 1.0, -0.1, 1.1, f64::NAN, f64::INFINITY] {
            assert_eq!(Level::new(wrong), None, "{wrong}");
        }
        let level = Level::new(0.95).unwrap();
        assert!((level.alpha() - 0.05).abs() < 1e-15);
    }

    #[test]
    fn t_and_z_agree_with_scipy() {
        // scipy 1.17.1: t.ppf(1 - (1 - level) / 2, df)
        let golden = [
            (2, [4.302652729749462, 8.860200034654316, 31.599054576445365, 56.5552833795002]),
            (5, [2.5705818356363146, 3.8100046998446433, 6.868826625881276, 8.811786816035468]),
            (9, [2.262157162798205, 3.1109348231794756, 4.780912585931217, 5.6527628219173165]),
            (23, [2.0686576104190486, 2.709720420119227, 3.7676268043118246, 4.236240985963981]),
            (47, [2.0117405137297655, 2.5974768165768443, 3.5099012834495147, 3.891904540189429]),
        ];
        for (freedom, row) in golden {
            for (level, want) in [0.95, 0.9875, 0.999, 0.9996875].into_iter().zip(row) {
                let got = Level(level).t(freedom);
                assert!((got / want - 1.0).abs() < 1e-9, "df {freedom} level {level}: {got} {want}");
            }
        }
        assert!((Level(0.95).z() - 1.959963984540054).abs() < 1e-9);
        assert_eq!(Level(0.95).t(0), f64::INFINITY);
    }

    #[test]
    fn the_margin_itself_is_not_inside() {
        assert!(Interval { low: -0.009, high: 0.009 }.inside(0.01));
        assert!(!Interval { low: -0.01, high: 0.0 }.inside(0.01));
        assert!(!Interval { low: 0.0, high: 0.01 }.inside(0.01));
        assert!(!Interval { low: 0.0, high: 0.0 }.inside(0.0));
    }
}
