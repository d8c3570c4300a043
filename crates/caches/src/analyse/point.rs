//! The figures of a run's measured phases, from its record and its intervals.

use super::books::cheats;
use super::overload::KEEPS_UP;
use crate::chance::{self, CHANCE};
use crate::directory::StoredBakeoff;
use crate::plan::CachePlan;
use crate::records::{Achievable, PhaseLine, PhaseUsage, RunRecord};
use crate::results::{CutShort, Gzip, PageResults, PassRule, Point, Tail};
use bakeoff_robots::judge::Weight;
use bakeoff_robots::ledger::{self, Aggregate, LedgerRecord, LevelSum, RecordScope, Sums, TimedTraffic};
use bakeoff_robots::phases::{EndReason, mean_loads};
use bakeoff_stats::{Level, OfBatches, of_batches};
use bakeoff_units::Nanos;

/// Allowed error of a rate by the rule. An hour at 250/s knows it to 0.1 %; if the run is so short that chance alone
/// makes more, chance counts.
const RATE_TOLERANCE: f64 = 0.01;
/// Allowed error of the hit ratio by the rule, against what was offered: a point. Chance counts as with rates.
const HIT_TOLERANCE: f64 = 0.01;

/// The points of a run, one a measured phase; none for a run without a rate, or if nothing was measured.
pub(super) fn of(
    plan: &CachePlan,
    stored: &StoredBakeoff,
    number: usize,
    run: &RunRecord,
    is_cache: bool,
) -> Vec<Point> {
    let Some((order, rate_per_s)) = run.purpose.measured() else { return Vec::new() };
    let loads = loads(plan, run);
    let asked = |line: &PhaseLine| {
        let load = loads.iter().find(|(name, _)| *name == line.phase.phase).map_or(1.0, |(_, load)| *load);
        rate_per_s.map(|rate| rate * load)
    };
    let lines = run.phases.iter().filter(|line| line.measured);
    // Replies of the origin to other parts of the run cannot be told apart, and were not read when all was killed.
    let is_whole = stored.setup.part.is_none() && !run.of_intervals;
    let books = !is_whole || of_entrant(stored, run).all(|run| cheats(run).is_empty());
    let content = content(stored, run);
    let measured = lines.map(|line| Measured {
        plan,
        run,
        line,
        is_cache,
        is_whole,
        books,
        content,
        order,
        rate_per_s,
        asked_per_s: asked(line),
    });
    measured.filter_map(|measured| measured.point(&intervals(stored, number, measured.line))).collect()
}

/// All runs of a run's entrant: who cheats or leaks in one pass has passed in none.
fn of_entrant<'s>(stored: &'s StoredBakeoff, run: &'s RunRecord) -> impl Iterator<Item = &'s RunRecord> {
    let runs = stored.standing().map(|(_, other)| other);
    runs.filter(|other| other.entrant.name == run.entrant.name)
}

/// Whether none of its entrant's runs had a reply that is too bad at any count: a cache that leaked while it was filled
/// leaks.
fn content(stored: &StoredBakeoff, run: &RunRecord) -> bool {
    let phases = of_entrant(stored, run).flat_map(|run| &run.phases);
    let mut faults = phases.flat_map(|line| &line.phase.sums.faults);
    !faults.any(|(fault, count)| *count > 0 && fault.row().harm.at_any_count())
}

/// The mean share of the rate in each phase of a run, by the phase's name.
fn loads<'p>(plan: &'p CachePlan, run: &RunRecord) -> Vec<(&'p str, f64)> {
    let planned = |name: &str| plan.phases().iter().find(|phase| phase.name == name);
    let of_line = |line: &PhaseLine| {
        let (began, ended) = (Nanos::new(line.phase.began_ns), Nanos::new(line.phase.ended_ns));
        Some((planned(&line.phase.phase)?, began, ended))
    };
    let phases: Vec<_> = run.phases.iter().filter_map(of_line).collect();
    let loads = mean_loads(phases.iter().copied());
    phases.iter().map(|(phase, ..)| phase.name.as_str()).zip(loads).collect()
}

