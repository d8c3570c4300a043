//! Results of a bake-off of caches: the form of `results.json`.
//!
//! Measuring side, cold. Data alone; made by [`crate::analyse`] from the records, shown by `report`. Figures carry
//! their unit in their names; shares are between 0 and 1.

mod downtime;
mod point;
mod spread;

pub use downtime::Downtime;
pub use point::{CutShort, Gzip, PageResults, PassRule, Point, Tail};
pub use spread::{Apart, BaselinePair, Spread};

use crate::conformance::Conformance;
use crate::records::{NOBODY, TrialVerdict};
use crate::transactions::Logged;
use bakeoff_results::Fact;
use bakeoff_results::directory::End;
use bakeoff_results::entrant::EntrantVerdict;
pub use bakeoff_robots::judge::{Class, Harm};
use serde::{Deserialize, Serialize};

/// Version of the form.
pub const FORMAT: u32 = 1;
/// The same in a directory's setup.
pub(crate) const FORM: &str = "1";

/// Results of a bake-off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BakeoffResults {
    /// Version of this form.
    pub format: u32,
    /// Name of the plan.
    pub name: String,
    /// Title of the plan.
    pub title: String,
    /// Time when it began, RFC 9557.
    pub started: String,
    /// Version of bakeoff.
    pub bakeoff: String,
    /// The flags that changed the plan, as they were typed.
    pub flags: Vec<String>,
    /// Share of the published durations, such as `1/60`.
    pub scale: String,
    /// Quantities that the scale leaves as they are, in words.
    pub not_scaled: Vec<String>,
    /// The study whose published figures stand beside these.
    #[serde(default)]
    pub study: Option<String>,
    /// Differences from the published workload, kept and modernised parts, in words.
    pub differs: Vec<String>,
    /// Form of the requests to caches that bakeoff starts: `reverse`, `forward`, or `tunnel`, which is TLS to the
    /// origin through a forward proxy. A cache that ran already is used as its flag says.
    pub mode: String,
    /// The hit ratio that the workload is set to, if runs are judged by the rule of 1999.
    pub hit_ratio_asked: Option<f64>,
    /// Bound of the mean response time, 3 s in 1999: by that rule, and in the search for the peak.
    pub mean_bound_ns: u64,
    /// The path to the origin without any cache.
    pub path: Option<DirectPath>,
    /// Number of passes, in each of which all had a turn; 0 in older files.
    #[serde(default)]
    pub passes: u32,
    /// The entrants, the baseline first and its second start behind it.
    pub entrants: Vec<EntrantResults>,
    /// Spread of the two starts of the baseline, if it had two.
    #[serde(default)]
    pub baselines: Option<BaselinePair>,
    /// The machine.
    pub facts: Vec<Fact>,
    /// Warnings of what spoils figures.
    pub warnings: Vec<String>,
    /// Its end: `complete`, `interrupted`, or why it failed.
    pub ended: End,
    /// Results of the products in the public HTTP cache suite, if that was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conformance: Option<Conformance>,
}

/// The path to the origin without any cache, measured before anything else.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DirectPath {
    /// Replies per second of robots that ask as fast as they can, without think time.
    pub replies_per_s: f64,
    /// Bytes of those replies per second.
    pub bytes_per_s: f64,
    /// Mean response time of a single robot, without think time.
    pub idle_mean_ns: u64,
    /// 99th percentile of the same.
    pub idle_p99_ns: u64,
    /// Seconds by which the origin's clock is ahead of the robots', by its Date.
    pub clock_ahead_s: i64,
}

/// Results of an entrant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EntrantResults {
    /// Its name in the plan: a product, `none`, or an address.
    pub name: String,
    /// Name of the baseline that it is the second start of, if it is.
    #[serde(default)]
    pub second_of: Option<String>,
    /// Its verdict, in a word.
    pub verdict: EntrantVerdict,
    /// Its result, in a sentence.
    pub sentence: String,
    /// The version that the program reports.
    pub version: Option<String>,
    /// File in the results directory with the configuration it ran with.
    pub config: Option<String>,
    /// The fill of its store, in the first of its passes.
    pub fill: Option<FillResults>,
    /// The same in later passes.
    #[serde(default)]
    pub later_fills: Vec<FillResults>,
    /// The peak, of which its other rates are shares.
    pub peak: Option<Peak>,
    /// Its measurements, a phase each: in the order of the plan's rates, of one run in the order of its phases. If
    /// there were several passes, the mean of them.
    pub points: Vec<Point>,
    /// Spread of its passes, if it had several.
    #[serde(default)]
    pub spread: Option<Spread>,
    /// The highest rate that passed by the rule of 1999, in every measured phase.
    pub passed_up_to_per_s: Option<f64>,
    /// The lowest rate that did not; a rate that was broken off neither passed nor failed.
    pub failed_from_per_s: Option<f64>,
    /// Figures of its outages, in the order of the runs.
    #[serde(default)]
    pub downtime: Vec<Downtime>,
    /// CPU cost of its requests, where hits and misses can be told apart.
    pub cost: Option<CacheCost>,
    /// The most memory that its processes held at the end of a phase, shared pages counted in each of them.
    #[serde(default)]
    pub memory_bytes: Option<u64>,
    /// The most bytes in its store at the end of a run, by the product's own gauge.
    #[serde(default)]
    pub stored_bytes: Option<u64>,
    /// Its faults, the most harmful first.
    pub faults: Vec<FaultCount>,
    /// Requests that failed, most frequent first.
    pub errors: Vec<FaultCount>,
    /// Reason why it did not finish, if it did not.
    pub failed: Option<String>,
    /// The first error in reading its store's gauge, if there was one.
    #[serde(default)]
    pub store_unreadable: Option<String>,
    /// The log of the requests made to it, if one was asked for.
    #[serde(default)]
    pub transactions: Option<Logged>,
}

