//! Outage of a cache, as the robots saw it: killed, and started again.
//!
//! Measuring side. [`Trace::hear`] on the robots' thread, a few numbers a request of runs that have an outage; the rest
//! cold and pure, when the run has ended. Owns the choice of the requests that date each step. Kills and starts
//! nothing.

use super::power::Switched;
use crate::records::{Moments, Outage};
use bakeoff_robots::judge::{Hit, ReplyFault, ReplyJudgement, RequestOutcome};
use bakeoff_robots::ledger::LedgerEntry;
use bakeoff_robots::population::Flight;
use bakeoff_units::Nanos;
use std::collections::{BTreeMap, HashSet};
use std::time::Instant;

/// Every request of a run in the order in which they ended.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    heard: Vec<EndedRequest>,
    /// Start of the run, as nearly as can be told from outside of the load generator: ends are heard a little later, so
    /// that the earliest start that follows is the nearest.
    began: Option<Instant>,
}

/// A request that has ended.
#[derive(Clone, Copy, Debug)]
struct EndedRequest {
    /// The object, as any number that is its own.
    object: u64,
    due: Nanos,
    sent: Nanos,
    done: Nanos,
    became: Became,
    /// Whether there was a reply, of any kind.
    replied: bool,
    /// Whether it was a basic request for an object that may be kept.
    keepable: bool,
}

/// Outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Became {
    Hit,
    Miss,
    /// Good, or broken off on purpose; no basic request.
    Other,
    /// It failed, with its class, or the fault that made it fail.
    Failed(&'static str),
}

impl Trace {
    /// A request has ended just now.
    pub(crate) fn hear(&mut self, flight: &Flight, entry: &LedgerEntry<'_>) {
        let began = Instant::now().checked_sub(entry.done.as_duration());
        self.began = self.began.into_iter().chain(began).min();
        self.heard.push(EndedRequest {
            object: flight.name.object_id().get(),
            due: entry.due,
            sent: entry.sent,
            done: entry.done,
            became: became(&entry.judged),
            replied: entry.status.is_some(),
            keepable: entry.judged.basic() && entry.judged.cachable,
        });
    }
}

fn became(judged: &ReplyJudgement) -> Became {
    match (judged.outcome, judged.hit) {
        (RequestOutcome::Failed(class), _) => Became::Failed(class.as_str()),
        (RequestOutcome::Wrong, _) => {
            Became::Failed(judged.faults.iter().next().map_or("wrong-reply", ReplyFault::label))
        }
        (RequestOutcome::Aborted, _) => Became::Other,
        (RequestOutcome::Good, _) if !judged.basic() => Became::Other,
        (RequestOutcome::Good, Hit::Hit | Hit::Revalidated) => Became::Hit,
        (RequestOutcome::Good, Hit::Miss | Hit::Unknown) => Became::Miss,
    }
}

/// Observations of each outage; none if there were no requests.
pub(super) fn of(trace: &Trace, switched: &[Switched]) -> Vec<Outage> {
    let Some(began) = trace.began else { return Vec::new() };
    let since = |moment: Instant| Nanos::from_duration(moment.saturating_duration_since(began));
    let outage = |(at, one): (usize, &Switched)| {
        let away = Away {
            killed: since(one.killed),
            gone: since(one.gone),
            started: one.started.map(since),
            until: switched.get(at + 1).map_or(Nanos::MAX, |next| since(next.killed)),
        };
        let ready_ns = one.ready.map(|ready| since(ready).get());
        Outage { phase: one.phase.clone(), ready_ns, ..away.seen_in(&trace.heard) }
    };
    switched.iter().enumerate().map(outage).collect()
}

/// An outage's moments, since the start of the run.
#[derive(Clone, Copy, Debug)]
struct Away {
    killed: Nanos,
    gone: Nanos,
    started: Option<Nanos>,
    /// Beginning of the next one.
    until: Nanos,
}

impl Away {
    fn seen_in(self, heard: &[EndedRequest]) -> Outage {
        let before_next = || heard.iter().filter(move |heard| heard.done < self.until);
        let back = |is: fn(&EndedRequest) -> bool| {
            before_next().find(|heard| self.was_sent_after_start(heard) && is(heard)).copied()
        };
        let good = back(EndedRequest::is_good);
        let lost = |heard: &&EndedRequest| {
            !heard.is_good() && heard.done >= self.killed && good.is_none_or(|good| heard.due < good.due)
        };
        let last_failed = good.and(before_next().filter(lost).max_by_key(|heard| heard.due));
        let (known_asked, known_hits) = self.known(heard);
        Outage {
            phase: String::new(),
            killed_ns: self.killed.get(),
            gone_ns: self.gone.get(),
            started_ns: self.started.map(Nanos::get),
            ready_ns: None,
            first_reply: before_next()
                .find(|heard| heard.replied && heard.sent >= self.gone)
                .map(EndedRequest::moments),
            first_good: good.as_ref().map(EndedRequest::moments),
            first_hit: back(|heard| heard.became == Became::Hit).as_ref().map(EndedRequest::moments),
            first_miss: back(|heard| heard.became == Became::Miss).as_ref().map(EndedRequest::moments),
            last_failed: last_failed.map(EndedRequest::moments),
            lost: classes(before_next().filter(lost)),
            known_asked,
            known_hits,
        }
    }

    fn was_sent_after_start(self, heard: &EndedRequest) -> bool {
        self.started.is_some_and(|started| heard.sent >= started)
    }

