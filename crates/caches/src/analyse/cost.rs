//! What a hit and a miss cost a cache.
//!
//! A run of PolyMix has the same mix of hits and misses at every rate, so that the two cannot be told apart
//! from rates alone. The fill has hardly any hits: its CPU per request is that of a miss (without think time,
//! but waiting costs no CPU). What a rate used beyond that of its misses is that of its hits.

use super::point::telling;
use crate::records::{Purpose, RunRecord};
use crate::results::{Cost, Point};

/// More hits than that, and a fill does not say what a miss costs.
const FEW_HITS: f64 = 0.05;

/// `None` where CPU cannot be read.
pub(super) fn of(runs: &[(usize, &RunRecord)], points: &[Point]) -> Option<Cost> {
    let point = telling(points)?;
    let per_request = point.cpu_per_request_ns? as f64;
    let at = point.rate_per_s.map_or("robots without a rate".to_owned(), |rate| format!("{rate:.0}/s"));
    match miss(runs) {
        Some(miss_ns) => {
            let hits = point.hit_ratio?;
            let hit_ns = (hits > FEW_HITS).then(|| (per_request - (1.0 - hits) * miss_ns) / hits);
            let how = format!(
                "a miss from the fill, which has hardly any hits; a hit from what {at} used beyond its misses"
            );
            // Less than nothing is no cost: the two were not told apart.
            Some(Cost { hit_ns: hit_ns.filter(|ns| *ns > 0.0), miss_ns, how })
        }
        None => Some(Cost {
            hit_ns: None,
            miss_ns: per_request,
            how: format!("hits and misses of {at} together: there was no fill before to tell them apart"),
        }),
    }
}

/// CPU per request of the fill.
fn miss(runs: &[(usize, &RunRecord)]) -> Option<f64> {
    let (_, fill) = runs.iter().find(|(_, run)| run.purpose == Purpose::Fill)?;
    let line = fill.last_phase()?;
    let sums = &line.phase.sums;
    let few = sums.document_hit_ratio()? < FEW_HITS;
    (few && sums.finished > 0).then_some(line.used.cache_cpu_ns? as f64 / sums.finished as f64)
}
