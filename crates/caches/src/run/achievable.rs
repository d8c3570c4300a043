//! Hit ratios of simulated caches for the requests of each phase that counts.
//!
//! Measuring side, cold, pure; between two runs.

use crate::records::{Achievable, PhaseLine};
use bakeoff_robots::ideal::{Hits, ReplacementPolicy, RequestStream};
use bakeoff_robots::stream::StreamRequest;
use bakeoff_units::{Bytes, Nanos};

/// Puts them into the phases. Caches with bounds are simulated if the capacity is known.
pub(super) fn put(phases: &mut [PhaseLine], stream: &[StreamRequest], capacity_bytes: Option<u64>) {
    for line in phases.iter_mut().filter(|line| line.measured) {
        line.achievable = within(stream, line.phase.began_ns, line.phase.ended_ns, capacity_bytes);
    }
}

/// Simulates the requests sent within a phase. Caches have learnt from earlier ones; later ones are unknown to them,
/// and to the one that looks ahead.
fn within(
    stream: &[StreamRequest],
    began_ns: u64,
    ended_ns: u64,
    capacity_bytes: Option<u64>,
) -> Option<Achievable> {
    let until_its_end = stream.iter().copied().filter(|request| request.start.get() < ended_ns);
    let stream = RequestStream::new(until_its_end).counting_from(Nanos::new(began_ns));
    let ratios = |hits: Hits| Some((hits.document_ratio()?, hits.byte_ratio()?));
    let replayed = |policy| ratios(stream.replay(policy, Bytes::new(capacity_bytes?)));
    Some(Achievable {
        at_once: ratios(stream.known_at_once())?,
        when_fetched: ratios(stream.known_when_fetched())?,
        capacity_bytes,
        lru: replayed(ReplacementPolicy::Lru),
        s3_fifo: replayed(ReplacementPolicy::S3Fifo),
        belady: replayed(ReplacementPolicy::Belady),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One request a second, each known at once.
    fn asked(objects: &[u64]) -> Vec<StreamRequest> {
        let at = |second: usize| Nanos::from_secs(second as u64);
        let of = |(second, &object): (usize, &u64)| StreamRequest {
            object,
            bytes: 100,
            start: at(second),
            end: at(second),
            cachable: true,
            hit: false,
            counts: true,
        };
        objects.iter().enumerate().map(of).collect()
    }

    #[test]
    fn a_phase_has_its_own_requests_and_knows_those_before_it() {
        // Four before, four in the first phase, four in the second.
        let stream = asked(&[1, 2, 3, 4, 1, 5, 6, 7, 1, 2, 5, 6]);
        let of = |began: u64, ended: u64, capacity| {
            within(&stream, began * 1_000_000_000, ended * 1_000_000_000, capacity).unwrap()
        };
        assert_eq!(of(4, 8, Some(10_000)).when_fetched, (0.25, 0.25));
        assert_eq!(of(8, 12, Some(10_000)).lru, Some((1.0, 1.0)));
        let unknown = of(8, 12, None);
        assert_eq!((unknown.at_once, unknown.lru, unknown.belady), ((1.0, 1.0), None, None));
        assert_eq!(within(&stream, 20_000_000_000, 30_000_000_000, None), None);
    }
}
