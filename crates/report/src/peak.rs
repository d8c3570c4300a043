//! Questions to a search for peaks, asked by every kind of report, and its trials as CSV.

use crate::figures::{self, NONE};
use bakeoff_results::{PeakArm, PeakResult, PeakTrial, Results};

/// `sustains 5210/s` needs the arm before it; this is the number alone: `5210/s`, `at least 8000/s`.
pub(crate) fn rate(arm: &PeakArm) -> String {
    let rate = arm.rate_per_s.map_or(NONE.to_owned(), |rate| figures::value("1/s", rate));
    match arm.finding.as_str() {
        "peak" => rate,
        "at-least" => format!("at least {rate}"),
        _ => NONE.to_owned(),
    }
}

/// `5150..5280/s`
pub(crate) fn interval(arm: &PeakArm) -> String {
    let Some((low, high)) = arm.low_per_s.zip(arm.high_per_s) else { return NONE.to_owned() };
    let low = figures::value("1/s", low);
    format!("{}..{}", low.trim_end_matches("/s"), figures::value("1/s", high))
}

/// What keeps the rate from being higher, in a word.
pub(crate) fn limited_by(arm: &PeakArm) -> &str {
    arm.binding.as_deref().or(arm.limit.as_deref()).unwrap_or(NONE)
}

/// Whether the long trial held, in a word.
pub(crate) fn confirmed(arm: &PeakArm) -> &str {
    match arm.confirmed.as_str() {
        "passed" => "yes",
        "failed" => "no",
        "void" => "void",
        _ => NONE,
    }
}

/// The trials of the curve, by rate.
pub(crate) fn curve(arm: &PeakArm) -> Vec<&PeakTrial> {
    let mut curve: Vec<&PeakTrial> = arm.trials.iter().filter(|trial| trial.purpose == "curve").collect();
    curve.sort_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s));
    curve
}

/// `p99`
pub(crate) fn quantile(peak: &PeakResult) -> String {
    format!("p{}", peak.setup.quantile * 100.0)
}

/// `passed`, `failed: latency, queue`
pub(crate) fn verdict(trial: &PeakTrial) -> String {
    match trial.reasons.is_empty() {
        true => trial.verdict.clone(),
        false => format!("{}: {}", trial.verdict, trial.reasons.join(", ")),
    }
}

/// A time, or that there was none.
pub(crate) fn time(ns: Option<u64>) -> String {
    ns.map_or(NONE.to_owned(), |ns| figures::value("ns", ns as f64))
}

/// A trial's figures: rate, median, bounded quantile, in flight, CPU per request, verdict.
pub(crate) fn cells(trial: &PeakTrial) -> [String; 6] {
    [
        figures::value("1/s", trial.rate_per_s),
        time(trial.p50_ns),
        time(trial.quantile_ns),
        trial.in_flight.map_or(NONE.to_owned(), figures::plain),
        trial.cpu_per_request_ns.map_or(NONE.to_owned(), |ns| figures::value("ns", ns)),
        verdict(trial),
    ]
}

/// What every trial was judged by.
pub(crate) fn bound(peak: &PeakResult) -> String {
    format!(
        "{} of the response time at most {} ({})",
        quantile(peak),
        figures::value("ns", peak.setup.slo_ns as f64),
        peak.setup.slo_reason
    )
}

/// How many trials there were, of all arms.
pub(crate) fn trials(peak: &PeakResult) -> usize {
    peak.arms.values().map(|arm| arm.trials.len()).sum()
}

/// `23 trials, 2 min 05 s, seed 1`
pub(crate) fn extent(results: &Results, peak: &PeakResult) -> String {
    let n = trials(peak);
    let noun = if n == 1 { "trial" } else { "trials" };
    format!("{n} {noun}, {}, seed {}", figures::span(results.duration_ns), results.seed)
}

/// `What rate does tls sustain?`
pub(crate) fn title(order: &[String]) -> String {
    match order {
        [one] => format!("What rate does {one} sustain?"),
        [a, b] => format!("What rates do {a} and {b} sustain?"),
        many => format!("What rates do these {} arms sustain?", many.len()),
    }
}

/// One row a trial, in the order in which they ran, for a search for peaks. Times in nanoseconds,
/// rates per second; empty where there is no figure.
pub fn trials_csv(peak: &PeakResult) -> String {
    let head = [
        "number",
        "arm",
        "purpose",
        "rate_per_s",
        "time_ns",
        "verdict",
        "reasons",
        "due",
        "replies",
        "failed",
        "response_p50_ns",
        "response_quantile_ns",
        "lateness_p99_ns",
        "subject_cpu_per_request_ns",
        "in_flight",
        "growth_low_per_s",
        "growth_high_per_s",
    ];
    let mut all: Vec<(&String, &PeakTrial)> =
        peak.arms.iter().flat_map(|(name, arm)| arm.trials.iter().map(move |trial| (name, trial))).collect();
    all.sort_by_key(|(_, trial)| trial.number);
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut rows = all.into_iter().map(|(arm, trial)| row(arm, trial));
    let written = writer.write_record(head).and_then(|()| rows.try_for_each(|row| writer.write_record(row)));
    written.expect("writing into memory cannot fail, and all rows have one length");
    let bytes = writer.into_inner().expect("writing into memory cannot fail");
    String::from_utf8_lossy(&bytes).into_owned()
}

fn row(arm: &str, trial: &PeakTrial) -> [String; 17] {
    let number = |x: Option<f64>| x.map(|x| x.to_string()).unwrap_or_default();
    let count = |x: Option<u64>| x.map(|x| x.to_string()).unwrap_or_default();
    [
        trial.number.to_string(),
        arm.to_owned(),
        trial.purpose.clone(),
        trial.rate_per_s.to_string(),
        trial.time_ns.to_string(),
        trial.verdict.clone(),
        trial.reasons.join(";"),
        trial.due.to_string(),
        trial.replies.to_string(),
        trial.errors.values().sum::<u64>().to_string(),
        count(trial.p50_ns),
        count(trial.quantile_ns),
        trial.lateness_p99_ns.to_string(),
        number(trial.cpu_per_request_ns),
        number(trial.in_flight),
        number(trial.growth_low),
        number(trial.growth_high),
    ]
}
