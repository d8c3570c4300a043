//! The page's part about a search for peaks.

use super::chart::{Chart, Mark, Scale, Series};
use super::page::{apart, key};
use crate::peak::{bound, cells, confirmed, curve, limited_by, quantile, verdict};
use crate::reading::Reading;
use crate::{figures, words};
use bakeoff_results::{PeakArm, PeakResult, PeakTrial};
use serde::Serialize;

/// Everything in `peak.html.j2`.
#[derive(Serialize)]
pub(super) struct View {
    findings: Vec<Finding>,
    ratios: Vec<Said>,
    baseline: String,
    bound: String,
    quantile: String,
    charts: Vec<Chart>,
    curves: Vec<Trials>,
    trials: Vec<Trials>,
}

#[derive(Serialize)]
struct Finding {
    arm: String,
    key: String,
    state: &'static str,
    glyph: &'static str,
    word: &'static str,
    lead: String,
    rest: String,
    facts: Vec<String>,
}

#[derive(Serialize)]
struct Said {
    arm: String,
    key: String,
    sentence: String,
}

#[derive(Serialize)]
struct Trials {
    arm: String,
    key: String,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    number: u32,
    purpose: String,
    time: String,
    cells: Vec<String>,
    verdict: String,
    state: &'static str,
}

impl View {
    pub(super) fn of(reading: &Reading<'_>, peak: &PeakResult) -> Self {
        let arms: Vec<(&str, &PeakArm)> =
            reading.arms().filter_map(|arm| Some((arm, peak.arms.get(arm)?))).collect();
        let ratio = |(name, _): &(&str, &PeakArm)| {
            let sentence = peak.ratios.get(*name)?.sentence.clone();
            Some(Said { arm: (*name).to_owned(), key: key(reading, name), sentence })
        };
        let rows = |all: fn(&PeakArm) -> Vec<&PeakTrial>| {
            let of = |(name, arm): &(&str, &PeakArm)| {
                let rows: Vec<Row> = all(arm).into_iter().map(Row::of).collect();
                (!rows.is_empty()).then(|| Trials { arm: (*name).to_owned(), key: key(reading, name), rows })
            };
            arms.iter().filter_map(of).collect()
        };
        Self {
            findings: arms.iter().map(|(name, arm)| Finding::of(reading, name, arm)).collect(),
            ratios: arms.iter().filter_map(ratio).collect(),
            baseline: reading.baselines(),
            bound: bound(peak),
            quantile: quantile(peak),
            charts: charts(reading, peak, &arms),
            curves: rows(curve),
            trials: rows(|arm| arm.trials.iter().collect()),
        }
    }
}

impl Finding {
    fn of(reading: &Reading<'_>, name: &str, arm: &PeakArm) -> Self {
        let (state, glyph, word) = match arm.finding.as_str() {
            "peak" if arm.precise => ("fine", "\u{25b2}", "highest rate"),
            "peak" => ("open", "\u{25b2}", "highest rate"),
            "at-least" => ("open", "\u{2265}", "at least"),
            "no-rate-passes" => ("costs", "\u{2715}", "no rate"),
            _ => ("invalid", "?", "not measured"),
        };
        let said = |name: &str, value: String| (value != figures::NONE).then(|| format!("{name}: {value}"));
        let mut facts = vec![format!("{} trials", arm.trials.len())];
        facts.extend(said("limited by", limited_by(arm).to_owned()));
        if let Some(passed) = arm.passed_per_s {
            facts.push(format!("3 of 4 trials passed at {}", figures::value("1/s", passed)));
        }
        facts.extend(said("confirmed", confirmed(arm).to_owned()));
        let (lead, rest) = apart(&arm.sentence, word);
        Self {
            arm: name.to_owned(),
            key: key(reading, name),
            state,
            glyph,
            word,
            lead: lead.to_owned(),
            rest: rest.to_owned(),
            facts,
        }
    }
}

impl Row {
    fn of(trial: &PeakTrial) -> Self {
        let state = match trial.verdict.as_str() {
            "passed" => "fine",
            "failed" => "costs",
            _ => "invalid",
        };
        let [rate, p50, quantile, in_flight, cpu, _] = cells(trial);
        Self {
            number: trial.number,
            purpose: trial.purpose.clone(),
            time: figures::span(trial.time_ns),
            cells: vec![rate, p50, quantile, in_flight, cpu],
            verdict: verdict(trial),
            state,
        }
    }
}

/// The curves of all arms, one chart a figure.
fn charts(reading: &Reading<'_>, peak: &PeakResult, arms: &[(&str, &PeakArm)]) -> Vec<Chart> {
    type Pick = fn(&PeakTrial) -> Option<f64>;
    let line = |name: &str, arm: &PeakArm, what: &str, dashed: bool, pick: Pick| Series {
        key: key(reading, name),
        label: format!("{name}, {what}"),
        dashed,
        points: curve(arm)
            .into_iter()
            .filter_map(|trial| Some((trial.rate_per_s, pick(trial)?, trial.verdict == "passed")))
            .collect(),
    };
    let each = |what: &str, dashed: bool, pick: Pick| -> Vec<Series> {
        arms.iter().map(|(name, arm)| line(name, arm, what, dashed, pick)).collect()
    };
    let marks = || {
        let mark = |(name, arm): &(&str, &PeakArm)| {
            let (low, high) = arm.low_per_s.zip(arm.high_per_s)?;
            Some(Mark { key: key(reading, name), at: arm.rate_per_s?, low, high })
        };
        arms.iter().filter_map(mark).collect::<Vec<Mark>>()
    };
    let quantile = quantile(peak);
    let mut times = each(&quantile, false, |trial| trial.quantile_ns.map(|ns| ns as f64));
    times.extend(each("p50", true, |trial| trial.p50_ns.map(|ns| ns as f64)));
    let in_flight = each("in flight", false, |trial| trial.in_flight);
    let cpu = each("CPU per request", false, |trial| trial.cpu_per_request_ns);
    let times_caption = format!("Response time: {quantile}, and p50 dashed");
    let cpu_caption = words::upper_first(words::noun("get", "subject_cpu_per_request"));
    [
        Chart::of(&times_caption, "ns", Scale::Logarithmic, times, marks()),
        Chart::of("Requests in flight, on average", "count", Scale::Logarithmic, in_flight, marks()),
        Chart::of(&cpu_caption, "ns", Scale::Linear, cpu, marks()),
    ]
    .into_iter()
    .flatten()
    .collect()
}
