//! `results.json`: sums, distributions and comparisons.

use super::{
    CurveResult, DesignSetup, Environment, FactorsResult, FirstUseResult, LevelsResult, LinkResult,
    PeakResult, PriceResult, ProofRecord, StartsResult, SteadyResult, SubjectSetup, ViolationResult, Warning,
};
use crate::study::StudySection;
use bakeoff_meter::{HandshakeCounts, HeadCounts, Quantiles};
use bakeoff_plan::{Extent, RoundDesign};
use bakeoff_stats::Verdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `results.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Results {
    /// Name and version of this format, such as `bakeoff-results/2`.
    pub schema: String,
    /// Version of bakeoff that measured.
    pub bakeoff: String,
    /// Name of the plan.
    pub name: String,
    /// When the run began, RFC 3339.
    pub started: String,
    /// Seed.
    pub seed: u64,
    /// How much of the experiment was run, where the plan states a sample of it.
    #[serde(default)]
    pub extent: Option<Extent>,
    /// Margin as a fraction.
    pub margin: f64,
    /// Margin of the primary figure in its unit, where that is what verdicts are judged by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin_amount: Option<f64>,
    /// Numbers of rounds after which verdicts were judged, or would have been.
    pub looks: Vec<u32>,
    /// Wall time from the first slice's start to the last one's end, ns.
    pub duration_ns: u64,
    /// `verdicts`, `rounds`, `budget`, `interrupted` or `failed`.
    pub stopped_by: String,
    /// Complete rounds, those in turn after the verdict included.
    pub rounds: u32,
    /// Of them those at the decision's load, after a duet.
    #[serde(default)]
    pub rounds_in_turn: u32,
    /// Of them those at full speed, after the verdict.
    #[serde(default)]
    pub rounds_at_full_speed: u32,
    /// The load in words.
    pub load: String,
    /// The link between generator and subjects; none: loopback.
    pub link: Option<LinkResult>,
    /// The workload.
    pub workload: WorkloadResult,
    /// Arm names in plan order.
    pub order: Vec<String>,
    /// Per arm: sums over complete rounds.
    pub arms: BTreeMap<String, ArmResult>,
    /// Effects and verdicts; primary ones first.
    pub comparisons: Vec<Comparison>,
    /// How the cost depends on the load, where several were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub curve: Option<CurveResult>,
    /// `files` workload: every kind of operation by itself.
    pub operations: Vec<OperationResult>,
    /// Each population by itself, where the plan has several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub populations: Vec<PopulationResult>,
    /// How the slices were taken.
    pub design: DesignSetup,
    /// Starts of the arms.
    pub starts: StartsResult,
    /// Main effects and interactions, where the plan has factors.
    pub factors: Option<FactorsResult>,
    /// Prices per unit of the numeric factors.
    pub prices: Vec<PriceResult>,
    /// First use against steady use.
    pub first_uses: Vec<FirstUseResult>,
    /// Arms that are shown equal within the margin in the primary figure; an arm may stand in
    /// several groups.
    pub groups: Vec<Vec<String>>,
    /// The run beside the figures of the study that the plan names.
    pub study: Option<StudySection>,
    /// Highest rates, where those were looked for; then there are no rounds and no comparisons.
    pub peak: Option<PeakResult>,
    /// What the reader should know.
    pub warnings: Vec<Warning>,
    /// The machine.
    pub environment: Environment,
    /// What this was made from: by file name the SHA-256 of `plan.toml` and `setup.json`, and the
    /// check of the last line of `slices.jsonl`. `bakeoff verify` compares them.
    pub digests: BTreeMap<String, String>,
}

/// The workload's part of `results.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadResult {
    /// `replay`, `webstone`, `get`, `command` or `files`.
    pub kind: String,
    /// One line for people.
    pub description: String,
    /// Requests made in complete rounds, all arms together.
    pub requests: u64,
    /// Requests of one slice.
    pub slice_requests: u64,
    /// The same for each arm with a number of its own, by name.
    #[serde(default)]
    pub requests_of: BTreeMap<String, u64>,
    /// Log lines that are not replayed, by reason.
    pub skipped: BTreeMap<String, u64>,
    /// Lines of the log, skipped ones included and blank ones not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_lines: Option<u64>,
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
    /// Refusals that the workload names, by status or class.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub refused: BTreeMap<String, u64>,
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
    /// At full speed, where the verdict stands on another load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_speed: Option<FullSpeed>,
    /// Median over rounds of every meter that has a figure per slice; quantiles of the merged
    /// histograms. Keys are meter names.
    pub meters: BTreeMap<String, f64>,
    /// The meters that have an interval of their own, at the level of the comparisons. Absolute bounds of `--fail-if` are
    /// judged by them. Keys are meter names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub estimates: BTreeMap<String, OwnFigure>,
    /// Rates with intervals of 95 %, each by itself, where the generator was not their limit. Keys are meter names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rates: BTreeMap<String, OwnFigure>,
    /// Heads of its replies that were judged, where our origin stands behind a front.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heads: Option<HeadCounts>,
    /// TLS handshakes of its slices, where there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handshakes: Option<HandshakeCounts>,
    /// What was full while it was measured, with shares as medians over rounds; empty: nothing that
    /// can be seen from outside.
    pub full: Vec<FullResource>,
    /// Coefficient of variation over rounds of the primary figure.
    pub deviation: Option<f64>,
    /// How it was started.
    pub subject: SubjectSetup,
    /// Planted violations, where the plan has any.
    pub violations: Option<ViolationResult>,
    /// Whether the layer was on, and how far it enforced.
    pub proof: Option<ProofRecord>,
    /// Whether the primary figure stood still over the run.
    pub steady: Option<SteadyResult>,
    /// Why the arm is invalid, if it is.
    pub invalid: Option<String>,
    /// Why its replies and bytes a second are none either; a late generator spoils costs and times before them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rates_invalid: Option<String>,
    /// `webstone` workload: the figures that WebStone prints.
    pub webstone: Option<WebstoneFigures>,
}

