//! A bake-off over time: every interval of the measured runs.

use super::points::rate;
use crate::document::Drawing;
use crate::plot::chart::{self, Series};
use crate::words::key;
use bakeoff_caches::records::{IntervalLine, RunRecord};
use bakeoff_caches::results::BakeoffResults;

/// A rate, and the charts of its runs.
type Course = (String, Vec<Drawing>);

/// From the highest rate to the lowest.
pub(super) fn courses(
    results: &BakeoffResults,
    runs: &[RunRecord],
    intervals: &[IntervalLine],
) -> Vec<Course> {
    let measured = |run: &RunRecord| run.purpose.measured();
    let mut rates: Vec<(u32, Option<f64>)> = runs.iter().filter_map(measured).collect();
    rates.sort_by(|a, b| b.1.unwrap_or_default().total_cmp(&a.1.unwrap_or_default()).then(a.0.cmp(&b.0)));
    rates.dedup();
    let course = |at: &(u32, Option<f64>)| {
        let here = runs.iter().enumerate().filter(|(_, run)| measured(run) == Some(*at)).collect();
        let charts = charts(results, here, intervals);
        let rate = at.1.map_or_else(|| "best effort".to_owned(), rate);
        (!charts.is_empty()).then_some((rate, charts))
    };
    rates.iter().filter_map(course).collect()
}

fn charts(
    results: &BakeoffResults,
    runs: Vec<(usize, &RunRecord)>,
    intervals: &[IntervalLine],
) -> Vec<Drawing> {
    type Pick = fn(&IntervalLine) -> Option<f64>;
    let charts: [(&str, &str, Pick); 4] = [
        ("Response time, mean", "ns", |line| line.interval.sums.replies.traffic.response_ns.mean()),
        ("Document hit ratio", "share", |line| line.interval.sums.document_hit_ratio()),
        ("CPU of the cache per request", "ns", |line| {
            let finished = line.interval.sums.finished;
            line.cache_cpu_ns.filter(|_| finished > 0).map(|ns| ns as f64 / finished as f64)
        }),
        ("Replies per second", "1/s", |line| line.interval.replies_per_second()),
    ];
    let line = |(number, run): &(usize, &RunRecord), pick: Pick| {
        let at = results.entrants.iter().position(|entrant| entrant.name == run.entrant.name)?;
        let own = intervals.iter().filter(|line| line.run as usize == *number && line.is_of_the_plan());
        let point = |line: &IntervalLine| Some((line.interval.ended_ns as f64 / 1e9, pick(line)?, true));
        let pass = run.pass.map_or_else(String::new, |pass| format!(", pass {pass}"));
        Some(Series {
            key: key(at),
            label: format!("{}{pass}", run.entrant.name),
            dashed: run.second_of.is_some(),
            name: None,
            points: own.filter_map(point).collect(),
        })
    };
    let chart = |(caption, unit, pick): (&str, &str, Pick)| {
        // Nothing that the origin itself answers is a hit.
        let drawn = runs.iter().filter(|(_, run)| unit != "share" || !run.is_direct());
        chart::over_time(caption, unit, drawn.filter_map(|run| line(run, pick)).collect())
    };
    charts.into_iter().filter_map(chart).collect()
}
