//! Grid of rates, logarithmic and the same for every search, so that two searches can be compared.

use bakeoff_units::PerSecond;

/// Width of a cell in natural logarithms: 1 %.
pub(crate) const STEP: f64 = 0.01;

/// Cells reach from 2e-9 to 2e17 requests per second: any rate that makes sense, and no overflow.
const REACH: (f64, f64) = (-2000.0, 4000.0);

/// Cell i is the rate of exp(i / 100) requests per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cell(pub(crate) i32);

impl Cell {
    /// The cell nearest to a rate.
    pub(crate) fn near(rate: PerSecond) -> Cell {
        Cell(position(rate).round().clamp(REACH.0, REACH.1) as i32)
    }

    pub(crate) fn rate(self) -> PerSecond {
        rate_at(f64::from(self.0))
    }

    pub(crate) fn up(self, cells: i32) -> Cell {
        Cell(self.0.saturating_add(cells))
    }
}

/// The place of a rate between the cells.
pub(crate) fn position(rate: PerSecond) -> f64 {
    rate.get().ln() / STEP
}

/// The rate at a place between the cells.
pub(crate) fn rate_at(position: f64) -> PerSecond {
    let rate = (position.clamp(REACH.0, REACH.1) * STEP).exp();
    PerSecond::new(rate).expect("the exponential of a bounded number is finite and above zero")
}

/// The number of cells in a factor, rounded.
pub(crate) fn cells_in(factor: f64) -> i32 {
    (factor.ln() / STEP).round() as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_one_percent_apart_and_nothing_overflows() {
        let at = |rate| Cell::near(PerSecond::new(rate).unwrap());
        assert_eq!((at(1.0), at(100.0), at(0.5)), (Cell(0), Cell(461), Cell(-69)));
        for rate in [1e-300, 0.3, 1.0, 4711.0, 1e300] {
            let cell = at(rate);
            assert_eq!(Cell::near(cell.rate()), cell, "{rate}");
        }
        assert_eq!((cells_in(1.3), cells_in(1.0 / 1.3)), (26, -26));
    }
}
