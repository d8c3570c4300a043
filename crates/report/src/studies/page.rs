//! `docs/studies.md`: five studies, each with this project's runs beside its published figures.
//!
//! Measuring side, cold, pure. All of the page is made from `studies/*.toml` and the runs kept beside them; no figure is
//! typed. The frame is `assets/studies.md.j2`.

use super::{KeptStudy, measured};
use crate::figures::{self, NONE};
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
        lines: lines(kept),
        plot: super::study_plot(kept).is_some(),
        runs: kept.runs.iter().map(|run| PageRun { measured: measured(run), groups: groups(run) }).collect(),
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

/// How many times the published cost ours is, where the two are the same kind of cost and there is one.
fn times(row: &StudyRow) -> String {
    match row.value {
        Some(ours) if is_compared(row) && row.published_value != 0.0 => {
            format!("{:.2}", ours / row.published_value)
        }
        _ if is_compared(row) => NONE.to_owned(),
        _ => row.said.clone(),
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
    let statement = first.statement.as_ref().map_or(String::new(), |said| format!("; {said}"));
    let row = |row: &&StudyRow| {
        let (ours, interval) = figures::beside(row);
        let mut cells = vec![place(row, all), row.published.clone(), ours, interval];
        if is_compared(row) {
            cells.push(figures::standing(row.standing).to_owned());
        }
        cells
    };
    Group {
        title: format!("{}: {}{statement}", first.table, first.figure),
        why: (!is_compared(first)).then(|| first.said.clone()),
        rows: rows.iter().map(row).collect(),
    }
}

/// `read 1 byte, WebFS with CRISIS (webfs-crisis)`: what tells it from the others, and no more.
pub(super) fn place(row: &StudyRow, all: &[StudyRow]) -> String {
    let mut said = row.row.clone();
    if all.iter().any(|other| other.table == row.table && other.column != row.column) {
        said += &format!(", {}", row.column);
    }
    let beside = all.iter().filter(|other| {
        (&other.table, &other.row, &other.column, &other.figure)
            == (&row.table, &row.row, &row.column, &row.figure)
    });
    let beside: Vec<&StudyRow> = beside.collect();
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
