//! Simulations of ideal caches over a recorded stream of requests.
//!
//! Measuring side, cold, pure functions; all are O(n log n) or better. Two unbounded caches give the most hits there
//! could be at all. One of them knows a reply as soon as it is requested. The other knows it when the fetch has ended,
//! so that repeats in flight are misses. Three caches with a capacity give the hits of a replacement policy. They too
//! know a reply when the fetch has ended: compared with the second unbounded cache they show the cost of the bound. An
//! object that may not be cached is never a hit and takes no room. Requests that are in no ratio bring objects as
//! others do.

mod belady;
mod lru;
mod queue;
mod s3fifo;

use crate::stream::StreamRequest;
use bakeoff_units::{Bytes, Nanos};
use std::collections::HashMap;

/// Requests and hits of a simulated cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Hits {
    /// Requests.
    pub requests: u64,
    /// Hits among them.
    pub hits: u64,
    /// Bytes of all replies.
    pub bytes: u64,
    /// Bytes of the hits.
    pub hit_bytes: u64,
}

impl Hits {
    fn count(&mut self, bytes: u64, hit: bool) {
        self.requests += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        if hit {
            self.hits += 1;
            self.hit_bytes = self.hit_bytes.saturating_add(bytes);
        }
    }

    /// Share of the requests that were hits, 0 to 1.
    pub fn document_ratio(&self) -> Option<f64> {
        (self.requests > 0).then(|| self.hits as f64 / self.requests as f64)
    }

    /// Share of the bytes that were hits, 0 to 1.
    pub fn byte_ratio(&self) -> Option<f64> {
        (self.bytes > 0).then(|| self.hit_bytes as f64 / self.bytes as f64)
    }
}

/// The replacement policy of a bounded cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReplacementPolicy {
    /// The object that was requested longest ago leaves.
    Lru,
    /// S3-FIFO (Yang et al., "FIFO queues are all you need for cache eviction", SOSP 2023): a small queue
    /// of a tenth of the room, a main queue, and the names of what left the small one lately.
    S3Fifo,
    /// Belady's MIN: the object that is requested again last leaves, one that never is first. Exact where objects have
    /// one size, all requests count and fetches take no time. For sizes that differ the best choice is NP-hard to find,
    /// and this is an approximation: it looks at times alone and not at sizes, which favours bytes over documents.
    Belady,
}

impl ReplacementPolicy {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Lru, Self::S3Fifo, Self::Belady];

    /// The word in reports.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Lru => "lru",
            Self::S3Fifo => "s3-fifo",
            Self::Belady => "belady",
        }
    }
}

/// A stream in the order in which requests were sent, with objects numbered from 0 without gaps.
#[derive(Clone, Debug, Default)]
pub struct RequestStream {
    requests: Vec<Dense>,
    objects: usize,
    /// Requests before this time are simulated and not counted.
    from: Nanos,
}

/// A request of a stream.
#[derive(Clone, Copy, Debug)]
struct Dense {
    object: u32,
    cachable: bool,
    counts: bool,
    bytes: u64,
    start: Nanos,
    end: Nanos,
}

impl RequestStream {
    /// From requests in any order; those sent at the same time keep theirs. At most 2^32 - 2 of them are
    /// taken.
    pub fn new(requests: impl IntoIterator<Item = StreamRequest>) -> Self {
        let mut numbers = HashMap::new();
        // The largest number means "never" to policies that look ahead.
        let taken = requests.into_iter().take(u32::MAX as usize - 1);
        let mut sorted: Vec<Dense> = taken
            .map(|request| {
                let next = numbers.len() as u32;
                let object = *numbers.entry(request.object).or_insert(next);
                let StreamRequest { cachable, counts, bytes, start, end, .. } = request;
                Dense { object, cachable, counts, bytes, start, end }
            })
            .collect();
        sorted.sort_by_key(|request| request.start);
        Self { requests: sorted, objects: numbers.len(), from: Nanos::ZERO }
    }

    /// The same, but requests sent before `from` only fill caches: they are in no ratio.
    #[must_use]
    pub const fn counting_from(mut self, from: Nanos) -> Self {
        self.from = from;
        self
    }

    /// Number of requests.
    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// An unbounded cache that knows a reply as soon as it was requested.
    pub fn known_at_once(&self) -> Hits {
        let mut known = vec![false; self.objects];
        self.count(|_, request| std::mem::replace(&mut known[request.object as usize], true))
    }

    /// An unbounded cache that knows a reply when its fetch has ended: the earliest one, where several were under way.
    pub fn known_when_fetched(&self) -> Hits {
        let mut asked = vec![false; self.objects];
        self.when_fetched(|_, request| std::mem::replace(&mut asked[request.object as usize], true))
    }

    /// A cache with this capacity and policy that knows a reply when its fetch has ended. Room is made when the fetch
    /// begins.
    pub fn replay(&self, policy: ReplacementPolicy, capacity: Bytes) -> Hits {
        let (objects, capacity) = (self.objects, capacity.get());
        match policy {
            ReplacementPolicy::Lru => self.ask(lru::Lru::new(objects, capacity)),
            ReplacementPolicy::S3Fifo => self.ask(s3fifo::S3Fifo::new(objects, capacity)),
            ReplacementPolicy::Belady => self.ask(belady::Belady::new(&self.requests, objects, capacity)),
        }
    }

    fn ask(&self, mut cache: impl Cache) -> Hits {
        self.when_fetched(|place, request| cache.ask(place, request.object, request.bytes))
    }

    /// Counts as hits the objects of which `has` says that they are there, once their fetch has ended.
    fn when_fetched(&self, mut has: impl FnMut(usize, &Dense) -> bool) -> Hits {
        let mut known = vec![Nanos::MAX; self.objects];
        self.count(|place, request| {
            let known = &mut known[request.object as usize];
            let there = has(place, request);
            let hit = there && *known <= request.start;
            if !hit {
                *known = if there { request.end.min(*known) } else { request.end };
            }
            hit
        })
    }

    /// Counts the cachable requests for which `hit` is true.
    fn count(&self, mut hit: impl FnMut(usize, &Dense) -> bool) -> Hits {
        let mut hits = Hits::default();
        for (place, request) in self.requests.iter().enumerate() {
            let is_hit = request.cachable && hit(place, request);
            if request.counts && request.start >= self.from {
                hits.count(request.bytes, is_hit);
            }
        }
        hits
    }
}

/// A bounded cache.
trait Cache {
    /// Takes the request at this place of the stream, for an object of so many bytes; returns whether it is a hit. A
    /// missing object is taken in, if there can be room.
    fn ask(&mut self, place: usize, object: u32, bytes: u64) -> bool;
}

#[cfg(test)]
mod tests;
