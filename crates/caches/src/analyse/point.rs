//! A rate's figures, from its run and its intervals.

use crate::directory::Stored;
use crate::plan::CachePlan;
use crate::records::{Purpose, RunRecord};
use crate::results::{Point, Rule};
use bakeoff_robots::judge::Weight;
use bakeoff_robots::ledger::{Record, Scope, Sums};
use bakeoff_stats::{Level, OfBatches, of_batches};

/// How far a rate may be off by the rule. An hour at 250/s knows it to 0.1 %; where the run is so short that
/// chance alone makes more, chance counts.
const RATE_TOLERANCE: f64 = 0.01;
/// How far the hit ratio may be off by the rule: a point. Chance counts as with rates.
const HIT_TOLERANCE: f64 = 0.01;
/// Standard errors that chance is taken for: 99 % of what it does.
const CHANCE: f64 = 2.58;

/// `None` for what is no rate, and where nothing was measured.
pub(super) fn of(
    plan: &CachePlan,
    stored: &Stored,
    number: usize,
    run: &RunRecord,
    is_cache: bool,
) -> Option<Point> {
    let Purpose::Rate { order, rate_per_s } = run.purpose else { return None };
    // What was broken off has phases, and its last one is no measurement.
    if run.failed.is_some() {
        return None;
    }
    let line = run.phases.iter().rfind(|line| line.measured)?;
    let (phase, sums) = (&line.phase, &line.phase.sums);
    let intervals: Vec<&Record> = stored
        .intervals
        .iter()
        .filter(|interval| interval.run as usize == number)
        .map(|interval| &interval.interval)
        .filter(|record| record.scope == Scope::Interval && record.phase == phase.phase)
        .collect();
    let response = &sums.replies.traffic.response_ns;
    let mean = batches(&intervals, |sums| {
        let response = &sums.replies.traffic.response_ns;
        (response.sum as f64, response.count as f64)
    });
    let of_hits = batches(&intervals, |sums| (hits(sums) as f64, sums.basic.count() as f64));
    let per_request = |ns: u64| ns.checked_div(sums.finished);
    let ratio = |above: u64, below: u64| (below > 0).then(|| above as f64 / below as f64);
    let from_cache = sums.hits.traffic.bytes.sum + sums.revalidated.traffic.bytes.sum;
    let offered = sums.offered_hit_bytes;
    let hit_ratio = is_cache.then(|| ratio(hits(sums), sums.basic.count())).flatten();
    let request_rate = phase.asked_per_second()?;
    let reply_rate = phase.replies_per_second()?;
    let interval = |found: &Option<OfBatches>| found.and_then(|found| found.interval);
    let mean_ns = response.mean()? as u64;
    Some(Point {
        order,
        rate_per_s,
        seconds: phase.span().as_secs_f64(),
        request_rate_per_s: request_rate,
        reply_rate_per_s: reply_rate,
        replies: sums.good,
        error_share: ratio(sums.failed, sums.finished).unwrap_or(0.0),
        mean_ns,
        mean_low_ns: interval(&mean).map(|interval| interval.low.max(0.0) as u64),
        mean_high_ns: interval(&mean).map(|interval| interval.high as u64),
        p50_ns: sums.replies.response.quantile(0.5).get(),
        p95_ns: sums.replies.response.quantile(0.95).get(),
        p99_ns: sums.replies.response.quantile(0.99).get(),
        hit_mean_ns: sums.hits.traffic.response_ns.mean().map(|ns| ns as u64),
        miss_mean_ns: sums.misses.traffic.response_ns.mean().map(|ns| ns as u64),
        hit_ratio,
        hit_ratio_low: hit_ratio.and(interval(&of_hits)).map(|interval| interval.low.max(0.0)),
        hit_ratio_high: hit_ratio.and(interval(&of_hits)).map(|interval| interval.high.min(1.0)),
        byte_hit_ratio: is_cache.then(|| ratio(from_cache, sums.basic.bytes.sum)).flatten(),
        offered_hit_ratio: ratio(offered.count, sums.basic.count()),
        offered_byte_hit_ratio: ratio(offered.sum, sums.basic.bytes.sum),
        two_sided_hit_ratio: is_cache.then(|| two_sided(sums.good, line.used.origin_replies)).flatten(),
        achievable: line.achievable.or(run.achievable),
        fault_share: faults(sums) as f64 / sums.finished.max(1) as f64,
        in_flight_mean: sums.in_flight.mean(phase.span()).unwrap_or(0.0),
        cpu_per_request_ns: line.used.cache_cpu_ns.and_then(per_request),
        origin_cpu_per_request_ns: line.used.origin_cpu_ns.and_then(per_request),
        robots_cpu_per_request_ns: per_request(line.used.robots_cpu_ns).unwrap_or(0),
        lateness_p99_ns: run.lateness_p99_ns,
        rule: rule(
            plan,
            rate_per_s,
            &Seen {
                request_rate,
                reply_rate,
                mean_ns,
                hit_ratio,
                requests: sums.asked,
                basic: sums.basic.count(),
            },
        ),
    })
}

/// What the rule looks at.
struct Seen {
    request_rate: f64,
    reply_rate: f64,
    mean_ns: u64,
    hit_ratio: Option<f64>,
    requests: u64,
    basic: u64,
}

/// The rule of 1999.
fn rule(plan: &CachePlan, asked: f64, seen: &Seen) -> Rule {
    let chance = |count: u64, deviation: f64| CHANCE * deviation / (count.max(1) as f64).sqrt();
    // The number of a Poisson process varies as its root.
    let rate = RATE_TOLERANCE.max(chance(seen.requests, 1.0));
    let near = |per_second: f64| (per_second / asked - 1.0).abs() <= rate;
    let ratio = plan.hit_ratio.get();
    let hits = HIT_TOLERANCE.max(chance(seen.basic, (ratio * (1.0 - ratio)).sqrt()));
    Rule {
        mean: seen.mean_ns < plan.mean_bound.get(),
        hit_ratio: seen.hit_ratio.map(|seen| (seen - ratio).abs() <= hits),
        request_rate: near(seen.request_rate),
        reply_rate: near(seen.reply_rate),
    }
}

fn batches(intervals: &[&Record], of: fn(&Sums) -> (f64, f64)) -> Option<OfBatches> {
    let batches: Vec<(f64, f64)> = intervals.iter().map(|record| of(&record.sums)).collect();
    of_batches(&batches, Level::ONCE)
}

/// Hits, those among them that the origin was asked about.
fn hits(sums: &Sums) -> u64 {
    sums.hits.traffic.count() + sums.revalidated.traffic.count()
}

/// What the robots got and the origin did not send. Below 0 where a cache asks for more than it is asked for.
fn two_sided(robots: u64, origin: u64) -> Option<f64> {
    (robots > 0).then(|| (robots as f64 - origin as f64) / robots as f64)
}

/// Faults that are errors of the cache.
fn faults(sums: &Sums) -> u64 {
    sums.faults.iter().filter(|(fault, _)| fault.weight() != Weight::Counted).map(|(_, count)| count).sum()
}
