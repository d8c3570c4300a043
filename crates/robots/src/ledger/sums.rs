//! Sums over a period: requests, replies, times, bytes, hits, faults.
//!
//! Measuring side, hot: [`Sums::enter`] runs once a reply and allocates only for labels that are new to it. Response
//! times run from the moment a request was due, service times from when it was sent. Only good replies are in times and
//! bytes. All bytes are of whole messages, heads included.

use super::aggregate::{Aggregate, LevelSum};
use super::encoded;
use super::entry::{Example, FirstFailure, LedgerEntry, Pages, TimedTraffic, Traffic};
use crate::judge::{Hit, InGzip, ReplyFault, RequestKind, RequestOutcome};
use bakeoff_meter::{ErrorClass, Histogram};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// All sums of a period.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Sums {
    /// Requests that were handed out to be sent. Where a robot has connections of its own, that is when they came due,
    /// busy or not; where all share them, when one was free to send it.
    pub asked: u64,
    /// Requests that ended, one way or another.
    pub finished: u64,
    /// Ended in a good reply.
    pub good: u64,
    /// Broken off by the robot.
    pub aborted: u64,
    /// Failed: no whole reply, or not what was asked for.
    pub failed: u64,
    /// Those of them that were due in an earlier phase, by its name. Records of earlier versions have none.
    #[serde(default)]
    pub late_failed: BTreeMap<String, u64>,
    /// Failures by class, those of the connection.
    pub errors: BTreeMap<String, u64>,
    /// Faults of replies, of every weight.
    pub faults: BTreeMap<ReplyFault, u64>,
    /// Requests that were sent twice, as a kept connection turned out to be closed; once each in all other counts.
    /// Records of earlier versions have none, nor the two below.
    #[serde(default)]
    pub resent: u64,
    /// Replies of any kind, good or not, with the stamp of their own request: the origin's word on it.
    #[serde(default)]
    pub from_origin: u64,
    /// Replies of any kind, good or not, with the stamp of another: the origin need not have heard of these requests.
    #[serde(default)]
    pub from_store: u64,
    /// Of the replies with the stamp of their own request those by which the origin confirmed what is stored. Records of
    /// earlier versions have none.
    #[serde(default)]
    pub confirmed: u64,
    /// Fetches by requests that were answered from the store, which later replies show to be refreshes in the background,
    /// or which a lifetime that was over may have begun. Records of earlier versions have none.
    #[serde(default)]
    pub refreshed: u64,
    /// POSTs that failed; `None` in records of earlier versions.
    #[serde(default)]
    pub posts_failed: Option<u64>,
    /// Good replies.
    pub replies: TimedTraffic,
    /// Service times of good replies.
    #[serde(with = "encoded")]
    pub service: Histogram,
    /// From due to sent.
    pub waited_ns: Aggregate,
    /// From sent to the first byte of the reply.
    pub first_byte_ns: Aggregate,
    /// Bytes of the requests that good replies answered.
    pub request_bytes: Aggregate,
    /// Good replies to basic requests, which alone count below until `fill`.
    pub basic: Traffic,
    /// Hits of which the origin did not hear.
    pub hits: TimedTraffic,
    /// Hits that the origin confirmed.
    pub revalidated: TimedTraffic,
    /// From the origin.
    pub misses: TimedTraffic,
    /// Bytes of the replies that an ideal cache would have had.
    pub offered_hit_bytes: Aggregate,
    /// Bytes of the others.
    pub offered_miss_bytes: Aggregate,
    /// Of cachable objects.
    pub cachable: Traffic,
    /// Of others.
    pub uncachable: Traffic,
    /// Misses of cachable objects, which a cache could newly store.
    pub fill: Traffic,
    /// Good replies to basic requests that accept gzip, about objects that exist in it. Records of earlier
    /// versions have none.
    #[serde(default)]
    pub gzip_asked: u64,
    /// Those of them that came in gzip.
    #[serde(default)]
    pub gzip_came: u64,
    /// Good replies by the kind of request.
    #[serde(with = "by_kind")]
    pub kinds: [Traffic; RequestKind::COUNT],
    /// Good replies by status.
    pub statuses: BTreeMap<u16, Traffic>,
    /// Pages that were completed. Records of earlier versions have none.
    #[serde(default)]
    pub pages: Pages,
    /// Ended requests for objects that were new.
    pub new_objects: u64,
    /// Ended requests that were the first on their connection.
    pub connections_opened: u64,
    /// Ended requests on connections that had carried others.
    pub connections_reused: u64,
    /// Requests that were due and had not ended.
    pub in_flight: LevelSum,
    /// First replies with a fault, of the run.
    pub examples: Vec<Example>,
    /// First failures that came with a reply's head, of the run. Records of earlier versions have none.
    #[serde(default)]
    pub failures: Vec<FirstFailure>,
}

