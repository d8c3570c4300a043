//! What is written down of a bake-off while it runs.
//!
//! Measuring side, cold. Data alone.

use crate::plan::Turn;
use crate::results::{Achievable, Tls};
use crate::transactions::Logged;
pub use bakeoff_experiment::directory::End;
use bakeoff_experiment::results::Fact;
use bakeoff_robots::ledger::{Record, Scope};
use bakeoff_robots::phases::EndReason;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The entrant that is no cache: robots ask the origin itself.
pub(crate) const NOBODY: &str = "none";

/// Why a run ended that the user ended.
pub(crate) const INTERRUPTED: &str = "interrupted";
/// Why a run ended of which only intervals are left.
pub(crate) const KILLED: &str = "it was killed";

/// What was fixed before the first request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Setup {
    /// Version of this form.
    pub format: u32,
    /// Name of the plan.
    pub name: String,
    /// When it began, RFC 9557.
    pub started: String,
    /// Version of bakeoff.
    pub bakeoff: String,
    /// The flags that changed the plan, as they were typed.
    pub flags: Vec<String>,
    /// Which part of a run that several processes make.
    #[serde(default)]
    pub part: Option<PartRecord>,
    /// The scale in force.
    pub scale: String,
    /// The rate that took the place of the plan's.
    pub rate_per_s: Option<f64>,
    /// The machine.
    pub facts: Vec<Fact>,
    /// What may spoil figures.
    pub warnings: Vec<String>,
    /// Cores of robots and origin.
    pub generator_cores: Vec<usize>,
    /// Cores of the caches.
    pub subject_cores: Vec<usize>,
    /// Version of the event driver.
    pub driver: String,
    /// Who takes part, in the order of the report; none in older directories, and of robots by themselves.
    #[serde(default)]
    pub entrants: Vec<String>,
    /// Whose turn it is after whom, as it was drawn.
    #[serde(default)]
    pub turns: Vec<Turn>,
}

/// One of several processes that make a run together, all with records of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartRecord {
    /// Its number, from 1.
    pub number: u8,
    /// How many there are.
    pub of: u8,
    /// The number of the run, which all parts of it have.
    pub run: u64,
}

/// What a run was for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Purpose {
    /// The way to the origin, without any cache: as fast as it goes, and one robot alone.
    Path {
        /// Robots.
        robots: usize,
    },
    /// Filling the store.
    Fill,
    /// A trial of the search for the peak.
    Trial {
        /// Requests due per second.
        rate_per_s: f64,
        /// How the search judged it.
        verdict: TrialVerdict,
        /// Whether it was a longer one, of what the search had found.
        #[serde(default)]
        confirming: bool,
    },
    /// A rate that is measured.
    Rate {
        /// Its place among the plan's rates, from 1.
        order: u32,
        /// Requests due per second.
        rate_per_s: f64,
    },
    /// As fast as replies come, measured.
    BestEffort,
}

impl Purpose {
    /// Of a run whose measured phases are results: the place of its rate in the plan, from 1, and its rate, if it
    /// had one.
    pub const fn measured(&self) -> Option<(u32, Option<f64>)> {
        match self {
            Self::Rate { order, rate_per_s } => Some((*order, Some(*rate_per_s))),
            Self::BestEffort => Some((1, None)),
            Self::Path { .. } | Self::Fill | Self::Trial { .. } => None,
        }
    }
}

