//! Chance errors in the figures of short runs.
//!
//! Measuring side, cold, pure.

/// Standard errors that are put down to chance: 99 % of chance errors are within them.
pub(crate) const CHANCE: f64 = 2.58;

/// Fewest replies of an entrant that keeps up: this share of the requests that are due, or as few as chance explains.
/// The number of a Poisson process varies as its root.
pub(crate) fn fewest(share: f64, due: f64) -> f64 {
    (share * due).min(due - CHANCE * due.sqrt())
}