impl Sums {
    /// Takes one ended request in; `in_flight`, `examples` and `failures` are the ledger's.
    pub(super) fn enter(&mut self, entry: &LedgerEntry<'_>) {
        let judged = &entry.judged;
        self.finished += 1;
        self.new_objects += u64::from(!judged.repeat);
        match judged.outcome {
            RequestOutcome::Good => self.enter_good(entry),
            RequestOutcome::Aborted => self.aborted += 1,
            RequestOutcome::Wrong => self.failed += 1,
            RequestOutcome::Failed(class) => {
                self.failed += 1;
                match self.errors.get_mut(class.as_str()) {
                    Some(count) => *count += 1,
                    None => drop(self.errors.insert(class.as_str().to_owned(), 1)),
                }
            }
        }
        self.resent += u64::from(entry.resent);
        self.refreshed += entry.refreshed;
        let passed_on = judged.hit == Hit::Miss && entry.status == Some(304);
        self.confirmed += u64::from(passed_on || judged.hit == Hit::Revalidated);
        *self.posts_failed.get_or_insert(0) += u64::from(judged.failed() && judged.kind == RequestKind::Post);
        match judged.hit {
            Hit::Miss | Hit::Revalidated => self.from_origin += 1,
            Hit::Hit => self.from_store += 1,
            Hit::Unknown => {}
        }
        // A request that never got a connection opened none.
        if entry.reused {
            self.connections_reused += 1;
        } else if entry.status.is_some() || judged.outcome == RequestOutcome::Aborted {
            self.connections_opened += 1;
        }
        for fault in judged.faults.iter() {
            *self.faults.entry(fault).or_default() += 1;
        }
    }

    fn enter_good(&mut self, entry: &LedgerEntry<'_>) {
        self.good += 1;
        self.replies.add(entry);
        self.service.record(entry.done.since(entry.sent));
        self.waited_ns.add(entry.sent.since(entry.due).get());
        self.first_byte_ns.add(entry.first_byte.since(entry.sent).get());
        self.request_bytes.add(entry.request_bytes);
        self.kinds[entry.judged.kind.index()].add(entry);
        if let Some(status) = entry.status {
            self.statuses.entry(status).or_default().add(entry);
        }
        if entry.judged.basic() {
            self.enter_basic(entry);
        }
    }

    fn enter_basic(&mut self, entry: &LedgerEntry<'_>) {
        let judged = &entry.judged;
        self.basic.add(entry);
        match judged.hit {
            Hit::Hit => self.hits.add(entry),
            Hit::Revalidated => self.revalidated.add(entry),
            // A good reply has a stamp; were there none, it would be no hit.
            Hit::Miss | Hit::Unknown => self.misses.add(entry),
        }
        let offered = if judged.offered { &mut self.offered_hit_bytes } else { &mut self.offered_miss_bytes };
        offered.add(entry.reply_bytes);
        if judged.cachable {
            self.cachable.add(entry)
        } else {
            self.uncachable.add(entry)
        }
        if judged.fill() {
            self.fill.add(entry);
        }
        self.gzip_asked += u64::from(judged.in_gzip != InGzip::NotAsked);
        self.gzip_came += u64::from(judged.in_gzip == InGzip::Came);
    }

