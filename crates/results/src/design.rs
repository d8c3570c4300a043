//! The part of `results.json` for the design: starts, factors, prices, first uses, violations, steadiness.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Starts of the arms.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StartsResult {
    /// Starts with complete rounds.
    pub starts: u32,
    /// What follows for the figures, in words.
    pub sentence: String,
}

/// Spread of a comparison's log ratios.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LevelsResult {
    /// Starts.
    pub starts: u32,
    /// Standard deviation from start to start: what process luck does.
    pub between_sd: f64,
    /// Standard deviation from round to round of one start.
    pub within_sd: f64,
}

/// An estimate with its interval, as fractions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FractionEstimate {
    /// Relative change, 0.014 = 1.4 % more.
    pub effect: f64,
    /// Low end.
    pub low: f64,
    /// High end.
    pub high: f64,
}

/// A difference with its interval, in the unit of the figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AmountEstimate {
    /// How much more.
    pub amount: f64,
    /// Low end.
    pub low: f64,
    /// High end.
    pub high: f64,
    /// As in the catalogue of meters.
    pub unit: String,
}

/// Main effects and interactions of the primary figure, on the log scale.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FactorsResult {
    /// Confidence level of the intervals: those of all rows hold together at the run's level.
    pub level: f64,
    /// Effect of each level of each factor against its first level, over all settings of the others.
    pub main: Vec<MainEffect>,
    /// Pairs of levels of two factors.
    pub interactions: Vec<Interaction>,
    /// What cannot be told because a combination was not run, a sentence each.
    pub missing: Vec<String>,
}

/// A level against the reference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MainEffect {
    /// Factor.
    pub factor: String,
    /// Level.
    pub level: String,
    /// The factor's first level.
    pub reference: String,
    /// Its effect; `None` with too few rounds.
    pub estimate: Option<FractionEstimate>,
    /// The same as an amount: the mean difference over the settings of the other factors.
    pub amount: Option<AmountEstimate>,
    /// In words.
    pub sentence: String,
}

/// Two levels together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interaction {
    /// Factor and level.
    pub first: (String, String),
    /// Factor and level.
    pub second: (String, String),
    /// How much more the two cost together than the product of the two alone.
    pub estimate: Option<FractionEstimate>,
    /// Effect of both together that independent costs would have.
    pub expected: Option<f64>,
    /// Effect of both together.
    pub measured: Option<f64>,
    /// In words.
    pub sentence: String,
}

/// Price per unit of a numeric factor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PriceResult {
    /// Factor.
    pub factor: String,
    /// The other factors' levels, in words; empty if there are none.
    pub setting: String,
    /// Meter.
    pub meter: String,
    /// Its unit.
    pub unit: String,
    /// Price of one unit of the factor, in units of the meter.
    pub slope: f64,
    /// The same as a share of the figure at 0, where that is clear of 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slope_share: Option<f64>,
    /// Low and high end of its interval.
    pub slope_interval: (f64, f64),
    /// Figure at 0.
    pub intercept: f64,
    /// Low and high end of its interval.
    pub intercept_interval: (f64, f64),
    /// The levels and the median figure at each.
    pub points: Vec<(f64, f64)>,
    /// `line`, `bent` or `unchecked`.
    pub shape: String,
    /// In words.
    pub sentence: String,
}

/// First use against steady use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FirstUseResult {
    /// Arm of the first use.
    pub first: String,
    /// Arm of the steady use.
    pub steady: String,
    /// Meter.
    pub meter: String,
    /// Its unit.
    pub unit: String,
    /// What a first use costs more, in units of the meter, with its interval.
    pub extra: f64,
    /// Low and high end of its interval.
    pub extra_interval: (f64, f64),
    /// Requests per session from which on the first use is less than the margin of its cost.
    pub requests: Option<f64>,
    /// In words.
    pub sentence: String,
}

/// Planted violations of one arm.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ViolationResult {
    /// Requests that had to be refused.
    pub planted: u64,
    /// Refused.
    pub detected: u64,
    /// Answered as if nothing were wrong.
    pub missed: u64,
    /// Right requests that were refused.
    #[serde(rename = "false")]
    pub false_alarms: u64,
    /// Whether this arm's layer had to notice.
    pub enforced: bool,
    /// In words.
    pub sentence: String,
}

/// Whether a figure stood still.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SteadyResult {
    /// `steady`, `not-steady`, `never-settled` or `too-short`.
    pub state: String,
    /// Slices cut off at the beginning.
    pub cut: u32,
    /// Shifts: seconds since the first slice, and the change as a fraction.
    pub shifts: Vec<(f64, f64)>,
    /// In words, with what happened on the machine at the same time.
    pub sentence: String,
}
