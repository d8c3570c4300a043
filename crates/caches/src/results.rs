//! What a bake-off of caches came to: the form of `results.json`.
//!
//! Measuring side, cold. Data alone; made by [`crate::analyse`] from the records, shown by `report`. Figures
//! carry their unit in their names; shares are between 0 and 1.

mod downtime;

pub use downtime::Downtime;

use crate::conformance::Conformance;
use crate::transactions::Logged;
use bakeoff_experiment::results::Fact;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of the form.
pub const FORMAT: u32 = 1;

/// A bake-off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// Who took part, in the order of the runs.
    pub entrants: Vec<Entrant>,
    /// The machine.
    pub facts: Vec<Fact>,
    /// What spoils figures.
    pub warnings: Vec<String>,
    /// How it ended: `complete`, `interrupted`, or why it failed.
    pub ended: String,
    /// How the products did in the public HTTP cache suite, where that was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conformance: Option<Conformance>,
}

/// The way to the origin without any cache, measured before anything else.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Entrant {
    /// Its name in the plan: a product, `none`, or an address.
    pub name: String,
    /// What came of it, in a sentence.
    pub sentence: String,
    /// What the program says of its version.
    pub version: Option<String>,
    /// File in the results directory with the configuration it ran with.
    pub config: Option<String>,
    /// How its store was filled.
    pub fill: Option<Fill>,
    /// The rate that its others are shares of.
    pub peak: Option<Peak>,
    /// What was measured, a phase each: in the order of the runs, of one run in the order of its phases.
    pub points: Vec<Point>,
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
    /// Whether a run of it has several measured phases, so that the rate alone does not name a point.
    pub fn has_phases(&self) -> bool {
        self.points.windows(2).any(|two| two[0].order == two[1].order)
    }
}

/// A fill.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fill {
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

/// The verdict of a trial that the search counts as passed.
pub const SUSTAINED: &str = "sustained";

/// The rate that the others are shares of: the highest that was sustained, unless `how` says otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Peak {
    /// That rate; `None` where trials are all that there was.
    pub rate_per_s: Option<f64>,
    /// How it was found, in words.
    pub how: String,
    /// Its trials: rate, mean response time in ns where there was a reply, verdict.
    pub trials: Vec<(f64, Option<u64>, String)>,
    /// The longer trials in which what the search found was held, in the same form.
    #[serde(default)]
    pub confirming: Vec<(f64, Option<u64>, String)>,
}

/// A measured phase: at a rate, or as fast as replies came.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// Its place in the order of the runs, from 1.
    pub order: u32,
    /// The rate of its run; `None`: robots asked as fast as replies came.
    pub rate_per_s: Option<f64>,
    /// What the phase asked for of that rate on average: by its load and its share of the robots.
    pub asked_rate_per_s: Option<f64>,
    /// The phase.
    pub phase: String,
    /// Why it did not go to its end, if it did not.
    pub cut_short: Option<CutShort>,
    /// How long it was measured.
    pub seconds: f64,
    /// Requests that were due, per second.
    pub request_rate_per_s: f64,
    /// Good replies per second.
    pub reply_rate_per_s: f64,
    /// Good replies.
    pub replies: u64,
    /// Requests that failed, as a share of those that ended.
    pub error_share: f64,
    /// Response time: mean, from when a request was due.
    pub mean_ns: u64,
    /// Lower end of its 95 % interval, from the means of the phase's intervals.
    pub mean_low_ns: Option<u64>,
    /// Upper end.
    pub mean_high_ns: Option<u64>,
    /// Median.
    pub p50_ns: u64,
    /// 95th percentile.
    pub p95_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// Mean over hits.
    pub hit_mean_ns: Option<u64>,
    /// Lower end of its 95 % interval, from the means of the phase's intervals.
    #[serde(default)]
    pub hit_mean_low_ns: Option<u64>,
    /// Upper end.
    #[serde(default)]
    pub hit_mean_high_ns: Option<u64>,
    /// Mean over misses.
    pub miss_mean_ns: Option<u64>,
    /// Lower end of its 95 % interval, from the means of the phase's intervals.
    #[serde(default)]
    pub miss_mean_low_ns: Option<u64>,
    /// Upper end.
    #[serde(default)]
    pub miss_mean_high_ns: Option<u64>,
    /// Pages, where one had more than one object.
    #[serde(default)]
    pub pages: Option<Pages>,
    /// Hits among basic requests, as the robots saw it.
    pub hit_ratio: Option<f64>,
    /// Lower end of its 95 % interval.
    pub hit_ratio_low: Option<f64>,
    /// Upper end.
    pub hit_ratio_high: Option<f64>,
    /// The same by bytes.
    pub byte_hit_ratio: Option<f64>,
    /// What the workload offered.
    pub offered_hit_ratio: Option<f64>,
    /// The same by bytes.
    pub offered_byte_hit_ratio: Option<f64>,
    /// Replies that the robots got and the origin did not answer, its 304s being answers, as a share of the robots'.
    pub two_sided_hit_ratio: Option<f64>,
    /// What caches would have made of the same requests.
    pub achievable: Option<Achievable>,
    /// How many asked for objects in gzip, and got them so; where the plan has it.
    #[serde(default)]
    pub gzip: Option<Gzip>,
    /// Faults, as a share of the requests that ended.
    pub fault_share: f64,
    /// Requests in flight, on average.
    pub in_flight_mean: f64,
    /// CPU of the cache per request.
    pub cpu_per_request_ns: Option<u64>,
    /// CPU of the origin per request of the robots.
    pub origin_cpu_per_request_ns: Option<u64>,
    /// CPU of the robots' process per request.
    pub robots_cpu_per_request_ns: u64,
    /// How late robots sent: 99th percentile.
    pub lateness_p99_ns: u64,
    /// TLS of the run's connections, where there was any.
    #[serde(default)]
    pub tls: Option<Tls>,
    /// The rule of 1999, where the plan has runs judged by it; over TLS, where nothing can be a hit, none is.
    pub rule: Option<Rule>,
}

