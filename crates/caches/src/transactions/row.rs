//! Row of the log of transactions, as kept in memory until it is written.
//!
//! Measuring side, hot: made once a request, without an allocation. It has no words, but numbers that stand for them: a
//! hundred bytes a row.

use bakeoff_content::world::ObjectName;
use bakeoff_robots::FinishedRequest;
use bakeoff_robots::judge::{FaultSet, Hit, RequestOutcome};
use bakeoff_units::Nanos;
use bakeoff_workload::Method;

/// One request that has ended. Its columns are in [`COLUMNS`](super::COLUMNS).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transaction {
    pub(super) due: Nanos,
    pub(super) sent: Nanos,
    pub(super) first_byte: Nanos,
    pub(super) done: Nanos,
    pub(super) request_bytes: u64,
    pub(super) reply_bytes: u64,
    pub(super) stamp: u64,
    pub(super) object: ObjectName,
    pub(super) robot: u32,
    pub(super) faults: FaultSet,
    pub(super) status: Option<u16>,
    /// The phase that counts it; `None` after the last phase.
    pub(super) phase: Option<u16>,
    pub(super) due_phase: u16,
    /// As in [`RequestKind::LABELS`](bakeoff_robots::judge::RequestKind::LABELS).
    pub(super) kind: u8,
    pub(super) method: Method,
    pub(super) outcome: RequestOutcome,
    pub(super) hit: Hit,
    pub(super) repeat: bool,
    pub(super) embedded: bool,
    pub(super) cachable: bool,
    pub(super) offered: bool,
    pub(super) reused: bool,
}

impl Transaction {
    pub(crate) fn of(heard: &FinishedRequest<'_>) -> Self {
        let FinishedRequest { flight, entry, phase, robot, .. } = *heard;
        let judged = &entry.judged;
        Self {
            due: entry.due,
            sent: entry.sent,
            first_byte: entry.first_byte,
            done: entry.done,
            request_bytes: entry.request_bytes,
            reply_bytes: entry.reply_bytes,
            stamp: flight.stamp,
            object: flight.name,
            robot,
            faults: judged.faults,
            status: entry.status,
            phase: phase.map(|phase| phase as u16),
            due_phase: flight.phase as u16,
            kind: judged.kind.index() as u8,
            method: flight.method(),
            outcome: judged.outcome,
            hit: judged.hit,
            repeat: judged.repeat,
            embedded: flight.embedded,
            cachable: judged.cachable,
            offered: judged.offered,
            reused: entry.reused,
        }
    }
}