/// The highest rate that passed; else the lowest, of those that went to their end if one did.
pub(super) fn telling(points: &[Point]) -> Option<&Point> {
    let rate = |point: &Point| point.rate_per_s.unwrap_or(point.reply_rate_per_s);
    let by_rate = |a: &&Point, b: &&Point| rate(a).total_cmp(&rate(b));
    let passed = points.iter().filter(|point| point.passed() == Some(true)).max_by(by_rate);
    let whole = || points.iter().filter(|point| point.cut_short.is_none()).min_by(by_rate);
    passed.or_else(whole).or_else(|| points.iter().min_by(by_rate))
}

/// Intervals of a phase of the run of this number.
pub(super) fn intervals<'s>(
    stored: &'s StoredBakeoff,
    number: usize,
    line: &PhaseLine,
) -> Vec<&'s LedgerRecord> {
    let of_run = stored.intervals.iter().filter(|interval| interval.run as usize == number);
    let records = of_run.map(|interval| &interval.interval);
    records
        .filter(|record| record.scope == RecordScope::Interval && record.phase == line.phase.phase)
        .collect()
}

/// Hit ratios of simulated caches; older directories have only those of a run's last measured phase.
fn achievable(run: &RunRecord, line: &PhaseLine) -> Option<Achievable> {
    let last = run.phases.iter().rfind(|line| line.measured);
    let older = || last.filter(|last| std::ptr::eq(*last, line)).and(run.achievable);
    line.achievable.or_else(older)
}

/// Reason why a phase did not go to its end.
fn cut_short(line: &PhaseLine) -> Option<CutShort> {
    match line.ended {
        None => Some(CutShort::BrokenOff),
        Some(EndReason::TooManyErrors) => Some(CutShort::TooManyErrors),
        Some(EndReason::TookTooLong) => Some(CutShort::TookTooLong),
        Some(
            EndReason::Duration
            | EndReason::Transactions
            | EndReason::Fill
            | EndReason::Frozen
            | EndReason::Told
            | EndReason::WithoutOthers,
        ) => None,
    }
}

/// A measured phase of a run.
struct Measured<'a> {
    plan: &'a CachePlan,
    run: &'a RunRecord,
    line: &'a PhaseLine,
    is_cache: bool,
    is_whole: bool,
    /// Whether the counts of robots and origin in its run agree.
    books: bool,
    /// Whether no reply of its entrant was private to others, or of other bytes.
    content: bool,
    order: u32,
    rate_per_s: Option<f64>,
    /// The rate of this phase.
    asked_per_s: Option<f64>,
}

