//! `docs/studies.md`: five studies, each with this project's runs beside its published figures.
//!
//! Measuring side, cold, pure. All of the page is made from `studies/*.toml` and the runs kept beside them; no figure is
//! typed. The frame is `assets/studies.md.j2`.

use super::{KeptStudy, measured};
use crate::figures::{self, NONE};
use crate::words;
use bakeoff_plan::study::{PublishedRow, PublishedTable};
use bakeoff_results::{KeptRun, Standing, StudyRow};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde::Serialize;

const FRAME: &str = include_str!("../../assets/studies.md.j2");

#[derive(Serialize)]
struct Page<'a> {
    /// Whether any study has a figure of a run for the first table.
    has_lines: bool,
    studies: Vec<PageStudy<'a>>,
}

#[derive(Serialize)]
struct PageStudy<'a> {
    name: &'a str,
    page: &'a bakeoff_plan::study::StudyPage,
    anchor: String,
    missing: &'a [String],
    /// Tables, or rows of them, beside which no figure of a kept run stands.
    alone: Vec<String>,
    lines: Vec<Line>,
    plot: bool,
    runs: Vec<PageRun>,
}

/// A figure that stands for its study.
#[derive(Serialize)]
struct Line {
    says: String,
    published: String,
    ours: String,
    times: String,
}

#[derive(Serialize)]
struct PageRun {
    measured: String,
    groups: Vec<Group>,
}

/// Rows of one published table that say the same kind of thing.
#[derive(Serialize)]
struct Group {
    title: String,
    /// Why none of them is comparable, where that is one reason.
    why: Option<String>,
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// The page of all studies.
pub fn studies_page(studies: &[KeptStudy]) -> String {
    let studies: Vec<PageStudy<'_>> = studies.iter().map(of).collect();
    let page = Page { has_lines: studies.iter().any(|study| !study.lines.is_empty()), studies };
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(syntax.expect("the delimiters are the standard ones"));
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let text = environment.render_str(FRAME, Serde(&page));
    text.expect("the frame is a constant, and every name in it is a field of `Page`") + "\n"
}

fn of(kept: &KeptStudy) -> PageStudy<'_> {
    let head = &kept.study.page.head;
    let is_kept = |c: &char| c.is_alphanumeric() || *c == ' ';
    PageStudy {
        name: &kept.study.name,
        page: &kept.study.page,
        anchor: head.to_lowercase().chars().filter(is_kept).collect::<String>().replace(' ', "-"),
        missing: &kept.study.missing,
        alone: kept.study.tables.iter().filter_map(|table| alone(kept, table)).collect(),
        lines: lines(kept),
        plot: super::study_plot(kept).is_some(),
        runs: kept.runs.iter().map(|run| PageRun { measured: measured(run), groups: groups(run) }).collect(),
    }
}

/// A table beside which no figure of a kept run stands; or how many of its rows, where there are some.
fn alone(kept: &KeptStudy, table: &PublishedTable) -> Option<String> {
    let is_drawn = kept.study.curves.iter().any(|curve| curve.tables.contains(&table.id));
    let has_run = |row: &&PublishedRow| {
        let mut own = kept.runs.iter().flat_map(|run| &run.rows).filter(|own| own.table == table.title);
        own.any(|own| own.row == row.name && own.value.is_some())
    };
    let (rows, alone) = (table.rows.len(), table.rows.iter().filter(|row| !has_run(row)).count());
    match alone {
        _ if is_drawn => None,
        0 => None,
        all if all == rows => Some(table.title.clone()),
        some => Some(format!("{some} of {rows} rows of \"{}\"", table.title)),
    }
}

fn lines(kept: &KeptStudy) -> Vec<Line> {
    let line = |headline| {
        let (_, row) = kept.measured(headline)?;
        let (ours, interval) = figures::beside(row);
        Some(Line {
            says: headline.says.clone(),
            published: row.published.clone(),
            ours: format!("{ours} ({interval})"),
            times: times(row),
        })
    };
    kept.study.headlines.iter().filter_map(line).collect()
}

/// How many times the published figure ours is, or by how much it is more where nothing was published; and why the two are
/// not comparable, if they are not.
fn times(row: &StudyRow) -> String {
    let Some(ours) = row.value else { return NONE.to_owned() };
    let times = match row.published_value {
        0.0 => format!("{ours:+.2} {}", row.unit),
        published => {
            let times: f64 = ours / published;
            // Two digits of a small one.
            let digits = (1.0 - times.abs().log10().floor()).clamp(2.0, 6.0) as usize;
            format!("{times:.digits$}")
        }
    };
    match is_compared(row) {
        true => times,
        false => format!("{times}; {}", row.said),
    }
}

fn is_compared(row: &StudyRow) -> bool {
    row.standing != Standing::NotComparable
}

/// Rows by table, statement and figure, each at the place of its first; what is not comparable by itself.
fn groups(run: &KeptRun) -> Vec<Group> {
    let key = |row: &StudyRow| {
        let why = (!is_compared(row)).then(|| row.said.clone());
        (row.statement.clone(), row.figure.clone(), why, row.table.clone())
    };
    let mut groups: Vec<(_, Vec<&StudyRow>)> = Vec::new();
    for row in &run.rows {
        let key = key(row);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((key, vec![row])),
        }
    }
    groups.iter().map(|(_, rows)| group(rows, &run.rows)).collect()
}

