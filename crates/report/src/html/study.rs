//! A run beside the figures that a study published.

use crate::figures;
use bakeoff_experiment::study::{Standing, StudyRow, StudySection};
use serde::Serialize;

/// The section.
#[derive(Serialize)]
pub(super) struct Beside {
    title: String,
    sources: Vec<String>,
    rows: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    table: String,
    row: String,
    column: String,
    published: String,
    doubt: Option<String>,
    taken_from: Option<String>,
    arms: String,
    figure: String,
    ours: String,
    interval: String,
    said: String,
    quiet: bool,
}

impl Beside {
    pub(super) fn of(section: &StudySection) -> Self {
        Self {
            title: section.title.clone(),
            sources: section.sources.clone(),
            rows: section.rows.iter().map(Line::of).collect(),
        }
    }
}

impl Line {
    fn of(row: &StudyRow) -> Self {
        let (ours, interval) = figures::beside(row);
        Self {
            table: row.table.clone(),
            row: row.row.clone(),
            column: row.column.clone(),
            published: row.published.clone(),
            doubt: row.doubt.clone(),
            taken_from: row.taken_from.clone(),
            arms: format!("{} against {}", row.arm, row.baseline),
            figure: row.figure.clone(),
            ours,
            interval,
            said: row.said.clone(),
            quiet: row.standing == Standing::NotComparable,
        }
    }
}
