//! Data of a peak search: its set-up, fixed before its first trial, a line of `trials.jsonl`, and its part of
//! `results.json`.

use super::FractionEstimate;
use bakeoff_meter::{EncodedTimes, SliceCounters};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What every trial of a search is judged by, and how long it may take.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PeakSetup {
    /// Which quantile of the response time is bounded, 0 to 1.
    pub quantile: f64,
    /// Its bound, the same for all arms, ns.
    pub slo_ns: u64,
    /// Where the bound is from, in words.
    pub slo_reason: String,
    /// Good replies, as a share of the requests due, are at least this.
    pub replies: f64,
    /// Failures, as a share of the requests due, are at most this.
    pub errors: f64,
    /// Width of the interval that ends a search, as a share of the rate.
    pub precision: f64,
    /// `poisson` or `constant`.
    pub gaps: String,
    /// No higher rate is tried, requests per second.
    pub max_rate_per_s: Option<f64>,
    /// Length of the first trials, ns.
    pub shortest_ns: u64,
    /// Length of the last ones, ns.
    pub longest_ns: u64,
    /// Length of the trial just below the rate that was found, ns.
    pub confirm_ns: u64,
    /// Length of each trial of the curve, ns.
    pub curve_ns: u64,
    /// Trials of each arm before those two.
    pub trials: u32,
    /// Time of all trials of an arm, ns.
    pub budget_ns: u64,
    /// Where each arm's search begins.
    pub arms: BTreeMap<String, PeakStart>,
}

/// What was seen of an arm before its search.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PeakStart {
    /// Upper guess of the highest rate, requests per second.
    pub guess_per_s: f64,
    /// Rate from which on the search tries, requests per second.
    pub lowest_per_s: f64,
    /// Closed loops without pause that the guess is from; none where the plan gives the highest rate.
    pub closed: Vec<ClosedLoop>,
    /// At low load.
    pub unloaded: Unloaded,
}

/// A short closed loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClosedLoop {
    /// Connections, each asking again as soon as it is answered.
    pub connections: u64,
    /// Good replies per second.
    pub replies_per_s: f64,
}

/// An arm with hardly anything to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Unloaded {
    /// Good replies per second.
    pub replies_per_s: f64,
    /// Median response time, ns.
    pub p50_ns: u64,
    /// The quantile that is bounded, ns.
    pub quantile_ns: u64,
    /// Share of replies that came from a store, where that can be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hit_ratio: Option<f64>,
}

/// One trial: a line of `trials.jsonl`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialRecord {
    /// From 0, over all arms.
    pub number: u32,
    /// Arm.
    pub arm: String,
    /// `bracket`, `refine`, `lower`, `support`, `above`, `confirm` or `curve`.
    pub purpose: String,
    /// Requests due per second.
    pub rate_per_s: f64,
    /// For how long requests came due, ns.
    pub time_ns: u64,
    /// Start, ns since the run began.
    pub started_ns: u64,
    /// Wall time with warm-up and rest, ns.
    pub took_ns: u64,
    /// What was counted; every request that was due is followed to its end.
    pub counters: SliceCounters,
    /// Histograms of times.
    pub times: EncodedTimes,
    /// Requests in flight.
    pub in_flight: InFlight,
    /// How late the generator itself was, where the kernel tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_lateness: Option<TrialLateness>,
}

/// Lateness without the intervals in which others had the generator's core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialLateness {
    /// 99th percentile, ns; 0 where no interval is left.
    pub p99_ns: u64,
    /// Intervals with requests.
    pub intervals: u64,
    /// Those of them in which others had the core.
    pub excluded: u64,
}

/// The number of requests in flight at equal moments.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InFlight {
    /// From one to the next, ns.
    pub every_ns: u64,
    /// From the trial's start on.
    pub seen: Vec<u32>,
}

/// Highest rates (`results.json`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PeakResult {
    /// What every trial was judged by.
    pub setup: PeakSetup,
    /// Per arm.
    pub arms: BTreeMap<String, PeakArm>,
    /// Each arm against the baseline, where both rates were found.
    pub ratios: BTreeMap<String, PeakRatio>,
}

/// [`PeakArm::finding`] if every trial was void, or too many because of other load, or none was run.
pub const NOT_MEASURED: &str = "not-measured";

/// The highest rate of one arm.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PeakArm {
    /// `peak`, `at-least`, `no-rate-passes` or `not-measured`.
    pub finding: String,
    /// In words.
    pub sentence: String,
    /// The rate: half of the trials pass there; for `at-least` it is that or more, for
    /// `no-rate-passes` the lowest that was tried.
    pub rate_per_s: Option<f64>,
    /// Low end of its interval.
    pub low_per_s: Option<f64>,
    /// High end of its interval.
    pub high_per_s: Option<f64>,
    /// Confidence level of the interval.
    pub level: f64,
    /// Whether the interval is as narrow as was asked for.
    pub precise: bool,
    /// `at-least`: `generator`, `asked` (by the plan), `range` or `time`.
    pub limit: Option<String>,
    /// What breaks first above the rate: `replies`, `errors`, `latency`, `hit-ratio` or `queue`.
    pub binding: Option<String>,
    /// It goes on answering above the rate, past its cache.
    pub bypass: bool,
    /// The highest rate that passed in three of four trials.
    pub passed_per_s: Option<f64>,
    /// The long trial at 95 % of the rate: `passed`, `failed`, `void` or `not-tried`.
    pub confirmed: String,
    /// Trials of all purposes.
    pub trials: Vec<PeakTrial>,
}

/// One trial, judged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PeakTrial {
    /// As in `trials.jsonl`.
    pub number: u32,
    /// As in `trials.jsonl`.
    pub purpose: String,
    /// Requests due per second.
    pub rate_per_s: f64,
    /// For how long, ns.
    pub time_ns: u64,
    /// `passed`, `failed` or `void`.
    pub verdict: String,
    /// Criteria that it broke, or why it is void.
    pub reasons: Vec<String>,
    /// Requests due.
    pub due: u64,
    /// Good replies.
    pub replies: u64,
    /// Failures by class.
    pub errors: BTreeMap<String, u64>,
    /// Median response time, ns.
    pub p50_ns: Option<u64>,
    /// The quantile of the response time that is bounded, ns.
    pub quantile_ns: Option<u64>,
    /// 99th percentile of the generator's own lateness, ns.
    pub lateness_p99_ns: u64,
    /// Subject CPU per request, ns.
    pub cpu_per_request_ns: Option<f64>,
    /// Requests in flight, on average.
    pub in_flight: Option<f64>,
    /// Low end of their growth over the last half, requests per second and second.
    pub growth_low: Option<f64>,
    /// High end of it.
    pub growth_high: Option<f64>,
}

/// The highest rate of an arm against the baseline's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PeakRatio {
    /// Relative change.
    pub estimate: FractionEstimate,
    /// Confidence level of its interval.
    pub level: f64,
    /// In words.
    pub sentence: String,
}