/// A run that has ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunRecord {
    /// Who was asked, as in [`EntrantRecord::name`].
    pub entrant: EntrantRecord,
    /// The baseline that this was the second start of, if it was.
    #[serde(default)]
    pub second_of: Option<String>,
    /// Which pass it was part of, from 1, where there are several.
    #[serde(default)]
    pub pass: Option<u32>,
    /// What it was for.
    pub purpose: Purpose,
    /// Its phases, in their order.
    pub phases: Vec<PhaseLine>,
    /// The store at its end, by the product's own gauge.
    pub store: Option<Store>,
    /// The first thing that kept the gauge from being read, if something did.
    #[serde(default)]
    pub store_unreadable: Option<String>,
    /// Why it ended, in words.
    pub ended: String,
    /// Hits that ended before any fetch of their object had, where requests were kept.
    #[serde(default)]
    pub hits_before_fetch: u64,
    /// Why it was broken off or says nothing, if so. Its phases are what was measured until then, the last
    /// of them cut short.
    pub failed: Option<String>,
    /// How late requests were sent while a connection was free: 99th percentile over all phases.
    pub lateness_p99_ns: u64,
    /// Share of its time in which the robots' busiest thread was at work.
    pub robots_busy: f64,
    /// Hit ratios of simulated caches, in directories that were written before each phase had its own.
    #[serde(default)]
    pub achievable: Option<Achievable>,
    /// How far the origin's clock is ahead, in seconds.
    pub clock_ahead_s: Option<i64>,
    /// What was seen of each outage.
    #[serde(default)]
    pub outages: Vec<Outage>,
    /// What was written of its log of transactions, where one was asked for.
    #[serde(default)]
    pub transactions: Option<Logged>,
    /// TLS of its connections, where there was any.
    #[serde(default)]
    pub tls: Option<Tls>,
    /// In a part of a run: numbers of the parts that it went on without.
    #[serde(default)]
    pub without: Vec<u8>,
    /// It was killed, and is put together from its intervals: what was read elsewhere when phases ended is missing.
    #[serde(skip)]
    pub of_intervals: bool,
}

/// An outage: when the cache was killed and started again, and the requests that tell when it was back. All
/// moments are since the start of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outage {
    /// The phase.
    pub phase: String,
    /// When its processes were about to be killed.
    pub killed_ns: u64,
    /// When none of them was left.
    pub gone_ns: u64,
    /// When it was about to be started again; `None`: the run ended before.
    pub started_ns: Option<u64>,
    /// When its port took a connection; `None`: it never did.
    pub ready_ns: Option<u64>,
    /// Of the requests that were sent when it was gone, the first that got a reply, of any kind.
    pub first_reply: Option<Moments>,
    /// Of those that were sent when it was started again, the first with a good reply,
    pub first_good: Option<Moments>,
    /// with a hit,
    pub first_hit: Option<Moments>,
    /// with a miss.
    pub first_miss: Option<Moments>,
    /// The last that was due before the first good one and failed.
    pub last_failed: Option<Moments>,
    /// Requests that failed from the kill on to the first good reply, by class or fault.
    pub lost: BTreeMap<String, u64>,
    /// Objects that had been fetched before it was killed, might be kept, and were asked for again after it was
    /// started.
    pub known_asked: u64,
    /// Of the first of these requests for each, those that were hits.
    pub known_hits: u64,
}

/// A request's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moments {
    /// When it was due.
    pub due_ns: u64,
    /// When it was sent.
    pub sent_ns: u64,
    /// When its reply was complete, or it had failed.
    pub done_ns: u64,
}

/// Who was asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EntrantRecord {
    /// A product, `none`, or an address.
    pub name: String,
    /// What the program says of its version.
    pub version: Option<String>,
    /// File with its configuration.
    pub config: Option<String>,
}

/// How the search for the peak judged a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TrialVerdict {
    /// It counts as passed.
    #[serde(rename = "sustained")]
    Sustained,
    /// More failed than may.
    #[serde(rename = "requests failed")]
    RequestsFailed,
    /// It did not come to its end.
    #[serde(rename = "broken off")]
    BrokenOff,
    /// The mean response time was above its bound.
    #[serde(rename = "too slow")]
    TooSlow,
    /// Replies did not keep up with what was due.
    #[serde(rename = "requests piled up")]
    PiledUp,
    /// Nothing was measured.
    #[serde(rename = "not judged")]
    NotJudged,
}

/// A phase, and what was read outside of the robots when it ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PhaseLine {
    /// As the robots recorded it.
    pub phase: Record,
    /// Whether it counts.
    pub measured: bool,
    /// What ended it; `None` where it was cut short. In words in the file, none for `None`.
    #[serde(default, with = "end_reason")]
    pub ended: Option<EndReason>,
    /// What was used and served in it.
    pub used: Used,
    /// Hit ratios of simulated caches over its requests, where it counts and they were kept.
    #[serde(default)]
    pub achievable: Option<Achievable>,
}

