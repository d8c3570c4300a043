//! Method of an experiment, as far as the plan sets it: design, restarts, link, proof.

use bakeoff_units::{BitsPerSecond, Bytes, BytesPerSecond, Nanos, PerSecond, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Goal of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub enum ExperimentGoal {
    /// The cost of the arms against the baseline.
    Compare,
    /// The highest rate that each arm sustains.
    Peak(PeakPlan),
}

/// `[peak]`.
#[derive(Clone, Debug, PartialEq)]
pub struct PeakPlan {
    /// Bound on the quantile of the response time; `None`: from the unloaded arm.
    pub slo: Option<Nanos>,
    /// The quantile, between 0 and 1.
    pub quantile: f64,
    /// Width of the interval that ends the search.
    pub precision: Ratio,
    /// Least length of the last trial; see [`PeakPlan::confirming`].
    pub confirm: Nanos,
    /// No higher rate is tried.
    pub max_rate: Option<PerSecond>,
}

impl PeakPlan {
    /// Least length of a trial, in SLOs: in less time a queue that grows for want of a fifth of the capacity is not yet
    /// seen in the response times.
    const TRIAL_SLOS: f64 = 5.0;
    /// Least length of the last trial, in SLOs: it reveals a lack of a twentieth.
    const CONFIRM_SLOS: f64 = 20.0;
    /// Fewer trials than this are no search: ten to find a rate, and the ten of the curve.
    const LEAST_TRIALS: f64 = 20.0;

    /// Least length of a trial under this bound.
    pub fn trial_under(slo: Nanos) -> Nanos {
        slo.times(Self::TRIAL_SLOS)
    }

    /// Length of the last trial under this bound: the plan's, or the time that an overload takes to show if that is
    /// more.
    pub fn confirming(&self, slo: Nanos) -> Nanos {
        self.confirm.max(slo.times(Self::CONFIRM_SLOS))
    }

    /// Least time that a search of one arm takes under this bound.
    pub fn least_time(&self, slo: Nanos) -> Nanos {
        self.confirming(slo) + Self::trial_under(slo).times(Self::LEAST_TRIALS)
    }
}

/// Design of the rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DesignChoice {
    /// One after the other.
    Pairs,
    /// In slots of one slice.
    Duet,
    /// As the pilot advises.
    Auto,
}

/// Loads that every round measures.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadsPlan {
    /// Two or more, none twice, in the order of the plan.
    pub loads: Vec<LoadPlan>,
    /// Index of the load that the verdict stands on; `None`: the middle one.
    pub decide_at: Option<usize>,
}

impl LoadsPlan {
    /// Whether some are shares of the slowest arm's capacity.
    pub fn has_shares(&self) -> bool {
        self.loads.iter().any(|load| load.rate.given().is_none())
    }
}

/// One load.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadPlan {
    /// As it was typed.
    pub name: String,
    /// Requests per second of each arm.
    pub rate: LoadRate,
}

/// A rate, or a share of the capacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LoadRate {
    /// As it is.
    Rate(PerSecond),
    /// Share of the rate that the slowest arm answers in the pilot.
    Share(Ratio),
}

impl LoadRate {
    /// The rate, if it is known without a pilot.
    pub const fn given(self) -> Option<PerSecond> {
        match self {
            Self::Rate(rate) => Some(rate),
            Self::Share(_) => None,
        }
    }
}

/// How the slices of a round were taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RoundDesign {
    /// One arm after the other: everything can be compared.
    #[default]
    Pairs,
    /// In one slice all arms, each in slots of its own.
    Duet,
}

impl RoundDesign {
    /// Name in plans and results.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pairs => "pairs",
            Self::Duet => "duet",
        }
    }
}

/// How much of an experiment a run is, where the plan states a sample of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Extent {
    /// What a run does unless told.
    Sample,
    /// With `--full`.
    Full,
}

impl Extent {
    /// Name in results.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sample => "sample",
            Self::Full => "full",
        }
    }

    /// In words, for reports.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Sample => "a stated sample; `--full` runs the whole",
            Self::Full => "the whole, by `--full`; without it a stated sample is run",
        }
    }
}

/// The link between generator and subjects.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkPlan {
    /// Its rate.
    pub rate: BitsPerSecond,
    /// One way.
    pub delay: Nanos,
    /// Share of packets that are lost, below 1.
    pub loss: Ratio,
}

/// Requests that the layer must refuse, planted among the others; in `files` workloads files that it must not open.
#[derive(Clone, Debug, PartialEq)]
pub struct ViolationPlan {
    /// Share of all requests that are planted, at most 0.5; 0 if the workload asks for them by itself.
    pub share: Ratio,
    /// The planted requests or files.
    pub what: Violations,
    /// Statuses that mean refused.
    pub refused: Vec<u16>,
    /// Names of the arms whose layer must notice.
    pub enforced_by: Vec<String>,
}

/// Violations that the layer must refuse.
#[derive(Clone, Debug, PartialEq)]
pub enum Violations {
    /// These paths.
    Urls(Vec<String>),
    /// This number of files of the site, altered on disk after it was written.
    Files(usize),
    /// This number of files of the tree that the owner signed differ from those that are served: the layer must note,
    /// not refuse, each request for one.
    Digests(usize),
    /// `files` workload: this number of files that the arm must not let any process open.
    Denied(usize),
}

/// Resource limits of a subject; `None`: no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LimitsPlan {
    /// Memory, page cache included.
    pub memory: Option<Bytes>,
    /// CPU time in cores.
    pub cpus: Option<f64>,
    /// Rate of reads from storage.
    pub read: Option<BytesPerSecond>,
    /// Rate of writes to storage.
    pub write: Option<BytesPerSecond>,
}

impl LimitsPlan {
    /// Whether anything is limited.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// Parts of an arm's state that every slice finds new.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fresh {
    /// Nothing: connections stay, the server is warm.
    #[default]
    Nothing,
    /// A connection for each request: TCP and TLS are set up anew each time.
    Connection,
    /// The server is started before the slice, and nothing warms it.
    Start,
    /// The page cache is dropped before the slice.
    PageCache,
}
