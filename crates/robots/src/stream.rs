//! The requests of a run as input for simulations of ideal caches, and the count of hits that no cache can have had.
//!
//! Measuring side. Owns the form of these requests; stores none.

use crate::judge::{Hit, InGzip, RequestKind, RequestOutcome};
use crate::robots::FinishedRequest;
use bakeoff_content::mix64;
use bakeoff_units::Nanos;
use std::collections::HashMap;

/// Tells the form in gzip from the object as it is.
const IN_GZIP: u64 = 0x6219;

/// A hit that ends so long before a fetch of its object ends was not waiting for that fetch: a request that joins a
/// fetch ends with it, but for the order in which robots read replies.
const TOGETHER: Nanos = Nanos::from_millis(250);

/// Hits that ended before any fetch of their object had ended, so that the reply came from elsewhere. An object without
/// a fetch in the stream, as where all of them failed, says nothing.
pub fn hits_before_fetch(stream: &[StreamRequest]) -> u64 {
    let mut fetched: HashMap<u64, Nanos> = HashMap::new();
    for fetch in stream.iter().filter(|request| !request.hit) {
        let first = fetched.entry(fetch.object).or_insert(fetch.end);
        *first = fetch.end.min(*first);
    }
    let is_early =
        |hit: &&StreamRequest| fetched.get(&hit.object).is_some_and(|end| hit.end + TOGETHER < *end);
    stream.iter().filter(|request| request.hit).filter(is_early).count() as u64
}

/// A hit that took so many times the median of all, and so long, has waited for something.
const SLOW_TIMES: u64 = 100;
const SLOW_AT_LEAST: Nanos = Nanos::from_millis(100);

/// Hits that took out of all proportion while no fetch of their object was under way: a request that joins a fetch waits
/// for it, and is right to.
pub fn slow_hits(stream: &[StreamRequest]) -> u64 {
    let hits = || stream.iter().filter(|request| request.hit && request.counts);
    let mut times: Vec<Nanos> = hits().map(StreamRequest::took).collect();
    let middle = times.len() / 2;
    if times.is_empty() {
        return 0;
    }
    let (_, median, _) = times.select_nth_unstable(middle);
    let limit = SLOW_AT_LEAST.max(Nanos::new(median.get().saturating_mul(SLOW_TIMES)));
    let slow: Vec<&StreamRequest> = hits().filter(|hit| hit.took() > limit).collect();
    let mut fetches: HashMap<u64, Vec<&StreamRequest>> =
        slow.iter().map(|hit| (hit.object, Vec::new())).collect();
    for fetch in stream.iter().filter(|request| !request.hit) {
        if let Some(known) = fetches.get_mut(&fetch.object) {
            known.push(fetch);
        }
    }
    let is_alone = |hit: &&StreamRequest| {
        let of_it = fetches.get(&hit.object).map_or(&[][..], Vec::as_slice);
        of_it.iter().all(|fetch| fetch.end < hit.start || hit.end < fetch.start)
    };
    slow.into_iter().filter(is_alone).count() as u64
}

/// One request by which a cache may have come to know an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StreamRequest {
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
    /// Whether its reply came from a store, without a word of the origin.
    pub hit: bool,
    /// Whether it counts in the ratios, as basic requests do. Others bring an object that may be requested later.
    pub counts: bool,
}

impl StreamRequest {
    const fn took(&self) -> Nanos {
        self.end.since(self.start)
    }

    /// A request that has ended; `None` if no cache could have got anything from it: failed requests, POSTs, and
    /// uncachable ones that are in no ratio. Any other may have a cache fetch the whole object, as some do for HEAD,
    /// for a range, and for an aborted request.
    pub fn answered(heard: &FinishedRequest<'_>) -> Option<Self> {
        let (entry, judged) = (heard.entry, &heard.entry.judged);
        let counts = judged.basic() && judged.outcome == RequestOutcome::Good;
        let answered = matches!(judged.outcome, RequestOutcome::Good | RequestOutcome::Aborted);
        let brings = !judged.basic() && answered && judged.cachable && judged.kind != RequestKind::Post;
        let id = heard.flight.name.object_id().get();
        (counts || brings).then(|| Self {
            object: if judged.in_gzip == InGzip::NotAsked { id } else { mix64(id ^ IN_GZIP) },
            bytes: if counts { entry.reply_bytes } else { heard.object_bytes },
            start: entry.sent,
            end: entry.done,
            cachable: judged.cachable,
            hit: judged.hit == Hit::Hit,
            counts,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(object: u64, start_ms: u64, end_ms: u64, hit: bool) -> StreamRequest {
        let (start, end) = (Nanos::from_millis(start_ms), Nanos::from_millis(end_ms));
        StreamRequest { object, bytes: 1, start, end, cachable: true, hit, counts: true }
    }

    #[test]
    fn a_hit_is_slow_out_of_all_proportion_unless_it_waits_for_a_fetch() {
        let quick: Vec<_> = (0..100).map(|n| request(n, 5_000, 5_002, true)).collect();
        let slow = |more: &[StreamRequest]| slow_hits(&[&quick[..], more].concat());
        assert_eq!(slow(&[request(1, 5_000, 5_200, true)]), 0, "a hundred times the median");
        let hit = request(1, 5_000, 5_201, true);
        assert_eq!(slow(&[hit]), 1);
        assert_eq!(slow(&[hit, request(1, 1_000, 4_000, false)]), 1, "that was long over");
        assert_eq!(slow(&[hit, request(1, 3_000, 5_190, false)]), 0, "it joined the fetch");
        assert_eq!(slow(&[hit, request(2, 3_000, 5_190, false)]), 1, "another object's");
        assert_eq!(slow(&[request(1, 5_000, 5_201, false)]), 0, "a miss");
        assert_eq!(slow_hits(&[]), 0);
    }

    #[test]
    fn a_hit_is_early_where_every_fetch_of_its_object_ends_later() {
        let fetch = request(1, 0, 3_000, false);
        let early = |hits: &[StreamRequest]| hits_before_fetch(&[&[fetch], hits].concat());
        assert_eq!(early(&[request(1, 3_100, 3_110, true)]), 0);
        assert_eq!(early(&[request(1, 500, 2_990, true)]), 0, "it joined the fetch");
        assert_eq!(early(&[request(1, 500, 510, true)]), 1);
        assert_eq!(early(&[request(1, 500, 510, true), request(1, 600, 610, true)]), 2, "a hit is no fetch");
        assert_eq!(early(&[request(2, 500, 510, true)]), 0, "its fetch has failed");
        assert_eq!(early(&[request(1, 100, 200, false), request(1, 500, 510, true)]), 0, "by a second fetch");
    }
}
