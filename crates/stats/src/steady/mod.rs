//! Steadiness of a series of windows: the gate before figures of a running server are used.
//!
//! Throughput, CPU per request or median response time, window by window. Owns the answer and its order: outliers are
//! set aside ([`noise`]), the warm-up is cut ([`warm_up`]), the rest must hold one level ([`segments`]) and end where
//! it began (Geweke). A server that never settles is an answer, too: Barrett et al. (OOPSLA 2017) found no steady state
//! in more than half of their cases.
//!
//! White noise is called steady in 97 % of series, noise whose neighbours correlate by 0.5 in 91 to
//! 96 %; the tests beside the crate measure it.

mod noise;
mod segments;
mod warm_up;

use noise::{Calm, Noise};

/// Fewer windows show neither noise nor level.
pub const FEWEST_WINDOWS: usize = 30;

/// Default bound of shifts that do not count, a fraction: two percent.
pub const SMALLEST_SHIFT: f64 = 0.02;

/// |z| from which on begin and end of the rest differ.
const GEWEKE_LIMIT: f64 = 2.0;

/// Shares of the rest that are compared: its first fifth and its last half.
const GEWEKE_FIRST: f64 = 0.2;
const GEWEKE_LAST: f64 = 0.5;

/// A stretch at one level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// Its first window, counted from 0.
    pub from: usize,
    /// The window after its last.
    pub to: usize,
    /// Its mean, outliers set aside.
    pub mean: f64,
}

/// A change of level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// The first window at the new level.
    pub at: usize,
    /// New level / old level - 1; infinite when the old level was 0.
    pub change: f64,
}

/// Judgement of a series of windows.
#[derive(Clone, Debug, PartialEq)]
pub enum Steadiness {
    /// Not enough windows to tell.
    TooShort {
        /// Number of windows.
        have: usize,
        /// Number needed.
        need: usize,
    },
    /// A window without a figure: not a number, infinite, or below 0.
    NotMeasured {
        /// The window.
        at: usize,
    },
    /// After the warm-up it holds one level.
    Steady {
        /// Number of windows of warm-up.
        cut: usize,
        /// The level.
        mean: f64,
        /// Geweke's z between begin and end of the rest; under 2 in size.
        geweke_z: f64,
        /// Windows that stand alone, warm-up included.
        outliers: Vec<usize>,
    },
    /// After the warm-up the level changes.
    NotSteady {
        /// Number of windows of warm-up.
        cut: usize,
        /// The levels after it.
        segments: Vec<Segment>,
        /// The changes between them. None when begin and end differ and no single change was seen:
        /// a drift.
        shifts: Vec<Shift>,
        /// Geweke's z between begin and end of the rest.
        geweke_z: f64,
        /// Windows that stand alone, warm-up included.
        outliers: Vec<usize>,
    },
    /// The warm-up takes more than half of the series: the rest is no proof that it ended.
    NeverSettled {
        /// The end that it would have.
        cut: usize,
        /// Number of windows.
        windows: usize,
    },
}

/// Judges a series of figures of windows of equal length.
///
/// A first level counts as warm-up if it is shorter than a fifth of the series (and than ten
/// windows); a longer one is a level, and what follows a shift. Up to three wild windows in a row
/// are outliers: they are set aside for the judgement and listed, and say nothing of the level.
/// Shifts of up to `smallest_shift`, a fraction, do not count; [`SMALLEST_SHIFT`] is usual. Figures
/// are at least 0; a window in which nothing was served is 0 as a throughput, and has no cost or
/// response time.
pub fn steady(series: &[f64], smallest_shift: f64) -> Steadiness {
    if series.len() < FEWEST_WINDOWS {
        return Steadiness::TooShort { have: series.len(), need: FEWEST_WINDOWS };
    }
    if let Some(at) = series.iter().position(|x| !x.is_finite() || *x < 0.0) {
        return Steadiness::NotMeasured { at };
    }
    let Calm { series, outliers } = noise::calm(series);
    let noise = Noise::of(&series);
    let cut = cut(&series, noise, smallest_shift);
    if cut * 2 > series.len() {
        return Steadiness::NeverSettled { cut, windows: series.len() };
    }
    let rest = Rest::settled(&series, cut, noise, smallest_shift);
    rest.judged(outliers)
}

/// The series after a cut.
struct Rest {
    cut: usize,
    levels: Vec<Segment>,
    geweke_z: f64,
}

impl Rest {
    fn after(series: &[f64], cut: usize, noise: Noise, smallest_shift: f64) -> Rest {
        Rest {
            cut,
            levels: segments::levels(series, cut, noise, smallest_shift),
            geweke_z: geweke(&series[cut..], noise),
        }
    }

    /// The rest after the cut, or after twice the cut.
    ///
    /// MSER-5 weighs the end of the warm-up against windows, and leaves as much of it as noise
    /// hides from it; Geweke's z, which looks at the begin only, often still sees that. Then as
    /// much again is cut, once and not beyond half. More tries would let a drift pass by chance.
    fn settled(series: &[f64], cut: usize, noise: Noise, smallest_shift: f64) -> Rest {
        let rest = Rest::after(series, cut, noise, smallest_shift);
        let twice = (2 * cut).min(series.len() / 2);
        if rest.levels.len() > 1 || rest.is_steady() || twice == cut {
            return rest;
        }
        let later = Rest::after(series, twice, noise, smallest_shift);
        if later.is_steady() { later } else { rest }
    }

    fn is_steady(&self) -> bool {
        self.levels.len() == 1 && self.geweke_z.abs() < GEWEKE_LIMIT
    }

    fn judged(self, outliers: Vec<usize>) -> Steadiness {
        let Rest { cut, geweke_z, .. } = self;
        match self.levels.as_slice() {
            [Segment { mean, .. }] if self.is_steady() => {
                Steadiness::Steady { cut, mean: *mean, geweke_z, outliers }
            }
            levels => {
                let shifts = segments::shifts(levels);
                Steadiness::NotSteady { cut, segments: self.levels, shifts, geweke_z, outliers }
            }
        }
    }
}

/// Number of windows of warm-up.
fn cut(series: &[f64], noise: Noise, smallest_shift: f64) -> usize {
    if noise.long_run_variance == 0.0 {
        return 0; // constant: the squares of rounding errors have a minimum, too
    }
    match warm_up::mser5(series) {
        0 => 0,
        cut => {
            let levels = segments::levels(series, 0, noise, smallest_shift);
            warm_up::spare_levels(cut, &levels, series.len())
        }
    }
}

/// Difference of the means of begin and end in its standard errors (Geweke, Bayesian Statistics
/// 4, 1992), which allow for windows that resemble their neighbours. 0 for a constant series.
fn geweke(rest: &[f64], noise: Noise) -> f64 {
    let count = |share: f64| ((share * rest.len() as f64) as usize).max(1);
    let (first, last) = (&rest[..count(GEWEKE_FIRST)], &rest[rest.len() - count(GEWEKE_LAST)..]);
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let (difference, each) = (mean(last) - mean(first), noise.long_run_variance);
    let standard_error = (each / first.len() as f64 + each / last.len() as f64).sqrt();
    if standard_error > 0.0 { difference / standard_error } else { 0.0 }
}
