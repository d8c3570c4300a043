//! Spread of figures that should be equal: of the passes of an entrant, or of the two starts of the baseline.
//!
//! Measuring side, cold. Data alone.

use serde::{Deserialize, Serialize};

/// Spread of figures of the same rates. A difference of two entrants must be compared with this.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Number of rates, or phases of rates, that were compared.
    pub points: usize,
    /// Mean response times, as a share of their mean.
    pub mean: Option<Apart>,
    /// Hit ratios; 0.01 is a point.
    pub hit_ratio: Option<Apart>,
    /// CPU of the cache per request, as a share of its mean.
    pub cpu: Option<Apart>,
}

/// Distance of figures, over all rates.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Apart {
    /// Median distance.
    pub median: f64,
    /// Greatest distance.
    pub most: f64,
}

/// The baseline and its second start, which are equal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BaselinePair {
    /// Name of the first.
    pub first: String,
    /// Name of the second.
    pub second: String,
    /// Their spread.
    pub spread: Spread,
}
