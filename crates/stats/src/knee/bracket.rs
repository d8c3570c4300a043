//! The bracket: a rate that passes and one that does not, a factor of 1.3 apart.
//!
//! Rates stand on a ladder around the start. The way up ends at two rungs in a row that failed: a
//! single bad rung, by chance or for a reason of its own, does not end it. If nothing on the way up
//! passed, the way down ends at the first rung that does.

use super::grid::{Cell, cells_in};
use std::collections::BTreeMap;

/// Factor from rung to rung.
const FACTOR: f64 = 1.3;

/// Trials of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TrialCounts {
    pub(crate) passed: u32,
    pub(crate) failed: u32,
    /// Trials that are void because of the generator.
    pub(crate) void: u32,
}

impl TrialCounts {
    pub(crate) fn measured(self) -> u32 {
        self.passed + self.failed
    }

    /// A rate counts as passed with 3 trials of 4, and so on in that proportion.
    pub(crate) fn counts_as_passed(self) -> bool {
        self.passed >= 3 && self.passed >= 3 * self.failed
    }
}

/// Trials by cell.
pub(crate) type Tallies = BTreeMap<Cell, TrialCounts>;

/// The range of the search and its rungs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ladder {
    /// Rung 0.
    pub(crate) start: Cell,
    /// No rung below this.
    pub(crate) floor: Cell,
    /// No rung above this.
    pub(crate) top: Cell,
}

impl Ladder {
    /// The next rung to try; `None` when the bracket is found, or cannot be.
    pub(crate) fn next(&self, tallies: &Tallies) -> Option<Cell> {
        let seen = |cell: &Cell| tallies.get(cell).copied().filter(|tally| tally.measured() > 0);
        let mut any_passed = false;
        let mut failed_before = false;
        for rung in self.rungs(1) {
            let Some(tally) = seen(&rung) else { return Some(rung) };
            let failed = tally.passed == 0;
            any_passed |= !failed;
            if failed && failed_before {
                break;
            }
            failed_before = failed;
        }
        if any_passed {
            return None;
        }
        for rung in self.rungs(-1) {
            match seen(&rung) {
                None => return Some(rung),
                Some(tally) if tally.passed > 0 => return None,
                // "No rate passes" does not stand on one trial.
                Some(tally) if self.is_lowest(rung) && tally.failed < 2 => return Some(rung),
                Some(_) => {}
            }
        }
        None
    }

    /// The rungs from the start (which belongs to the way up) on, in one direction.
    fn rungs(&self, direction: i32) -> impl Iterator<Item = Cell> + '_ {
        let step = direction * cells_in(FACTOR);
        let first = if direction > 0 { 0 } else { 1 };
        let ends = move |rung: &Cell| if direction > 0 { *rung <= self.top } else { *rung >= self.floor };
        let rungs = (first..).map(move |n: i32| self.start.up(n * step));
        rungs.take_while(ends).filter(|rung| *rung <= self.top)
    }

    fn is_lowest(&self, rung: Cell) -> bool {
        rung.up(-cells_in(FACTOR)) < self.floor
    }
}

/// Width of the bracket in natural logarithms.
pub(crate) fn width() -> f64 {
    FACTOR.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LADDER: Ladder = Ladder { start: Cell(0), floor: Cell(-80), top: Cell(80) };

    /// Rungs that are tried, in order, if `passes` decides.
    fn climb(ladder: Ladder, mut passes: impl FnMut(i32, usize) -> bool) -> Vec<i32> {
        let mut tallies = Tallies::new();
        let mut tried = Vec::new();
        while let Some(cell) = ladder.next(&tallies) {
            let tally = tallies.entry(cell).or_default();
            if passes(cell.0, tried.len()) {
                tally.passed += 1
            } else {
                tally.failed += 1
            }
            tried.push(cell.0);
            assert!(tried.len() < 50);
        }
        tried
    }

    #[test]
    fn up_until_two_rungs_failed_or_down_until_one_passed() {
        assert_eq!(climb(LADDER, |cell, _| cell < 30), [0, 26, 52, 78]);
        assert_eq!(climb(LADDER, |cell, _| cell < -30), [0, 26, -26, -52]);
        assert_eq!(climb(LADDER, |_, _| true), [0, 26, 52, 78]);
        assert_eq!(climb(LADDER, |_, _| false), [0, 26, -26, -52, -78, -78]);
    }

    #[test]
    fn one_bad_rung_does_not_end_the_way_up() {
        assert_eq!(climb(LADDER, |cell, _| cell < 60 && cell != 0), [0, 26, 52, 78]);
        assert_eq!(climb(LADDER, |cell, _| cell < 30 && cell != 26), [0, 26, 52]);
    }

    #[test]
    fn the_lowest_rung_has_a_second_chance() {
        assert_eq!(climb(LADDER, |_, trial| trial == 5), [0, 26, -26, -52, -78, -78]);
    }

    #[test]
    fn a_ceiling_below_the_start_sends_the_search_down() {
        let low = Ladder { top: Cell(-20), ..LADDER };
        assert_eq!(climb(low, |_, _| true), [-26]);
        let lower = Ladder { top: Cell(-40), ..LADDER };
        assert_eq!(climb(lower, |_, _| true), [-52]);
    }

    #[test]
    fn three_of_four_count_as_passed() {
        for (passed, failed, counts) in [
            (2, 0, false),
            (3, 0, true),
            (3, 1, true),
            (4, 2, false),
            (5, 2, false),
            (6, 2, true),
            (3, 2, false),
        ] {
            let tally = TrialCounts { passed, failed, void: 0 };
            assert_eq!(tally.counts_as_passed(), counts, "{passed} {failed}");
        }
    }
}