impl PhaseLine {
    /// Whether it is one of the plan's; what is still under way after the last one is in a phase without a
    /// name.
    pub fn is_of_the_plan(&self) -> bool {
        !self.phase.phase.is_empty()
    }
}

impl RunRecord {
    /// Whether it came to an end of its own, be it that its entrant failed: nobody cut it short.
    pub(crate) fn is_over(&self) -> bool {
        !self.of_intervals && ![INTERRUPTED, KILLED].contains(&self.ended.as_str())
    }

    /// A run of which nothing is known yet.
    pub fn of(entrant: EntrantRecord, purpose: Purpose) -> Self {
        Self {
            entrant,
            second_of: None,
            pass: None,
            purpose,
            phases: Vec::new(),
            store: None,
            store_unreadable: None,
            ended: String::new(),
            hits_before_fetch: 0,
            failed: None,
            lateness_p99_ns: 0,
            robots_busy: 0.0,
            achievable: None,
            clock_ahead_s: None,
            outages: Vec::new(),
            transactions: None,
            tls: None,
            without: Vec::new(),
            of_intervals: false,
        }
    }

    /// Whether the origin itself was asked, without any cache.
    pub fn is_direct(&self) -> bool {
        self.second_of.as_deref().unwrap_or(&self.entrant.name) == NOBODY
    }

    /// The last phase of the plan.
    pub fn last_phase(&self) -> Option<&PhaseLine> {
        self.phases.iter().rfind(|line| line.is_of_the_plan())
    }
}

/// What was used and served in a phase, read when its record came. In a part of a run, what the origin sent is what
/// it sent to all parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Used {
    /// CPU of the cache.
    pub cache_cpu_ns: Option<u64>,
    /// CPU of the origin.
    pub origin_cpu_ns: Option<u64>,
    /// CPU of the robots' process.
    pub robots_cpu_ns: u64,
    /// Replies that the origin has sent, revalidations among them.
    pub origin_replies: u64,
    /// 304 among them.
    pub origin_validations: u64,
    /// POSTs that it has got.
    #[serde(default)]
    pub origin_posts: u64,
    /// Bytes of bodies that it has sent.
    pub origin_body_bytes: u64,
    /// Whose requests it has answered; `None` in older directories, and of an origin that was started anew.
    #[serde(default)]
    pub origin_heard: Option<OriginHeard>,
}

/// Requests about objects that the origin has answered, by their stamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OriginHeard {
    /// Those whose stamp had not been answered before: one for each request of a robot that came through.
    pub asks: u64,
    /// Those whose stamp had been, or that had none.
    pub unasked: u64,
}

/// A store's gauge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Store {
    /// Bytes in it.
    pub used_bytes: u64,
    /// What it may hold.
    pub capacity_bytes: u64,
    /// Objects thrown out, where that is known.
    pub evictions: Option<u64>,
    /// Where that is from.
    pub source: String,
}

/// An interval of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct IntervalLine {
    /// Number of the run, from 0.
    pub run: u32,
    /// CPU that the cache used in it, read when its record came; `None` where it cannot be read.
    #[serde(default)]
    pub cache_cpu_ns: Option<u64>,
    /// As the robots recorded it.
    pub interval: Record,
}

impl IntervalLine {
    /// Whether it is an interval of one of the plan's phases; what is still under way after the last one is in none.
    pub fn is_of_the_plan(&self) -> bool {
        self.interval.scope == Scope::Interval && !self.interval.phase.is_empty()
    }
}

/// What ended a phase, as records have it.
mod end_reason {
    use bakeoff_robots::phases::EndReason;
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;

    #[allow(clippy::trivially_copy_pass_by_ref)] // serde hands it over so
    pub(super) fn serialize<S: Serializer>(ended: &Option<EndReason>, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(ended.map_or("", EndReason::meaning))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<EndReason>, D::Error> {
        let words = String::deserialize(from)?;
        match words.as_str() {
            "" => Ok(None),
            known => match EndReason::of_meaning(known) {
                Some(reason) => Ok(Some(reason)),
                None => Err(D::Error::custom(format!("no phase ends so: {words}"))),
            },
        }
    }
}
