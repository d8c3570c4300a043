//! Tables and lines of a bake-off's entrants.

use super::passes::{apart, spread};
use super::points::{
    by_rate, failures, is_judged, mean, named, passed, passed_head, price, rate, ratio, time,
};
use crate::document::{Section, Table};
use crate::figures;
use bakeoff_caches::clock_in_words;
use bakeoff_caches::results::{
    DirectPath, EntrantResults, FaultCount, FillResults, PageResults, Point, Tail,
};
use bakeoff_caches::transactions::DROPPED;

/// Rates that differ by less, as a share, are shown alike: three digits are.
const SAME_RATE: f64 = 0.005;

/// Whether the phase asked for another rate than its run.
fn asks_for_less(point: &Point) -> bool {
    let both = point.rate_per_s.zip(point.asked_rate_per_s);
    both.is_some_and(|(rate, asked)| (asked / rate - 1.0).abs() > SAME_RATE)
}

/// Response times and hit ratios against the rate; what phases asked for of it, failures and the rule of 1999 where
/// there are any.
pub(super) fn performance(entrant: &EntrantResults) -> Table {
    let points = &entrant.points;
    let less = points.iter().any(asks_for_less);
    let fails = points.iter().any(|point| point.error_share > 0.0);
    let words = passed_head(points.iter());
    let passes = points.iter().any(|point| point.passes.len() > 1);
    let row = |point: &&Point| {
        let mut row = vec![named(entrant, point)];
        row.extend(less.then(|| point.asked_rate_per_s.map_or(figures::NONE.to_owned(), rate)));
        row.extend([rate(point.reply_rate_per_s), mean(Some(point.mean_ns), point.mean_high_ns)]);
        row.extend(passes.then(|| apart(point)));
        row.extend([time(Some(point.p99_ns)), ratio(point.hit_ratio)]);
        row.extend(fails.then(|| failures(point.error_share)));
        row.extend(words.map(|_| passed(point)));
        row
    };
    let mut head = vec!["rate"];
    head.extend(less.then_some("asked"));
    head.extend(["replies", "mean"]);
    head.extend(passes.then_some("passes apart"));
    head.extend(["p99", "hits"]);
    head.extend(fails.then_some("failed"));
    head.extend(words);
    let judged = if is_judged(points.iter()) { JUDGED } else { "" };
    Table::new(head, by_rate(entrant).iter().map(row)).caption(format!("{TIMED}{judged}"))
}

/// Above [`performance`].
const TIMED: &str = "Response time from when a request was due, with its 95 % interval, and document hit ratio; requests of that phase that failed, where any did";
/// Where the rule of 1999 judged.
const JUDGED: &str = "; the last column is the rule of 1999, and what of it did not hold";

/// Hit ratios beside what was offered and what could be had.
pub(super) fn hit_ratios(entrant: &EntrantResults) -> Table {
    if entrant.points.iter().all(|point| point.hit_ratio.is_none()) {
        return Table::default();
    }
    let row = |point: &&Point| {
        let possible = |pick: fn(&bakeoff_caches::records::Achievable) -> Option<f64>| {
            ratio(point.achievable.as_ref().and_then(pick))
        };
        vec![
            named(entrant, point),
            ratio(point.hit_ratio),
            ratio(point.two_sided_hit_ratio),
            ratio(point.byte_hit_ratio),
            ratio(point.offered_hit_ratio),
            possible(|caches| Some(caches.when_fetched.0)),
            possible(|caches| caches.lru.map(|(documents, _)| documents)),
            possible(|caches| caches.s3_fifo.map(|(documents, _)| documents)),
            possible(|caches| caches.belady.map(|(documents, _)| documents)),
        ]
    };
    let head = ["rate", "hits", "two-sided", "bytes", "offered", "endless", "LRU", "S3-FIFO", "Belady"];
    Table::new(head, by_rate(entrant).iter().map(row)).caption("Hit ratios: as the robots saw them, as the origin's count says, by bytes, what the workload offered; and of caches that are simulated on the same requests: endless, and LRU, S3-FIFO and Belady's with the room of the store, all of which have an object when its fetch has ended")
}

