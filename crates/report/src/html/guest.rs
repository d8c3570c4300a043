//! The page of what a guest counted.

use super::page::STYLE;
use crate::caches::Table;
use crate::guest::{READ, WHERE, checks, costs, extent, facts, head, modes, verdict};
use crate::words;
use bakeoff_guest::results::{Results, Table as Counts};
use bakeoff_results::Fact;
use minijinja::Value;
use minijinja::value::Serde;
use serde::Serialize;

const TEMPLATE: &str = include_str!("../../assets/guest.html.j2");

/// Everything in the template.
#[derive(Serialize)]
struct View {
    name: String,
    title: String,
    extent: String,
    started: String,
    bakeoff: &'static str,
    partial: bool,
    invalid: Option<String>,
    statement: &'static str,
    tables: Vec<Section>,
    checks: Vec<String>,
    booted: Vec<Fact>,
    sources: Vec<String>,
    differs: Vec<String>,
    plan: String,
    // Ours, hence not escaped.
    style: Value,
}

#[derive(Serialize)]
struct Section {
    head: String,
    verdict: String,
    grids: Vec<Grid>,
}

#[derive(Serialize)]
struct Grid {
    caption: &'static str,
    // So many columns after the first are numbers.
    figures: usize,
    head: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

/// The page as one HTML file.
pub fn guest_html(results: &Results, plan: &str) -> String {
    let fact = |(name, value): (&str, String)| Fact { name: name.to_owned(), value };
    let view = View {
        name: results.name.clone(),
        title: results.title.clone(),
        extent: extent(results),
        started: words::moment(&results.started),
        bakeoff: results.bakeoff,
        partial: results.ended < results.planned,
        invalid: results.invalid.clone(),
        statement: results.statement,
        tables: results.tables.iter().map(|table| section(results, table)).collect(),
        checks: checks(results),
        booted: facts(results).into_iter().map(fact).collect(),
        sources: results.sources.clone(),
        differs: results.differs.clone(),
        plan: plan.to_owned(),
        style: Value::from_safe_string(STYLE.to_owned()),
    };
    super::environment()
        .render_str(TEMPLATE, Serde(view))
        .expect("the template is a constant, and every name in it is a field of `View`")
}

fn section(results: &Results, table: &Counts) -> Section {
    let grid = |caption, Table { head, rows }: Table, words: usize| {
        let figures = head.len() - 1 - words;
        Grid { caption, figures, head, rows }
    };
    let mut grids = vec![grid(READ, costs(table), 1)];
    if table.modes.len() > 1 {
        grids.push(grid(WHERE, modes(table), 0));
    }
    Section { head: head(results, table), verdict: verdict(table), grids }
}
