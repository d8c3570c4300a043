//! Judging of a worker's replies, with what earlier replies of the run have shown.
//!
//! Measuring side, hot: once a reply. Owns what is remembered between replies: how long the way to the origin takes, and
//! which fetches were refreshes in the background. A reply by itself is judged by [`judge`]; nothing is counted here.

use crate::freshened::Freshened;
use crate::judge::{
    FaultSet, FetchTime, Hit, JudgedRequest, ReceivedReply, ReplyFault, ReplyJudgement, Truth, judge,
    stamp_of,
};
use crate::population::Flight;
use crate::refreshes::Refreshes;
use bakeoff_content::Distribution;
use bakeoff_content::world::{Model, Object};
use bakeoff_units::Nanos;
use bakeoff_wire::stamp::{ReplyStamp, Words};

/// See the module.
#[derive(Debug, Default)]
pub struct Judging {
    /// When the run began, since 1970.
    begun_unix: Nanos,
    /// Think time of the origin, of kinds that have none of their own.
    think: Option<Distribution>,
    /// Most that a reply of the origin took beyond its think time.
    path: Nanos,
    refreshes: Refreshes,
    freshened: Freshened,
    /// The id of the object that was judged last.
    id: Vec<u8>,
    words: Words,
}

/// The moments of a request that has ended, since the start of the run.
#[derive(Clone, Copy, Debug)]
pub struct Sending {
    /// When it was sent.
    pub sent: Nanos,
    /// When its reply was complete, or it had failed.
    pub done: Nanos,
}

impl Judging {
    /// Of a run that begins then, since 1970, and has these words in its stamps.
    pub fn new(begun_unix: Nanos, words: Words) -> Self {
        Self { begun_unix, words, ..Self::default() }
    }

    /// The same before an origin that thinks: what a stored reply's age has in it of its fetch follows from that.
    #[must_use]
    pub fn thinking(mut self, think: Option<Distribution>) -> Self {
        self.think = think;
        self
    }

    /// Judges the reply to a request for this object. `has_sent` tells whether the robots have sent the request with a
    /// stamp.
    pub fn judge(
        &mut self,
        model: &Model,
        (flight, object): (&Flight, &Object),
        times: Sending,
        came: &ReceivedReply<'_>,
        has_sent: impl Fn(u64) -> bool,
    ) -> ReplyJudgement {
        self.id.clear();
        object.name.write_id(model, &mut self.id);
        let (sent_unix, done_unix) = (self.begun_unix + flight.written, self.begun_unix + times.done);
        let kind = model.kinds().get(object.kind);
        let fetch = FetchTime { model, think: self.think.as_ref(), kind: flight.name.kind, path: self.path };
        let asked = JudgedRequest {
            stamp: flight.stamp,
            kind: flight.kind,
            repeat: flight.repeat,
            accepts: flight.accepts,
            upload: flight.upload(),
            words: &self.words,
            id: &self.id,
            media_type: kind.map_or(b"", |kind| kind.media_type.as_bytes()),
            begun_unix: self.begun_unix,
            object: Some(object),
            truth: Truth::of(object, sent_unix, done_unix),
            sent_unix,
            done_unix,
            fetch: Some(fetch),
        };
        let mut judged = judge(&asked, came);
        if judged.faults.has(ReplyFault::FalseHit)
            && was_overtaken(stamp_of(came.head, flight.stamp, &self.words), has_sent)
        {
            let not_false: FaultSet = [ReplyFault::FalseHit].into_iter().collect();
            judged.faults = judged.faults.without(not_false);
        }
        let id = flight.name.object_id().get() ^ judged.in_gzip as u64;
        if self.freshened.is_vain(id, &asked, &judged) {
            judged.faults.add(ReplyFault::VainValidation);
        }
        self.note_path(model, flight, &judged, times.done.since(times.sent));
        judged
    }

    /// The number of fetches that this reply shows to be refreshes in the background. Once a reply.
    pub fn refreshed(&mut self, stamp: u64, judged: &ReplyJudgement) -> u64 {
        self.refreshes.tell(stamp, judged)
    }

    /// The id of the object that was judged last.
    pub fn id(&self) -> &[u8] {
        &self.id
    }

    /// Notes how long the origin's own replies take beyond their think time.
    fn note_path(&mut self, model: &Model, flight: &Flight, judged: &ReplyJudgement, took: Nanos) {
        if judged.hit == Hit::Miss && took > self.path {
            let think = model.think_time(self.think.as_ref(), flight.name.kind, flight.stamp);
            self.path = self.path.max(took.since(think));
        }
    }
}

/// Whether the first request for an object was answered with a reply that a later one had fetched: two requests under
/// way at once may change places, and caches join them. A reply validated for the first request may be either, and is
/// not held against the cache. Cold.
fn was_overtaken(stamp: Option<ReplyStamp<'_>>, has_sent: impl Fn(u64) -> bool) -> bool {
    stamp.is_some_and(|stamp| has_sent(stamp.told.stamp()))
}