/// A figure of one arm with its interval, in the meter's unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OwnFigure {
    /// Trimmed mean over the rounds, of logarithms where all are above 0; of quantiles that of the merged histogram.
    pub value: f64,
    /// Low end.
    pub low: f64,
    /// High end.
    pub high: f64,
}

/// A resource that was full.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FullResource {
    /// Which.
    pub resource: Resource,
    /// How much of it was used, or for which share of the time it was waited for; none where only
    /// the waiting is counted.
    pub share: Option<f64>,
    /// In words: "CPU of its cores 97 % busy".
    pub words: String,
}

/// What can be full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Resource {
    /// The subject's cores, or its CPU quota.
    Cpu,
    /// A core of the load generator.
    Generator,
    /// A block device, or the subject's limit on reading and writing.
    Disk,
    /// The link between generator and subject.
    Network,
    /// The machine's memory, or the subject's limit.
    Memory,
}

impl Resource {
    /// Label in `results.json`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Generator => "generator",
            Self::Disk => "disk",
            Self::Network => "network",
            Self::Memory => "memory",
        }
    }
}

/// One kind of file operation, as if nothing else had been measured. Exploratory: the verdict
/// stands on all kinds together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OperationResult {
    /// Its label, such as `read 1 B`.
    pub operation: String,
    /// Operations in a slice.
    pub count: u64,
    /// Per arm: sums over complete rounds.
    pub arms: BTreeMap<String, OperationFigures>,
    /// Time and CPU per operation against the baseline; that of its second directory among them.
    pub comparisons: Vec<Comparison>,
}

/// Sums and times of one arm in one kind of operation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OperationFigures {
    /// Operations tried.
    pub tried: u64,
    /// Failures by class.
    pub errors: BTreeMap<String, u64>,
    /// `calls` workload: why this arm cannot make it, such as `EPERM`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// Bytes of contents that were read or written.
    pub bytes: u64,
    /// Quantiles of the time of one operation, ns.
    pub time_ns: Quantiles,
    /// First contacts in `files` workloads: what one consisted of by the layer's own account, the mean in ns by the name of the step.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub steps_ns: BTreeMap<String, f64>,
    /// The same steps with intervals of 95 % over rounds.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub step_estimates: BTreeMap<String, OwnFigure>,
    /// Median over rounds of time and CPU per operation and of bytes per second. Keys are meter
    /// names.
    pub meters: BTreeMap<String, f64>,
    /// The same meters with intervals of 95 %, each by itself.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub estimates: BTreeMap<String, OwnFigure>,
}

