//! Joint cost of two layers against the product of their costs alone.
//!
//! The interaction as people say it: "together they cost 8 points more than the product of the
//! parts". Points are a difference of two exponentials, so the interval needs a construction of
//! its own.
//!
//! With a, b and m the log ratios of the cells "first only", "second only" and "both" to the cell
//! with neither: expected is exp(a + b) - 1, measured exp(m) - 1, and the difference in points
//! exp(m) - exp(a + b). Taking that difference round by round would add the noise of the rounds
//! to the answer, because exp is bent: half its variance, and a + b varies more than m. So it is
//! linearised at the estimates M of m and E of a + b (delta method):
//!
//! `exp(M) - exp(E) + exp(M) (m_r - M) - exp(E) (a_r + b_r - E)`
//!
//! is one value per round, free of that bias and paired within the round, and its interval is
//! taken as for any other difference.

use crate::effect::{Scale, effect, estimate};
use crate::{DesignLevel, Effect, FactorialDesign, Level};

/// The four cells of two levels that are on or off, all other factors at their reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Square {
    /// The reference cell.
    pub neither: usize,
    /// The first level only.
    pub first: usize,
    /// The second level only.
    pub second: usize,
    /// Both.
    pub both: usize,
}

/// Two costs alone, as expected together, and as measured together.
#[derive(Clone, Debug, PartialEq)]
pub struct Together {
    /// The first alone, against neither.
    pub first: Effect,
    /// The second alone, against neither.
    pub second: Effect,
    /// (1 + first)(1 + second) - 1, estimated from the rounds' own products; under trimming it may
    /// differ from the product of the two estimates by a small part of its interval.
    pub expected: Effect,
    /// Both, against neither.
    pub measured: Effect,
    /// Measured minus expected; 0.08 is 8 points.
    pub difference: Effect,
}

impl FactorialDesign {
    /// The cells of two levels of two factors. `None` when they are not that, or when one of the four cells was not
    /// measured.
    pub fn square(&self, first: DesignLevel, second: DesignLevel) -> Option<Square> {
        if first.factor == second.factor || !self.is_treatment(first) || !self.is_treatment(second) {
            return None;
        }
        let at = |on: &[DesignLevel]| {
            let mut setting = vec![0; self.levels().len()];
            for level in on {
                setting[level.factor] = level.level;
            }
            self.cell(&setting)
        };
        Some(Square {
            neither: at(&[])?,
            first: at(&[first])?,
            second: at(&[second])?,
            both: at(&[first, second])?,
        })
    }
}

impl Square {
    /// Cost of the two, from `logs[cell][round]`: the logarithms of a figure. `None` under three rounds, or when a cell
    /// has no series or a figure that is not finite.
    pub fn together(&self, logs: &[&[f64]], level: Level) -> Option<Together> {
        let series = |cell: usize| logs.get(cell).copied();
        let neither = series(self.neither)?;
        let ratios = |cell: &[f64]| cell.iter().zip(neither).map(|(y, n)| y - n).collect::<Vec<f64>>();
        let (a, b, m) =
            (ratios(series(self.first)?), ratios(series(self.second)?), ratios(series(self.both)?));
        let product: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
        let (expected, measured) = (effect(&product, level)?, effect(&m, level)?);
        let points = linearised(&m, &product, measured.effect, expected.effect);
        Some(Together {
            first: effect(&a, level)?,
            second: effect(&b, level)?,
            difference: estimate(&points, level, Scale::Difference)?,
            expected,
            measured,
        })
    }
}

/// The points per round; `measured` and `expected` are fractions.
fn linearised(m: &[f64], product: &[f64], measured: f64, expected: f64) -> Vec<f64> {
    let away = |log: f64, fraction: f64| (1.0 + fraction) * (log - fraction.ln_1p());
    let points = |(&m, &p): (&f64, &f64)| measured - expected + away(m, measured) - away(p, expected);
    m.iter().zip(product).map(points).collect()
}
