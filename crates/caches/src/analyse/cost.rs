//! CPU cost of a hit, of a miss, and of being there.
//!
//! Regression over the intervals of all rates: CPU = seconds x fixed + hits x hit + misses x miss. The rate tells what
//! is used whether asked or not; the warm-up, in which hits become more, tells hits from misses. The fill is no part of
//! it: a cache that works at full speed wakes up less often for the same request. A rate that its entrant could not keep
//! up with is none either. Rates are the groups of the error, so that one starts from five.

use super::overload::overloaded;
use crate::directory::StoredBakeoff;
use crate::records::{IntervalLine, RunRecord};
use crate::results::{CacheCost, Point};
use bakeoff_stats::{ComponentPrice, CostRow, Level, component_prices};

/// `None` where CPU cannot be read, or the three cannot be told apart.
pub(super) fn of(
    stored: &StoredBakeoff,
    runs: &[(usize, &RunRecord)],
    points: &[Point],
) -> Option<CacheCost> {
    let keeps_up = |order: u32| {
        let mut own = points.iter().filter(|point| point.order == order);
        own.all(|point| point.runs().all(|run| run.cut_short.is_none() && overloaded(run).is_none()))
    };
    let mut rows = Vec::new();
    for (number, run) in runs {
        let Some((group, Some(_))) = run.purpose.measured() else { continue };
        if keeps_up(group) {
            let own = stored.intervals.iter().filter(|line| line.run as usize == *number);
            let own = own.filter(|line| line.is_of_the_plan());
            rows.extend(own.map(|line| row(group, line)).collect::<Option<Vec<_>>>()?);
        }
    }
    let [fixed, hit, miss] = component_prices(&rows, Level::ONCE)?;
    let is_told = |of: &ComponentPrice| of.interval.low > 0.0;
    (is_told(&hit) && is_told(&miss)).then_some(CacheCost {
        hit_ns: hit.price,
        hit_low_ns: hit.interval.low,
        hit_high_ns: hit.interval.high,
        miss_ns: miss.price,
        miss_low_ns: miss.interval.low,
        miss_high_ns: miss.interval.high,
        fixed_ns_per_s: fixed.price,
        fixed_low_ns_per_s: fixed.interval.low,
        fixed_high_ns_per_s: fixed.interval.high,
    })
}

/// An interval's CPU, and what it was used for; `None` if it was not read.
fn row(group: u32, line: &IntervalLine) -> Option<CostRow<3>> {
    let (record, sums) = (&line.interval, &line.interval.sums);
    let hits = sums.hits.traffic.count() as f64;
    // A miss is worked on when it comes and when its reply does: half of each falls into an interval.
    let passed_on = (sums.asked + sums.finished) as f64 / 2.0 - hits;
    Some(CostRow {
        group,
        amounts: [record.span().as_secs_f64(), hits, passed_on.max(0.0)],
        cost: line.cache_cpu_ns? as f64,
        weight: 1.0 / (hits + passed_on).max(1.0),
    })
}