fn group(rows: &[&StudyRow], all: &[StudyRow]) -> Group {
    let first = rows[0];
    let statement = first.statement.clone().or_else(|| arms_in_common(rows, all));
    let statement = statement.map_or(String::new(), |said| format!("; {said}"));
    let (head, rows) = side_by_side(rows, all).unwrap_or_else(|| one_by_one(rows, all));
    Group {
        title: format!("{}: {}{statement}", first.table, first.figure),
        why: (!is_compared(first)).then(|| words::upper_first(&first.said)),
        head,
        rows,
    }
}

/// The parts that the names of all arms have in common, where another group has other arms beside the same figures.
fn arms_in_common(rows: &[&StudyRow], all: &[StudyRow]) -> Option<String> {
    let is_beside = |row: &&StudyRow| all.iter().any(|other| is_same(other, row) && other.arm != row.arm);
    let first = rows.first().filter(|_| rows.iter().any(is_beside))?;
    let is_common = |part: &&str| rows.iter().all(|row| row.arm.split('.').any(|own| own == *part));
    let common: Vec<&str> = first.arm.split('.').filter(is_common).collect();
    let said = if rows.iter().all(|row| row.arm == first.arm) { "the arm" } else { "arms with" };
    (!common.is_empty()).then(|| format!("{said} {}", common.join(".")))
}

/// Whether two rows stand beside the same published figure with the same one of their own.
fn is_same(a: &StudyRow, b: &StudyRow) -> bool {
    (&a.table, &a.row, &a.column, &a.figure) == (&b.table, &b.row, &b.column, &b.figure)
}

/// Head and lines of a table.
type Lines = (Vec<String>, Vec<Vec<String>>);

/// A line a row.
fn one_by_one(rows: &[&StudyRow], all: &[StudyRow]) -> Lines {
    let line = |row: &&StudyRow| {
        let (ours, interval) = figures::beside(row);
        let standing = is_compared(row).then(|| figures::standing(row));
        [place(row, rows, all), row.published.clone(), ours, interval].into_iter().chain(standing).collect()
    };
    let standing = is_compared(rows[0]).then_some("standing");
    let head = ["published as", "published", "measured", "interval"].into_iter().chain(standing);
    (head.map(str::to_owned).collect(), rows.iter().map(line).collect())
}

/// A line a published figure and a column an arm, where several arms stand beside each of these figures.
fn side_by_side(rows: &[&StudyRow], all: &[StudyRow]) -> Option<Lines> {
    let mut arms: Vec<&str> = Vec::new();
    for row in rows {
        if !arms.contains(&row.arm.as_str()) {
            arms.push(&row.arm);
        }
    }
    let cell = |row: &StudyRow| (row.row.clone(), row.column.clone(), row.operation.clone());
    let lines = rows.chunk_by(|a, b| a.arm == b.arm).collect::<Vec<_>>();
    let first: Vec<_> = lines.first()?.iter().map(|row| cell(row)).collect();
    let is_whole = |line: &&[&StudyRow]| line.iter().map(|row| cell(row)).eq(first.iter().cloned());
    if arms.len() < 2 || lines.len() != arms.len() || !lines.iter().all(is_whole) {
        return None;
    }
    let measured = |row: &StudyRow| {
        let (ours, interval) = figures::beside(row);
        let standing = is_compared(row).then(|| format!(", {}", figures::standing(row)));
        let interval = if interval == NONE { String::new() } else { format!(" ({interval})") };
        format!("{ours}{interval}{}", standing.unwrap_or_default())
    };
    let line = |at: usize| -> Vec<String> {
        let one = lines[0][at];
        let name = if all.iter().all(|row| row.table != one.table || row.column == one.column) {
            one.row.clone()
        } else {
            format!("{}, {}", one.row, one.column)
        };
        let own = lines.iter().map(|line| measured(line[at]));
        [name, one.published.clone()].into_iter().chain(own).collect()
    };
    let head = ["published as", "published"].into_iter().chain(arms).map(str::to_owned).collect();
    Some((head, (0..first.len()).map(line).collect()))
}

/// `read 1 byte, WebFS with CRISIS (webfs-crisis)`: what tells it from the others of its group, and no more.
pub(super) fn place(row: &StudyRow, group: &[&StudyRow], all: &[StudyRow]) -> String {
    let mut said = row.row.clone();
    if all.iter().any(|other| other.table == row.table && other.column != row.column) {
        said += &format!(", {}", row.column);
    }
    let beside: Vec<&&StudyRow> = group.iter().filter(|other| is_same(other, row)).collect();
    if let Some(word) =
        row.operation.as_ref().filter(|_| beside.iter().any(|other| other.operation != row.operation))
    {
        said += &format!(" ({word})");
    }
    if beside.iter().any(|other| other.arm != row.arm) {
        said += &format!(" ({})", row.arm);
    }
    said
}