impl Measured<'_> {
    fn point(&self, intervals: &[&LedgerRecord]) -> Option<Point> {
        let (phase, sums, used) = (&self.line.phase, &self.line.phase.sums, &self.line.used);
        let response = &sums.replies.response;
        let (mean_low_ns, mean_high_ns) = ends(intervals, |sums| sums.replies.traffic.response_ns);
        let (hit_mean_low_ns, hit_mean_high_ns) = ends(intervals, |sums| sums.hits.traffic.response_ns);
        let (miss_mean_low_ns, miss_mean_high_ns) = ends(intervals, |sums| sums.misses.traffic.response_ns);
        let of_hits =
            batches(intervals, |sums| (sums.from_cache().count() as f64, sums.basic.count() as f64));
        let of_hits = of_hits.and_then(|found| found.interval);
        let of_cache = |ratio: Option<f64>| ratio.filter(|_| self.is_cache);
        let per_request = |ns: u64| ns.checked_div(sums.finished);
        let seen = self.seen()?;
        Some(Point {
            order: self.order,
            pass: self.run.pass,
            rate_per_s: self.rate_per_s,
            asked_rate_per_s: self.asked_per_s,
            phase: phase.phase.clone(),
            cut_short: cut_short(self.line),
            seconds: phase.span().as_secs_f64(),
            request_rate_per_s: seen.request_rate,
            reply_rate_per_s: seen.reply_rate,
            replies: sums.good,
            answered: sums.finished.saturating_sub(sums.unanswered()) + thought_about(self, sums.in_flight),
            error_share: failed_share(self.run, self.line, self.asked_per_s),
            mean_ns: seen.mean_ns,
            mean_low_ns,
            mean_high_ns,
            p50_ns: response.quantile(0.5).get(),
            p95_ns: response.quantile(0.95).get(),
            p99_ns: response.quantile(0.99).get(),
            hit_mean_ns: sums.hits.traffic.response_ns.mean().map(|ns| ns as u64),
            hit_mean_low_ns,
            hit_mean_high_ns,
            miss_mean_ns: sums.misses.traffic.response_ns.mean().map(|ns| ns as u64),
            miss_mean_low_ns,
            miss_mean_high_ns,
            hit_tail: tail(&sums.hits),
            miss_tail: tail(&sums.misses),
            pages: pages(&sums.pages, intervals),
            hit_ratio: seen.hit_ratio,
            hit_ratio_low: seen.hit_ratio.and(of_hits).map(|interval| interval.low.max(0.0)),
            hit_ratio_high: seen.hit_ratio.and(of_hits).map(|interval| interval.high.min(1.0)),
            byte_hit_ratio: of_cache(sums.byte_hit_ratio()),
            offered_hit_ratio: sums.offered_document_hit_ratio(),
            offered_byte_hit_ratio: sums.offered_byte_hit_ratio(),
            two_sided_hit_ratio: of_cache(two_sided(sums.good, used)).filter(|_| self.is_whole),
            achievable: achievable(self.run, self.line),
            gzip: (sums.gzip_asked > 0).then_some(Gzip { asked: sums.gzip_asked, came: sums.gzip_came }),
            fault_share: faults(sums) as f64 / sums.finished.max(1) as f64,
            in_flight_mean: sums.in_flight.mean(phase.span()).unwrap_or(0.0),
            cpu_per_request_ns: used.cache_cpu_ns.and_then(per_request),
            origin_cpu_per_request_ns: used.origin_cpu_ns.and_then(per_request),
            robots_cpu_per_request_ns: per_request(used.robots_cpu_ns).unwrap_or(0),
            lateness_p99_ns: self.run.lateness_p99_ns,
            tls: self.run.tls.clone(),
            rule: if self.is_cache { rule(self.plan, self.asked_per_s, &seen) } else { None },
            passes: Vec::new(),
        })
    }

    fn seen(&self) -> Option<RuleFigures> {
        let (phase, sums) = (&self.line.phase, &self.line.phase.sums);
        Some(RuleFigures {
            whole: cut_short(self.line).is_none(),
            request_rate: phase.asked_per_second()?,
            reply_rate: phase.replies_per_second()?,
            mean_ns: sums.replies.traffic.response_ns.mean()? as u64,
            hit_ratio: sums.document_hit_ratio().filter(|_| self.is_cache),
            offered: sums.offered_document_hit_ratio(),
            endless: achievable(self.run, self.line).map(|best| best.when_fetched.0),
            requests: sums.asked,
            basic: sums.basic.count(),
            books: self.books,
            content: self.content,
        })
    }
}

/// Requests by which more were in flight at a phase's end than at its begin, as far as the origin's think time explains
/// them: they stand in no line, and their replies come in the next phase.
fn thought_about(measured: &Measured<'_>, in_flight: LevelSum) -> u64 {
    let begun = in_flight.last - (in_flight.started as i64 - in_flight.finished as i64);
    let more = u64::try_from(in_flight.last - begun.max(0)).unwrap_or(0);
    let thinking = measured.asked_per_s.unwrap_or(0.0) * measured.plan.think_mean().as_secs_f64();
    more.min(thinking as u64)
}

/// Figures for the rule.
struct RuleFigures {
    whole: bool,
    request_rate: f64,
    reply_rate: f64,
    mean_ns: u64,
    hit_ratio: Option<f64>,
    /// Hit ratio that the workload offered.
    offered: Option<f64>,
    /// Hit ratio of an endless cache for the same requests.
    endless: Option<f64>,
    requests: u64,
    basic: u64,
    books: bool,
    content: bool,
}

