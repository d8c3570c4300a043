//! Agreement of robots and origin: the replies that robots got against those that the origin sent, which exposes caches
//! that cheat.
//!
//! Measuring side, cold, pure. Looks at whole runs, as replies of one phase are counted in the next at the other end;
//! not at a part of a run, as the origin counts for all parts. A disagreement is a fault of its own, before all others.

use super::faults::of_both_ends;
use crate::records::{OriginHeard, RunRecord};
use crate::results::FaultCount;
use bakeoff_robots::judge::{Class, RunFault};
use std::collections::BTreeMap;

/// Number of requests, or share of them, within chance and the habits of honest proxies. A proxy may ask again when a
/// connection of its own was closed, and fetch anew an object that it gives from its store.
const FEW: u64 = 10;
const FEW_SHARE: f64 = 0.01;

/// Whether a fault of this label is a cheat.
pub(super) fn is_cheat(label: &str) -> bool {
    RunFault::ALL.into_iter().any(|fault| fault.excludes().is_some() && fault.row().name == label)
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
    /// Fetches that were refreshes in the background, or may have been.
    refreshed: u64,
    /// Replies that say they are from a store.
    from_store: u64,
    /// Of them those that came before any fetch had ended.
    before_fetch: u64,
    /// Requests of robots that the origin answered,
    asks: u64,
    /// of these, answered with 304,
    validations: u64,
    /// of which robots saw so many,
    confirmed: u64,
    /// and requests of no robot.
    unasked: u64,
}

/// The cheats of a run, with the number of requests of each.
pub(super) fn cheats(run: &RunRecord) -> BTreeMap<RunFault, u64> {
    let found = Books::of(run).map(|books| books.found()).unwrap_or_default();
    found.into_iter().filter(|(_, seen)| seen.is_cheat).map(|(fault, seen)| (fault, seen.count)).collect()
}

/// What the counts of all runs show, as faults. What is within chance in each run is counted, and no accusation.
pub(super) fn of(runs: &[(usize, &RunRecord)]) -> impl Iterator<Item = FaultCount> {
    let mut all: BTreeMap<RunFault, Disagreement> = BTreeMap::new();
    for (fault, seen) in runs.iter().filter_map(|(_, run)| Books::of(run)).flat_map(|books| books.found()) {
        let sum = all.entry(fault).or_default();
        (sum.count, sum.is_cheat) = (sum.count + seen.count, sum.is_cheat || seen.is_cheat);
    }
    all.into_iter().map(|(fault, seen)| {
        let class = if seen.is_cheat { fault.row().class } else { Class::Counted };
        FaultCount { class, only_counted: !class.accuses(), ..of_both_ends(fault, seen.count, runs) }
    })
}

/// Number of requests on which both ends do not agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Disagreement {
    count: u64,
    /// More than chance and the habits of honest proxies explain.
    is_cheat: bool,
}

impl Books {
    /// Counts of a whole run whose origin said whose requests it answered.
    fn of(run: &RunRecord) -> Option<Self> {
        let mut books = Self { before_fetch: run.hits_before_fetch, ..Self::default() };
        for line in &run.phases {
            let (sums, OriginHeard { asks, unasked, .. }) = (&line.phase.sums, line.used.origin_heard?);
            // A request under way at the end was asked and has not ended.
            books.asked += sums.asked.max(sums.finished);
            books.resent += sums.resent;
            books.from_origin += sums.from_origin;
            books.from_store += sums.from_store;
            books.refreshed += sums.refreshed;
            books.asks += asks;
            books.confirmed += sums.confirmed;
            books.validations += line.used.origin_validations;
            books.unasked += unasked;
        }
        (books.asked > 0).then_some(books)
    }

    /// Everything on which both ends do not agree.
    fn found(&self) -> BTreeMap<RunFault, Disagreement> {
        let fabricated = self.from_origin.saturating_sub(self.asks);
        // A request is answered from the store, or by the origin with the object, and not both, unless the answer
        // refreshes the store in the background.
        let sent = self.asks.saturating_sub(self.validations);
        let heard = (sent + self.from_store).saturating_sub(self.asked + self.refreshed);
        let found = [
            (RunFault::Fabricated, fabricated),
            (RunFault::UnexplainedHit, heard.max(self.before_fetch)),
            (RunFault::Prefetch, self.unasked.saturating_sub(self.resent + self.asked_anew())),
        ];
        let few = FEW.max((FEW_SHARE * self.asked as f64) as u64);
        let disagreement = |count| Disagreement { count, is_cheat: count > few };
        found.into_iter().filter(|(_, count)| *count > 0).map(|(fault, n)| (fault, disagreement(n))).collect()
    }

    /// Requests that a cache may have made again for the same robot, because the origin's 304 to its own condition was of
    /// no use: it has thrown the object out, or answers a range. The robot then sees the second answer alone.
    const fn asked_anew(&self) -> u64 {
        self.validations.saturating_sub(self.confirmed)
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
        refreshed: 0,
        before_fetch: 0,
        asks: 500,
        validations: 40,
        confirmed: 40,
        unasked: 3,
    };

    #[test]
    fn books_that_agree_accuse_nobody_and_each_cheat_has_its_name() {
        let found = |books: Books| {
            let found = books.found().into_iter().filter(|(_, seen)| seen.is_cheat);
            found.map(|(fault, seen)| (fault, seen.count)).collect::<Vec<_>>()
        };
        assert_eq!(found(HONEST), []);
        // Nine failed at the cache, nine were answered by the origin and never came back.
        assert_eq!(found(Books { from_origin: 482, asks: 491, from_store: 491, ..HONEST }), []);
        // The store is bypassed: everything is a miss.
        assert_eq!(found(Books { from_origin: 1_000, asks: 1_000, from_store: 0, ..HONEST }), []);

        let everything = Books { asks: 0, validations: 0, unasked: 0, ..HONEST };
        assert_eq!(found(everything), [(RunFault::Fabricated, 500)]);
        let forged = Books { from_origin: 500, asks: 1_000, validations: 0, ..HONEST };
        assert_eq!(found(forged), [(RunFault::UnexplainedHit, 500)]);
        assert_eq!(found(Books { before_fetch: 80, ..HONEST }), [(RunFault::UnexplainedHit, 80)]);
        assert_eq!(found(Books { unasked: 503, ..HONEST }), [(RunFault::Prefetch, 500)]);
        assert_eq!(found(Books { unasked: 13, ..HONEST }), [], "a proxy may ask again now and then");
    }

    #[test]
    fn few_that_do_not_agree_are_counted_and_refreshes_in_the_background_are_not() {
        let few = Books { unasked: 10, ..HONEST }.found();
        assert_eq!(few.get(&RunFault::Prefetch), Some(&Disagreement { count: 7, is_cheat: false }));
        assert_eq!(HONEST.found(), BTreeMap::new());
        // 300 hits were given while the origin made the object anew for the same requests.
        let background = Books { asks: 840, from_store: 500, ..HONEST };
        let count = |books: Books| books.found().get(&RunFault::UnexplainedHit).map(|seen| seen.count);
        assert_eq!(count(background), Some(300));
        assert_eq!(count(Books { refreshed: 300, ..background }), None);
        assert_eq!(count(Books { refreshed: 100, ..background }), Some(200), "the others are made up");
        // Confirmed by a 304 that was of no use, and then asked for without a condition.
        let anew = Books { unasked: 43, confirmed: 0, ..HONEST };
        assert_eq!((anew.found(), Books { unasked: 44, ..anew }.found().len()), (BTreeMap::new(), 1));
    }
}
