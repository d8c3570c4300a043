//! Studies: their tables, and a run beside them.

pub(crate) mod curves;
mod page;
mod plot;

pub use page::studies_page;
pub use plot::study_plot;

use crate::document::{Block, Page, Section, State, Table};
use crate::figures::{self, NONE};
use crate::words;
use bakeoff_plan::study::Headline;
use bakeoff_plan::study::{self, Figure, PrintedUnit, PublishedRow, Quantity, Study};
use bakeoff_results::{KeptRun, Standing, StudyRow, StudySection};
use serde::Serialize;

/// A study, and this project's own runs beside it.
#[derive(Clone, Debug, Serialize)]
pub struct KeptStudy {
    /// The study.
    #[serde(flatten)]
    pub study: Study,
    /// The runs, in the order of their plans' names.
    pub runs: Vec<KeptRun>,
}

impl KeptStudy {
    /// A row of a kept run that has a figure beside a headline's; comparable ones first.
    fn measured(&self, headline: &Headline) -> Option<(&KeptRun, &StudyRow)> {
        let run = self.runs.iter().find(|run| run.plan == headline.plan)?;
        let is_it = |row: &&StudyRow| {
            (&row.table, &row.row, &row.column) == (&headline.table, &headline.row, &headline.column)
                && row.value.is_some()
                && headline.operation.as_ref().is_none_or(|word| row.operation.as_ref() == Some(word))
                && headline.arm.as_ref().is_none_or(|arm| row.arm == *arm)
        };
        let mut found: Vec<&StudyRow> = run.rows.iter().filter(is_it).collect();
        found.sort_by_key(|row| row.standing == Standing::NotComparable);
        Some((run, found.first()?))
    }

    /// A kept run as the reports of runs have theirs.
    fn section(&self, run: &KeptRun) -> StudySection {
        StudySection {
            name: self.study.name.clone(),
            title: self.study.title.clone(),
            sources: Vec::new(),
            rows: run.rows.clone(),
        }
    }
}

/// A line a study, and one a figure that stands for it: published, and measured here.
pub fn studies(studies: &[KeptStudy]) -> String {
    let mut text = String::new();
    for kept in studies {
        text += &format!("{:<12}{}\n", kept.study.name, kept.study.summary);
        for headline in &kept.study.headlines {
            let Some((run, row)) = kept.measured(headline) else { continue };
            let (ours, interval) = figures::beside(row);
            let (says, published, figure, day) = (&headline.says, &row.published, &row.figure, &run.day);
            text +=
                &format!("{:<12}{says}: published {published}; {figure} {ours} ({interval}), {day}\n", "");
        }
    }
    text
}

/// A study's tables with their sources, and kept runs beside them, for a terminal of `width` columns.
pub fn study(kept: &KeptStudy, width: usize, colour: bool) -> String {
    let study = &kept.study;
    let mut page = Page::new(width, colour);
    page.title(&study.title, &study.name);
    page.paragraph(&study.question, State::Plain);
    published(Section::default(), study).print(&mut page);
    if !study.missing.is_empty() {
        Section::new("Published and not here").bullets(&study.missing).print(&mut page);
    }
    for run in &kept.runs {
        let arms: Vec<String> =
            run.rows.iter().flat_map(|row| [row.arm.clone(), row.baseline.clone()]).collect();
        page.paragraph(&format!("{}.", measured(run)), State::Plain);
        beside("", &kept.section(run), &arms).into_iter().for_each(|section| section.print(&mut page));
    }
    let source = |source: &study::Publication| {
        let url = source.url.as_ref().map_or(String::new(), |url| format!(" <{url}>"));
        format!("{}.{url}", source.text)
    };
    let sources: Vec<String> = study.sources.iter().map(source).collect();
    Section::new("Sources").bullets(&sources).print(&mut page);
    page.finish()
}

