//! Studies in the terminal: their tables, and a run beside them.

use super::layout::{Page, Paint};
use crate::figures::{self, NONE};
use crate::words;
use bakeoff_plan::study::{Figure, Quantity, Row, Study, Table, Unit};
use bakeoff_results::{Standing, StudyRow, StudySection};

/// A line a study.
pub fn studies(studies: &[Study]) -> String {
    let lines = studies.iter().map(|study| format!("{:<12}{}\n", study.name, study.summary));
    lines.collect()
}

/// A study's tables with their sources, for a terminal of `width` columns.
pub fn study(study: &Study, width: usize, colour: bool) -> String {
    let mut page = Page::new(width, colour);
    page.title(&study.title, &study.name);
    page.paragraph(&study.question, Paint::Plain);
    for table in &study.tables {
        show(&mut page, study, table);
    }
    if !study.missing.is_empty() {
        page.heading("Published and not here");
        study.missing.iter().for_each(|what| page.bullet(what));
    }
    page.heading("Sources");
    for source in &study.sources {
        let url = source.url.as_ref().map_or(String::new(), |url| format!(" <{url}>"));
        page.bullet(&format!("{}.{url}", source.text));
    }
    page.finish()
}

pub(super) fn show(page: &mut Page, study: &Study, table: &Table) {
    let place = table.place.as_ref().map_or(String::new(), |place| format!(" ({place})"));
    let of_all = shared_unit((0..table.columns.len()).flat_map(|column| figures_of(table, column)));
    let all = of_all.filter(is_shown).map_or(String::new(), |unit| format!(", in {}", unit.label));
    page.heading(&format!("{}{place}{all}", table.title));
    page.note(&table.conditions);
    grid(page, table, of_all);
    table.notes.iter().for_each(|note| page.bullet(note));
    for (row, column, doubt) in doubts(table) {
        page.bullet(&format!("{row}, {column}: not certain. {doubt}"));
    }
    if study.sources.len() > 1
        && let Some(source) = study.source(&table.source)
    {
        page.bullet(&format!("From: {}", source.text));
    }
}

/// The figures; a unit that all figures of a column have stands at its head, one that all of the
/// table have (`of_all`) above it.
fn grid(page: &mut Page, table: &Table, of_all: Option<Unit>) {
    let units: Vec<Option<Unit>> = (0..table.columns.len()).map(|column| of_column(table, column)).collect();
    let head = |(name, unit): (&String, &Option<Unit>)| match unit {
        Some(unit) if of_all.is_none() && is_shown(unit) => format!("{name} [{}]", unit.label),
        _ => name.clone(),
    };
    let mut heads = vec![table.rows_are.clone()];
    heads.extend(table.columns.iter().zip(&units).map(head));
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let above = |unit: &Option<Unit>| of_all.or(*unit).is_some();
    let cells = |row: &Row| -> Vec<String> {
        let cells = row.cells.iter().zip(&units).map(|(figure, unit)| cell(figure.as_ref(), above(unit)));
        [row.name.clone()].into_iter().chain(cells).collect()
    };
    let rows: Vec<Vec<String>> = table.rows.iter().map(cells).collect();
    page.table(&heads, &rows, table.columns.len());
}

fn figures_of(table: &Table, column: usize) -> impl Iterator<Item = &Figure> {
    table.rows.iter().filter_map(move |row| row.cells.get(column)?.as_ref())
}

/// The unit of a column's figures, if it is the same, and if there is more than one in several rows.
fn of_column(table: &Table, column: usize) -> Option<Unit> {
    let alone = figures_of(table, column).count() == 1 && table.rows.len() > 1;
    shared_unit(figures_of(table, column)).filter(|_| !alone)
}

/// The unit of all of them, if it is the same.
fn shared_unit<'f>(figures: impl Iterator<Item = &'f Figure>) -> Option<Unit> {
    let mut units = figures.map(|figure| figure.unit);
    let first = units.next()?;
    units.all(|unit| unit == first).then_some(first)
}

/// A count needs no unit.
fn is_shown(unit: &Unit) -> bool {
    unit.quantity != Quantity::Count
}

fn cell(figure: Option<&Figure>, unit_above: bool) -> String {
    let Some(figure) = figure else { return NONE.to_owned() };
    let doubt = if figure.certain { "" } else { " ?" };
    match unit_above {
        true => format!("{}{doubt}", figure.text),
        false => format!("{}{doubt}", figure.in_words()),
    }
}

fn doubts(table: &Table) -> impl Iterator<Item = (&str, &str, &str)> {
    table.rows.iter().flat_map(|row| {
        row.cells.iter().zip(&table.columns).filter_map(|(figure, column)| {
            Some((row.name.as_str(), column.as_str(), figure.as_ref()?.doubt.as_deref()?))
        })
    })
}