impl EntrantResults {
    /// Whether the origin itself was asked, without any cache.
    pub fn is_direct(&self) -> bool {
        self.second_of.as_deref().unwrap_or(&self.name) == NOBODY
    }

    /// Number of faults and breaches, of all labels together.
    pub fn accusations(&self) -> u64 {
        self.faults.iter().filter(|fault| !fault.only_counted).map(|fault| fault.count).sum()
    }

    /// The points of each pass; the points themselves if there was but one.
    pub fn runs(&self) -> impl Iterator<Item = &Point> + Clone {
        self.points.iter().flat_map(Point::runs)
    }

    /// Whether a run of it has several measured phases, so that the rate alone does not name a point.
    pub fn has_phases(&self) -> bool {
        self.points.windows(2).any(|two| two[0].order == two[1].order)
    }
}

/// A fill.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FillResults {
    /// Number of its pass, from 1, if there are several.
    #[serde(default)]
    pub pass: Option<u32>,
    /// Its duration, in seconds.
    pub seconds: f64,
    /// Replies.
    pub replies: u64,
    /// Bytes of objects that the cache might keep.
    pub bytes: u64,
    /// Bytes in the store at its end, by the product's own gauge.
    pub stored_bytes: Option<u64>,
    /// Bytes that the store may hold.
    pub capacity_bytes: Option<u64>,
    /// Objects that the product says it evicted.
    pub evictions: Option<u64>,
    /// Source of those figures.
    pub gauge: Option<String>,
    /// Reason for its end, in words.
    pub ended: String,
}

/// The rate that others are shares of: the highest that was sustained, unless `how` says otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Peak {
    /// That rate; `None` if there are only trials.
    pub rate_per_s: Option<f64>,
    /// The way it was found, in words.
    pub how: String,
    /// Its trials: rate, mean response time in ns if there was a reply, verdict.
    pub trials: Vec<(f64, Option<u64>, TrialVerdict)>,
    /// The longer trials that confirm the search's result, in the same form.
    #[serde(default)]
    pub confirming: Vec<(f64, Option<u64>, TrialVerdict)>,
}

/// CPU cost of requests to a cache, by regression over the intervals of all rates; with 95 % intervals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CacheCost {
    /// A hit.
    pub hit_ns: f64,
    /// Lower end.
    pub hit_low_ns: f64,
    /// Upper end.
    pub hit_high_ns: f64,
    /// A miss.
    pub miss_ns: f64,
    /// Lower end.
    pub miss_low_ns: f64,
    /// Upper end.
    pub miss_high_ns: f64,
    /// A second, whether anything is asked or not.
    pub fixed_ns_per_s: f64,
    /// Lower end.
    pub fixed_low_ns_per_s: f64,
    /// Upper end.
    pub fixed_high_ns_per_s: f64,
}

/// A kind of fault or failure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FaultCount {
    /// Its name, which is its counter's label.
    pub label: String,
    /// Its meaning, in a line.
    pub meaning: String,
    /// Its class, the text it stands on and its harm.
    pub class: Class,
    /// Sections of RFC 9110 to 9112, such as `9111 4.2.4`; empty where none speaks of it.
    pub rfc: String,
    /// The harm that it stands for.
    pub harm: Harm,
    /// Whether it is counted and nothing more: a lawful choice, or too few to accuse anybody.
    pub only_counted: bool,
    /// Number of occurrences.
    pub count: u64,
    /// As a share of all replies and failures.
    pub share: f64,
    /// The first one, whole: request, reply head, object; of a failure the reply's head, where one came.
    pub first: Option<String>,
}
