//! A guest's rows beside the study that its plan names.
//!
//! Measuring side, cold, pure. The study timed and a guest counts, so the two are shown beside each other and never
//! called comparable.

use crate::results::{Compared, GuestResults, GuestTable, Published, RowResult};
use bakeoff_results::{Standing, StudyRow};

/// Why a row and its published figure have no standing.
const WHY: &str = "instructions were counted, where the study timed";

/// Changes of the last mode, a row a published overhead; the ranges are those over perturbed boots.
pub fn beside(results: &GuestResults) -> Vec<StudyRow> {
    let rows = results.tables.iter().flat_map(|table| table.rows.iter().map(move |row| (table, row)));
    rows.flat_map(|(table, row)| {
        let last = row.modes.last();
        row.published.iter().filter_map(move |published| Some(line(results, table, published, row, last?)))
    })
    .collect()
}

fn line(
    results: &GuestResults,
    table: &GuestTable,
    published: &Published,
    row: &RowResult,
    found: &Compared,
) -> StudyRow {
    let mitigations = if table.mitigations { ", mitigations on" } else { "" };
    StudyRow {
        table: published.table.clone(),
        row: published.row.clone(),
        column: published.column.clone(),
        statement: Some(format!("{}{mitigations}", results.statement)),
        operation: Some(row.name.clone()),
        population: None,
        published: published.text.clone(),
        published_value: published.percent,
        unit: "%".to_owned(),
        doubt: None,
        taken_from: None,
        arm: found.mode.word().to_owned(),
        baseline: table.baseline.word().to_owned(),
        meter: "instructions".to_owned(),
        figure: "change of instructions".to_owned(),
        value: Some(found.change * 100.0),
        low: Some(found.change_low * 100.0),
        high: Some(found.change_high * 100.0),
        standing: Standing::NotComparable,
        said: format!("not comparable: {WHY}"),
    }
}
