//! A study's drawing: published changes and this project's, on one scale, as an SVG file of its own.
//!
//! Measuring side, cold, pure. The places are those of a report's drawing of intervals; the file follows the reader's light
//! or dark by itself.

use super::KeptStudy;
use super::page::place;
use crate::document::State;
use crate::figures;
use crate::plot::forest::{Spread, panels};
use bakeoff_results::{KeptRun, Standing, StudyRow};
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde_json::json;

const FRAME: &str = include_str!("../../assets/study.svg.j2");
/// Height of a row, in the drawing's units.
const ROW: usize = 20;
/// Bounds of the room for the rows' names, 6.5 units a letter.
const LEAST_LEFT: usize = 240;
const MOST_LEFT: usize = 420;

/// A study's drawing; `None` as long as no kept run has anything to draw.
pub fn study_plot(kept: &KeptStudy) -> Option<String> {
    super::curves::drawn(kept).or_else(|| changes(kept))
}

fn changes(kept: &KeptStudy) -> Option<String> {
    let all = || kept.runs.iter().flat_map(|run| run.rows.iter().map(move |row| (run, row)));
    let is_comparable = |row: &StudyRow| row.standing != Standing::NotComparable;
    let none_is = !all().any(|(_, row)| is_comparable(row));
    let shown = all().filter(|(_, row)| none_is || is_comparable(row));
    let rows: Vec<Spread> = shown.filter_map(|(run, row)| spread(row, named(kept, run, row))).collect();
    let longest = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    let left = (longest * 13 / 2 + 20).clamp(LEAST_LEFT, MOST_LEFT);
    let panel = panels(&rows, "published as", 0.0, &kept.study.title).into_iter().next()?;
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let places = json!({ "panel": panel, "height": rows.len() * ROW, "row_height": ROW, "left": left });
    let drawn = environment.render_named_str("study.svg", FRAME, Serde(&places));
    Some(drawn.expect("the frame is a constant, and every name in it is a field of a panel") + "\n")
}

/// Name of a row, with its arm where another run has another arm beside the same figure.
fn named(kept: &KeptStudy, run: &KeptRun, row: &StudyRow) -> String {
    let name = place(row, &run.rows.iter().collect::<Vec<_>>(), &run.rows);
    let others = kept.runs.iter().filter(|other| other.plan != run.plan).flat_map(|other| &other.rows);
    let is_beside = |other: &StudyRow| {
        (&other.table, &other.row, &other.column) == (&row.table, &row.row, &row.column)
            && other.arm != row.arm
    };
    let is_named = name.ends_with(&format!("({})", row.arm));
    if !is_named && others.into_iter().any(is_beside) { format!("{name} ({})", row.arm) } else { name }
}

/// A share or a factor; other figures have no scale in common.
fn spread(row: &StudyRow, name: String) -> Option<Spread> {
    let change = |x: f64| match row.unit.as_str() {
        "%" => Some(x / 100.0),
        "x" => Some(x - 1.0),
        _ => None,
    };
    let (ours, interval) = figures::beside(row);
    Some(Spread {
        name,
        key: String::new(),
        state: if row.standing == Standing::Inside { State::Fine } else { State::Plain },
        at: change(row.value?)?,
        low: change(row.low.filter(|low| low.is_finite())?)?,
        high: change(row.high.filter(|high| high.is_finite())?)?,
        said: [ours, interval],
        published: vec![change(row.published_value)?],
    })
}
