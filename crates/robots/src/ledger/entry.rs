//! Ledger entry of one request, and sums of entries.
//!
//! Measuring side, hot: a few additions a reply. Response times run from the moment a request was due,
//! service times from when it was sent.

use super::aggregate::Aggregate;
use super::encoded;
use crate::judge::{ReplyFault, ReplyJudgement};
use bakeoff_meter::Histogram;
use bakeoff_units::Nanos;
use serde::{Deserialize, Serialize};

/// One request that has ended, as the ledger takes it in. Moments are since the start of the run.
#[derive(Clone, Copy, Debug)]
pub struct LedgerEntry<'a> {
    /// The judge's judgement.
    pub judged: ReplyJudgement,
    /// The status, where a head came.
    pub status: Option<u16>,
    /// When it was due.
    pub due: Nanos,
    /// When it was sent.
    pub sent: Nanos,
    /// When the first byte of the reply came.
    pub first_byte: Nanos,
    /// When the last one came, or the request failed.
    pub done: Nanos,
    /// Bytes of the request.
    pub request_bytes: u64,
    /// Bytes of the reply with its head.
    pub reply_bytes: u64,
    /// Whether the connection had carried requests before.
    pub reused: bool,
    /// Whether it was sent twice, as its first connection turned out to be closed.
    pub resent: bool,
    /// Fetches from the origin that it shows to be refreshes in the background.
    pub refreshed: u64,
    /// The object's id, for examples.
    pub id: &'a [u8],
    /// The reply's head, for examples.
    pub head: &'a [u8],
}

impl LedgerEntry<'_> {
    fn response(&self) -> Nanos {
        self.done.since(self.due)
    }
}

/// Times and bytes of some replies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Traffic {
    /// From due to the last byte.
    pub response_ns: Aggregate,
    /// From sent to the last byte.
    pub service_ns: Aggregate,
    /// Bytes of the replies.
    pub bytes: Aggregate,
}

impl Traffic {
    pub(super) fn add(&mut self, entry: &LedgerEntry<'_>) {
        self.response_ns.add(entry.response().get());
        self.service_ns.add(entry.done.since(entry.sent).get());
        self.bytes.add(entry.reply_bytes);
    }

    /// Takes in those of others.
    pub fn merge(&mut self, other: &Self) {
        self.response_ns.merge(&other.response_ns);
        self.service_ns.merge(&other.service_ns);
        self.bytes.merge(&other.bytes);
    }

    /// Number of replies.
    pub const fn count(&self) -> u64 {
        self.bytes.count
    }
}

/// The same sums with every response time.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TimedTraffic {
    /// Sums.
    #[serde(flatten)]
    pub traffic: Traffic,
    /// Response times.
    #[serde(with = "encoded")]
    pub response: Histogram,
}

impl TimedTraffic {
    pub(super) fn add(&mut self, entry: &LedgerEntry<'_>) {
        self.traffic.add(entry);
        self.response.record(entry.response());
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.traffic.merge(&other.traffic);
        self.response.merge(&other.response);
    }
}

/// Pages: objects that were asked for directly, each with all that it embeds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Pages {
    /// Complete without a failure.
    pub good: u64,
    /// With one.
    pub failed: u64,
    /// Objects of the good ones.
    pub objects: u64,
    /// Of the good ones: from the moment the first request was due to the last byte of all.
    pub response_ns: Aggregate,
    /// Each of these times.
    #[serde(with = "encoded")]
    pub response: Histogram,
}

impl Pages {
    pub(super) fn add(&mut self, failed: bool, objects: u32, response: Nanos) {
        if failed {
            self.failed += 1;
            return;
        }
        self.good += 1;
        self.objects += u64::from(objects);
        self.response_ns.add(response.get());
        self.response.record(response);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.good += other.good;
        self.failed += other.failed;
        self.objects += other.objects;
        self.response_ns.merge(&other.response_ns);
        self.response.merge(&other.response);
    }
}

/// The first reply that had a fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Example {
    /// The fault.
    pub fault: ReplyFault,
    /// The object's id.
    pub object: String,
    /// When the reply was complete, since the start of the run.
    pub done_ns: u64,
    /// The request's line and header.
    pub request: String,
    /// The reply's head.
    pub reply: String,
}

/// The reply's head that came with the first failure of a class: of a proxy that refused a tunnel, its refusal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstFailure {
    /// The class, by its label.
    pub class: String,
    /// When the request had failed, since the start of the run.
    pub done_ns: u64,
    /// The head, whole.
    pub reply: String,
}
