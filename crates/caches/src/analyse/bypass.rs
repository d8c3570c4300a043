//! Bypass under load: a hit ratio that falls with the rate, because the cache lets requests past it.
//!
//! Measuring side, cold, pure. InfoLibria's DynaCache did so in 1999: it kept its rate, and gave up its hits. Losses
//! that any cache has at a higher rate, because more is still being fetched or its store has no room, do not count.

use super::words::rate;
use crate::results::{EntrantResults, Point};

/// Least fall that is reported: two points, beyond what is explained.
const FALL: f64 = 0.02;

/// The sentence on an entrant whose hit ratio falls. Reports the lowest rate from which every rate, the highest
/// included, has a hit ratio below that of the lowest rate by more than their intervals and by more than simulation
/// explains.
pub(super) fn words(entrant: &EntrantResults) -> Option<String> {
    let first = entrant.points.first()?;
    let has_hits =
        |point: &&Point| point.phase == first.phase && point.cut_short.is_none() && point.hit_ratio.is_some();
    let counted = entrant.points.iter().filter(has_hits);
    let mut points: Vec<(f64, &Point)> =
        counted.filter_map(|point| Some((point.rate_per_s?, point))).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let ((least, lowest), higher) = points.split_first()?;
    let (past, _) = higher.iter().rev().take_while(|(_, point)| is_apart(lowest, point)).last()?;
    let (most, highest) = higher.last()?;
    Some(format!(
        "it lets requests past its cache from {} on (bypass): {:.1} % of the replies are hits at {}, and {:.1} % at {}, \
         which neither what is still being fetched nor the room of its store explains",
        rate(*past),
        lowest.hit_ratio? * 100.0,
        rate(*least),
        highest.hit_ratio? * 100.0,
        rate(*most),
    ))
}

fn is_apart(lowest: &Point, point: &Point) -> bool {
    let explained = possible(lowest).zip(possible(point)).map_or(0.0, |(low, high)| (low - high).max(0.0));
    let ratios = lowest.hit_ratio.zip(point.hit_ratio);
    let intervals = lowest.hit_ratio_low.zip(point.hit_ratio_high);
    ratios.is_some_and(|(low, high)| low - high >= FALL + explained)
        && intervals.is_some_and(|(low, high)| low - high > explained)
}

/// Hit ratio that a cache with its room could have had for the same requests.
fn possible(point: &Point) -> Option<f64> {
    let best = point.achievable?;
    Some(best.lru.map_or(best.when_fetched.0, |lru| lru.0.min(best.when_fetched.0)))
}
