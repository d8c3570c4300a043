//! The terminal's report of a search for peaks.

use super::layout::{Page, Paint};
use super::{show, warnings};
use crate::peak::{
    bound, cells, confirmed, curve, extent, interval, limited_by, quantile, rate, title, trials,
};
use crate::reading::Reading;
use crate::{figures, handshakes, words};
use bakeoff_results::{PeakArm, PeakResult};

pub(super) fn text(mut page: Page, reading: &Reading<'_>, peak: &PeakResult) -> String {
    let results = &reading.bundle.results;
    let question = words::lower_first(&title(&results.order));
    page.title(&format!("{}: {question}", results.name), &extent(results, peak));
    if words::is_partial(results) {
        page.paragraph(&format!("PARTIAL RESULTS: {}.", words::stopped_by(results)), Paint::Alarm);
    }
    findings(&mut page, reading, peak);
    rates(&mut page, reading, peak);
    for (name, arm) in arms(reading, peak) {
        a_curve(&mut page, peak, name, arm);
    }
    if let Some(section) = handshakes::section(reading) {
        show(&mut page, &section);
    }
    warnings(&mut page, reading);
    conditions(&mut page, reading, peak);
    page.finish()
}

/// In plan order, with their results.
fn arms<'r>(reading: &Reading<'r>, peak: &'r PeakResult) -> Vec<(&'r str, &'r PeakArm)> {
    reading.arms().filter_map(|arm| Some((arm, peak.arms.get(arm)?))).collect()
}

fn findings(page: &mut Page, reading: &Reading<'_>, peak: &PeakResult) {
    let paint = |arm: &PeakArm| match (arm.finding.as_str(), arm.confirmed.as_str()) {
        ("peak", "passed") => Paint::Fine,
        ("no-rate-passes" | "not-measured", _) => Paint::Alarm,
        _ => Paint::Open,
    };
    let found: Vec<_> = arms(reading, peak)
        .into_iter()
        .map(|(name, arm)| (name.to_owned(), arm.sentence.clone(), paint(arm)))
        .collect();
    page.definitions(&found);
    let ratios: Vec<_> = reading
        .arms()
        .filter_map(|arm| Some((arm.to_owned(), peak.ratios.get(arm)?.sentence.clone(), Paint::Plain)))
        .collect();
    if !ratios.is_empty() {
        page.heading(&format!("Against {}", reading.baselines()));
        page.definitions(&ratios);
    }
}

fn rates(page: &mut Page, reading: &Reading<'_>, peak: &PeakResult) {
    page.heading("Highest rate");
    let row = |(name, arm): (&str, &PeakArm)| {
        let passed = arm.passed_per_s.map_or(figures::NONE.to_owned(), |rate| figures::value("1/s", rate));
        vec![
            name.to_owned(),
            rate(arm),
            interval(arm),
            passed,
            arm.trials.len().to_string(),
            limited_by(arm).to_owned(),
            confirmed(arm).to_owned(),
        ]
    };
    let rows: Vec<_> = arms(reading, peak).into_iter().map(row).collect();
    page.table(&["arm", "rate", "interval", "3 of 4 passed", "trials", "limited by", "confirmed"], &rows, 4);
}

fn a_curve(page: &mut Page, peak: &PeakResult, name: &str, arm: &PeakArm) {
    let curve = curve(arm);
    if curve.is_empty() {
        return;
    }
    page.heading(&format!("{name} at ten rates"));
    let rows: Vec<Vec<String>> = curve.into_iter().map(|trial| cells(trial).to_vec()).collect();
    let quantile = quantile(peak);
    page.table(&["rate", "p50", &quantile, "in flight", "CPU/request", "trial"], &rows, 4);
}

fn conditions(page: &mut Page, reading: &Reading<'_>, peak: &PeakResult) {
    let results = &reading.bundle.results;
    let requests = figures::count(results.workload.requests);
    let facts = [
        ("load", results.load.clone()),
        ("bound", bound(peak)),
        ("workload", format!("{}; {requests} requests in all", results.workload.description)),
        ("ended", format!("{} trials, {}", trials(peak), ended(&results.stopped_by))),
    ];
    page.heading("Conditions");
    let entries: Vec<_> =
        facts.into_iter().map(|(name, said)| (name.to_owned(), said, Paint::Plain)).collect();
    page.definitions(&entries);
}

/// Why no more trials were run.
fn ended(stopped_by: &str) -> &str {
    match stopped_by {
        "verdicts" => "every search came to its end",
        "budget" => "the time budget was used up",
        "interrupted" => "the run was interrupted",
        "failed" => "a subject or the machine failed",
        other => other,
    }
}
