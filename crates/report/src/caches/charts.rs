//! Charts of a bake-off against the rate, the published figures among them.

use super::points::{by_rate, phases};
use crate::document::Drawing;
use crate::plot::chart::{self, Scale, Series};
use crate::studies::curves::published;
use crate::words::key;
use bakeoff_caches::results::{BakeoffResults, EntrantResults, Point};
use bakeoff_plan::study::Study;

/// Response time, hit ratio and CPU against the rate, all entrants in each. What had no rate is in none.
pub(super) fn of(results: &BakeoffResults, study: Option<&Study>) -> Vec<Drawing> {
    type Pick = fn(&Point) -> Option<f64>;
    let lines = |what: &str, dashed: bool, pick: Pick| -> Vec<Series> {
        let line = |at: usize, entrant: &EntrantResults, phase: Option<&str>| Series {
            key: key(at),
            label: match phase {
                Some(phase) => format!("{} {phase}, {what}", entrant.name),
                None => format!("{}, {what}", entrant.name),
            },
            dashed,
            name: None,
            points: by_rate(entrant)
                .into_iter()
                .filter(|point| phase.is_none_or(|phase| point.phase == phase))
                .filter_map(|point| Some((point.rate_per_s?, pick(point)?, point.passed() != Some(false))))
                .collect(),
        };
        let of_phases = |(at, entrant): (usize, &EntrantResults)| -> Vec<Series> {
            phases(entrant).into_iter().map(|phase| line(at, entrant, phase)).collect()
        };
        results.entrants.iter().enumerate().flat_map(of_phases).collect()
    };
    let means = lines("mean", false, |point| Some(point.mean_ns as f64));
    let mut hits = lines("hit ratio", false, |point| point.hit_ratio);
    hits.extend(lines("could be had", true, |point| {
        point.achievable.as_ref().map(|best| best.when_fetched.0)
    }));
    let (time, means) = with_1999("Response time, mean", means, of_1999(study, 0));
    let ratio = "Document hit ratio; dashed: what an endless cache would have had";
    let (ratio, hits) = with_1999(ratio, hits, of_1999(study, 1));
    [
        chart::of(&time, "ns", Scale::Linear, &means, &[]),
        chart::of(&ratio, "share", Scale::Linear, &hits, &[]),
        chart::of(
            "CPU of the cache per request",
            "ns",
            Scale::Linear,
            &lines("CPU", false, |point| point.cpu_per_request_ns.map(|ns| ns as f64)),
            &[],
        ),
        chart::of(
            "Replies per second",
            "1/s",
            Scale::Linear,
            &lines("replies", false, |point| Some(point.reply_rate_per_s)),
            &[],
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// What was published beside what was measured, where anything was.
fn with_1999(caption: &str, mut lines: Vec<Series>, published: Vec<Series>) -> (String, Vec<Series>) {
    if published.is_empty() || lines.iter().all(|line| line.points.is_empty()) {
        return (caption.to_owned(), lines);
    }
    lines.extend(published);
    (format!("{caption}; grey: what was published in 1999"), lines)
}

/// What was published of each product, against the rate; the study's curves are these charts in their order.
fn of_1999(study: Option<&Study>, chart: usize) -> Vec<Series> {
    let curve = study.and_then(|study| Some((study, study.curves.get(chart)?)));
    curve.map_or(Vec::new(), |(study, curve)| published(study, curve, |_| 1.0))
}
