//! Counters of the origin's threads, and their sum.
//!
//! Hot where requests and replies are counted: each thread has counters of its own, on cache lines of
//! their own, so that counting costs an addition. They are no meters of a comparison: a load run can be
//! reconciled with them.

use crate::busy::{Busy, BusySamples};
use crate::ending::Ending;
use crate::outgoing::Account;
use crate::synthetic_load::{Costs, InPlace};
use crate::way::Way;
use bakeoff_units::Nanos;
use bakeoff_wire::tally::Sent;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// Totals since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OriginCounters {
    /// Requests answered; malformed ones are not counted.
    pub requests: u64,
    /// Replies that the kernel has taken to their last byte; refusals of malformed requests, too.
    pub replies: u64,
    /// Bytes of bodies that the kernel has taken.
    pub body_bytes: u64,
    /// Of the requests, those about objects of a world that were answered with 304.
    pub not_modified: u64,
    /// Of the requests, POSTs about objects of a world.
    pub posts: u64,
    /// Most replies that waited for their time at once, in a world with think times.
    pub waited_at_most: u64,
    /// Delay of the latest of them after its time.
    pub late_at_most: Nanos,
    /// Connections taken.
    pub connections: u64,
    /// Of the requests, those about objects of a world whose stamp had not been answered before.
    pub asks: u64,
    /// Of the requests, the others about objects of a world.
    pub unasked: u64,
    /// Of the requests about objects of a world, those without `Via`,
    pub without_via: u64,
    /// those with a field that was meant for an intermediary alone,
    pub hop_passed: u64,
    /// and those for another host.
    pub other_host: u64,
    /// Turns of the planted costs that were done.
    pub turns: Costs<u64>,
    /// Number of connections that ended for each reason other than the client's wish: label and number, in the order of
    /// labels.
    pub endings: Vec<(&'static str, u64)>,
}

/// The counters of all threads, for their sum.
pub(crate) type Everyone = Arc<[Arc<Counters>]>;

/// Counters of one thread, their only writer.
#[derive(Debug, Default)]
#[repr(align(128))] // two cache lines: the second is fetched with the first
pub(crate) struct Counters {
    requests: AtomicU64,
    replies: AtomicU64,
    body_bytes: AtomicU64,
    not_modified: AtomicU64,
    posts: AtomicU64,
    late_ns: AtomicU64,
    connections: AtomicU64,
    asks: AtomicU64,
    unasked: AtomicU64,
    without_via: AtomicU64,
    hop_passed: AtomicU64,
    other_host: AtomicU64,
    pub(crate) turns: Costs<AtomicU64>,
    /// Time of such a turn.
    pub(crate) in_place: InPlace,
    endings: Mutex<BTreeMap<&'static str, u64>>,
    pub(crate) busy_samples: Mutex<BusySamples>,
}

impl Counters {
    pub(crate) fn request(&self) {
        add(&self.requests, 1);
    }

    /// Counts a request about an object of a world, by whether its stamp is answered for the first time, and by the way
    /// that it came.
    pub(crate) fn asked(&self, is_first: bool, way: Way) {
        add(if is_first { &self.asks } else { &self.unasked }, 1);
        add(&self.without_via, u64::from(!way.via));
        add(&self.hop_passed, u64::from(way.hop_passed));
        add(&self.other_host, u64::from(way.other_host));
    }

    pub(crate) fn sent(&self, account: Account) {
        add(&self.replies, account.replies);
        add(&self.body_bytes, account.body_bytes);
    }

    pub(crate) fn not_modified(&self) {
        add(&self.not_modified, 1);
    }

    pub(crate) fn post(&self) {
        add(&self.posts, 1);
    }

    /// Notes how late a reply was that had waited.
    pub(crate) fn late(&self, by: Nanos) {
        self.late_ns.fetch_max(by.get(), Relaxed);
    }

    pub(crate) fn connection(&self) {
        add(&self.connections, 1);
    }

