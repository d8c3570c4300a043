//! Price list: cost of one more rule, byte or handshake, with the cost before the first.
//!
//! A line y = a + b x through the levels of a numeric factor. Levels are spread over powers of ten and the noise of a
//! figure grows with the figure, so every level weighs 1 / (its median)^2: the miss relative to the figure counts, and
//! 10 000 rules do not drown one.
//!
//! Each round measures every level and so gives a line of its own. Slope and intercept are read from these lines like
//! any other per-round difference, so the common part of a round's levels stays inside one value and does not count as
//! independent noise. The weights are the same in all rounds, so both are fixed linear combinations of the figures and
//! not biased by the noise.

use std::error::Error;
use std::fmt;

use crate::effect::{Scale, estimate};
use crate::trimmed::median;
use crate::{Effect, Interval, Level};

/// A level off the line by less does not make it bent. A price is quoted for a thousand rules; a twentieth is as
/// precise as it is read, and caches bend every true curve a little, so that with enough rounds no line would be left.
pub const BENT: f64 = 0.05;

/// Below this an interval would be a guess.
const FEWEST_ROUNDS: usize = 3;

/// The line, and whether it is one.
#[derive(Clone, Debug, PartialEq)]
pub struct Price {
    /// Cost of one more unit, in the unit of `y`: ns per unit.
    pub slope: Effect,
    /// Cost at none, in the unit of `y`: ns.
    pub intercept: Effect,
    /// Whether the levels lie on it.
    pub shape: LineFit,
    /// Number of rounds.
    pub rounds: usize,
}

impl Price {
    /// The cost of `x` units by the line.
    pub fn at(&self, x: f64) -> f64 {
        self.intercept.effect + self.slope.effect * x
    }
}

/// Whether a line fits the costs of the levels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LineFit {
    /// No level is seen off it by more than [`BENT`].
    Line {
        /// Largest deviation of a level that could have stayed unseen: the farthest end of the intervals of all levels,
        /// as a share of the measured figure.
        within: f64,
    },
    /// A level is off it.
    Bent {
        /// The level that is farthest off.
        x: f64,
        /// Deviation of the measured figure from the line there, as a share of the figure.
        off: f64,
        /// The interval of `off`, narrowed for looking at all levels.
        interval: Interval,
    },
    /// Two points always make a line.
    Unchecked,
}

/// The reason for which there is no price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriceRefusal {
    /// The numbers of levels and of series differ.
    Mismatch {
        /// Levels of the factor.
        levels: usize,
        /// Series of figures.
        series: usize,
    },
    /// The factor never changes.
    OneLevel,
    /// Too few rounds that measured every level.
    TooFewRounds {
        /// Number of rounds.
        have: usize,
    },
    /// A level, or the line, is not a finite number.
    NotFinite,
    /// A figure is not above 0, so it has no relative noise.
    NotPositive {
        /// The index of its level.
        level: usize,
        /// Its round, from 0.
        round: usize,
    },
}

impl fmt::Display for PriceRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PriceRefusal::Mismatch { levels, series } => {
                write!(f, "{levels} levels have {series} series of figures; give one series per level")
            }
            PriceRefusal::OneLevel => {
                write!(f, "one level has no slope; measure at least one more, three to see a bend")
            }
            PriceRefusal::TooFewRounds { have } => {
                write!(f, "{have} rounds measured every level; a price needs {FEWEST_ROUNDS}")
            }
            PriceRefusal::NotFinite => {
                write!(f, "a level or the line through them is not a finite number; look at the levels")
            }
            PriceRefusal::NotPositive { level, round } => {
                write!(f, "the figure of level {level} in round {round} is not a number above 0")
            }
        }
    }
}

impl Error for PriceRefusal {}

