//! Design of several factors: the cells that it has, checked.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;

/// A round measures every cell, so more would be a round of hours.
const MOST_CELLS: usize = 4096;

/// One level of one factor. Level 0 is the factor's reference: "off".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DesignLevel {
    /// The factor, from 0.
    pub factor: usize,
    /// Its level, from 0.
    pub level: usize,
}

/// Factors and the cells in which their levels were measured together: all of them, or any subset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactorialDesign {
    levels: Vec<usize>,
    /// Its level in each factor, per cell.
    cells: Vec<Vec<usize>>,
    cell_of: BTreeMap<Vec<usize>, usize>,
}

impl FactorialDesign {
    /// A design of the listed cells. `levels` is the number of levels per factor, a cell is its
    /// level in each factor.
    pub fn listed(levels: Vec<usize>, cells: Vec<Vec<usize>>) -> Result<FactorialDesign, DesignError> {
        check_levels(&levels)?;
        if cells.is_empty() {
            return Err(DesignError::NoCells);
        }
        if cells.len() > MOST_CELLS {
            return Err(DesignError::TooManyCells);
        }
        let mut cell_of = BTreeMap::new();
        for (cell, setting) in cells.iter().enumerate() {
            check_cell(cell, setting, &levels)?;
            if let Some(first) = cell_of.insert(setting.clone(), cell) {
                return Err(DesignError::Duplicate { first, second: cell });
            }
        }
        Ok(FactorialDesign { levels, cells, cell_of })
    }

    /// The design of all cells there can be, the last factor changing fastest.
    pub fn crossed(levels: Vec<usize>) -> Result<FactorialDesign, DesignError> {
        check_levels(&levels)?;
        let count = levels.iter().try_fold(1_usize, |count, &n| count.checked_mul(n));
        if count.is_none_or(|count| count > MOST_CELLS) {
            return Err(DesignError::TooManyCells);
        }
        let cells = levels.iter().fold(vec![Vec::new()], |cells, &n| {
            let widened = cells.iter().flat_map(|cell: &Vec<usize>| {
                (0..n).map(|level| cell.iter().copied().chain([level]).collect())
            });
            widened.collect()
        });
        FactorialDesign::listed(levels, cells)
    }

    /// Levels per factor.
    pub fn levels(&self) -> &[usize] {
        &self.levels
    }

    /// The level in each factor, per cell.
    pub fn cells(&self) -> &[Vec<usize>] {
        &self.cells
    }

    /// The index of the cell with these levels.
    pub fn cell(&self, setting: &[usize]) -> Option<usize> {
        self.cell_of.get(setting).copied()
    }

    /// Whether this is a level of the design other than a reference.
    pub(super) fn is_treatment(&self, at: DesignLevel) -> bool {
        at.level > 0 && self.levels.get(at.factor).is_some_and(|&n| at.level < n)
    }
}

fn check_levels(levels: &[usize]) -> Result<(), DesignError> {
    if levels.is_empty() {
        return Err(DesignError::NoFactors);
    }
    match levels.iter().position(|&n| n == 0) {
        Some(factor) => Err(DesignError::NoLevels { factor }),
        None => Ok(()),
    }
}

fn check_cell(cell: usize, setting: &[usize], levels: &[usize]) -> Result<(), DesignError> {
    if setting.len() != levels.len() {
        return Err(DesignError::WrongLength { cell, have: setting.len(), need: levels.len() });
    }
    match setting.iter().zip(levels).position(|(level, n)| level >= n) {
        Some(factor) => {
            let at = DesignLevel { factor, level: setting[factor] };
            Err(DesignError::OutOfRange { cell, at, levels: levels[factor] })
        }
        None => Ok(()),
    }
}

