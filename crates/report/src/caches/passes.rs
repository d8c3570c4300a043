//! Passes of a bake-off and the two starts of its baseline: tables and lines that show the noise.

use super::points::{by_rate, mean, named, passed, passed_head, rate, ratio, time};
use crate::document::Table;
use crate::figures;
use bakeoff_caches::results::{Apart, BakeoffResults, BaselinePair, EntrantResults, Point, Spread};

/// Above [`passes`].
const PASSES: &str = "Each pass by itself; above stands their mean. A pass has its entrants in an order of its own, \
    each started and filled anew, and its rates in an order of their own";

/// Above [`baselines`].
pub(super) const TWICE: &str = "The baseline and its second start, which are equal: what they differ by is noise. A difference \
    of two entrants that is no larger says nothing";

/// Every pass; nothing where there was one alone.
pub(super) fn passes(entrant: &EntrantResults) -> Table {
    let words = passed_head(entrant.runs());
    let row = |point: &Point, pass: &Point| {
        let mut row = vec![
            named(entrant, point),
            pass.pass.map_or(figures::NONE.to_owned(), |pass| pass.to_string()),
            rate(pass.reply_rate_per_s),
            mean(Some(pass.mean_ns), pass.mean_high_ns),
            time(Some(pass.p99_ns)),
            ratio(pass.hit_ratio),
            time(pass.cpu_per_request_ns),
        ];
        row.extend(words.map(|_| passed(pass)));
        row
    };
    let of_point = |point: &Point| point.passes.iter().map(|pass| row(point, pass)).collect::<Vec<_>>();
    let mut head = vec!["rate", "pass", "replies", "mean", "p99", "hits", "CPU"];
    head.extend(words);
    Table::new(head, by_rate(entrant).into_iter().flat_map(of_point)).captioned(PASSES)
}

/// The means of both starts of the baseline, side by side; nothing where it had one.
pub(super) fn baselines(results: &BakeoffResults) -> Table {
    let of = |name: &str| results.entrants.iter().find(|entrant| entrant.name == name);
    let both = results.baselines.as_ref().and_then(|both| of(&both.first).zip(of(&both.second)));
    let Some((first, second)) = both else { return Table::default() };
    let pairs: Vec<(&Point, &Point)> =
        by_rate(first).into_iter().filter_map(|point| Some((point, point.like(&second.points)?))).collect();
    let is_cache = pairs.iter().any(|(point, again)| point.hit_ratio.or(again.hit_ratio).is_some());
    let row = |(point, again): &(&Point, &Point)| {
        let mut row = vec![named(first, point)];
        row.extend([time(Some(point.mean_ns)), time(Some(again.mean_ns))]);
        row.push(share_between(point.mean_ns as f64, again.mean_ns as f64));
        if is_cache {
            row.extend([ratio(point.hit_ratio), ratio(again.hit_ratio)]);
            row.extend([time(point.cpu_per_request_ns), time(again.cpu_per_request_ns)]);
            let cpu = point.cpu_per_request_ns.zip(again.cpu_per_request_ns);
            row.push(cpu.map_or(figures::NONE.to_owned(), |(a, b)| share_between(a as f64, b as f64)));
        }
        row
    };
    let mut head = vec!["rate", "mean", "again", "apart"];
    head.extend(is_cache.then_some(["hits", "again", "CPU", "again", "apart"]).into_iter().flatten());
    Table::new(head, pairs.iter().map(row))
}

/// How far the passes of an entrant are apart, in a line.
pub(super) fn spread(entrant: &EntrantResults) -> Option<String> {
    entrant.spread.as_ref().map(|spread| format!("passes: {}", in_words(spread)))
}

/// The same of both starts of the baseline.
pub(super) fn noise(results: &BakeoffResults) -> Option<String> {
    let BaselinePair { first, second, spread } = results.baselines.as_ref()?;
    Some(format!("{first} and {second}: {}", in_words(spread)))
}

/// How far the passes of a point are apart in response time: `3.1 %`.
pub(super) fn apart(point: &Point) -> String {
    let means = || point.passes.iter().map(|pass| pass.mean_ns as f64);
    let (least, most) = (means().fold(f64::INFINITY, f64::min), means().fold(0.0, f64::max));
    if point.passes.len() < 2 { figures::NONE.to_owned() } else { share_between(least, most) }
}

/// `mean response times 2.1 % apart (median of 10; 8.0 % at most), hits 0.3 points (1.1), CPU 1.2 % (4.0)`
fn in_words(spread: &Spread) -> String {
    let percent = |share: f64| format!("{:.1}", share * 100.0);
    let said = |what: &str, unit: &str, apart: &Apart| {
        format!("{what} {}{unit} apart ({} at most)", percent(apart.median), percent(apart.most))
    };
    let all = [
        spread.mean.as_ref().map(|apart| said("mean response times", " %", apart)),
        spread.hit_ratio.as_ref().map(|apart| said("hits", " points", apart)),
        spread.cpu.as_ref().map(|apart| said("CPU", " %", apart)),
    ];
    let all: Vec<String> = all.into_iter().flatten().collect();
    format!("{}; the median of {}", all.join(", "), figures::count(spread.points as u64))
}

/// Of their mean.
fn share_between(a: f64, b: f64) -> String {
    let mean = f64::midpoint(a, b);
    if mean > 0.0 { format!("{:.1} %", (a - b).abs() / mean * 100.0) } else { figures::NONE.to_owned() }
}
