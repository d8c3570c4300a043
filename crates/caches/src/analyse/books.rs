//! Agreement of robots and origin: the replies that robots got against those that the origin sent, which exposes caches
//! that cheat.
//!
//! Measuring side, cold, pure. Looks at whole runs, as replies of one phase are counted in the next at the other end;
//! not at a part of a run, as the origin counts for all parts. A disagreement is a fault of its own, before all others.

use super::faults::of_both_ends;
use crate::records::{OriginHeard, RunRecord};
use crate::results::FaultCount;
use std::collections::BTreeMap;

/// Number of requests, or share of them, within chance and the habits of honest proxies. A proxy may ask again when a
/// connection of its own was closed, and fetch anew an object that it gives from its store.
const FEW: u64 = 10;
const FEW_SHARE: f64 = 0.01;

/// Cheats that no honest cache shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cheat {
    Fabricated,
    UnexplainedHit,
    Prefetch,
}

/// Whether a fault of this label is one.
pub(super) fn is_cheat(label: &str) -> bool {
    Cheat::ALL.into_iter().any(|cheat| cheat.label() == label)
}

impl Cheat {
    const ALL: [Self; 3] = [Self::Fabricated, Self::UnexplainedHit, Self::Prefetch];

    const fn label(self) -> &'static str {
        match self {
            Self::Fabricated => "fabricated",
            Self::UnexplainedHit => "unexplained-hit",
            Self::Prefetch => "prefetch",
        }
    }

    const fn meaning(self) -> &'static str {
        match self {
            Self::Fabricated => {
                "the reply says that the origin made it for this request, and the origin never did"
            }
            Self::UnexplainedHit => {
                "the reply says that it came from a store, but the origin had sent the object for this very request, or \
                 no fetch of it had ended yet"
            }
            Self::Prefetch => "the origin was asked for what no robot asked for, or for the same twice",
        }
    }
}

/// Counts of both ends in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Books {
    /// Requests of the robots.
    asked: u64,
    /// Of them those that were sent twice.
    resent: u64,
    /// Replies that say the origin made them for this request.
    from_origin: u64,
    /// Replies that say they are from a store.
    from_store: u64,
    /// Of them those that came before any fetch had ended.
    before_fetch: u64,
    /// Requests of robots that the origin answered,
    asks: u64,
    /// of these, answered with 304,
    validations: u64,
    /// and requests of no robot.
    unasked: u64,
}

/// The cheats of a run, with the number of requests of each.
pub(super) fn cheats(run: &RunRecord) -> BTreeMap<Cheat, u64> {
    Books::of(run).map(|books| books.cheats()).unwrap_or_default()
}

/// The cheats of all runs, as faults.
pub(super) fn of(runs: &[(usize, &RunRecord)]) -> impl Iterator<Item = FaultCount> {
    let mut counts: BTreeMap<Cheat, u64> = BTreeMap::new();
    for (cheat, count) in runs.iter().flat_map(|(_, run)| cheats(run)) {
        *counts.entry(cheat).or_default() += count;
    }
    counts.into_iter().map(|(cheat, count)| of_both_ends(cheat.label(), cheat.meaning(), count, runs))
}

impl Books {
    /// Counts of a whole run whose origin said whose requests it answered.
    fn of(run: &RunRecord) -> Option<Self> {
        let mut books = Self { before_fetch: run.hits_before_fetch, ..Self::default() };
        for line in &run.phases {
            let (sums, OriginHeard { asks, unasked }) = (&line.phase.sums, line.used.origin_heard?);
            // A request under way at the end was asked and has not ended.
            books.asked += sums.asked.max(sums.finished);
            books.resent += sums.resent;
            books.from_origin += sums.from_origin;
            books.from_store += sums.from_store;
            books.asks += asks;
            books.validations += line.used.origin_validations;
            books.unasked += unasked;
        }
        (books.asked > 0).then_some(books)
    }

    fn cheats(&self) -> BTreeMap<Cheat, u64> {
        let fabricated = self.from_origin.saturating_sub(self.asks);
        // A request is answered from the store, or by the origin with the object, and not both.
        let sent = self.asks.saturating_sub(self.validations);
        let heard = (sent + self.from_store).saturating_sub(self.asked);
        let found = [
            (Cheat::Fabricated, fabricated),
            (Cheat::UnexplainedHit, heard.max(self.before_fetch)),
            (Cheat::Prefetch, self.unasked.saturating_sub(self.resent)),
        ];
        let few = FEW.max((FEW_SHARE * self.asked as f64) as u64);
        found.into_iter().filter(|(_, count)| *count > few).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thousand requests, half of them hits.
    const HONEST: Books = Books {
        asked: 1_000,
        resent: 3,
        from_origin: 500,
        from_store: 500,
        before_fetch: 0,
        asks: 500,
        validations: 40,
        unasked: 3,
    };

    #[test]
    fn books_that_agree_accuse_nobody_and_each_cheat_has_its_name() {
        let found = |books: Books| books.cheats().into_iter().collect::<Vec<_>>();
        assert_eq!(found(HONEST), []);
        // Nine failed at the cache, nine were answered by the origin and never came back.
        assert_eq!(found(Books { from_origin: 482, asks: 491, from_store: 491, ..HONEST }), []);
        // The store is bypassed: everything is a miss.
        assert_eq!(found(Books { from_origin: 1_000, asks: 1_000, from_store: 0, ..HONEST }), []);

        let everything = Books { asks: 0, validations: 0, unasked: 0, ..HONEST };
        assert_eq!(found(everything), [(Cheat::Fabricated, 500)]);
        let forged = Books { from_origin: 500, asks: 1_000, validations: 0, ..HONEST };
        assert_eq!(found(forged), [(Cheat::UnexplainedHit, 500)]);
        assert_eq!(found(Books { before_fetch: 80, ..HONEST }), [(Cheat::UnexplainedHit, 80)]);
        assert_eq!(found(Books { unasked: 503, ..HONEST }), [(Cheat::Prefetch, 500)]);
        assert_eq!(found(Books { unasked: 13, ..HONEST }), [], "a proxy may ask again now and then");
    }
}
