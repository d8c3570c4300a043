//! A cost over the load: a row for each load and arm, and one word for each arm.
//!
//! Cold, pure. A part of the report like those of `sections`; the page draws it as well (`html/load_curve`).

use crate::document::{Section, Table};
use crate::figures::{self, Change, NONE};
use crate::reading::Reading;
use bakeoff_results::{Comparison, CurveLoad};
use bakeoff_stats::per_second;

/// Nothing where one load was measured.
pub(super) fn section(reading: &Reading<'_>) -> Section {
    let Some(curve) = &reading.bundle.results.curve else { return Section::default() };
    let at = |(place, load)| rows_at(reading, load, place as u32);
    let full_speed = reading.judged().filter_map(|arm| full_speed(reading, arm));
    let rows = curve.loads.iter().enumerate().flat_map(at).chain(full_speed);
    let head = ["load", "arm", "more", "interval", "change", "busy", "late p99"];
    let entries = curve.arms.iter().map(|arm| (arm.arm.as_str(), arm.sentence.as_str()));
    Section::new("Cost over the load").table(Table::new(head, rows)).entries(entries).note(
        "Verdicts stand on the load marked *; full: at full speed, in no test. Busy: share of the subjects' cores that the \
         dearest arm takes at that rate. Late: how late 1 % of the requests were sent, at least.",
    )
}

fn rows_at(reading: &Reading<'_>, load: &CurveLoad, place: u32) -> Vec<Vec<String>> {
    let share = |share: Option<f64>| share.map_or(NONE.to_owned(), figures::share);
    let late = load.lateness_p99_ns.map_or(NONE.to_owned(), |ns| figures::value("ns", ns as f64));
    let machine = [share(load.subject_busy.map(|busy| busy.min(1.0))), late];
    let rate = per_second(load.rate_per_s);
    let name = if load.name == rate { rate } else { format!("{}: {rate}", load.name) };
    let name = if load.decides { format!("{name} *") } else { name };
    let of_arm = |arm: &str| {
        let [more, interval, change] = cost(reading.at_load(arm, place)?);
        Some(vec![name.clone(), arm.to_owned(), more, interval, change])
    };
    let mut rows: Vec<Vec<String>> = reading.judged().filter_map(of_arm).collect();
    let mut first = true;
    for row in &mut rows {
        row.extend(if first { machine.clone() } else { [const { String::new() }; 2] });
        if !first {
            row[0].clear();
        }
        first = false;
    }
    rows
}

fn full_speed(reading: &Reading<'_>, arm: &str) -> Option<Vec<String>> {
    let row = reading.at_full_speed(arm)?;
    let rate = reading.arm(arm)?.full_speed?.replies_per_second;
    let [more, interval, change] = cost(row);
    let [busy, late] = [const { String::new() }; 2];
    Some(vec![format!("full: {}", per_second(rate)), arm.to_owned(), more, interval, change, busy, late])
}

fn cost(row: &Comparison) -> [String; 3] {
    let (amount, share) = (Change::amount(row), Change::of(row));
    [amount.effect, amount.interval, share.effect]
}
