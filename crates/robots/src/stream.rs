//! The requests of a run, as simulations of ideal caches take them.
//!
//! Measuring side. Owns what of a request they know; keeps none.

use crate::judge::{InGzip, Outcome, RequestKind};
use crate::robots::Heard;
use bakeoff_content::mix64;
use bakeoff_units::Nanos;

/// Tells the form in gzip from the object as it is.
const IN_GZIP: u64 = 0x6219;

/// One request by which a cache may have come to know an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// The object in the form that was asked for, as any number that is its own: a cache keeps both forms.
    pub object: u64,
    /// Bytes of the reply; where it is not the whole object, those of the object.
    pub bytes: u64,
    /// When it was sent, since the start of the run.
    pub start: Nanos,
    /// When its reply was complete.
    pub end: Nanos,
    /// Whether caches may keep it.
    pub cachable: bool,
    /// Whether it is in the ratios, as basic requests are. Others bring an object that is asked for later.
    pub counts: bool,
}

impl Request {
    /// A request that has ended; `None` when no cache could have had anything of it: what failed, what is posted, and
    /// what may not be kept and is in no ratio. Any other may have a cache fetch the whole object, as some do for HEAD, for
    /// a range, and for what is broken off.
    pub fn answered(heard: &Heard<'_>) -> Option<Self> {
        let (entry, judged) = (heard.entry, &heard.entry.judged);
        let counts = judged.basic() && judged.outcome == Outcome::Good;
        let answered = matches!(judged.outcome, Outcome::Good | Outcome::Aborted);
        let brings = !judged.basic() && answered && judged.cachable && judged.kind != RequestKind::Post;
        let id = heard.flight.name.object_id().get();
        (counts || brings).then(|| Self {
            object: if judged.in_gzip == InGzip::NotAsked { id } else { mix64(id ^ IN_GZIP) },
            bytes: if counts { entry.reply_bytes } else { heard.object_bytes },
            start: entry.sent,
            end: entry.done,
            cachable: judged.cachable,
            counts,
        })
    }
}
