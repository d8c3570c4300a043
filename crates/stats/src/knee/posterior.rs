//! Posterior distribution of the knee: a probability for each cell of the grid.
//!
//! The knee is the rate at which half of the trials pass. Above it the pass probability falls off as
//! a logistic curve in the logarithm of the rate, of a width that is estimated along with the knee;
//! so is the share of trials that fail at any rate, for reasons of their own. The next rate is the
//! one whose trial is expected to tell most about the knee, whatever it tells about the other two
//! (Kontsevich and Tyler, "Bayesian adaptive estimation of psychometric slope and threshold", Vision
//! Research 39, 1999; Prins, "The psi-marginal adaptive method", Journal of Vision 13, 2013).

use super::grid::{Cell, STEP};

/// Widths of the logistic in natural logarithms of the rate: from a server that is exact to half a
/// percent to one that passes or fails by luck over a third of the way.
const WIDTHS: [f64; 6] = [0.0025, 0.005, 0.01, 0.02, 0.04, 0.08];

/// Shares of trials that fail far below the knee, with their prior weights: mostly hardly any.
const LAPSES: [(f64, f64); 3] = [(0.01, 0.6), (0.05, 0.3), (0.15, 0.1)];

/// Share of trials that pass far above the knee.
const GUESS: f64 = 0.01;

/// Beyond so many cells every logistic is as good as 0 or 1: exp(-25) for the widest.
const FAR: i32 = 200;

/// Greatest number of rates that are weighed against each other.
const CANDIDATES: usize = 64;

/// Level of the intervals that are reported.
pub const LEVEL: f64 = 0.9;

/// The weights of one cell, by width and lapse.
type Shapes = [[f64; LAPSES.len()]; WIDTHS.len()];

/// The joint probability of knee, width and lapse.
#[derive(Clone, Debug)]
pub(crate) struct Posterior {
    lowest: Cell,
    cells: Vec<Shapes>,
    /// The logistic by width and distance from -FAR to FAR cells.
    logistic: [Vec<f64>; WIDTHS.len()],
}

impl Posterior {
    /// All knees of the range are equally likely.
    pub(crate) fn new(lowest: Cell, highest: Cell) -> Posterior {
        let count = usize::try_from(highest.0 - lowest.0 + 1).unwrap_or(1);
        let each = 1.0 / (count * WIDTHS.len()) as f64;
        let shapes = [LAPSES.map(|(_, weight)| weight * each); WIDTHS.len()];
        let curve = |width: f64| {
            let at = |distance: i32| 1.0 / (1.0 + (-f64::from(distance) * STEP / width).exp());
            (-FAR..=FAR).map(at).collect()
        };
        Posterior { lowest, cells: vec![shapes; count], logistic: WIDTHS.map(curve) }
    }

    /// Probability that a trial at `tried` passes if the knee is at `index`, before lapses.
    fn above(&self, width: usize, index: usize, tried: Cell) -> f64 {
        let distance = self.lowest.0 + index as i32 - tried.0;
        self.logistic[width][(distance.clamp(-FAR, FAR) + FAR) as usize]
    }

    /// Learns from one trial.
    pub(crate) fn update(&mut self, tried: Cell, passed: bool) {
        let mut sum = 0.0;
        for index in 0..self.cells.len() {
            for width in 0..WIDTHS.len() {
                let above = self.above(width, index, tried);
                for (lapse, (share, _)) in LAPSES.iter().enumerate() {
                    let passes = GUESS + (1.0 - GUESS - share) * above;
                    let weight = &mut self.cells[index][width][lapse];
                    *weight *= if passed { passes } else { 1.0 - passes };
                    sum += *weight;
                }
            }
        }
        // Never 0: no likelihood is under 0.01 (GUESS or the smallest lapse), and each step ends at 1.
        self.cells.iter_mut().flatten().flatten().for_each(|weight| *weight /= sum);
    }

    /// Probability of each cell, from the lowest on.
    pub(crate) fn marginal(&self) -> Marginal {
        let cell = |shapes: &Shapes| shapes.iter().flatten().sum();
        Marginal { lowest: self.lowest, weights: self.cells.iter().map(cell).collect() }
    }

    /// The rate among those up to `top` whose trial tells most about the knee.
    pub(crate) fn most_informative(&self, top: Cell) -> Cell {
        let marginal = self.marginal();
        let low = marginal.quantile(0.01).floor() as i32;
        let high = (marginal.quantile(0.99).ceil() as i32).min(top.0);
        let low = low.min(high);
        let stride = ((high - low) as usize / CANDIDATES + 1) as i32;
        let mut best = (f64::NEG_INFINITY, Cell(high));
        let mut candidate = low;
        while candidate <= high {
            let information = self.information(&marginal, Cell(candidate));
            if information > best.0 {
                best = (information, Cell(candidate));
            }
            candidate += stride;
        }
        best.1
    }

