//! Set-up of a run, fixed before the first slice, and the observed facts of the machine.

use super::{ClientSetup, LinkSetup, PeakSetup, SliceRecord, StratumSetup};
use bakeoff_plan::{Extent, RoundDesign};
use bakeoff_subject::{Enforcement, Proof};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// Everything that is fixed before the first slice (`setup.json`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Setup {
    /// Name and version of this format, such as `bakeoff-setup/2`.
    pub schema: String,
    /// Version of bakeoff that wrote it.
    pub bakeoff: String,
    /// Name of the plan: its file stem, or the shipped plan's name.
    pub name: String,
    /// SHA-256 of `plan.toml`.
    pub plan_sha256: String,
    /// Directory that the plan's relative paths start from.
    pub base_dir: String,
    /// Command line that began the run, quoted for a shell.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub command_line: String,
    /// When the run began, RFC 3339.
    pub started: String,
    /// How much of the experiment was run, where the plan states a sample of it.
    #[serde(default)]
    pub extent: Option<Extent>,
    /// Seed of everything that is drawn.
    pub seed: u64,
    /// Margin d as a fraction.
    pub margin: f64,
    /// Margin in the unit of the primary figure; verdicts are judged by it where it stands, and `margin` is for other
    /// figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin_amount: Option<f64>,
    /// The rate at which costs are also told in cores.
    #[serde(default)]
    pub at_per_s: f64,
    /// Wall time allowed, ns.
    pub budget_ns: u64,
    /// What was left of it when the rounds began, ns.
    pub rounds_budget_ns: u64,
    /// Rounds allowed.
    pub max_rounds: u32,
    /// Half of a cost's interval, as a share of it, down to which rounds go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<f64>,
    /// Numbers of rounds after which verdicts are judged, as planned before the first; planned again after the third.
    pub looks: Vec<u32>,
    /// Confidence level of each interval, 0 to 1.
    pub level: f64,
    /// Name of the figure that is judged first (a meter of the catalogue).
    pub primary: String,
    /// Arm names in plan order, the second baseline process (`plain'`) behind the baseline.
    pub arms: Vec<String>,
    /// The baseline; with strata that of the first.
    pub baseline: String,
    /// Which arms are compared with which baseline, where there is more than one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub strata: Vec<StratumSetup>,
    /// The load in words: "closed loop, 15 robots", "constant 1000/s".
    pub load: String,
    /// Share of failed requests above which an arm is invalid.
    pub max_errors: f64,
    /// For open loop: the rate that every arm is asked at, where the plan has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_per_s: Option<f64>,
    /// For open loop: bound on the 99th percentile of the generator's lateness, ns.
    pub max_lateness_ns: Option<u64>,
    /// How the slices of a round are taken, and why.
    pub design: DesignSetup,
    /// When the arms are started anew.
    pub restarts: RestartSetup,
    /// The factors of the plan.
    pub factors: Vec<FactorSetup>,
    /// Arms that are the first use of another one, by name.
    pub first_uses: BTreeMap<String, String>,
    /// What the layer must refuse.
    pub violations: Option<ViolationSetup>,
    /// Name of the published study to set the figures beside.
    pub study: Option<String>,
    /// The link between generator and subjects; none: loopback.
    pub link: Option<LinkSetup>,
    /// Generators on other hosts; none: this machine's own threads sent the load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<PlaceSetup>,
    /// Address that servers listen on for them, if that is not loopback's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<Ipv4Addr>,
    /// What a search for peaks stands on, where there is one.
    pub peak: Option<PeakSetup>,
    /// The workload.
    pub workload: WorkloadSetup,
    /// One entry per name in `arms`.
    pub subjects: BTreeMap<String, SubjectSetup>,
    /// The machine and what was found before the run.
    pub environment: Environment,
}

/// A generator on another host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlaceSetup {
    /// `generator`.
    pub role: String,
    /// The place as it was typed: `ssh:load-1`.
    pub place: String,
    /// Its host, as it says itself.
    pub host: String,
    /// That host's boot.
    pub boot: String,
    /// SHA-256 of its executable.
    pub build: String,
    /// Cores that it may use.
    pub cores: u32,
    /// Its first lane, from 1.
    pub first_lane: u32,
    /// Number of its lanes.
    pub lanes: u32,
    /// Least time of a beat and its answer before the rounds, ns.
    pub round_trip_ns: Option<u64>,
    /// Its wall clock less this machine's, as that beat placed it, ns.
    pub offset_ns: Option<i64>,
}

impl Setup {
    /// Threads that sent the load, on this machine or on others.
    pub fn generator_threads(&self) -> usize {
        let lanes: u32 = self.places.iter().map(|place| place.lanes).sum();
        if lanes > 0 { lanes as usize } else { self.environment.generator_cores.len().max(1) }
    }
}

impl PlaceSetup {
    /// In words, for sentences: `generator 2 (load-2)`.
    pub fn in_words(number: usize, host: &str) -> String {
        format!("generator {number} ({host})")
    }
}

