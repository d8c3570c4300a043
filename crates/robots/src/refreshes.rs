//! Refreshes in the background: fetches by requests that were answered from the store all the same.
//!
//! Measuring side, hot. A cache that refreshes in the background asks the origin with the stamp of a request that it has
//! answered from its store, and gives the reply to later ones. A forged hit looks alike in the counts of both ends; but
//! its own stamp never comes back. A refresh that nobody asks for again does not come back either: so a hit whose
//! lifetime was over may have begun one. Fixed memory: a stamp is a random number, its own place in a table.

use crate::judge::{Hit, ReplyJudgement};

/// Places, a power of two: 2 MB.
const PLACES: usize = 1 << 18;

/// The latest stamp of each place that a hit has answered; made when the first one comes.
#[derive(Debug, Default)]
pub(crate) struct Refreshes(Vec<u64>);

impl Refreshes {
    /// Hears of a request that has ended; `stamp` is its own. Returns how many fetches it explains.
    pub(crate) fn tell(&mut self, stamp: u64, judged: &ReplyJudgement) -> u64 {
        if judged.hit != Hit::Hit {
            return 0;
        }
        if self.0.is_empty() {
            self.0.resize(PLACES, 0);
        }
        let came_back = judged.fetched_for.is_some_and(|of| self.take(of));
        if !judged.is_due {
            self.0[place(stamp)] = stamp;
        }
        u64::from(came_back) + u64::from(judged.is_due)
    }

    fn take(&mut self, stamp: u64) -> bool {
        let there = &mut self.0[place(stamp)];
        let is_there = stamp != 0 && *there == stamp;
        if is_there {
            *there = 0;
        }
        is_there
    }
}

const fn place(stamp: u64) -> usize {
    stamp as usize & (PLACES - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::{FaultSet, InGzip, RequestKind, RequestOutcome};

    const HIT: ReplyJudgement = ReplyJudgement {
        kind: RequestKind::Basic,
        outcome: RequestOutcome::Good,
        hit: Hit::Hit,
        cachable: true,
        repeat: true,
        offered: true,
        in_gzip: InGzip::NotAsked,
        fetched_for: Some(1),
        is_due: false,
        faults: FaultSet::NONE,
    };

    #[test]
    fn a_stamp_that_was_answered_from_the_store_and_comes_back_is_one_refresh() {
        let mut refreshes = Refreshes::default();
        let mut tell = |stamp, of| refreshes.tell(stamp, &ReplyJudgement { fetched_for: Some(of), ..HIT });
        assert_eq!([tell(7, 1), tell(8, 1)], [0, 0]);
        assert_eq!([tell(9, 7), tell(10, 7), tell(11, 8)], [1, 0, 1], "each once");
        assert_eq!([tell(12, 99), tell(13, 0)], [0, 0], "a fetch, and none");
    }

    #[test]
    fn a_hit_whose_lifetime_is_over_may_have_begun_one_and_counts_once() {
        let mut refreshes = Refreshes::default();
        let due = ReplyJudgement { is_due: true, ..HIT };
        assert_eq!(refreshes.tell(7, &due), 1);
        assert_eq!(refreshes.tell(8, &ReplyJudgement { fetched_for: Some(7), ..HIT }), 0);
        assert_eq!(refreshes.tell(9, &ReplyJudgement { hit: Hit::Miss, ..due }), 0);
    }
}