/// The line through `y[level][round]` over `x[level]`.
///
/// `y` is a positive cost, such as CPU ns per request. Rounds beyond the shortest series are not
/// used. Slope and intercept have intervals at `level` each; the shape looks at all levels at
/// once, at a level corrected for their number (Bonferroni).
pub fn price(x: &[f64], y: &[&[f64]], level: Level) -> Result<Price, PriceRefusal> {
    let rounds = check(x, y)?;
    let figures: Vec<&[f64]> = y.iter().map(|series| &series[..rounds]).collect();
    let fit = Fit::new(x, &figures);
    let lines: Vec<Line> = (0..rounds).map(|round| fit.line(&figures, round)).collect();
    let over_rounds = |part: fn(&Line) -> f64| {
        let values: Vec<f64> = lines.iter().map(part).collect();
        estimate(&values, level, Scale::Difference).ok_or(PriceRefusal::NotFinite)
    };
    Ok(Price {
        slope: over_rounds(|line| line.slope)?,
        intercept: over_rounds(|line| line.intercept)?,
        shape: shape(x, &figures, &lines, level)?,
        rounds,
    })
}

/// Number of usable rounds.
fn check(x: &[f64], y: &[&[f64]]) -> Result<usize, PriceRefusal> {
    if x.len() != y.len() {
        return Err(PriceRefusal::Mismatch { levels: x.len(), series: y.len() });
    }
    if x.iter().any(|x| !x.is_finite()) {
        return Err(PriceRefusal::NotFinite);
    }
    if distinct(x) < 2 {
        return Err(PriceRefusal::OneLevel);
    }
    let rounds = y.iter().map(|series| series.len()).min().unwrap_or(0);
    if rounds < FEWEST_ROUNDS {
        return Err(PriceRefusal::TooFewRounds { have: rounds });
    }
    for (level, series) in y.iter().enumerate() {
        if let Some(round) = series[..rounds].iter().position(|y| !y.is_finite() || *y <= 0.0) {
            return Err(PriceRefusal::NotPositive { level, round });
        }
    }
    Ok(rounds)
}

fn distinct(x: &[f64]) -> usize {
    let mut sorted = x.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.dedup();
    sorted.len()
}

/// The line of one round.
struct Line {
    intercept: f64,
    slope: f64,
}

/// Weighted least squares with the same weights in every round.
struct Fit {
    /// Weight per level; they add up to 1.
    weights: Vec<f64>,
    /// Weighted mean of x.
    middle: f64,
    /// Weight of a level's figure in the slope, per level.
    to_slope: Vec<f64>,
}

impl Fit {
    fn new(x: &[f64], y: &[&[f64]]) -> Fit {
        let medians: Vec<f64> = y.iter().map(|series| median_of(series)).collect();
        // In units of the smallest, so that no square runs out of range.
        let least = medians.iter().copied().fold(f64::INFINITY, f64::min);
        let raw: Vec<f64> = medians.iter().map(|m| (least / m).powi(2)).collect();
        let all: f64 = raw.iter().sum();
        let weights: Vec<f64> = raw.iter().map(|w| w / all).collect();
        let middle: f64 = weights.iter().zip(x).map(|(w, x)| w * x).sum();
        // In units of the largest, for the same reason.
        let unit = x.iter().map(|x| (x - middle).abs()).fold(0.0, f64::max);
        let spread: f64 = weights.iter().zip(x).map(|(w, x)| w * ((x - middle) / unit).powi(2)).sum();
        let to_slope = |(w, x): (&f64, &f64)| w * ((x - middle) / unit) / spread / unit;
        let to_slope = weights.iter().zip(x).map(to_slope).collect();
        Fit { weights, middle, to_slope }
    }

    fn line(&self, y: &[&[f64]], round: usize) -> Line {
        let over_levels =
            |by: &[f64]| -> f64 { by.iter().zip(y).map(|(by, series)| by * series[round]).sum() };
        let slope = over_levels(&self.to_slope);
        Line { slope, intercept: over_levels(&self.weights) - slope * self.middle }
    }
}

fn median_of(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    median(&sorted)
}