/// What the workload turned out to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadSetup {
    /// `replay`, `webstone`, `get`, `command` or `files`.
    pub kind: String,
    /// One line for people.
    pub description: String,
    /// Requests of one slice; 1 for a command.
    pub slice_requests: u64,
    /// The same for each arm with a number of its own, by name.
    #[serde(default)]
    pub requests_of: BTreeMap<String, u64>,
    /// Why the slice has this size, from the pilot.
    pub slice_reason: String,
    /// Requests of the whole benchmark, where it has an end: for a shuffled replay lines x robots x
    /// passes.
    pub total_requests: Option<u64>,
    /// Log lines that are not replayed, by reason.
    pub skipped: BTreeMap<String, u64>,
    /// Lines of the log, skipped ones included and blank ones not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_lines: Option<u64>,
    /// Robots of a closed loop.
    pub robots: Option<u64>,
    /// SHA-256 of the log file: a run can be gone on with only while it is the same.
    pub log_sha256: Option<String>,
    /// `files` and `calls` workloads: their kinds of operations in the order of the plan.
    pub operations: Vec<OperationSetup>,
    /// Clients that ask side by side, in the order of the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub populations: Vec<PopulationSetup>,
}

/// Clients that are alike, beside others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PopulationSetup {
    /// Its name.
    pub population: String,
    /// Its load in words.
    pub load: String,
    /// Share of its requests that may fail; above it an arm is invalid.
    pub max_errors: f64,
    /// Open loop: how late the generator may send, 99th percentile, ns.
    pub max_lateness_ns: Option<u64>,
}

impl WorkloadSetup {
    /// Requests of one slice of an arm.
    pub fn slice_of(&self, arm: &str) -> u64 {
        self.requests_of.get(arm).copied().unwrap_or(self.slice_requests)
    }
}

impl WorkloadSetup {
    /// Whether the workload makes operations, each a kind of its own, and not requests.
    pub fn makes_operations(&self) -> bool {
        !self.operations.is_empty()
    }
}

/// How often one kind of operation is made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OperationSetup {
    /// Its label, such as `read 1 B`.
    pub operation: String,
    /// Operations in a slice.
    pub count: u64,
    /// `calls` workload: the arms in which it cannot be made, and what they say, such as `EPERM`. It is in the total of
    /// none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub refused: BTreeMap<String, String>,
}

/// How one arm was started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubjectSetup {
    /// `origin`, `nginx`, `apache`, `command` or `url`; in the `files` workload the kind of file
    /// system, such as `ext4` or `fuse.gocryptfs`.
    pub server: String,
    /// Product version as the product says it.
    pub version: Option<String>,
    /// Scheme and address it was reached at (of the first start); in the `files` workload the path.
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
    /// How requests came to it, as far as that was not as ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientSetup>,
    /// Level of each factor of the set-up.
    pub levels: Vec<usize>,
    /// What it is, in a few words of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub says: Option<String>,
    /// Whether the arm's layer was on when the run began, as its proof said.
    pub proof: Option<ProofRecord>,
    /// How much it was asked for, where that was not the same for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<String>,
    /// The same as a rate, 1/s, where its clock has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_per_s: Option<f64>,
    /// What stands before it with a port of its own, outermost first; `server` is what is behind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fronts: Vec<FrontSetup>,
}

/// How something before a server was started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FrontSetup {
    /// The product, or `command`.
    pub front: String,
    /// Product version as the product says it.
    pub version: Option<String>,
    /// Address at the first start.
    pub url: String,
    /// What was executed.
    pub command: Vec<String>,
    /// The configuration text that it ran with, substitutions made.
    pub config: Option<String>,
}

/// How the slices of a round are taken.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DesignSetup {
    /// `pairs` or `duet`.
    pub design: RoundDesign,
    /// Why, in words; empty where there was no choice.
    pub reason: String,
    /// In turn: in so many parts an arm's slice is taken, the arms in turn.
    #[serde(default)]
    pub parts: u32,
    /// Duet: the arms that share a slice, block by block; none: all of them. The baseline of a stratum and its second
    /// process are in each block of the stratum.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<Vec<String>>,
    /// Loads that every round measures, ascending; none: the plan's own clock.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loads: Vec<LoadSetup>,
    /// The load that the verdict stands on: its place in `loads`.
    #[serde(default)]
    pub decide_at: u32,
    /// Rounds in turn after the verdict.
    #[serde(default)]
    pub after: AfterSetup,
}

/// A load of a curve, or of a duet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadSetup {
    /// As it was asked for, such as `50%`, or its rate, such as `2,500/s`.
    pub name: String,
    /// Requests per second that each arm gets while it is loaded, on the mean: arrivals of its own (Poisson).
    pub rate_per_s: f64,
    /// Requests of a slice.
    pub slice_requests: u64,
    /// In turn: in so many parts a slice is taken.
    pub parts: u32,
    /// Slots of a duet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slots: Option<SlotsSetup>,
}

/// Slots of a duet: the arms of a slice take turns in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlotsSetup {
    /// From the beginning of one slot to that of the next, ns.
    pub every_ns: u64,
    /// The part at its end in which nothing comes due, ns.
    pub gap_ns: u64,
}