    /// Of the objects that had been fetched before: those that were asked for again after the start, and those whose
    /// first such request was a hit. A second one would be a hit on what the first has fetched.
    fn known(self, heard: &[EndedRequest]) -> (u64, u64) {
        let kept = heard.iter().filter(|heard| heard.keepable && heard.is_good() && heard.done < self.killed);
        let mut known: HashSet<u64> = kept.map(|heard| heard.object).collect();
        let (mut asked, mut hits) = (0, 0);
        for heard in heard.iter().filter(|heard| heard.done < self.until && self.was_sent_after_start(heard))
        {
            if heard.keepable && heard.is_good() && known.remove(&heard.object) {
                asked += 1;
                hits += u64::from(heard.became == Became::Hit);
            }
        }
        (asked, hits)
    }
}

impl EndedRequest {
    fn is_good(&self) -> bool {
        !matches!(self.became, Became::Failed(_))
    }

    fn moments(&self) -> Moments {
        Moments { due_ns: self.due.get(), sent_ns: self.sent.get(), done_ns: self.done.get() }
    }
}

fn classes<'h>(failed: impl Iterator<Item = &'h EndedRequest>) -> BTreeMap<String, u64> {
    let mut classes = BTreeMap::new();
    for heard in failed {
        if let Became::Failed(class) = heard.became {
            *classes.entry(class.to_owned()).or_default() += 1;
        }
    }
    classes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const REFUSED: Became = Became::Failed("connect-refused");
    const ODD: Became = Became::Failed("unexpected-status");

    /// A request of every third of a second, which takes 10 ms, for these objects.
    fn trace(requests: &[(u64, Became)]) -> Vec<EndedRequest> {
        let heard = |(at, &(object, became)): (usize, &(u64, Became))| {
            let due = third(at as u64);
            let done = due + Nanos::from_millis(10);
            let replied = became != REFUSED;
            EndedRequest { object, due, sent: due, done, became, replied, keepable: true }
        };
        requests.iter().enumerate().map(heard).collect()
    }

    fn third(at: u64) -> Nanos {
        Nanos::new(at * 1_000_000_000 / 3)
    }

    fn moments(at: u64) -> Option<Moments> {
        let due_ns = third(at).get();
        Some(Moments { due_ns, sent_ns: due_ns, done_ns: due_ns + 10_000_000 })
    }

    /// Away from 1.0 s on, started again at 2.0 s.
    const AWAY: Away = Away {
        killed: Nanos::from_millis(990),
        gone: Nanos::from_millis(995),
        started: Some(Nanos::from_millis(1_990)),
        until: Nanos::MAX,
    };

    #[test]
    fn the_requests_around_an_outage_tell_when_the_cache_was_back() {
        use Became::{Hit, Miss};
        let heard = trace(&[
            (1, Miss),
            (2, Miss),
            (1, Hit),
            (3, REFUSED), // from here on it is away
            (4, REFUSED),
            (5, REFUSED),
            (6, REFUSED), // from here on it starts
            (7, ODD),
            (2, Miss), // lost
            (2, Hit),  // and fetched again: says nothing of what survived
            (1, Hit),  // survived
            (8, Miss),
        ]);
        let seen = AWAY.seen_in(&heard);
        assert_eq!((seen.first_reply, seen.first_good), (moments(7), moments(8)));
        assert_eq!((seen.first_miss, seen.first_hit), (moments(8), moments(9)));
        assert_eq!(seen.last_failed, moments(7));
        assert_eq!((seen.known_asked, seen.known_hits), (2, 1));
        let lost = [("connect-refused".to_owned(), 4), ("unexpected-status".to_owned(), 1)];
        assert_eq!(seen.lost, BTreeMap::from(lost));
    }

    #[test]
    fn who_never_came_back_has_no_firsts_and_has_lost_all() {
        let heard =
            trace(&[(1, Became::Miss), (2, Became::Miss), (1, Became::Hit), (1, REFUSED), (1, REFUSED)]);
        for away in [AWAY, Away { started: None, ..AWAY }] {
            let seen = away.seen_in(&heard);
            assert_eq!((seen.first_reply, seen.first_good, seen.last_failed), (None, None, None));
            assert_eq!((seen.known_asked, seen.lost["connect-refused"]), (0, 2));
        }
    }

    #[test]
    fn each_of_two_outages_has_its_own_requests() {
        use Became::{Hit, Miss};
        let began = Instant::now();
        let at = |millis: u64| began + Duration::from_millis(millis);
        let outage = |phase: &str, killed: u64, started: u64| Switched {
            phase: phase.to_owned(),
            killed: at(killed),
            gone: at(killed + 1),
            started: Some(at(started)),
            ready: Some(at(started + 5)),
        };
        let heard = trace(&[(1, Miss), (1, REFUSED), (1, REFUSED), (1, Hit), (1, REFUSED), (1, Miss)]);
        let trace = Trace { heard, began: Some(began) };
        let seen = of(&trace, &[outage("a", 300, 900), outage("b", 1_100, 1_500)]);
        let told = |seen: &Outage| (seen.phase.clone(), seen.first_hit, seen.first_miss, seen.known_hits);
        assert_eq!(told(&seen[0]), ("a".to_owned(), moments(3), None, 1));
        assert_eq!(told(&seen[1]), ("b".to_owned(), None, moments(5), 0));
        assert_eq!((seen[0].killed_ns, seen[0].ready_ns), (300_000_000, Some(905_000_000)));
        assert!(of(&Trace::default(), &[outage("a", 300, 900)]).is_empty());
    }
}