/// `bakeoff run selinux`, 2026-11-28: QEMU 7.2, ...
fn measured(run: &KeptRun) -> String {
    let warned = match run.warnings.is_empty() {
        true => String::new(),
        false => {
            // Those of experiments are labels, those of bake-offs sentences.
            let said: Vec<&str> = run.warnings.iter().map(|warning| warning.trim_end_matches('.')).collect();
            format!("; warnings of the run: {}", said.join("; "))
        }
    };
    format!("Measured on {} with `{}`: {}{warned}", run.day, run.command, run.machine)
}

/// With a study's tables as they were published.
pub(crate) fn published(section: Section, study: &Study) -> Section {
    study.tables.iter().fold(section, |section, table| {
        let place = table.place.as_ref().map_or(String::new(), |place| format!(" ({place})"));
        let of_all = shared_unit((0..table.columns.len()).flat_map(|column| figures_of(table, column)));
        let all = of_all.filter(is_shown).map_or(String::new(), |unit| format!(", in {}", unit.label));
        let doubt = |(row, column, doubt)| format!("{row}, {column}: not certain. {doubt}");
        let source = study.source(&table.source).filter(|_| study.sources.len() > 1);
        let source = source.map(|source| format!("From: {}", source.text));
        let remarks = table.notes.iter().cloned().chain(doubts(table).map(doubt)).chain(source);
        section
            .add(Block::Heading(format!("{}{place}{all}", table.title)))
            .note(table.conditions.as_str())
            .table(grid(table, of_all))
            .bullets(&remarks.collect::<Vec<_>>())
    })
}

/// The figures; a unit that all figures of a column have stands at its head, one that all of the
/// table have (`of_all`) above it.
fn grid(table: &study::PublishedTable, of_all: Option<PrintedUnit>) -> Table {
    let units: Vec<Option<PrintedUnit>> =
        (0..table.columns.len()).map(|column| of_column(table, column)).collect();
    let head = |(name, unit): (&String, &Option<PrintedUnit>)| match unit {
        Some(unit) if of_all.is_none() && is_shown(unit) => format!("{name} [{}]", unit.label),
        _ => name.clone(),
    };
    let heads = [table.rows_are.clone()].into_iter().chain(table.columns.iter().zip(&units).map(head));
    let above = |unit: &Option<PrintedUnit>| of_all.or(*unit).is_some();
    let cells = |row: &PublishedRow| -> Vec<String> {
        let cells = row.cells.iter().zip(&units).map(|(figure, unit)| cell(figure.as_ref(), above(unit)));
        [row.name.clone()].into_iter().chain(cells).collect()
    };
    Table::new(heads, table.rows.iter().map(cells))
}

fn figures_of(table: &study::PublishedTable, column: usize) -> impl Iterator<Item = &Figure> {
    table.rows.iter().filter_map(move |row| row.cells.get(column)?.as_ref())
}

/// The unit of a column's figures, if it is the same, and if there is more than one in several rows.
fn of_column(table: &study::PublishedTable, column: usize) -> Option<PrintedUnit> {
    let alone = figures_of(table, column).count() == 1 && table.rows.len() > 1;
    shared_unit(figures_of(table, column)).filter(|_| !alone)
}

/// The unit of all of them, if it is the same.
fn shared_unit<'f>(figures: impl Iterator<Item = &'f Figure>) -> Option<PrintedUnit> {
    let mut units = figures.map(|figure| figure.unit);
    let first = units.next()?;
    units.all(|unit| unit == first).then_some(first)
}