/// Rounds in turn after the verdict, time permitting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AfterSetup {
    /// Rounds at the load that the verdict stands on, of slices as in the duet.
    pub at_load: u32,
    /// Rounds on the plan's own clock: full speed.
    pub full_speed: u32,
    /// Requests of a slice at full speed.
    pub full_requests: u64,
    /// Time kept for both, ns.
    pub time_ns: u64,
}

impl AfterSetup {
    /// Rounds of either kind.
    pub const fn rounds(&self) -> u32 {
        self.at_load + self.full_speed
    }
}

impl DesignSetup {
    /// The load that the verdict stands on; `None`: the plan's own clock.
    pub fn decision(&self) -> Option<&LoadSetup> {
        self.loads.get(self.decide_at as usize)
    }

    /// Whether all arms share a slice, in slots of their own.
    pub fn is_duet(&self) -> bool {
        self.design == RoundDesign::Duet
    }

    /// Number of slices that a round of a duet has at each load.
    pub fn blocks(&self) -> u32 {
        self.blocks.len().max(1) as u32
    }

    /// Blocks that an arm has a slice in.
    pub fn blocks_of<'a>(&'a self, arm: &'a str) -> impl Iterator<Item = u32> + 'a {
        let whole = self.blocks.is_empty().then_some(0);
        let has = move |(_, block): &(u32, &Vec<String>)| block.iter().any(|other| other == arm);
        whole.into_iter().chain((0..).zip(&self.blocks).filter(has).map(|(index, _)| index))
    }

    /// Slices of a round of this kind at one load: the arm, and the block it is in.
    pub fn slices_of<'a>(&'a self, kind: RoundKind, arms: &'a [String]) -> Vec<(&'a str, u32)> {
        let in_blocks = kind == RoundKind::Main && self.is_duet();
        let of = move |arm: &'a String| {
            let blocks: Vec<u32> = if in_blocks { self.blocks_of(arm).collect() } else { vec![0] };
            blocks.into_iter().map(move |block| (arm.as_str(), block))
        };
        arms.iter().flat_map(of).collect()
    }

    /// Whether more than one load is measured.
    pub fn is_curve(&self) -> bool {
        self.loads.len() > 1
    }

    /// The purpose that a slice was measured for.
    pub fn kind_of(&self, slice: &SliceRecord) -> RoundKind {
        match slice.load {
            None if self.loads.is_empty() => RoundKind::Main,
            None => RoundKind::FullSpeed,
            Some(_) if slice.design == self.design => RoundKind::Main,
            Some(_) => RoundKind::InTurn,
        }
    }
}

/// Purpose of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RoundKind {
    /// The verdict: every load, by the design.
    Main,
    /// The decision's load once more, the arms in turn.
    InTurn,
    /// The plan's own clock, the arms in turn.
    FullSpeed,
}

/// When the arms are started anew.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RestartSetup {
    /// Every so many rounds; 0: never.
    pub every: u32,
    /// And before each round up to this one, so that the first look has starts enough.
    pub each_until: u32,
    /// Why, in words.
    pub reason: String,
}

impl RestartSetup {
    /// Whether the arms are started anew before this round, counted from 0.
    pub const fn is_due(&self, round: u32) -> bool {
        round > 0 && self.every > 0 && (round < self.each_until || round.is_multiple_of(self.every))
    }
}

/// A factor of the plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FactorSetup {
    /// Its name.
    pub name: String,
    /// Its levels, the reference first.
    pub levels: Vec<String>,
    /// The levels as numbers, where all are: the factor has a price per unit.
    pub numbers: Option<Vec<f64>>,
}

/// What the layer must refuse.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ViolationSetup {
    /// Share of all requests.
    pub share: f64,
    /// What is asked for, in words.
    pub what: String,
    /// Whether the layer is only to note them, and they are answered as ever.
    #[serde(default)]
    pub noted: bool,
    /// Arms whose layer must notice.
    pub enforced_by: Vec<String>,
}

/// What an arm's proof said.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProofRecord {
    /// Whether the layer is on.
    pub active: bool,
    /// `full`, `partial` or `none`.
    pub enforcement: String,
    /// Why it is not full, or the first line that the proof printed.
    pub words: String,
}

impl From<Proof> for ProofRecord {
    fn from(proof: Proof) -> Self {
        let (enforcement, words) = match proof.enforcement {
            Enforcement::Full => ("full", proof.words),
            Enforcement::Partial(why) => ("partial", why),
            Enforcement::None(why) => ("none", why),
        };
        Self { active: proof.active, enforcement: enforcement.to_owned(), words }
    }
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

impl Environment {
    /// The value of a fact.
    pub fn fact(&self, name: &str) -> Option<&str> {
        self.facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.as_str())
    }

    /// The machine in words.
    pub fn machine(&self) -> String {
        machine(&self.facts)
    }
}

/// A machine in words, by its facts: processor, cores, kernel.
pub fn machine(facts: &[Fact]) -> String {
    let fact = |name| facts.iter().find(|fact| fact.name == name).map_or("unknown", |fact| &fact.value);
    format!("{}, {} cores, Linux {}", fact("cpu_model"), fact("cores_online"), fact("kernel"))
}
