//! The results directory as data: what a run writes down, and what reports are made from.
//!
//! Measuring side, cold. Owns the stored forms and their JSON schema. `setup.json` is written once,
//! before the first slice; `slices.jsonl` grows by a line a slice, synced before the next slice
//! starts; `results.json` is a pure function of those two (see `analyse`).

use bakeoff_meter::{Counters, EncodedTimes, Quantiles};
use bakeoff_stats::Verdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The `schema` of this version's `results.json`.
pub const RESULTS_SCHEMA: &str = "bakeoff-results/1";
/// The `schema` of this version's `setup.json`.
pub const SETUP_SCHEMA: &str = "bakeoff-setup/1";

/// Everything that is fixed before the first slice (`setup.json`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Setup {
    /// [`SETUP_SCHEMA`].
    pub schema: String,
    /// Version of bakeoff that wrote it.
    pub bakeoff: String,
    /// Name of the plan: its file stem, or the shipped plan's name.
    pub name: String,
    /// Directory that the plan's relative paths start from.
    pub base_dir: String,
    /// When the run began, RFC 3339.
    pub started: String,
    /// Seed of everything that is drawn.
    pub seed: u64,
    /// Margin d as a fraction.
    pub margin: f64,
    /// Wall time allowed, ns.
    pub budget_ns: u64,
    /// Rounds allowed.
    pub max_rounds: u32,
    /// Numbers of rounds after which verdicts are judged.
    pub looks: Vec<u32>,
    /// Confidence level of each interval, 0 to 1.
    pub level: f64,
    /// Name of the figure that is judged first (a meter of the catalogue).
    pub primary: String,
    /// Arm names in plan order, the second baseline process (`plain'`) behind the baseline.
    pub arms: Vec<String>,
    /// The baseline.
    pub baseline: String,
    /// The load in words: "closed loop, 15 robots", "constant 1000/s".
    pub load: String,
    /// Share of failed requests above which an arm is invalid.
    pub max_errors: f64,
    /// For open loop: bound on the 99th percentile of the generator's lateness, ns.
    pub max_lateness_ns: Option<u64>,
    /// The workload.
    pub workload: WorkloadSetup,
    /// One entry per name in `arms`.
    pub subjects: BTreeMap<String, SubjectSetup>,
    /// The machine and what was found before the run.
    pub environment: Environment,
}

/// What the workload turned out to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadSetup {
    /// `replay`, `webstone`, `get` or `command`.
    pub kind: String,
    /// One line for people.
    pub description: String,
    /// Requests of one slice; 1 for a command.
    pub slice_requests: u64,
    /// Why the slice has this size, from the pilot.
    pub slice_reason: String,
    /// Requests of the whole benchmark, where it has an end: for a shuffled replay lines x robots x
    /// passes.
    pub total_requests: Option<u64>,
    /// Log lines that are not replayed, by reason.
    pub skipped: BTreeMap<String, u64>,
    /// Robots of a closed loop.
    pub robots: Option<u64>,
    /// SHA-256 of the log file: a run can be gone on with only while it is the same.
    pub log_sha256: Option<String>,
}

/// How one arm was started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubjectSetup {
    /// `origin`, `nginx`, `apache`, `command` or `url`.
    pub server: String,
    /// Product version as the product says it.
    pub version: Option<String>,
    /// Scheme and address it was reached at (of the first start).
    pub url: String,
    /// What was executed.
    pub command: Vec<String>,
    /// The configuration text that it ran with, substitutions made.
    pub config: Option<String>,
    /// SHA-256 of the executable, where it can be read.
    pub binary_sha256: Option<String>,
    /// How its CPU time is read, in words.
    pub cpu_source: Option<String>,
    /// TLS as negotiated with the generator: version, cipher suite, key exchange group.
    pub tls: Option<String>,
}

/// One fact about the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fact {
    /// Stable key, such as `kernel` or `governor`.
    pub name: String,
    /// What was found, `unknown` where it cannot be read.
    pub value: String,
}

/// Something the reader should know before believing a figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    /// Stable label.
    pub label: String,
    /// What was seen, what it means, what helps.
    pub sentence: String,
}

/// The machine at the start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// Kernel, CPU, accounting, mitigations, governor, limits, load, versions.
    pub facts: Vec<Fact>,
    /// Cores of the generator.
    pub generator_cores: Vec<usize>,
    /// Cores of the subjects.
    pub subject_cores: Vec<usize>,
    /// Whether the two are disjoint.
    pub disjoint: bool,
    /// What was noticed before the first slice.
    pub warnings: Vec<Warning>,
}

/// One slice: a line of `slices.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SliceRecord {
    /// Round, from 0.
    pub round: u32,
    /// Place in the round's order, from 0.
    pub position: u32,
    /// Arm.
    pub arm: String,
    /// Start, ns since the run began.
    pub started_ns: u64,
    /// What was counted.
    pub counters: Counters,
    /// Histograms of times.
    pub times: EncodedTimes,
}