/// One population, as if nobody else had asked. Exploratory: the verdict stands on all together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PopulationResult {
    /// Its name.
    pub population: String,
    /// Its load in words.
    pub load: String,
    /// Open loop: how late the generator may send its requests, 99th percentile, ns.
    #[serde(default)]
    pub max_lateness_ns: Option<u64>,
    /// Per arm: sums over complete rounds.
    pub arms: BTreeMap<String, PopulationFigures>,
    /// What it got of each arm against the baseline; of its second process among them.
    pub comparisons: Vec<Comparison>,
}

/// What one population got of one arm.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PopulationFigures {
    /// Requests sent or tried.
    pub requests: u64,
    /// Good replies.
    pub replies: u64,
    /// Requests in flight when a slice's time was up.
    pub cut: u64,
    /// Share served: good replies of the requests that ended, 0 to 1; none without any.
    pub served: Option<f64>,
    /// Failures by class.
    pub errors: BTreeMap<String, u64>,
    /// Refusals that its `refused` names, by status or class.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub refused: BTreeMap<String, u64>,
    /// From due to done.
    pub response_ns: Quantiles,
    /// The mean of those, ns: replies per second x mean is the mean number in flight.
    pub response_mean_ns: f64,
    /// Lateness of the generator with its requests.
    pub lateness_ns: Quantiles,
    /// Why it makes the arm invalid, where it does.
    #[serde(default)]
    pub invalid: Option<String>,
    /// Median over rounds of replies, bytes and refusals per second. Keys are meter names.
    pub meters: BTreeMap<String, f64>,
    /// The same meters with intervals of 95 %, each by itself.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub estimates: BTreeMap<String, OwnFigure>,
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

/// An arm at full speed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FullSpeed {
    /// Replies per second, the median round.
    pub replies_per_second: f64,
    /// From due to done.
    pub response_ns: Quantiles,
}

/// One arm against the baseline in one meter.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// The arm; `NAME'` is the baseline's second process.
    pub arm: String,
    /// What it is compared with.
    pub baseline: String,
    /// Meter name.
    pub meter: String,
    /// Whether the verdict stands on this one; the others are exploratory.
    pub primary: bool,
    /// How its slices were taken. The primary figure has a row for each load, for the decision's load in turn, and for
    /// full speed.
    pub design: RoundDesign,
    /// Its load, by its place in the design's loads; none: the plan's own clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<u32>,
    /// The load in words: `2,500/s`, `full speed`; empty where there is none to name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub at: String,
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
    /// Change in `unit`: the subject less the mean of the baseline's two processes, an estimate of its own. Not for
    /// `errors`, where it would be `effect` again.
    pub amount: Option<f64>,
    /// Low end of its interval.
    pub amount_low: Option<f64>,
    /// High end.
    pub amount_high: Option<f64>,
    /// Primary CPU per request: the amount as cores at a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores: Option<CoresAt>,
    /// Confidence level of the intervals.
    pub level: f64,
    /// Rounds used: those of the look that gave the verdict.
    pub rounds: u32,
    /// The verdict.
    #[serde(with = "verdict_text")]
    #[schemars(with = "String")]
    pub verdict: Verdict,
    /// The verdict in words, to stand behind the arm's name.
    pub sentence: String,
    /// Primary: users' figures that changed much beside it, each as a clause of the sentence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// Primary: what belongs beside it: the cost in cores, what two equal servers differ by, and whatever makes one doubt.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub beside: String,
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
    /// Spread between starts and within one, where there is more than one start.
    pub levels: Option<LevelsResult>,
    /// Primary, duet: in what the rounds in turn at its load contradict it; then the verdict stands on those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contradiction: Option<String>,
    /// Primary: that the amount at full speed is another one, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depends_on_load: Option<String>,
    /// Log ratio per round, in order; empty for quantiles.
    pub differences: Vec<f64>,
    /// Change in `unit` per round, in order; empty for quantiles.
    pub amounts: Vec<f64>,
}

/// A cost in cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CoresAt {
    /// At so many requests per second.
    pub per_s: f64,
    /// Cores more than the baseline.
    pub cores: f64,
    /// Low end of its interval.
    pub low: f64,
    /// High end.
    pub high: f64,
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
