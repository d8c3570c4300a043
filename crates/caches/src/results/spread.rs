//! How far figures are apart that should be equal: of the passes of an entrant, or of the two starts of the baseline.
//!
//! Measuring side, cold. Data alone.

use serde::{Deserialize, Serialize};

/// What figures of the same rates are apart by. Who reads a difference of two entrants holds it against this.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Rates, or phases of rates, that were held against each other.
    pub points: usize,
    /// Mean response times, as a share of their mean.
    pub mean: Option<Apart>,
    /// Hit ratios; 0.01 is a point.
    pub hit_ratio: Option<Apart>,
    /// CPU of the cache per request, as a share of its mean.
    pub cpu: Option<Apart>,
}

/// How far, over all of them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Apart {
    /// In the middle of them.
    pub median: f64,
    /// At most.
    pub most: f64,
}

/// The baseline and its second start, which are equal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Baselines {
    /// Name of the first.
    pub first: String,
    /// Name of the second.
    pub second: String,
    /// How far they are apart.
    pub spread: Spread,
}
