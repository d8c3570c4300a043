//! What a bake-off of caches came to: the form of `results.json`.
//!
//! Measuring side, cold. Data alone; made by [`crate::analyse`] from the records, shown by `report`. Figures
//! carry their unit in their names; shares are between 0 and 1.

mod downtime;
mod point;
mod spread;

pub use downtime::Downtime;
pub use point::{Achievable, CutShort, Gzip, Pages, Point, Rule, Tail, Tls};
pub use spread::{Apart, Baselines, Spread};

use crate::conformance::Conformance;
use crate::records::{End, NOBODY, TrialVerdict};
use crate::transactions::Logged;
use bakeoff_experiment::results::Fact;
use serde::{Deserialize, Serialize};

/// Version of the form.
pub const FORMAT: u32 = 1;
/// The same in a directory's setup.
pub(crate) const FORM: &str = "1";

/// A bake-off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Version of this form.
    pub format: u32,
    /// Name of the plan.
    pub name: String,
    /// What it is.
    pub title: String,
    /// When it began, RFC 9557.
    pub started: String,
    /// Version of bakeoff.
    pub bakeoff: String,
    /// The flags that changed the plan, as they were typed.
    pub flags: Vec<String>,
    /// Share of the published durations, such as `1/60`.
    pub scale: String,
    /// What the scale leaves as it is, in words.
    pub not_scaled: Vec<String>,
    /// The study whose published figures stand beside these.
    #[serde(default)]
    pub study: Option<String>,
    /// What the plan keeps of the published workload and what it modernises, in words.
    pub differs: Vec<String>,
    /// How requests reach the caches that bakeoff starts: `reverse`, `forward`, or `tunnel`, which is TLS to the
    /// origin through a forward proxy. One that ran already is asked as its flag says.
    pub mode: String,
    /// The hit ratio that the workload is set to, where runs are judged by the rule of 1999.
    pub hit_ratio_asked: Option<f64>,
    /// Bound of the mean response time, 3 s in 1999: by that rule, and in the search for the peak.
    pub mean_bound_ns: u64,
    /// The way to the origin without any cache.
    pub path: Option<Path>,
    /// How often all of them had their turns; 0 in older files.
    #[serde(default)]
    pub passes: u32,
    /// Who took part, the baseline first and its second start behind it.
    pub entrants: Vec<Entrant>,
    /// How far the two starts of the baseline are apart, where it had two.
    #[serde(default)]
    pub baselines: Option<Baselines>,
    /// The machine.
    pub facts: Vec<Fact>,
    /// What spoils figures.
    pub warnings: Vec<String>,
    /// How it ended: `complete`, `interrupted`, or why it failed.
    pub ended: End,
    /// How the products did in the public HTTP cache suite, where that was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conformance: Option<Conformance>,
}

/// The way to the origin without any cache, measured before anything else.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Path {
    /// Replies per second of robots that ask as fast as they can, without think time.
    pub replies_per_s: f64,
    /// Bytes of those replies per second.
    pub bytes_per_s: f64,
    /// Mean response time of a single robot, without think time.
    pub idle_mean_ns: u64,
    /// 99th percentile of the same.
    pub idle_p99_ns: u64,
    /// How far the origin's clock is ahead of the robots', as its Date says, in seconds.
    pub clock_ahead_s: i64,
}

