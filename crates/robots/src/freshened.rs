//! Lifetimes that the origin gave objects, for telling validations that freshen nothing.
//!
//! Measuring side, hot. Fixed memory: an object's own place in a table, from which another one may drive it. What is
//! forgotten is never said of a cache.

use crate::judge::{Freshness, GRACE_SECS, Hit, JudgedRequest, ReplyJudgement};
use bakeoff_content::mix64;

/// Places, a power of two: 4 MB.
const PLACES: usize = 1 << 18;

/// Of each place the object that was fetched or validated last, and when its lifetime ends, since 1970; made when the
/// first one comes.
#[derive(Debug, Default)]
pub(crate) struct Freshened(Vec<(u64, u64)>);

impl Freshened {
    /// Hears of the reply to a basic request for the object of this id. Returns whether it was validated although it was
    /// fresh.
    pub(crate) fn is_vain(&mut self, id: u64, asked: &JudgedRequest<'_>, judged: &ReplyJudgement) -> bool {
        let was_asked = matches!(judged.hit, Hit::Miss | Hit::Revalidated);
        if !was_asked || !judged.basic() || !judged.cachable || judged.failed() {
            return false;
        }
        if self.0.is_empty() {
            self.0.resize(PLACES, (0, 0));
        }
        let place = &mut self.0[mix64(id) as usize & (PLACES - 1)];
        let (sent, done) = (asked.sent_unix.whole_secs(), asked.done_unix.whole_secs());
        let is_vain =
            judged.hit == Hit::Revalidated && place.0 == id && sent.saturating_add(GRACE_SECS) < place.1;
        let ends = match asked.truth.at_sent.freshness {
            Freshness::Unsaid => 0,
            Freshness::Until(ends) => ends,
            Freshness::For(secs) => done.saturating_add(secs),
        };
        *place = (id, ends);
        is_vain
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::{Accepts, FaultSet, InGzip, Known, RequestKind, RequestOutcome, Truth};
    use bakeoff_units::Nanos;
    use bakeoff_wire::stamp::{Upload, Words};

    fn asked(words: &Words, at: u64, freshness: Freshness) -> JudgedRequest<'_> {
        let known = Known { freshness, ..Known::default() };
        let truth =
            Truth { cachable: true, at_sent: known, between: known, at_done: known, ..Truth::default() };
        JudgedRequest {
            stamp: 1,
            kind: RequestKind::Basic,
            repeat: true,
            accepts: Accepts::Anything,
            upload: Upload::default(),
            words,
            id: b"w1",
            media_type: b"",
            object: None,
            truth,
            begun_unix: Nanos::ZERO,
            sent_unix: Nanos::from_secs(at),
            done_unix: Nanos::from_secs(at),
            fetch: None,
        }
    }

    #[test]
    fn a_validation_is_vain_within_the_lifetime_of_the_last_reply_of_the_origin() {
        let judged = |hit| ReplyJudgement {
            kind: RequestKind::Basic,
            outcome: RequestOutcome::Good,
            hit,
            cachable: true,
            repeat: true,
            offered: true,
            in_gzip: InGzip::NotAsked,
            fetched_for: None,
            is_due: false,
            faults: FaultSet::NONE,
        };
        let (mut freshened, words) = (Freshened::default(), Words::default());
        let mut tell = |at, freshness, hit| freshened.is_vain(7, &asked(&words, at, freshness), &judged(hit));
        let until = Freshness::Until(200);
        assert!(!tell(100, until, Hit::Miss), "a fetch");
        assert!(tell(110, until, Hit::Revalidated) && !tell(198, until, Hit::Revalidated), "clocks differ");
        assert!(!tell(300, Freshness::For(20), Hit::Revalidated), "it was over");
        assert!(tell(310, Freshness::For(20), Hit::Revalidated) && !tell(311, until, Hit::Hit));
        assert!(
            !tell(400, Freshness::Unsaid, Hit::Miss) && !tell(401, until, Hit::Revalidated),
            "none was said"
        );
    }
}