/// `results.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Results {
    /// [`RESULTS_SCHEMA`].
    pub schema: String,
    /// Version of bakeoff that measured.
    pub bakeoff: String,
    /// Name of the plan.
    pub name: String,
    /// When the run began, RFC 3339.
    pub started: String,
    /// Seed.
    pub seed: u64,
    /// Margin as a fraction.
    pub margin: f64,
    /// Wall time from the first slice's start to the last one's end, ns.
    pub duration_ns: u64,
    /// `verdicts`, `rounds`, `budget`, `interrupted` or `failed`.
    pub stopped_by: String,
    /// Complete rounds.
    pub rounds: u32,
    /// The load in words.
    pub load: String,
    /// The workload.
    pub workload: WorkloadResult,
    /// Arm names in plan order.
    pub order: Vec<String>,
    /// Per arm: sums over complete rounds.
    pub arms: BTreeMap<String, ArmResult>,
    /// Effects and verdicts; primary ones first.
    pub comparisons: Vec<Comparison>,
    /// What the reader should know.
    pub warnings: Vec<Warning>,
    /// The machine.
    pub environment: Environment,
}

/// The workload's part of `results.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadResult {
    /// `replay`, `webstone`, `get` or `command`.
    pub kind: String,
    /// One line for people.
    pub description: String,
    /// Requests made in complete rounds, all arms together.
    pub requests: u64,
    /// Requests of one slice.
    pub slice_requests: u64,
    /// Log lines that are not replayed, by reason.
    pub skipped: BTreeMap<String, u64>,
}

/// Sums and distributions of one arm.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArmResult {
    /// Requests sent or tried.
    pub requests: u64,
    /// Good replies.
    pub replies: u64,
    /// Failures by class.
    pub errors: BTreeMap<String, u64>,
    /// Bytes of good replies.
    pub bytes: u64,
    /// Replies by status.
    pub statuses: BTreeMap<u16, u64>,
    /// From due to done.
    pub response_ns: Quantiles,
    /// From sent to done.
    pub service_ns: Quantiles,
    /// From sent to first byte.
    pub first_byte_ns: Quantiles,
    /// TCP set-up.
    pub connect_ns: Quantiles,
    /// TLS handshake.
    pub handshake_ns: Quantiles,
    /// Lateness of the generator.
    pub lateness_ns: Quantiles,
    /// Median over rounds of every meter that has a figure per slice; quantiles of the merged
    /// histograms. Keys are meter names.
    pub meters: BTreeMap<String, f64>,
    /// Coefficient of variation over rounds of the primary figure.
    pub deviation: Option<f64>,
    /// How it was started.
    pub subject: SubjectSetup,
    /// Why the arm is invalid, if it is.
    pub invalid: Option<String>,
    /// `webstone` workload: the figures that WebStone prints.
    pub webstone: Option<WebstoneFigures>,
}

/// WebStone's own metrics, over all slices of an arm.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WebstoneFigures {
    /// Clients: robots of the closed loop.
    pub clients: u64,
    /// Good replies per second of slice time. With a connection per request this is WebStone's
    /// connection rate.
    pub connections_per_second: f64,
    /// Bytes of good replies, heads included, in 10^6 bits per second of slice time.
    pub throughput_mbit_per_second: f64,
    /// Mean response time, ns.
    pub response_mean_ns: f64,
    /// Little's law: rate x mean response time, the mean number of requests in flight. As many as
    /// clients, unless clients idled or failed.
    pub load_factor: f64,
}

/// One arm against the baseline in one meter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// The arm; `NAME'` is the baseline's second process.
    pub arm: String,
    /// What it is compared with.
    pub baseline: String,
    /// Meter name.
    pub meter: String,
    /// Whether the verdict stands on this one; the others are exploratory.
    pub primary: bool,
    /// Unit of `value` and `baseline_value`.
    pub unit: String,
    /// Median over the rounds used (quantiles: of the merged histogram).
    pub value: f64,
    /// The same of the baseline (both processes).
    pub baseline_value: f64,
    /// Relative change, 0.014 = 1.4 % more. For `errors`: difference of proportions.
    pub effect: Option<f64>,
    /// Low end of the interval.
    pub low: Option<f64>,
    /// High end.
    pub high: Option<f64>,
    /// Confidence level of the interval.
    pub level: f64,
    /// Rounds used: those of the look that gave the verdict.
    pub rounds: u32,
    /// The verdict.
    #[serde(with = "verdict_text")]
    #[schemars(with = "String")]
    pub verdict: Verdict,
    /// The verdict in words.
    pub sentence: String,
    /// Standard deviation of the paired log ratios.
    pub paired_sd: Option<f64>,
    /// |effect| over half-width: how many times the noise.
    pub times_noise: Option<f64>,
    /// Smallest effect that this many rounds could have seen (80 % power, 5 %).
    pub smallest_detectable: Option<f64>,
    /// Ratio of sums over all rounds used, minus 1.
    pub ratio_of_sums: Option<f64>,
    /// Whether the Hodges-Lehmann estimate was preferred.
    pub heavy_tails: bool,
    /// Log ratio per round, in order; empty for quantiles.
    pub differences: Vec<f64>,
}

mod verdict_text {
    use bakeoff_stats::Verdict;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(verdict: &Verdict, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(verdict.as_str())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Verdict, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|_| D::Error::custom(format!("`{text}` is no verdict")))
    }
}
