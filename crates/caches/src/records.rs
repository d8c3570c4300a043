//! Records of a bake-off, written while it runs.
//!
//! Measuring side, cold. Data alone.

use crate::plan::EntrantTurn;
use crate::transactions::Logged;
use bakeoff_results::Fact;
pub use bakeoff_results::directory::End;
use bakeoff_robots::ledger::{LedgerRecord, RecordScope};
use bakeoff_robots::phases::EndReason;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name of the entrant that is no cache: robots ask the origin itself.
pub(crate) const NOBODY: &str = "none";

/// Why a run ended that the user ended.
pub(crate) const INTERRUPTED: &str = "interrupted";
/// Why a run ended of which only intervals are left.
pub(crate) const KILLED: &str = "it was killed";

/// What was fixed before the first request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BakeoffSetup {
    /// Version of this form.
    pub format: u32,
    /// Name of the plan.
    pub name: String,
    /// Time when it began, RFC 9557.
    pub started: String,
    /// Version of bakeoff.
    pub bakeoff: String,
    /// The flags that changed the plan, as they were typed.
    pub flags: Vec<String>,
    /// The part of a run that several processes make, if this is one.
    #[serde(default)]
    pub part: Option<PartRecord>,
    /// The scale in force.
    pub scale: String,
    /// The rate that replaced the plan's.
    pub rate_per_s: Option<f64>,
    /// The machine.
    pub facts: Vec<Fact>,
    /// Warnings of what may spoil figures.
    pub warnings: Vec<String>,
    /// Cores of robots and origin.
    pub generator_cores: Vec<usize>,
    /// Cores of the caches.
    pub subject_cores: Vec<usize>,
    /// Version of the event driver.
    pub driver: String,
    /// The entrants, in the order of the report; none in older directories, and for robots by themselves.
    #[serde(default)]
    pub entrants: Vec<String>,
    /// The turns in the order that was drawn.
    #[serde(default)]
    pub turns: Vec<EntrantTurn>,
}

/// One of several processes that make a run together, all with records of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartRecord {
    /// Its number, from 1.
    pub number: u8,
    /// Number of parts.
    pub of: u8,
    /// The number of the run, which all parts of it have.
    pub run: u64,
}

/// Purpose of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum RunPurpose {
    /// The path to the origin, without any cache: as fast as it goes, and one robot alone.
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
        /// The search's verdict.
        verdict: TrialVerdict,
        /// Whether it was a longer one, to confirm the search's result.
        #[serde(default)]
        confirming: bool,
    },
    /// A rate that is measured.
    Rate {
        /// Its index among the plan's rates, from 1.
        order: u32,
        /// Requests due per second.
        rate_per_s: f64,
    },
    /// As fast as replies come, measured.
    BestEffort,
}