impl Point {
    /// Whether it passed by the rule of 1999, where it was judged by it.
    pub fn passed(&self) -> Option<bool> {
        self.rule.map(|rule| rule.passed())
    }
}

/// Basic requests with good replies about objects that exist in gzip, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Gzip {
    /// Those of robots that accept it.
    pub asked: u64,
    /// Of these, those whose reply came in gzip.
    pub came: u64,
}

/// Pages: what was asked for directly, each with all that it embeds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pages {
    /// Complete without a failure.
    pub good: u64,
    /// With one.
    pub failed: u64,
    /// Objects of a good one, on average.
    pub objects_mean: f64,
    /// From the moment the first request was due to the last byte of all: mean over the good ones.
    pub mean_ns: u64,
    /// Lower end of its 95 % interval, from the means of the phase's intervals.
    pub mean_low_ns: Option<u64>,
    /// Upper end.
    pub mean_high_ns: Option<u64>,
    /// Median.
    pub p50_ns: u64,
    /// 95th percentile.
    pub p95_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
}

/// Why a phase did not go to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CutShort {
    /// It was broken off, by Ctrl-C or by what went wrong elsewhere: it neither passed nor failed.
    BrokenOff,
    /// It had more errors than its plan allows: it did not pass.
    TooManyErrors,
    /// It took as long as its plan lets it, and what it waited for had not come: it did not pass.
    TookTooLong,
}

impl CutShort {
    /// A few words for people.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::BrokenOff => "broken off",
            Self::TooManyErrors => "too many errors",
            Self::TookTooLong => "what it waited for had not come",
        }
    }
}

/// Hit ratios of simulated caches on the same requests; those by bytes behind those by documents.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Achievable {
    /// An endless cache that has an object as soon as it was asked for.
    pub at_once: (f64, f64),
    /// An endless cache that has it when its fetch has ended.
    pub when_fetched: (f64, f64),
    /// The capacity of the three below.
    pub capacity_bytes: Option<u64>,
    /// Least recently used goes.
    pub lru: Option<(f64, f64)>,
    /// S3-FIFO.
    pub s3_fifo: Option<(f64, f64)>,
    /// What is not asked for for longest goes: nobody can know that.
    pub belady: Option<(f64, f64)>,
}

/// TLS of a run's connections, over all of its phases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tls {
    /// What was agreed on first: version, cipher suite, key-exchange group; `None` where nothing ever was.
    pub agreed: Option<String>,
    /// Handshakes with certificate and key exchange.
    pub full: u64,
    /// Those that went on with an earlier session.
    pub resumed: u64,
    /// Those that came to nothing.
    pub failed: u64,
    /// Median time until a connection stood, with its tunnel where it goes through one.
    pub stands_p50_ns: u64,
    /// Median time of the handshakes, from then on.
    pub handshake_p50_ns: u64,
}

/// Whether a rate counted as passed in 1999.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rule {
    /// The phase went to its end.
    pub whole: bool,
    /// The mean response time is under its bound.
    pub mean: bool,
    /// The hit ratio is within a point of what the workload is set to, or as near as chance lets so short a
    /// run be; `None` without a cache.
    pub hit_ratio: Option<bool>,
    /// The request rate is within 1 % of what the phase asked for, or as near as chance lets so short a run be.
    pub request_rate: bool,
    /// The reply rate is.
    pub reply_rate: bool,
}

impl Rule {
    /// Whether all of it holds.
    pub fn passed(&self) -> bool {
        self.whole && self.mean && self.hit_ratio != Some(false) && self.request_rate && self.reply_rate
    }
}

/// What requests cost a cache, CPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