/// Error in factors and cells. Indices count from 0, in the order given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DesignError {
    /// No factor that could differ.
    NoFactors,
    /// A factor without levels.
    NoLevels {
        /// The factor.
        factor: usize,
    },
    /// No cell was listed.
    NoCells,
    /// More cells than a round can hold.
    TooManyCells,
    /// A cell that does not name one level per factor.
    WrongLength {
        /// The cell.
        cell: usize,
        /// Number of levels it names.
        have: usize,
        /// Number of factors.
        need: usize,
    },
    /// A cell with a level its factor does not have.
    OutOfRange {
        /// The cell.
        cell: usize,
        /// The factor, and the level it lacks.
        at: DesignLevel,
        /// Number of levels of the factor.
        levels: usize,
    },
    /// Two cells with the same levels.
    Duplicate {
        /// The one listed first.
        first: usize,
        /// Its double.
        second: usize,
    },
}

impl fmt::Display for DesignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DesignError::NoFactors => write!(f, "no factor was given; name at least one"),
            DesignError::NoLevels { factor } => {
                write!(f, "factor {factor} has no levels; name its reference and what is compared with it")
            }
            DesignError::NoCells => write!(f, "no cell was listed; list at least two, or cross all factors"),
            DesignError::TooManyCells => {
                write!(f, "more than {MOST_CELLS} cells; list the ones you need, or drop factors or levels")
            }
            DesignError::WrongLength { cell, have, need } => {
                write!(f, "cell {cell} names {have} levels, but there are {need} factors; name one of each")
            }
            DesignError::OutOfRange { cell, at, levels } => write!(
                f,
                "cell {cell} has level {} of factor {}, which has levels 0 to {} only",
                at.level,
                at.factor,
                levels - 1
            ),
            DesignError::Duplicate { first, second } => {
                write!(f, "cells {first} and {second} have the same levels; drop one of them")
            }
        }
    }
}

impl Error for DesignError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crossing_gives_every_cell_once_and_in_order() {
        let design = FactorialDesign::crossed(vec![2, 3]).unwrap();
        assert_eq!(design.cells(), [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]);
        assert_eq!(design.cell(&[1, 2]), Some(5));
        assert_eq!((design.cell(&[2, 0]), design.cell(&[0])), (None, None));
        assert_eq!(design.levels(), [2, 3]);
    }

    #[test]
    fn what_is_no_design_is_refused_by_name() {
        let listed = |levels: &[usize], cells: &[&[usize]]| {
            let cells = cells.iter().map(|cell| cell.to_vec()).collect();
            FactorialDesign::listed(levels.to_vec(), cells).unwrap_err()
        };
        assert_eq!(listed(&[], &[&[]]), DesignError::NoFactors);
        assert_eq!(listed(&[2, 0], &[&[0, 0]]), DesignError::NoLevels { factor: 1 });
        assert_eq!(listed(&[2], &[]), DesignError::NoCells);
        assert_eq!(listed(&[2], &[&[0], &[0, 1]]), DesignError::WrongLength { cell: 1, have: 2, need: 1 });
        let at = DesignLevel { factor: 1, level: 3 };
        assert_eq!(listed(&[2, 3], &[&[0, 3]]), DesignError::OutOfRange { cell: 0, at, levels: 3 });
        assert_eq!(listed(&[2], &[&[1], &[0], &[1]]), DesignError::Duplicate { first: 0, second: 2 });
        assert_eq!(FactorialDesign::crossed(vec![64, 65]), Err(DesignError::TooManyCells));
        assert_eq!(FactorialDesign::crossed(vec![usize::MAX, 3]), Err(DesignError::TooManyCells));
        assert_eq!(FactorialDesign::crossed(vec![2; 12]).unwrap().cells().len(), MOST_CELLS);
    }

    #[test]
    fn a_refusal_says_where_and_what_to_do() {
        let at = DesignLevel { factor: 1, level: 3 };
        let said = DesignError::OutOfRange { cell: 0, at, levels: 3 }.to_string();
        assert_eq!(said, "cell 0 has level 3 of factor 1, which has levels 0 to 2 only");
    }
}