    pub(crate) fn ended(&self, why: Ending) {
        if let Ok(mut endings) = self.endings.lock() {
            *endings.entry(why.label()).or_default() += 1;
        }
    }

    /// Load of the thread in the last seconds in which there was traffic.
    pub(crate) fn busy(&self) -> Option<Busy> {
        self.busy_samples.lock().ok()?.busy()
    }
}

/// Adds; only one thread writes, so no locked instruction is needed.
pub(crate) fn add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(more), Relaxed);
}

impl OriginCounters {
    /// The figures that are told over the network.
    pub(crate) const fn sent(&self) -> Sent {
        Sent {
            requests: self.requests,
            replies: self.replies,
            validations: self.not_modified,
            posts: self.posts,
            body_bytes: self.body_bytes,
            connections: self.connections,
            asks: self.asks,
            unasked: self.unasked,
            without_via: self.without_via,
            hop_passed: self.hop_passed,
            other_host: self.other_host,
        }
    }
}

/// The sum over threads.
pub(crate) fn sum<'c>(threads: impl IntoIterator<Item = &'c Counters>) -> OriginCounters {
    let mut tally = OriginCounters::default();
    let mut endings = BTreeMap::new();
    for counters in threads {
        tally.requests += counters.requests.load(Relaxed);
        tally.replies += counters.replies.load(Relaxed);
        tally.body_bytes += counters.body_bytes.load(Relaxed);
        tally.not_modified += counters.not_modified.load(Relaxed);
        tally.posts += counters.posts.load(Relaxed);
        tally.late_at_most = tally.late_at_most.max(Nanos::new(counters.late_ns.load(Relaxed)));
        tally.connections += counters.connections.load(Relaxed);
        tally.asks += counters.asks.load(Relaxed);
        tally.unasked += counters.unasked.load(Relaxed);
        tally.without_via += counters.without_via.load(Relaxed);
        tally.hop_passed += counters.hop_passed.load(Relaxed);
        tally.other_host += counters.other_host.load(Relaxed);
        tally.turns.request += counters.turns.request.load(Relaxed);
        tally.turns.in_flight += counters.turns.in_flight.load(Relaxed);
        tally.turns.wakeup += counters.turns.wakeup.load(Relaxed);
        if let Ok(own) = counters.endings.lock() {
            for (label, number) in own.iter() {
                *endings.entry(*label).or_default() += number;
            }
        }
    }
    tally.endings = endings.into_iter().collect();
    tally
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_summed_and_endings_keep_their_names() {
        let [one, two] = [Counters::default(), Counters::default()];
        one.request();
        two.request();
        two.sent(Account { replies: 3, body_bytes: 50 });
        one.connection();
        one.asked(true, Way { via: true, ..Way::default() });
        two.asked(true, Way { hop_passed: true, other_host: true, ..Way::default() });
        two.asked(false, Way::default());
        one.not_modified();
        two.not_modified();
        two.post();
        one.late(Nanos::new(7));
        one.late(Nanos::new(5));
        two.late(Nanos::new(6));
        add(&one.turns.request, 7);
        add(&two.turns.request, 8);
        add(&two.turns.in_flight, 3);
        add(&one.turns.wakeup, 2);
        one.ended(Ending::PeerReset);
        two.ended(Ending::PeerReset);
        two.ended(Ending::BadRequest);
        let tally = sum([&one, &two]);
        assert_eq!((tally.requests, tally.replies, tally.body_bytes, tally.connections), (2, 3, 50, 1));
        assert_eq!((tally.asks, tally.unasked), (2, 1));
        assert_eq!((tally.without_via, tally.hop_passed, tally.other_host), (2, 1, 1));
        assert_eq!(tally.turns, Costs { request: 15, in_flight: 3, wakeup: 2 });
        assert_eq!((tally.not_modified, tally.posts, tally.late_at_most), (2, 1, Nanos::new(7)));
        assert_eq!(tally.endings, [("malformed request", 1), ("reset by the client", 2)]);
    }
}
