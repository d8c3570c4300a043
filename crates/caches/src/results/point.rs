//! Results of a measured phase in `results.json`.

use crate::records::{Achievable, Tls};
use serde::{Deserialize, Serialize};

/// A measured phase: at a rate, or as fast as replies came.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Index of its rate in the plan, from 1.
    pub order: u32,
    /// Number of its pass, from 1; `None`: all.
    #[serde(default)]
    pub pass: Option<u32>,
    /// The rate of its run; `None`: robots asked as fast as replies came.
    pub rate_per_s: Option<f64>,
    /// The average rate of the phase: of that rate by its load and its share of the robots.
    pub asked_rate_per_s: Option<f64>,
    /// The phase.
    pub phase: String,
    /// Reason why it did not go to its end, if it did not.
    pub cut_short: Option<CutShort>,
    /// Measured time in seconds, in all passes together.
    pub seconds: f64,
    /// Requests that were due, per second.
    pub request_rate_per_s: f64,
    /// Good replies per second.
    pub reply_rate_per_s: f64,
    /// Good replies, in all passes together.
    pub replies: u64,
    /// Requests that ended in it otherwise than by waiting in vain: good, wrong and broken replies; and those by which more
    /// were in flight at its end than at its begin, as far as the origin's think time explains them. In all passes
    /// together.
    #[serde(default)]
    pub answered: u64,
    /// Requests that failed, at any time, as a share of those that were due in it.
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
    /// The tail of hits without a request to the origin.
    #[serde(default)]
    pub hit_tail: Option<Tail>,
    /// The tail of misses.
    #[serde(default)]
    pub miss_tail: Option<Tail>,
    /// Pages, if one had more than one object.
    #[serde(default)]
    pub pages: Option<PageResults>,
    /// Hits among basic requests, as the robots saw it.
    pub hit_ratio: Option<f64>,
    /// Lower end of its 95 % interval.
    pub hit_ratio_low: Option<f64>,
    /// Upper end.
    pub hit_ratio_high: Option<f64>,
    /// The same by bytes.
    pub byte_hit_ratio: Option<f64>,
    /// Hit ratio that the workload offered.
    pub offered_hit_ratio: Option<f64>,
    /// The same by bytes.
    pub offered_byte_hit_ratio: Option<f64>,
    /// Replies that the robots got and the origin did not answer, its 304s being answers, as a share of the robots'.
    pub two_sided_hit_ratio: Option<f64>,
    /// Hit ratios of simulated caches for the same requests.
    pub achievable: Option<Achievable>,
    /// Requests for objects in gzip, and gzip replies; if the plan has it.
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
    /// Lateness of the robots' requests: 99th percentile.
    pub lateness_p99_ns: u64,
    /// TLS of the run's connections, if there was any.
    #[serde(default)]
    pub tls: Option<Tls>,
    /// The rule of 1999, if the plan's runs are judged by it; over TLS, where no reply can be a hit, none is.
    pub rule: Option<PassRule>,
    /// The same of each pass, if the plan has several. The figures above are the means of those that went to their end;
    /// a condition that failed in one of them fails.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passes: Vec<Point>,
}

impl Point {
    /// The one of these with the same rate and the same phase name.
    pub fn like<'p>(&self, others: &'p [Self]) -> Option<&'p Self> {
        others.iter().find(|other| (other.order, &other.phase) == (self.order, &self.phase))
    }

    /// Itself, or each of its passes.
    pub fn runs(&self) -> impl Iterator<Item = &Self> + Clone {
        let itself = self.passes.is_empty().then_some(self);
        itself.into_iter().chain(&self.passes)
    }

    /// Whether it passed by the rule of 1999, if it was judged by it.
    pub fn passed(&self) -> Option<bool> {
        self.rule.map(|rule| rule.passed())
    }
}

/// Basic requests with good replies about objects that exist in gzip, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gzip {
    /// Requests of robots that accept it.
    pub asked: u64,
    /// Number of these whose reply came in gzip.
    pub came: u64,
}

/// Typical and extreme response times of some replies, from when a request was due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tail {
    /// Number of replies.
    pub replies: u64,
    /// Median.
    pub p50_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// 99.9th percentile.
    pub p999_ns: u64,
}

/// Pages: objects that were asked for directly, each with all that it embeds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PageResults {
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

/// Reasons why a phase did not go to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CutShort {
    /// It was broken off, by Ctrl-C or by an error elsewhere: it neither passed nor failed.
    BrokenOff,
    /// It had more errors than its plan allows: it did not pass.
    TooManyErrors,
    /// It took as long as its plan lets it, and the event it waited for had not come: it did not pass.
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

/// Conditions by which a rate counted as passed in 1999.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassRule {
    /// The phase went to its end.
    pub whole: bool,
    /// The mean response time is under its bound.
    pub mean: bool,
    /// The hit ratio is within a point of what was offered, or as near as chance allows in so short a run; `None` where an
    /// endless cache would have fallen short of it.
    pub hit_ratio: Option<bool>,
    /// The request rate is within 1 % of the phase's rate, or as near as chance allows in so short a run.
    pub request_rate: bool,
    /// The reply rate is.
    pub reply_rate: bool,
    /// No reply was private to another client, and none had other bytes or another object; true in older files, where that
    /// was not checked.
    #[serde(default = "agrees")]
    pub content: bool,
    /// The counts of robots and origin agree; true in older files, where that was not checked.
    #[serde(default = "agrees")]
    pub books: bool,
}

const fn agrees() -> bool {
    true
}

impl PassRule {
    /// Whether all of it holds.
    pub fn passed(&self) -> bool {
        self.whole
            && self.mean
            && self.hit_ratio != Some(false)
            && self.request_rate
            && self.reply_rate
            && self.content
            && self.books
    }
}
