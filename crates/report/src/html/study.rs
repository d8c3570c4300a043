//! A run beside the figures that a study published.

use crate::figures;
use bakeoff_results::{Standing, StudyRow, StudySection};
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
    /// Whose cost this is and how it was told, where it differs from the line before.
    statement: Option<String>,
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
            rows: Self::lines(&section.rows),
        }
    }
}

impl Beside {
    /// Every statement by itself.
    fn lines(rows: &[StudyRow]) -> Vec<Line> {
        let place = |row: &&StudyRow| rows.iter().position(|other| other.statement == row.statement);
        let mut sorted: Vec<&StudyRow> = rows.iter().collect();
        sorted.sort_by_key(place);
        let before = std::iter::once(None).chain(sorted.iter().map(|row| row.statement.clone()));
        let line = |(row, before): (&&StudyRow, Option<String>)| Line {
            statement: row.statement.clone().filter(|said| before.as_ref() != Some(said)),
            ..Line::of(row)
        };
        sorted.iter().zip(before).map(line).collect()
    }
}

impl Line {
    fn of(row: &StudyRow) -> Self {
        let (ours, interval) = figures::beside(row);
        let operation = row.operation.as_ref().map_or(String::new(), |word| format!(" ({word})"));
        Self {
            statement: None,
            table: row.table.clone(),
            row: format!("{}{operation}", row.row),
            column: row.column.clone(),
            published: row.published.clone(),
            doubt: row.doubt.clone(),
            taken_from: row.taken_from.clone(),
            arms: arms(row),
            figure: row.figure.clone(),
            ours,
            interval,
            said: row.said.clone(),
            quiet: row.standing == Standing::NotComparable,
        }
    }
}

/// Whose figure it is, and against whose; of a population where it is one's.
fn arms(row: &StudyRow) -> String {
    let of = row.population.as_ref().map_or(String::new(), |name| format!("{name}: "));
    let against = if row.arm == row.baseline { String::new() } else { format!(" against {}", row.baseline) };
    format!("{of}{}{against}", row.arm)
}