/// Compares each level with the line of the same round, so that the common part of the round cancels.
fn shape(x: &[f64], y: &[&[f64]], lines: &[Line], level: Level) -> Result<LineFit, PriceRefusal> {
    if distinct(x) < 3 {
        return Ok(LineFit::Unchecked);
    }
    let each = Level::new(1.0 - level.alpha() / x.len() as f64).unwrap_or(Level::NULL);
    let (mut within, mut worst): (f64, Option<(f64, Effect)>) = (0.0, None);
    for (&x, series) in x.iter().zip(y) {
        // As a share of the measured figure, which is above 0; the line need not be.
        let off = |(y, line): (&f64, &Line)| 1.0 - (line.intercept + line.slope * x) / y;
        let off: Vec<f64> = series.iter().zip(lines).map(off).collect();
        let off = estimate(&off, each, Scale::Difference).ok_or(PriceRefusal::NotFinite)?;
        within = within.max(off.interval.low.abs()).max(off.interval.high.abs());
        let farther = worst.as_ref().is_none_or(|(_, worst)| off.effect.abs() > worst.effect.abs());
        if off.effect.abs() > BENT && !off.interval.contains(0.0) && farther {
            worst = Some((x, off));
        }
    }
    Ok(match worst {
        Some((x, off)) => LineFit::Bent { x, off: off.effect, interval: off.interval },
        None => LineFit::Line { within },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level() -> Level {
        Level::new(0.95).unwrap()
    }

    #[test]
    fn refusals_have_names() {
        let ok = [1.0; 3];
        let asked = |x: &[f64], y: &[&[f64]]| price(x, y, level()).unwrap_err();
        assert_eq!(asked(&[0.0, 1.0], &[&ok]), PriceRefusal::Mismatch { levels: 2, series: 1 });
        assert_eq!(asked(&[], &[]), PriceRefusal::OneLevel);
        assert_eq!(asked(&[7.0, 7.0], &[&ok, &ok]), PriceRefusal::OneLevel);
        assert_eq!(asked(&[0.0, -0.0], &[&ok, &ok]), PriceRefusal::OneLevel);
        assert_eq!(asked(&[0.0, f64::NAN], &[&ok, &ok]), PriceRefusal::NotFinite);
        assert_eq!(asked(&[0.0, 1.0], &[&ok, &ok[..2]]), PriceRefusal::TooFewRounds { have: 2 });
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let y = [1.0, wrong, 1.0];
            let want = PriceRefusal::NotPositive { level: 1, round: 1 };
            assert_eq!(asked(&[0.0, 1.0], &[&ok, &y]), want);
        }
        assert_eq!(asked(&[0.0, 1e-310], &[&ok, &[2.0; 3]]), PriceRefusal::NotFinite);
    }

    #[test]
    fn the_weights_are_those_of_relative_noise() {
        // By hand: x 0, 1, 2, y 1, 2, 4, weights 1, 1/4, 1/16. The normal equations
        // 21/16 a + 6/16 b = 28/16 and 6/16 a + 8/16 b = 16/16 give a = 128/132, b = 168/132.
        let y = [[1.0; 3], [2.0; 3], [4.0; 3]];
        let got = price(&[0.0, 1.0, 2.0], &y.each_ref().map(|y| &y[..]), level()).unwrap();
        assert!((got.intercept.effect - 128.0 / 132.0).abs() < 1e-12, "{got:?}");
        assert!((got.slope.effect - 168.0 / 132.0).abs() < 1e-12, "{got:?}");
        assert!((got.at(2.0) - 464.0 / 132.0).abs() < 1e-12);
        // Off by 4/132 at 0, by -16/132 at 1 and by 16/132 at 2.
        let LineFit::Bent { x, off, .. } = got.shape else { panic!("{got:?}") };
        assert!(x > 0.0 && (off.abs() - 16.0 / 132.0).abs() < 1e-12, "{off} at {x}");
    }
}
