//! The basic requests of a run, as simulations of ideal caches take them.
//!
//! Measuring side. Owns what of a request they know; keeps none.

use crate::judge::Outcome;
use crate::ledger::Entry;
use crate::population::Flight;
use bakeoff_units::Nanos;

/// One basic request that was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// The object, as any number that is its own.
    pub object: u64,
    /// Bytes of the reply.
    pub bytes: u64,
    /// When it was sent, since the start of the run.
    pub start: Nanos,
    /// When its reply was complete.
    pub end: Nanos,
    /// Whether caches may keep it.
    pub cachable: bool,
    /// Whether it was an offered hit.
    pub offered: bool,
}

impl Request {
    /// A request that has ended; `None` when it was not basic, or its reply not good.
    pub fn answered(flight: &Flight, entry: &Entry<'_>) -> Option<Self> {
        let judged = &entry.judged;
        (judged.basic() && judged.outcome == Outcome::Good).then(|| Self {
            object: flight.name.object_id().get(),
            bytes: entry.reply_bytes,
            start: entry.sent,
            end: entry.done,
            cachable: judged.cachable,
            offered: judged.offered,
        })
    }
}
