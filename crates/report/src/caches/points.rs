//! Points of a bake-off, a phase at a rate each: their order, names and figures in words.

use crate::figures;
use bakeoff_caches::results::{EntrantResults, PassRule, Point};

/// `54.2 %`; a ratio is told to a tenth of a point.
pub(super) fn ratio(share: Option<f64>) -> String {
    share.map_or(figures::NONE.to_owned(), |share| format!("{:.1} %", share * 100.0))
}

/// `1.37 s`
pub(super) fn time(ns: Option<u64>) -> String {
    ns.map_or(figures::NONE.to_owned(), |ns| figures::value("ns", ns as f64))
}

/// `1.37 s ± 0.02 s`: a mean and half the width of its interval, where that is known. The upper half, as the lower end
/// is cut off at 0.
pub(super) fn mean(ns: Option<u64>, high_ns: Option<u64>) -> String {
    let half = ns.zip(high_ns).map(|(ns, high)| high.saturating_sub(ns));
    time(ns) + &half.map_or(String::new(), |half| format!(" \u{b1} {}", time(Some(half))))
}

/// `0.3 ms ± 0.02 ms`: an estimate, and half the width of its interval.
pub(super) fn price(ns: f64, high_ns: f64) -> String {
    format!("{} \u{b1} {}", figures::value("ns", ns), figures::value("ns", high_ns - ns))
}

pub(super) fn rate(per_second: f64) -> String {
    figures::value("1/s", per_second)
}

/// `yes`, or what did not hold.
fn rule(rule: &PassRule) -> String {
    if rule.passed() {
        return "yes".to_owned();
    }
    let broken = [
        (rule.mean, "mean"),
        (rule.hit_ratio != Some(false), "hits"),
        (rule.request_rate, "requests"),
        (rule.reply_rate, "replies"),
        (rule.content, "content"),
        (rule.books, "books"),
    ];
    let broken: Vec<&str> = broken.iter().filter(|(holds, _)| !holds).map(|(_, word)| *word).collect();
    format!("no: {}", broken.join(", "))
}

/// Points from the lowest rate to the highest, those without a rate as they came.
pub(super) fn by_rate(entrant: &EntrantResults) -> Vec<&Point> {
    let mut points: Vec<&Point> = entrant.points.iter().collect();
    let rate = |point: &Point| point.rate_per_s.unwrap_or_default();
    points.sort_by(|a, b| rate(a).total_cmp(&rate(b)));
    points
}

/// The rate of a point, with its phase where a run has several.
pub(super) fn named(entrant: &EntrantResults, point: &Point) -> String {
    let rate = point.rate_per_s.map_or("best effort".to_owned(), rate);
    match entrant.has_phases() {
        true => format!("{rate} {}", point.phase),
        false => rate,
    }
}

/// Whether any of these was judged by the rule of 1999.
pub(super) fn is_judged<'p>(mut points: impl Iterator<Item = &'p Point>) -> bool {
    points.any(|point| point.rule.is_some())
}

/// `no: mean`, or why it was not measured to its end.
pub(super) fn passed(point: &Point) -> String {
    match (point.cut_short, &point.rule) {
        (Some(why), _) => format!("cut short: {}", why.in_words()),
        (None, Some(judged)) => rule(judged),
        (None, None) => figures::NONE.to_owned(),
    }
}

/// The head of the column of [`passed`], where it has anything to say.
pub(super) fn passed_head<'p>(points: impl Iterator<Item = &'p Point> + Clone) -> Option<&'static str> {
    let cut = points.clone().any(|point| point.cut_short.is_some());
    match is_judged(points) {
        true => Some("passed in 1999"),
        false => cut.then_some("ended"),
    }
}

/// A few in a thousand are not nothing.
pub(super) fn failures(share: f64) -> String {
    match share * 100.0 {
        0.0 => figures::NONE.to_owned(),
        small if small < 0.1 => "< 0.1 %".to_owned(),
        percent => format!("{percent:.1} %"),
    }
}

/// The measured phases that are told apart: each by its name, or all alike where a run has but one.
pub(super) fn phases(entrant: &EntrantResults) -> Vec<Option<&str>> {
    let mut phases = Vec::new();
    for point in &entrant.points {
        let phase = entrant.has_phases().then_some(point.phase.as_str());
        if !phases.contains(&phase) {
            phases.push(phase);
        }
    }
    phases
}