impl RunPurpose {
    /// If the run's measured phases are results: the index of its rate in the plan, from 1, and its rate, if it had
    /// one.
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
    /// The entrant, as in [`EntrantRecord::name`].
    pub entrant: EntrantRecord,
    /// The baseline that this was the second start of, if it was.
    #[serde(default)]
    pub second_of: Option<String>,
    /// Number of its pass, from 1, if there are several.
    #[serde(default)]
    pub pass: Option<u32>,
    /// Its purpose.
    pub purpose: RunPurpose,
    /// Its phases, in their order.
    pub phases: Vec<PhaseLine>,
    /// The store at its end, by the product's own gauge.
    pub store: Option<Store>,
    /// The first error in reading the gauge, if there was one.
    #[serde(default)]
    pub store_unreadable: Option<String>,
    /// Reason for its end, in words.
    pub ended: String,
    /// Hits that ended before any fetch of their object had, if requests were kept.
    #[serde(default)]
    pub hits_before_fetch: u64,
    /// Hits that took out of all proportion while no fetch of their object was under way, if requests were kept.
    #[serde(default)]
    pub slow_hits: u64,
    /// Reason why it was broken off or says nothing, if so. Its phases are those measured until then, the last of them
    /// cut short.
    pub failed: Option<String>,
    /// Lateness of requests sent while a connection was free: 99th percentile over all phases.
    pub lateness_p99_ns: u64,
    /// Share of its time in which the robots' busiest thread was at work.
    pub robots_busy: f64,
    /// Hit ratios of simulated caches, in directories that were written before each phase had its own.
    #[serde(default)]
    pub achievable: Option<Achievable>,
    /// Seconds by which the origin's clock is ahead.
    pub clock_ahead_s: Option<i64>,
    /// Observations of each outage.
    #[serde(default)]
    pub outages: Vec<Outage>,
    /// The written part of its log of transactions, if one was asked for.
    #[serde(default)]
    pub transactions: Option<Logged>,
    /// TLS of its connections, if there was any.
    #[serde(default)]
    pub tls: Option<Tls>,
    /// In a part of a run: numbers of the parts that it went on without.
    #[serde(default)]
    pub without: Vec<u8>,
    /// It was killed, and is rebuilt from its intervals: readings of other processes at the ends of phases are missing.
    #[serde(skip)]
    pub of_intervals: bool,
}

/// An outage: the times when the cache was killed and started again, and the requests that show when it was back. All
/// times are since the start of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outage {
    /// The phase.
    pub phase: String,
    /// Time just before its processes were killed.
    pub killed_ns: u64,
    /// Time when none of them was left.
    pub gone_ns: u64,
    /// Time just before it was started again; `None`: the run ended before.
    pub started_ns: Option<u64>,
    /// Time when its port took a connection; `None`: it never did.
    pub ready_ns: Option<u64>,
    /// The first reply of any kind to a request that was sent when it was gone.
    pub first_reply: Option<Moments>,
    /// For requests sent when it was started again: the first good reply,
    pub first_good: Option<Moments>,
    /// the first hit,
    pub first_hit: Option<Moments>,
    /// the first miss.
    pub first_miss: Option<Moments>,
    /// The last failed request that was due before the first good one.
    pub last_failed: Option<Moments>,
    /// Requests that failed from the kill on to the first good reply, by class or fault.
    pub lost: BTreeMap<String, u64>,
    /// Objects that had been fetched before it was killed, might be kept, and were asked for again after it was
    /// started.
    pub known_asked: u64,
    /// Of the first of these requests for each, those that were hits.
    pub known_hits: u64,
}

/// Times of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moments {
    /// Time when it was due.
    pub due_ns: u64,
    /// Time when it was sent.
    pub sent_ns: u64,
    /// Time when its reply was complete, or it had failed.
    pub done_ns: u64,
}

/// Identity of an entrant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EntrantRecord {
    /// A product, `none`, or an address.
    pub name: String,
    /// The version that the program reports.
    pub version: Option<String>,
    /// File with its configuration.
    pub config: Option<String>,
    /// The directive in it that lets it give replies whose lifetime is over, if there is one. Records of earlier versions
    /// have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stale_by: Option<String>,
}

/// Verdict of the peak search on a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TrialVerdict {
    /// It counts as passed.
    #[serde(rename = "sustained")]
    Sustained,
    /// Too many requests failed.
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
    pub phase: LedgerRecord,
    /// Whether it counts.
    pub measured: bool,
    /// Reason for its end; `None` if it was cut short. In words in the file, none for `None`.
    #[serde(default, with = "end_reason")]
    pub ended: Option<EndReason>,
    /// Resources used and replies served in it.
    pub used: PhaseUsage,
    /// Hit ratios of simulated caches over its requests, if it counts and they were kept.
    #[serde(default)]
    pub achievable: Option<Achievable>,
}

impl PhaseLine {
    /// Whether it is one of the plan's; requests still under way after the last one are in a phase without a name.
    pub fn is_of_the_plan(&self) -> bool {
        !self.phase.phase.is_empty()
    }
}

