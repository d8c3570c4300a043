//! What chance alone does to the figures of short runs.
//!
//! Measuring side, cold, pure.

/// Standard errors that chance is taken for: 99 % of what it does is within them.
pub(crate) const CHANCE: f64 = 2.58;

/// The fewest replies of who keeps up: this share of the requests that are due, or as near as chance lets so few be.
/// The number of a Poisson process varies as its root.
pub(crate) fn fewest(share: f64, due: f64) -> f64 {
    (share * due).min(due - CHANCE * due.sqrt())
}