/// What a hit takes and what a miss takes, a row each, where there are hits.
pub(super) fn hits_and_misses(entrant: &EntrantResults) -> Table {
    if entrant.points.iter().all(|point| point.hit_mean_ns.is_none()) {
        return Table::default();
    }
    let row = |point: &Point, what: &str, mean: String, tail: Option<Tail>| {
        let quantile = |of: fn(Tail) -> u64| time(tail.map(of));
        let quantiles =
            [quantile(|tail| tail.p50_ns), quantile(|tail| tail.p99_ns), quantile(|tail| tail.p999_ns)];
        [vec![named(entrant, point), what.to_owned(), mean], quantiles.to_vec()].concat()
    };
    let rows = |point: &&Point| {
        let hit = mean(point.hit_mean_ns, point.hit_mean_high_ns);
        let miss = mean(point.miss_mean_ns, point.miss_mean_high_ns);
        [row(point, "a hit", hit, point.hit_tail), row(point, "a miss", miss, point.miss_tail)]
    };
    let head = ["rate", "of", "mean", "p50", "p99", "p99.9"];
    Table::new(head, by_rate(entrant).iter().flat_map(rows)).caption("Mean response times of hits and of misses, with their 95 % intervals, and what half, 99 in a hundred and 999 in a thousand of them do not exceed")
}

/// Pages, where one is more than one object.
pub(super) fn pages(entrant: &EntrantResults) -> Table {
    let row = |point: &Point, pages: &PageResults| {
        vec![
            named(entrant, point),
            figures::count(pages.good),
            figures::plain(pages.objects_mean),
            mean(Some(pages.mean_ns), pages.mean_high_ns),
            time(Some(pages.p50_ns)),
            time(Some(pages.p95_ns)),
            time(Some(pages.p99_ns)),
            figures::count(pages.failed),
        ]
    };
    let points = by_rate(entrant);
    let of_pages = points.iter().filter_map(|point| Some((*point, point.pages.as_ref()?)));
    let head = ["rate", "pages", "objects", "mean", "p50", "p95", "p99", "failed"];
    Table::new(head, of_pages.map(|(point, pages)| row(point, pages))).caption("Pages without a failure, and objects of one; time from when a page's first request was due to the last byte of all it embeds, with the mean's 95 % interval; pages with a failure")
}

/// Replies in gzip, where somebody asked for them.
pub(super) fn in_gzip(entrant: &EntrantResults) -> Table {
    let row = |point: &&Point| {
        let gzip = point.gzip?;
        let share = gzip.came as f64 / gzip.asked as f64;
        Some(vec![
            named(entrant, point),
            figures::count(gzip.asked),
            figures::count(gzip.came),
            ratio(Some(share)),
        ])
    };
    let head = ["rate", "asked in gzip", "came so", "share"];
    Table::new(head, by_rate(entrant).iter().filter_map(row)).caption("Good replies to basic requests of robots that accept gzip, about objects that exist in it, and how many of them came in gzip")
}

/// CPU and queues.
pub(super) fn costs(entrant: &EntrantResults) -> Table {
    // Of a run that was killed nobody has read them.
    let read = |ns: u64| time((ns > 0).then_some(ns));
    let row = |point: &&Point| {
        vec![
            named(entrant, point),
            time(point.cpu_per_request_ns),
            time(point.origin_cpu_per_request_ns),
            read(point.robots_cpu_per_request_ns),
            figures::value("count", point.in_flight_mean.round()),
            read(point.lateness_p99_ns),
        ]
    };
    let head = ["rate", "CPU", "origin", "robots", "in flight", "late p99"];
    Table::new(head, by_rate(entrant).iter().map(row))
        .caption("CPU per request of cache, origin and robots; requests in flight; how late robots sent")
}

/// Handshakes, and what it takes to have a connection; none without TLS.
pub(super) fn handshakes(entrant: &EntrantResults) -> Table {
    let row = |point: &&Point| {
        let tls = point.tls.as_ref()?;
        Some(vec![
            named(entrant, point),
            figures::count(tls.full),
            figures::count(tls.resumed),
            figures::count(tls.failed),
            time(Some(tls.stands_p50_ns)),
            time(Some(tls.handshake_p50_ns)),
            tls.agreed.clone().unwrap_or_else(|| figures::NONE.to_owned()),
        ])
    };
    let head = ["rate", "full", "resumed", "failed", "connection", "handshake", "agreed on"];
    Table::new(head, by_rate(entrant).iter().filter_map(row)).caption("TLS of the run's connections: handshakes of each kind; medians of the time until a connection stood, its tunnel included, and of the handshake after it")
}