/// The rule of 1999, if a cache's runs are judged by it; `asked`: the phase's rate, per second. At a smaller scale of so
/// much that is asked for again the first fetch is still under way that no cache could pass.
fn rule(plan: &CachePlan, asked: Option<f64>, seen: &RuleFigures) -> Option<PassRule> {
    // Over TLS no reply can be a hit.
    plan.hit_ratio.filter(|_| !plan.tls && plan.scale.get() >= 1.0)?;
    let asked = asked?;
    let chance = |count: u64, deviation: f64| CHANCE * deviation / (count.max(1) as f64).sqrt();
    // The number of a Poisson process varies as its root.
    let rate = RATE_TOLERANCE.max(chance(seen.requests, 1.0));
    let near = |per_second: f64| (per_second / asked - 1.0).abs() <= rate;
    let hits =
        |offered: f64| HIT_TOLERANCE.max(chance(seen.basic, (offered * (1.0 - offered)).max(0.0).sqrt()));
    // Short of it an endless cache would fail as well, as in short phases: hits say nothing of a cache then.
    let is_reachable = |offered: &f64| seen.endless.is_none_or(|best| best + hits(*offered) >= *offered);
    let both = seen.hit_ratio.zip(seen.offered.filter(is_reachable));
    Some(PassRule {
        whole: seen.whole,
        mean: seen.mean_ns < plan.mean_bound.get(),
        hit_ratio: both.map(|(seen, offered)| (seen - offered).abs() <= hits(offered)),
        request_rate: near(seen.request_rate),
        reply_rate: near(seen.reply_rate),
        books: seen.books,
        content: seen.content,
    })
}

fn tail(timed: &TimedTraffic) -> Option<Tail> {
    let quantile = |share: f64| timed.response.quantile(share).get();
    (timed.traffic.count() > 0).then(|| Tail {
        replies: timed.traffic.count(),
        p50_ns: quantile(0.5),
        p99_ns: quantile(0.99),
        p999_ns: quantile(0.999),
    })
}

/// Pages, if they have more than one object.
fn pages(pages: &ledger::Pages, intervals: &[&LedgerRecord]) -> Option<PageResults> {
    let mean = pages.response_ns.mean().filter(|_| pages.objects > pages.good)?;
    let (mean_low_ns, mean_high_ns) = ends(intervals, |sums| sums.pages.response_ns);
    Some(PageResults {
        good: pages.good,
        failed: pages.failed,
        objects_mean: pages.objects as f64 / pages.good as f64,
        mean_ns: mean as u64,
        mean_low_ns,
        mean_high_ns,
        p50_ns: pages.response.quantile(0.5).get(),
        p95_ns: pages.response.quantile(0.95).get(),
        p99_ns: pages.response.quantile(0.99).get(),
    })
}

/// Both ends of the interval of a mean time.
fn ends(intervals: &[&LedgerRecord], of: impl Fn(&Sums) -> Aggregate) -> (Option<u64>, Option<u64>) {
    let times = |sums: &Sums| (of(sums).sum as f64, of(sums).count as f64);
    let found = batches(intervals, times).and_then(|found| found.interval);
    found.map(|interval| (interval.low.max(0.0) as u64, interval.high as u64)).unzip()
}

fn batches(intervals: &[&LedgerRecord], of: impl Fn(&Sums) -> (f64, f64)) -> Option<OfBatches> {
    let batches: Vec<(f64, f64)> = intervals.iter().map(|record| of(&record.sums)).collect();
    of_batches(&batches, Level::ONCE)
}

/// Share of the robots' replies that the origin did not answer. Its 304s are answers: the cache may have asked by
/// itself or only passed them on, which cannot be told apart. Below 0 if a cache makes more requests than it gets.
fn two_sided(robots: u64, used: &PhaseUsage) -> Option<f64> {
    let origin = used.origin_replies;
    (robots > 0).then(|| (robots as f64 - origin as f64) / robots as f64)
}

/// Share of the requests due in the phase that failed, at any time. If robots share connections and none is free, a due
/// request is not even sent: it counts as due if there are more of these than chance explains.
fn failed_share(run: &RunRecord, line: &PhaseLine, asked_per_s: Option<f64>) -> f64 {
    let PhaseLine { phase: LedgerRecord { phase, sums, .. }, .. } = line;
    let of_earlier: u64 = sums.late_failed.values().sum();
    let later: u64 = run.phases.iter().filter_map(|line| line.phase.sums.late_failed.get(phase)).sum();
    let failed = (sums.failed.saturating_sub(of_earlier) + later) as f64;
    let (asked, due) = (sums.asked as f64, asked_per_s.unwrap_or(0.0) * line.phase.span().as_secs_f64());
    let unsent = if asked < chance::fewest(KEEPS_UP, due) { due - asked } else { 0.0 };
    (failed + unsent) / (asked + unsent).max(1.0)
}

/// Faults that are errors of the cache.
fn faults(sums: &Sums) -> u64 {
    sums.faults.iter().filter(|(fault, _)| fault.weight() != Weight::Counted).map(|(_, count)| count).sum()
}