impl RunRecord {
    /// Whether it came to an end of its own, be it that its entrant failed: nobody cut it short.
    pub(crate) fn is_over(&self) -> bool {
        ![INTERRUPTED, KILLED].contains(&self.ended.as_str())
    }

    /// A run of which nothing is known yet.
    pub fn of(entrant: EntrantRecord, purpose: RunPurpose) -> Self {
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
            slow_hits: 0,
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

/// Hit ratios of simulated caches on the same requests; those by bytes behind those by documents.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Achievable {
    /// An endless cache that has an object as soon as it is asked for.
    pub at_once: (f64, f64),
    /// An endless cache that has it when its fetch has ended.
    pub when_fetched: (f64, f64),
    /// The capacity of the three below, which know an object when its fetch has ended.
    pub capacity_bytes: Option<u64>,
    /// Evicts the least recently used object.
    pub lru: Option<(f64, f64)>,
    /// S3-FIFO.
    pub s3_fifo: Option<(f64, f64)>,
    /// Evicts the object whose next request is furthest away: this needs knowledge of the future.
    pub belady: Option<(f64, f64)>,
}

/// TLS of a run's connections, over all of its phases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tls {
    /// The first negotiated version, cipher suite and key-exchange group; `None` if no handshake succeeded.
    pub agreed: Option<String>,
    /// Handshakes with certificate and key exchange.
    pub full: u64,
    /// Handshakes that resumed an earlier session.
    pub resumed: u64,
    /// Failed handshakes.
    pub failed: u64,
    /// Median time until a connection stood, with its tunnel if it goes through one.
    pub stands_p50_ns: u64,
    /// Median time of the handshakes, from then on.
    pub handshake_p50_ns: u64,
}

/// Resources used and replies served in a phase, read when its record came. In a part of a run, the origin's figures
/// include all parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PhaseUsage {
    /// CPU of the cache.
    pub cache_cpu_ns: Option<u64>,
    /// Resident memory of the cache at its end, shared pages counted in each process.
    #[serde(default)]
    pub cache_memory_bytes: Option<u64>,
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
    /// Origin of the requests that it has answered; `None` in older directories, and for an origin that was started
    /// anew.
    #[serde(default)]
    pub origin_heard: Option<OriginHeard>,
}

/// Requests about objects that the origin has answered, by their stamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OriginHeard {
    /// Requests with a new stamp: one for each request of a robot that came through.
    pub asks: u64,
    /// Requests with a stamp that was answered before, or with none.
    pub unasked: u64,
    /// Of all these, those without `Via`. Records of earlier versions have none, nor the two below.
    #[serde(default)]
    pub without_via: u64,
    /// Those with a field that was meant for the cache alone.
    #[serde(default)]
    pub hop_passed: u64,
    /// Those of a forward proxy with another Host than robots named.
    #[serde(default)]
    pub other_host: u64,
}

/// A store's gauge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Store {
    /// Bytes in it.
    pub used_bytes: u64,
    /// Bytes that it may hold.
    pub capacity_bytes: u64,
    /// Objects evicted, if that is known.
    pub evictions: Option<u64>,
    /// Source of the figures.
    pub source: String,
}

/// An interval of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct IntervalLine {
    /// Number of the run, from 0.
    pub run: u32,
    /// CPU that the cache used in it, read when its record came; `None` if it cannot be read.
    #[serde(default)]
    pub cache_cpu_ns: Option<u64>,
    /// As the robots recorded it.
    pub interval: LedgerRecord,
}

impl IntervalLine {
    /// Whether it is an interval of one of the plan's phases; requests still under way after the last one are in none.
    pub fn is_of_the_plan(&self) -> bool {
        self.interval.scope == RecordScope::Interval && !self.interval.phase.is_empty()
    }
}

/// Reason for a phase's end, as records have it.
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
