//! A run beside the figures that a study published, as the page has room for it.

use crate::document::{Cell, Row, Section, State, Table};
use crate::figures;
use bakeoff_results::{Standing, StudyRow, StudySection};

/// Every statement by itself: whose cost this is and how it was told stands above its rows.
pub(crate) fn beside_on_page(section: &StudySection) -> Section {
    let place = |row: &&StudyRow| section.rows.iter().position(|other| other.statement == row.statement);
    let mut sorted: Vec<&StudyRow> = section.rows.iter().collect();
    sorted.sort_by_key(place);
    let of = |group: &[&StudyRow]| {
        let said = group.first().and_then(|row| row.statement.clone());
        said.map(|said| Row::from([said])).into_iter().chain(group.iter().map(|row| line(row))).collect()
    };
    let groups = sorted.chunk_by(|a, b| a.statement == b.statement);
    let rows = groups.flat_map(|group| -> Vec<Row> { of(group) });
    let head = ["Published as", "Published", "This run", "Interval", "This run's figure", "Arms", "In words"];
    Section::on_page("study", "Beside the published figures")
        .about(format!(
            "{}. Inside, higher and lower say where this run's interval lies; how sure the published figure is, it does not say.",
            section.title
        ))
        .table(Table::new(head, rows).figures(3))
        .notes(section.sources.clone())
}

fn line(row: &StudyRow) -> Row {
    let (ours, interval) = figures::beside(row);
    let operation = row.operation.as_ref().map_or(String::new(), |word| format!(" ({word})"));
    let from = row.taken_from.as_ref().map(|from| format!("from {from}"));
    let doubt = row.doubt.as_ref().map(|doubt| format!("not certain: {doubt}"));
    let cells = Row::from([
        Cell::from(format!("{}{operation}, {}", row.row, row.column)).small([row.table.as_str()]),
        Cell::from(row.published.as_str()).small(from.into_iter().chain(doubt)),
        ours.into(),
        interval.into(),
        row.figure.as_str().into(),
        arms(row).into(),
        row.said.as_str().into(),
    ]);
    let mark = if row.standing == Standing::NotComparable { "quiet" } else { "" };
    cells.state(State::Plain, mark)
}

/// Whose figure it is, and against whose; of a population where it is one's.
fn arms(row: &StudyRow) -> String {
    let of = row.population.as_ref().map_or(String::new(), |name| format!("{name}: "));
    let against = if row.arm == row.baseline { String::new() } else { format!(" against {}", row.baseline) };
    format!("{of}{}{against}", row.arm)
}