/// A run beside the published figures.
pub(super) fn beside(page: &mut Page, kind: &str, section: &StudySection, arms: &[String]) {
    let is_absent = |row: &&StudyRow| [&row.arm, &row.baseline].into_iter().any(|arm| !arms.contains(arm));
    let (absent, present): (Vec<&StudyRow>, Vec<&StudyRow>) = section.rows.iter().partition(is_absent);
    if section.rows.iter().any(|row| row.statement.is_some()) {
        return stated(page, section, &present);
    }
    page.heading(&format!("Beside the published figures: {}", section.title));
    let lines: Vec<Vec<String>> = present.iter().map(|row| line(kind, row, &present)).collect();
    if !lines.is_empty() {
        page.table(&["published as", "published", "this run", "interval", "figure", "standing"], &lines, 3);
    }
    for row in present.iter().filter(|row| row.standing != Standing::NotComparable) {
        let about = |said: &str| format!("{}, {}: {said}", place(row, &present), row.figure);
        match (&row.doubt, &row.taken_from) {
            (Some(doubt), _) => page.bullet(&about(&format!("the published figure is not certain. {doubt}"))),
            (None, Some(from)) => page.bullet(&about(&format!("published as {from}"))),
            (None, None) => {}
        }
    }
    not_comparable(page, &present);
    let mut missing: Vec<&str> =
        absent.iter().flat_map(|row| [&row.arm, &row.baseline]).map(String::as_str).collect();
    missing.retain(|arm| !arms.iter().any(|known| known == arm));
    missing.sort_unstable();
    missing.dedup();
    if !missing.is_empty() {
        page.bullet(&format!("not in this run: {}", missing.join(", ")));
    }
    page.note(&format!("Published in {}.", section.sources.join("; ")));
}

/// Every statement by itself, table by table as they were published: a head says whose cost it is and how it was told.
pub(super) fn stated(page: &mut Page, section: &StudySection, rows: &[&StudyRow]) {
    let same = |a: &&StudyRow, b: &&StudyRow| (&a.statement, &a.table) == (&b.statement, &b.table);
    let mut rows = rows.to_vec();
    let first = |row: &StudyRow| section.rows.iter().position(|other| same(&other, &row));
    let order = |row: &StudyRow| section.rows.iter().position(|other| other.statement == row.statement);
    rows.sort_by_key(|row| (order(row), first(row)));
    for group in rows.chunk_by(same) {
        let Some(one) = group.first() else { continue };
        let said = one.statement.as_deref().unwrap_or("this run");
        page.heading(&format!("{}, {}, beside: {said}", section.title, one.table));
        let has_columns = group.iter().any(|row| row.column != one.column);
        // One published figure may stand beside several of this run.
        let has_figures = group.iter().any(|row| row.figure != one.figure && row.row == one.row);
        let line = |row: &&StudyRow| {
            let mut cells = stated_line(row, has_columns);
            if has_figures {
                cells[0] = format!("{} ({})", cells[0], row.figure);
            }
            cells
        };
        let lines: Vec<Vec<String>> = group.iter().map(line).collect();
        page.table(&["published as", "published", "here", "interval", "standing"], &lines, 3);
        not_comparable(page, group);
    }
    if !rows.is_empty() {
        page.note(&format!("Published in {}.", section.sources.join("; ")));
    }
}

fn stated_line(row: &StudyRow, has_columns: bool) -> Vec<String> {
    let (ours, interval) = figures::beside(row);
    let of = row
        .operation
        .as_ref()
        .or(row.population.as_ref())
        .filter(|word| ![&row.row, &row.column].contains(word));
    let name = of.map_or_else(|| row.row.clone(), |word| format!("{} ({word})", row.row));
    let column = if has_columns { format!(", {}", row.column) } else { String::new() };
    vec![
        format!("{name}{column}"),
        row.published.clone(),
        ours,
        interval,
        figures::standing(row.standing).to_owned(),
    ]
}

/// Rows that have their reason in common share a line.
fn not_comparable(page: &mut Page, rows: &[&StudyRow]) {
    let mut reasons: Vec<(&str, &str, Vec<String>)> = Vec::new();
    for row in rows.iter().filter(|row| row.standing == Standing::NotComparable) {
        let place = place(row, rows);
        let known = reasons.iter_mut().find(|(figure, said, _)| (*figure, *said) == (&row.figure, &row.said));
        match known {
            Some((_, _, places)) => places.push(place),
            None => reasons.push((&row.figure, &row.said, vec![place])),
        }
    }
    for (figure, said, places) in reasons {
        page.bullet(&format!("{figure}: {said} ({})", places.join("; ")));
    }
}

/// Where a row was published, and which arm it is where several stand beside the same figure.
fn place(row: &StudyRow, rows: &[&StudyRow]) -> String {
    let is_beside = |other: &&&StudyRow| {
        (&other.row, &other.column, &other.meter) == (&row.row, &row.column, &row.meter)
            && other.arm != row.arm
    };
    let own = row.arm.split('.').filter(|part| {
        rows.iter().filter(is_beside).any(|other| other.arm.split('.').all(|theirs| theirs != *part))
    });
    let own: Vec<&str> = own.collect();
    match own.as_slice() {
        [] => format!("{}, {}", row.row, row.column),
        own => format!("{}, {}: {}", row.row, row.column, own.join(".")),
    }
}

fn line(kind: &str, row: &StudyRow, rows: &[&StudyRow]) -> Vec<String> {
    let (ours, interval) = figures::beside(row);
    let figure = words::short(kind, &row.meter).to_owned();
    let word = figures::standing(row.standing).to_owned();
    vec![place(row, rows), row.published.clone(), ours, interval, figure, word]
}