/// A count needs no unit.
fn is_shown(unit: &PrintedUnit) -> bool {
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

fn doubts(table: &study::PublishedTable) -> impl Iterator<Item = (&str, &str, &str)> {
    table.rows.iter().flat_map(|row| {
        row.cells.iter().zip(&table.columns).filter_map(|(figure, column)| {
            Some((row.name.as_str(), column.as_str(), figure.as_ref()?.doubt.as_deref()?))
        })
    })
}

/// A run beside the published figures, as a terminal has room for it.
pub(crate) fn beside(kind: &str, section: &StudySection, arms: &[String]) -> Vec<Section> {
    let is_absent = |row: &&StudyRow| [&row.arm, &row.baseline].into_iter().any(|arm| !arms.contains(arm));
    let (absent, present): (Vec<&StudyRow>, Vec<&StudyRow>) = section.rows.iter().partition(is_absent);
    if section.rows.iter().any(|row| row.statement.is_some()) {
        return stated(section, &present);
    }
    let rows = present.iter().map(|row| line(kind, row, &present));
    let head = ["published as", "published", "this run", "interval", "figure", "standing"];
    let mut remarks: Vec<String> = present.iter().filter_map(|row| origin(row, &present)).collect();
    remarks.extend(not_comparable(&present));
    let mut missing: Vec<&str> =
        absent.iter().flat_map(|row| [&row.arm, &row.baseline]).map(String::as_str).collect();
    missing.retain(|arm| !arms.iter().any(|known| known == arm));
    missing.sort_unstable();
    missing.dedup();
    remarks.extend((!missing.is_empty()).then(|| format!("not in this run: {}", missing.join(", "))));
    let titled = Section::in_terminal(format!("Beside the published figures: {}", section.title));
    vec![titled.table(Table::new(head, rows).figures(3)).bullets(&remarks).note(published_in(section))]
}

/// Where a published figure comes from, or why it is not certain.
fn origin(row: &StudyRow, rows: &[&StudyRow]) -> Option<String> {
    let said = match (&row.doubt, &row.taken_from) {
        _ if row.standing == Standing::NotComparable => None,
        (Some(doubt), _) => Some(format!("the published figure is not certain. {doubt}")),
        (None, from) => from.as_ref().map(|from| format!("published as {from}")),
    };
    said.map(|said| format!("{}, {}: {said}", place(row, rows), row.figure))
}

fn published_in(section: &StudySection) -> String {
    format!("Published in {}.", section.sources.join("; "))
}

/// Every statement by itself, table by table as they were published: a head says whose cost it is and how it was told.
pub(crate) fn stated(section: &StudySection, rows: &[&StudyRow]) -> Vec<Section> {
    let same = |a: &&StudyRow, b: &&StudyRow| (&a.statement, &a.table) == (&b.statement, &b.table);
    let mut rows = rows.to_vec();
    let first = |row: &StudyRow| section.rows.iter().position(|other| same(&other, &row));
    let order = |row: &StudyRow| section.rows.iter().position(|other| other.statement == row.statement);
    rows.sort_by_key(|row| (order(row), first(row)));
    let mut all: Vec<Section> = rows.chunk_by(same).map(|group| stated_group(section, group)).collect();
    if let Some(last) = all.pop() {
        all.push(last.note(published_in(section)));
    }
    all
}

fn stated_group(section: &StudySection, group: &[&StudyRow]) -> Section {
    let one = group[0];
    let said = one.statement.as_deref().unwrap_or("this run");
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
    let head = ["published as", "published", "here", "interval", "standing"];
    Section::in_terminal(format!("{}, {}, beside: {said}", section.title, one.table))
        .table(Table::new(head, group.iter().map(line)).figures(3))
        .bullets(&not_comparable(group))
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
    vec![format!("{name}{column}"), row.published.clone(), ours, interval, figures::standing(row)]
}

/// Rows that have their reason in common share a line.
fn not_comparable(rows: &[&StudyRow]) -> Vec<String> {
    let mut reasons: Vec<(&str, &str, Vec<String>)> = Vec::new();
    for row in rows.iter().filter(|row| row.standing == Standing::NotComparable) {
        let place = place(row, rows);
        let known = reasons.iter_mut().find(|(figure, said, _)| (*figure, *said) == (&row.figure, &row.said));
        match known {
            Some((_, _, places)) => places.push(place),
            None => reasons.push((&row.figure, &row.said, vec![place])),
        }
    }
    let line = |(figure, said, places): (&str, &str, Vec<String>)| {
        format!("{figure}: {said} ({})", places.join("; "))
    };
    reasons.into_iter().map(line).collect()
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
    let word = figures::standing(row);
    vec![place(row, rows), row.published.clone(), ours, interval, figure, word]
}
