//! All entrants side by side, rate by rate, with letters for those that are equal.

use super::points::{failures, mean, named, price, rate, ratio, time};
use crate::document::{Section, Table};
use crate::experiment::letters;
use crate::figures;
use bakeoff_caches::results::{BakeoffResults, EntrantResults, Point};
use bakeoff_stats::{Interval, groups};

/// Mean response times that differ by less are equal.
const EQUAL: f64 = 0.05;

/// Below the table.
const TOGETHER: &str = "Means with their 95 % intervals, from the fastest to the slowest. Those with a common letter \
    are shown to be equal in mean response time within 5 %, each with each, by their intervals and by what two starts of the \
    baseline differ by; those without one are not thereby different";

/// Below the table of the entrants.
const WORTH: &str = "Up to: replies a second at the highest rate that it went through to its end, in which a hit and a miss take so \
    long. CPU of each by regression, where five rates or more tell hits from misses. Memory: the most that its processes held \
    at the end of a phase, shared pages in each. Store: the most that its own gauge showed. Faults: all that is held \
    against it, in any phase";

/// Everyone at every rate; nothing of one alone, and where nothing was measured.
pub(super) fn section(results: &BakeoffResults) -> Section {
    let section = Section::new("Side by side").id("together").nav("Side by side");
    match results.entrants.len() {
        0 | 1 => section,
        _ => {
            let section = section.table(worth(results)).table(prices(results)).note(WORTH);
            section.table(together(results)).note(TOGETHER)
        }
    }
}

/// A row an entrant: what one chooses by.
fn worth(results: &BakeoffResults) -> Table {
    let entrants = results.entrants.iter().filter(|entrant| !entrant.points.is_empty());
    let row = |entrant: &EntrantResults| {
        let whole = entrant.points.iter().filter(|point| point.cut_short.is_none());
        let highest = whole.max_by(|a, b| a.reply_rate_per_s.total_cmp(&b.reply_rate_per_s));
        let bytes = |bytes: Option<u64>| bytes.map_or(none(), |bytes| figures::value("B", bytes as f64));
        vec![
            entrant.name.clone(),
            highest.map_or(none(), |point| rate(point.reply_rate_per_s)),
            time(highest.and_then(|point| point.hit_mean_ns)),
            time(highest.and_then(|point| point.miss_mean_ns)),
            bytes(entrant.memory_bytes),
            bytes(entrant.stored_bytes),
            if entrant.is_direct() { none() } else { figures::count(entrant.accusations()) },
        ]
    };
    let head = ["entrant", "up to", "a hit takes", "a miss takes", "memory", "store", "faults"];
    Table::new(head, entrants.map(row))
}

/// CPU of a hit and of a miss, where the rates tell them apart.
fn prices(results: &BakeoffResults) -> Table {
    let row = |entrant: &EntrantResults| {
        let cost = entrant.cost.as_ref()?;
        let [hit, miss] = [price(cost.hit_ns, cost.hit_high_ns), price(cost.miss_ns, cost.miss_high_ns)];
        Some([entrant.name.clone(), hit, miss])
    };
    Table::new(["entrant", "CPU a hit", "CPU a miss"], results.entrants.iter().filter_map(row))
}

fn none() -> String {
    figures::NONE.to_owned()
}

fn together(results: &BakeoffResults) -> Table {
    let mut orders: Vec<(u32, &str, f64)> = Vec::new();
    let all = || results.entrants.iter().flat_map(|of| of.points.iter().map(move |point| (of, point)));
    for (_, point) in all() {
        if !orders.iter().any(|(order, phase, _)| (*order, *phase) == (point.order, &point.phase)) {
            orders.push((point.order, &point.phase, point.rate_per_s.unwrap_or_default()));
        }
    }
    // Stable: the phases of a run stay in their order.
    orders.sort_by(|a, b| a.2.total_cmp(&b.2));
    let fails = all().any(|(_, point)| point.error_share > 0.0);
    let rows = orders.iter().flat_map(|(order, phase, _)| {
        let here: Vec<(&EntrantResults, &Point)> =
            all().filter(|(_, point)| (point.order, point.phase.as_str()) == (*order, *phase)).collect();
        at_a_rate(results, here, fails)
    });
    let mut head = vec!["entrant", "rate", "mean", "p99", "hits", "CPU", "replies"];
    head.extend(fails.then_some("failed"));
    head.push("equal");
    Table::new(head, rows)
}

fn at_a_rate(
    results: &BakeoffResults,
    mut here: Vec<(&EntrantResults, &Point)>,
    fails: bool,
) -> Vec<Vec<String>> {
    here.sort_by_key(|(_, point)| point.mean_ns);
    let equal = equal(results, &here);
    let letters = letters(&equal);
    let row = |(entrant, point): &(&EntrantResults, &Point)| {
        let mean = mean(Some(point.mean_ns), point.mean_high_ns);
        let mut row = vec![entrant.name.clone(), named(entrant, point), mean];
        row.extend([time(Some(point.p99_ns)), ratio(point.hit_ratio), time(point.cpu_per_request_ns)]);
        row.push(rate(point.reply_rate_per_s));
        row.extend(fails.then(|| failures(point.error_share)));
        row.push(letters.get(&entrant.name).cloned().unwrap_or_else(|| figures::NONE.to_owned()));
        row
    };
    here.iter().map(row).collect()
}

/// Names of who is shown to be equal to whom.
fn equal(results: &BakeoffResults, here: &[(&EntrantResults, &Point)]) -> Vec<Vec<String>> {
    let starts =
        results.baselines.as_ref().and_then(|both| both.spread.mean).map_or(0.0, |apart| apart.median);
    let logs: Vec<f64> = here.iter().map(|(_, point)| (point.mean_ns.max(1) as f64).ln()).collect();
    let half = |place: usize| {
        let point = here[place].1;
        Some(point.mean_high_ns?.saturating_sub(point.mean_ns) as f64 / point.mean_ns.max(1) as f64)
    };
    let pairwise = |i: usize, j: usize| {
        let width = [half(i)?, half(j)?, starts].iter().map(|half| half * half).sum::<f64>().sqrt();
        let apart = logs[i] - logs[j];
        Some(Interval { low: (apart - width).exp_m1(), high: (apart + width).exp_m1() })
    };
    let found = groups(&logs, &pairwise, EQUAL);
    found.iter().map(|group| group.iter().map(|place| here[*place].0.name.clone()).collect()).collect()
}