    /// Appends a later period.
    pub fn append(&mut self, other: &Self) {
        self.in_flight.append(&other.in_flight);
        self.asked += other.asked;
        self.finished += other.finished;
        self.good += other.good;
        self.aborted += other.aborted;
        self.failed += other.failed;
        self.new_objects += other.new_objects;
        self.resent += other.resent;
        self.from_origin += other.from_origin;
        self.from_store += other.from_store;
        self.refreshed += other.refreshed;
        self.confirmed += other.confirmed;
        if let Some(more) = other.posts_failed {
            *self.posts_failed.get_or_insert(0) += more;
        }
        self.connections_opened += other.connections_opened;
        self.connections_reused += other.connections_reused;
        self.merge_replies(other);
        for (class, count) in &other.errors {
            *self.errors.entry(class.clone()).or_default() += count;
        }
        for (phase, count) in &other.late_failed {
            *self.late_failed.entry(phase.clone()).or_default() += count;
        }
        for (fault, count) in &other.faults {
            *self.faults.entry(*fault).or_default() += count;
        }
        for example in &other.examples {
            if !self.examples.iter().any(|known| known.fault == example.fault) {
                self.examples.push(example.clone());
            }
        }
        for failure in &other.failures {
            if !self.failures.iter().any(|known| known.class == failure.class) {
                self.failures.push(failure.clone());
            }
        }
    }

    fn merge_replies(&mut self, other: &Self) {
        self.replies.merge(&other.replies);
        self.service.merge(&other.service);
        self.waited_ns.merge(&other.waited_ns);
        self.first_byte_ns.merge(&other.first_byte_ns);
        self.request_bytes.merge(&other.request_bytes);
        self.basic.merge(&other.basic);
        self.hits.merge(&other.hits);
        self.revalidated.merge(&other.revalidated);
        self.misses.merge(&other.misses);
        self.offered_hit_bytes.merge(&other.offered_hit_bytes);
        self.offered_miss_bytes.merge(&other.offered_miss_bytes);
        self.cachable.merge(&other.cachable);
        self.uncachable.merge(&other.uncachable);
        self.fill.merge(&other.fill);
        self.gzip_asked += other.gzip_asked;
        self.gzip_came += other.gzip_came;
        self.pages.merge(&other.pages);
        for (sum, more) in self.kinds.iter_mut().zip(&other.kinds) {
            sum.merge(more);
        }
        for (status, more) in &other.statuses {
            self.statuses.entry(*status).or_default().merge(more);
        }
    }

    /// Replies from a cache, validated or not.
    pub fn from_cache(&self) -> Traffic {
        let mut both = self.hits.traffic;
        both.merge(&self.revalidated.traffic);
        both
    }

    /// Share of the basic replies that came from a cache, 0 to 1.
    pub fn document_hit_ratio(&self) -> Option<f64> {
        share(self.from_cache().count(), self.basic.count())
    }

    /// Share of their bytes, 0 to 1.
    pub fn byte_hit_ratio(&self) -> Option<f64> {
        share(self.from_cache().bytes.sum, self.basic.bytes.sum)
    }

    /// Share of the basic replies that an ideal cache would have had, 0 to 1.
    pub fn offered_document_hit_ratio(&self) -> Option<f64> {
        share(self.offered_hit_bytes.count, self.basic.count())
    }

    /// Share of their bytes, 0 to 1.
    pub fn offered_byte_hit_ratio(&self) -> Option<f64> {
        share(self.offered_hit_bytes.sum, self.basic.bytes.sum)
    }

    /// Requests that waited in vain: in line, for a connection, or for a reply.
    pub fn unanswered(&self) -> u64 {
        let in_vain =
            [ErrorClass::NotSent, ErrorClass::ConnectTimeout, ErrorClass::Timeout, ErrorClass::CutOff];
        in_vain.iter().filter_map(|class| self.errors.get(class.as_str())).sum()
    }

    /// Share of the ended requests that failed, 0 to 1.
    pub fn error_ratio(&self) -> Option<f64> {
        share(self.failed, self.finished)
    }
}

/// A part of a whole, if there is a whole.
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Kinds are stored under their labels.
mod by_kind {
    use super::{RequestKind, Traffic};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::collections::BTreeMap;

    type Kinds = [Traffic; RequestKind::COUNT];

    pub(super) fn serialize<S: Serializer>(kinds: &Kinds, to: S) -> Result<S::Ok, S::Error> {
        let seen = RequestKind::LABELS.iter().zip(kinds).filter(|(_, traffic)| traffic.count() > 0);
        seen.collect::<BTreeMap<_, _>>().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Kinds, D::Error> {
        let stored = BTreeMap::<String, Traffic>::deserialize(from)?;
        Ok(RequestKind::LABELS.map(|label| stored.get(label).copied().unwrap_or_default()))
    }
}