    /// Expected information of a trial about the knee: the mutual information, in nats.
    fn information(&self, marginal: &Marginal, tried: Cell) -> f64 {
        let passes: Vec<f64> = (0..self.cells.len()).map(|index| self.passes_and_is(index, tried)).collect();
        let pass: f64 = passes.iter().sum();
        let term = |joint: f64, weight: f64, all: f64| {
            if joint > 0.0 && weight > 0.0 { joint * (joint / (weight * all)).ln() } else { 0.0 }
        };
        passes
            .iter()
            .zip(&marginal.weights)
            .map(|(&joint, &weight)| term(joint, weight, pass) + term(weight - joint, weight, 1.0 - pass))
            .sum()
    }

    /// Probability that the knee is at `index` and a trial at `tried` passes.
    fn passes_and_is(&self, index: usize, tried: Cell) -> f64 {
        let of_width = |(width, lapses): (usize, &[f64; LAPSES.len()])| {
            let above = self.above(width, index, tried);
            let of_lapse =
                |(weight, (share, _)): (&f64, &(f64, f64))| weight * (GUESS + (1.0 - GUESS - share) * above);
            lapses.iter().zip(&LAPSES).map(of_lapse).sum::<f64>()
        };
        self.cells[index].iter().enumerate().map(of_width).sum()
    }
}

/// The distribution of the knee, whatever its width.
#[derive(Clone, Debug)]
pub(crate) struct Marginal {
    pub(crate) lowest: Cell,
    /// They add up to 1.
    pub(crate) weights: Vec<f64>,
}

impl Marginal {
    /// The place, between the cells, under which the share `p` lies; a cell's weight is spread
    /// evenly over its width.
    pub(crate) fn quantile(&self, p: f64) -> f64 {
        let mut below = 0.0;
        for (index, weight) in self.weights.iter().enumerate() {
            if below + weight >= p && *weight > 0.0 {
                return f64::from(self.lowest.0) + index as f64 - 0.5 + (p - below) / weight;
            }
            below += weight;
        }
        f64::from(self.lowest.0) + self.weights.len() as f64 - 0.5
    }

    /// Median and the ends of the reported interval, as places between the cells.
    pub(crate) fn estimate(&self) -> Estimate {
        let tail = (1.0 - LEVEL) / 2.0;
        Estimate { at: self.quantile(0.5), low: self.quantile(tail), high: self.quantile(1.0 - tail) }
    }
}

/// A place on the grid and its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Estimate {
    pub(crate) at: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Estimate {
    /// Width of the interval in natural logarithms.
    pub(crate) fn width(&self) -> f64 {
        (self.high - self.low) * STEP
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flat_prior_is_flat_and_a_trial_moves_it() {
        let mut posterior = Posterior::new(Cell(0), Cell(99));
        let before = posterior.marginal();
        assert!((before.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!((before.quantile(0.5) - 49.5).abs() < 1e-9);
        posterior.update(Cell(50), true);
        let after = posterior.marginal();
        assert!((after.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(after.quantile(0.5) > 70.0);
    }

    #[test]
    fn one_failure_far_below_is_taken_for_a_lapse() {
        let mut posterior = Posterior::new(Cell(0), Cell(199));
        posterior.update(Cell(30), false);
        for _ in 0..3 {
            posterior.update(Cell(100), true);
            posterior.update(Cell(110), false);
        }
        let estimate = posterior.marginal().estimate();
        assert!(estimate.low > 90.0 && estimate.high < 120.0, "{estimate:?}");
    }

    #[test]
    fn the_most_informative_rate_of_a_flat_prior_is_in_its_middle_and_never_above_the_top() {
        let posterior = Posterior::new(Cell(0), Cell(99));
        let best = posterior.most_informative(Cell(99));
        assert!((40..60).contains(&best.0), "{best:?}");
        assert!(posterior.most_informative(Cell(20)) <= Cell(20));
        assert_eq!(posterior.most_informative(Cell(-5)), Cell(-5));
    }

    #[test]
    fn quantiles_of_known_weights() {
        let marginal = Marginal { lowest: Cell(10), weights: vec![0.25, 0.0, 0.5, 0.25] };
        assert_eq!(marginal.quantile(0.125), 10.0);
        assert_eq!(marginal.quantile(0.25), 10.5);
        assert_eq!(marginal.quantile(0.5), 12.0);
        assert_eq!(marginal.quantile(1.0), 13.5);
    }
}
