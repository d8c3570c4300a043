//! The part of `results.json` for a cost over the load.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A cost at several loads. The figures at each are rows of `comparisons`, by their `load`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurveResult {
    /// The loads as they were, ascending.
    pub loads: Vec<CurveLoad>,
    /// Each judged arm.
    pub arms: Vec<CurveArm>,
    /// Level of all contrasts together.
    pub level: f64,
}

/// The machine at one load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurveLoad {
    /// As it was asked for, such as `50%`.
    pub name: String,
    /// Requests per second and arm.
    pub rate_per_s: f64,
    /// Whether verdicts stand on it.
    pub decides: bool,
    /// Complete rounds.
    pub rounds: u32,
    /// How busy the subjects' cores were while an arm was loaded, the busiest arm: share of all their cores.
    pub subject_busy: Option<f64>,
    /// The same of the generator's.
    pub generator_busy: Option<f64>,
    /// Share of the CPU time that the hypervisor gave to others, the median slice.
    pub steal: Option<f64>,
    /// How late requests were sent, 99th percentile of the arm that was latest, ns.
    pub lateness_p99_ns: Option<u64>,
}

/// The cost of an arm over the load, in one word.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurveArm {
    /// The arm.
    pub arm: String,
    /// `flat`, `grows`, `falls`, `changes` or `not-resolved`.
    pub trend: String,
    /// In words.
    pub sentence: String,
    /// Each other load against that of the decision.
    pub contrasts: Vec<CurveContrast>,
    /// Within which all contrasts of a flat cost lie, in the unit of the figure.
    pub tolerance: f64,
}

/// The amount at a load less that at the decision's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurveContrast {
    /// The load, by its place.
    pub load: u32,
    /// In the unit of the figure; none with too few rounds.
    pub amount: Option<f64>,
    /// Low end of its interval.
    pub low: Option<f64>,
    /// High end.
    pub high: Option<f64>,
    /// Whether it is other than 0, all contrasts of all arms together.
    pub significant: bool,
}
