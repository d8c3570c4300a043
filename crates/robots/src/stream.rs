//! The basic requests of a run, as simulations of ideal caches take them.
//!
//! Measuring side. Owns what of a request they know; keeps none.

use crate::judge::{InGzip, Outcome};
use crate::ledger::Entry;
use crate::population::Flight;
use bakeoff_content::mix64;
use bakeoff_units::Nanos;

/// Tells the form in gzip from the object as it is.
const IN_GZIP: u64 = 0x6219;

/// One basic request that was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// The object in the form that was asked for, as any number that is its own: a cache keeps both forms.
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
        let id = flight.name.object_id().get();
        (judged.basic() && judged.outcome == Outcome::Good).then(|| Self {
            object: if judged.in_gzip == InGzip::NotAsked { id } else { mix64(id ^ IN_GZIP) },
            bytes: entry.reply_bytes,
            start: entry.sent,
            end: entry.done,
            cachable: judged.cachable,
            offered: judged.offered,
        })
    }
}