/// Above [`faults`].
const FAULTS: &str = "Of all requests that ended in any phase, fill, warm-up and trials among them, the most harmful first: faults \
    against an RFC, breaches of the procedure, what is counted and accuses nobody, and failures";

/// Faults, failures and what is only counted, with what they mean.
pub(super) fn faults(entrant: &EntrantResults) -> Table {
    let text = |fault: &FaultCount| match fault.rfc.as_str() {
        "" => figures::NONE.to_owned(),
        rfc => rfc.to_owned(),
    };
    let row = |(kind, fault): (&str, &FaultCount)| {
        vec![
            fault.label.clone(),
            figures::count(fault.count),
            format!("{:.3} %", fault.share * 100.0),
            if fault.only_counted { "counted" } else { kind }.to_owned(),
            text(fault),
            fault.meaning.clone(),
        ]
    };
    let faults = entrant.faults.iter().map(|fault| (fault.class.word(), fault));
    let all = faults.chain(entrant.errors.iter().map(|error| ("failure", error)));
    let head = ["what", "count", "share", "kind", "RFC", "meaning"];
    Table::new(head, all.map(row)).figures(2).captioned(FAULTS)
}

/// How the store was filled and the peak was found, in words.
pub(super) fn preparation(entrant: &EntrantResults) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(entrant.fill.iter().chain(&entrant.later_fills).map(filled));
    if let Some(why) = &entrant.store_unreadable {
        lines.push(format!("store: how full it is could not be read: {why}"));
    }
    if let Some(peak) = &entrant.peak {
        let found = peak.rate_per_s.map_or("none".to_owned(), rate);
        lines.push(format!("peak: {found}, {}", peak.how));
    }
    lines.extend(spread(entrant));
    if let Some(cost) = &entrant.cost {
        lines.push(format!(
            "CPU: {} a hit, {} a miss, and {} a second, asked or not (regression over the intervals of all rates)",
            price(cost.hit_ns, cost.hit_high_ns),
            price(cost.miss_ns, cost.miss_high_ns),
            price(cost.fixed_ns_per_s, cost.fixed_high_ns_per_s),
        ));
    }
    if let Some(logged) = &entrant.transactions {
        let dropped = match logged.dropped {
            0 => String::new(),
            rows => format!(", {} not ({DROPPED})", figures::count(rows)),
        };
        lines.push(format!(
            "transactions: {} in {} files, {}{dropped}",
            figures::count(logged.rows),
            figures::count(logged.parts),
            figures::value("B", logged.bytes as f64)
        ));
    }
    lines
}

/// `fill in pass 2: 12,345 replies ...`
fn filled(fill: &FillResults) -> String {
    let stored = match (fill.stored_bytes, fill.capacity_bytes) {
        (Some(stored), Some(capacity)) => format!(
            ", {} of {} in the store",
            figures::value("B", stored as f64),
            figures::value("B", capacity as f64)
        ),
        _ => String::new(),
    };
    let evicted = fill.evictions.map(|n| format!(", {} objects thrown out", figures::count(n)));
    let which = fill.pass.map_or_else(String::new, |pass| format!(" in pass {pass}"));
    format!(
        "fill{which}: {} replies with {} of cachable objects in {}{stored}{}; {}",
        figures::count(fill.replies),
        figures::value("B", fill.bytes as f64),
        figures::span((fill.seconds * 1e9) as u64),
        evicted.unwrap_or_default(),
        fill.ended
    )
}

/// The way to the origin, in words.
pub(super) fn path(path: &DirectPath) -> Section {
    Section::new("The way to the origin, without a cache and without think time").always().note(format!(
        "{} and {}/s as fast as it goes; one robot alone waits {} in the mean, {} at the 99th percentile; the origin's \
         clock {}",
        rate(path.replies_per_s),
        figures::value("B", path.bytes_per_s),
        time(Some(path.idle_mean_ns)),
        time(Some(path.idle_p99_ns)),
        clock_in_words(path.clock_ahead_s, "the robots'")
    ))
}