/// One that took part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entrant {
    /// Its name in the plan: a product, `none`, or an address.
    pub name: String,
    /// Name of the baseline that it is the second start of, if it is.
    #[serde(default)]
    pub second_of: Option<String>,
    /// What came of it, in a sentence.
    pub sentence: String,
    /// What the program says of its version.
    pub version: Option<String>,
    /// File in the results directory with the configuration it ran with.
    pub config: Option<String>,
    /// How its store was filled, in the first of its passes.
    pub fill: Option<Fill>,
    /// The same in later passes.
    #[serde(default)]
    pub later_fills: Vec<Fill>,
    /// The rate that its others are shares of.
    pub peak: Option<Peak>,
    /// What was measured, a phase each: in the order of the plan's rates, of one run in the order of its phases. Where
    /// there were several passes, the mean of them.
    pub points: Vec<Point>,
    /// How far its passes are apart, where it had several.
    #[serde(default)]
    pub spread: Option<Spread>,
    /// The highest of them that passed by the rule of 1999, in every measured phase.
    pub passed_up_to_per_s: Option<f64>,
    /// The lowest of them that did not; what was broken off neither passed nor failed.
    pub failed_from_per_s: Option<f64>,
    /// What its outages came to, in the order of the runs.
    #[serde(default)]
    pub downtime: Vec<Downtime>,
    /// What requests cost it.
    pub cost: Option<Cost>,
    /// What it did that a cache must not do, most frequent first.
    pub faults: Vec<Fault>,
    /// Requests that failed, most frequent first.
    pub errors: Vec<Fault>,
    /// Why it did not finish, if it did not.
    pub failed: Option<String>,
    /// The first thing that kept its store's gauge from being read, if something did.
    #[serde(default)]
    pub store_unreadable: Option<String>,
    /// The log of the requests made to it, where one was asked for.
    #[serde(default)]
    pub transactions: Option<Logged>,
}

impl Entrant {
    /// Whether the origin itself was asked, without any cache.
    pub fn is_direct(&self) -> bool {
        self.second_of.as_deref().unwrap_or(&self.name) == NOBODY
    }

    /// What was measured in each pass; the points themselves where there was but one.
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
pub struct Fill {
    /// Which pass it is of, from 1, where there are several.
    #[serde(default)]
    pub pass: Option<u32>,
    /// How long it took.
    pub seconds: f64,
    /// Replies.
    pub replies: u64,
    /// Bytes of objects that the cache might keep.
    pub bytes: u64,
    /// Bytes in the store at its end, by the product's own gauge.
    pub stored_bytes: Option<u64>,
    /// What the store may hold.
    pub capacity_bytes: Option<u64>,
    /// Objects that the product says it threw out.
    pub evictions: Option<u64>,
    /// Where those figures are from.
    pub gauge: Option<String>,
    /// What ended it, in words.
    pub ended: String,
}

/// The rate that the others are shares of: the highest that was sustained, unless `how` says otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Peak {
    /// That rate; `None` where trials are all that there was.
    pub rate_per_s: Option<f64>,
    /// How it was found, in words.
    pub how: String,
    /// Its trials: rate, mean response time in ns where there was a reply, verdict.
    pub trials: Vec<(f64, Option<u64>, TrialVerdict)>,
    /// The longer trials in which what the search found was held, in the same form.
    #[serde(default)]
    pub confirming: Vec<(f64, Option<u64>, TrialVerdict)>,
}

/// What requests cost a cache, CPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// A hit.
    pub hit_ns: Option<f64>,
    /// Lower end of its 95 % interval, where the cache's CPU was read at each interval.
    #[serde(default)]
    pub hit_low_ns: Option<f64>,
    /// Upper end.
    #[serde(default)]
    pub hit_high_ns: Option<f64>,
    /// A miss.
    pub miss_ns: f64,
    /// Lower end of its 95 % interval.
    #[serde(default)]
    pub miss_low_ns: Option<f64>,
    /// Upper end.
    #[serde(default)]
    pub miss_high_ns: Option<f64>,
    /// How the two were told apart, in words.
    pub how: String,
}

/// A kind of fault or failure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fault {
    /// Its name, which is its counter's label.
    pub label: String,
    /// What it means, in a line.
    pub meaning: String,
    /// Whether it is counted and nothing more: no rule is broken.
    pub only_counted: bool,
    /// How often.
    pub count: u64,
    /// As a share of all replies and failures.
    pub share: f64,
    /// The first one, whole: request, reply head, object; of a failure the reply's head, where one came.
    pub first: Option<String>,
}
