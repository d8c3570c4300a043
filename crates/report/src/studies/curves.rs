//! A study's curves: published products and entrants of a kept bake-off, against the share of their highest rate.
//!
//! Measuring side, cold, pure. The places are those of a report's charts; the file follows the reader's light or dark by
//! itself.

use super::KeptStudy;
use crate::document::Drawing;
use crate::figures;
use crate::plot::chart::{self, Scale, Series};
use crate::words::key;
use bakeoff_plan::study::{PublishedRow, PublishedTable, Study, StudyCurve};
use bakeoff_results::StudyRow;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde_json::json;

const FRAME: &str = include_str!("../../assets/study_curves.svg.j2");
const CHART: &str = include_str!("../../assets/chart.svg.j2");
/// Height of a pair of charts with what stands above it, in the drawing's units.
const HEIGHT: usize = 296;
const LEGEND: &str = "Grey: published. Across: share of the highest rate, of published products the highest that was tried. Dashed: an endless cache.";

/// The drawing; `None` as long as no kept run stands beside a curve.
pub(super) fn drawn(kept: &KeptStudy) -> Option<String> {
    let arms = arms(kept);
    let charts: Vec<Drawing> =
        kept.study.curves.iter().filter_map(|curve| chart_of(kept, curve, &arms)).collect();
    if arms.is_empty() || charts.is_empty() {
        return None;
    }
    let keys = arms.iter().enumerate().map(|(at, name)| json!({ "key": key(at), "name": name }));
    let places = json!({
        "title": kept.study.title,
        "height": HEIGHT,
        "keys": keys.collect::<Vec<_>>(),
        "legend": LEGEND,
        "charts": charts,
    });
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(syntax.expect("the delimiters are the standard ones"));
    environment.add_template("chart.svg.j2", CHART).expect("the template is a constant");
    let drawn = environment.render_named_str("study_curves.svg", FRAME, Serde(&places));
    Some(drawn.expect("the frame is a constant, and every name in it is one of those above") + "\n")
}

/// The table that runs stand beside, and their rows of it.
fn beside<'k>(kept: &'k KeptStudy, curve: &StudyCurve) -> Option<(&'k PublishedTable, Vec<&'k StudyRow>)> {
    let table = kept.study.table(curve.tables.first()?)?;
    let rows = kept.runs.iter().flat_map(|run| &run.rows);
    Some((table, rows.filter(|row| row.table == table.title && row.column == curve.column).collect()))
}

/// Entrants of the kept runs, in their order.
fn arms(kept: &KeptStudy) -> Vec<&str> {
    let mut arms: Vec<&str> = Vec::new();
    let rows = kept.study.curves.iter().filter_map(|curve| beside(kept, curve)).flat_map(|(_, rows)| rows);
    for row in rows {
        if !arms.contains(&row.arm.as_str()) {
            arms.push(&row.arm);
        }
    }
    arms
}

fn chart_of(kept: &KeptStudy, curve: &StudyCurve, arms: &[&str]) -> Option<Drawing> {
    let mut series = published(&kept.study, curve, |table| table.highest(&curve.against).unwrap_or(1.0));
    let (table, rows) = beside(kept, curve)?;
    let unit = rows.first()?.unit.clone();
    for (at, arm) in arms.iter().enumerate() {
        let mut own: Vec<&StudyRow> = rows.iter().copied().filter(|row| row.arm == *arm).collect();
        // Its hits and those of the endless cache come rate by rate, and are a line each.
        own.sort_by_key(|row| row.meter.as_str());
        series.extend(own.chunk_by(|a, b| a.meter == b.meter).map(|rows| line(table, curve, rows, at)));
    }
    let unit = if unit == "s" { "ns" } else { "share" };
    let place = |share: f64| figures::value("share", share);
    chart::over(&curve.title, (unit, Scale::Linear), &place, &series)
}

/// A figure in base units as charts take it: times in nanoseconds.
fn charted(unit: &str, base: f64) -> f64 {
    if unit == "s" { base * 1e9 } else { base }
}

/// Published products, a line each with its name; their rates in units of what `most` gives of a table.
pub(crate) fn published(
    study: &Study,
    curve: &StudyCurve,
    most: impl Fn(&PublishedTable) -> f64,
) -> Vec<Series> {
    let line = |table: &PublishedTable| {
        let name = table.title.split(':').next().unwrap_or_default();
        let point = |row: &PublishedRow| {
            let figure = table.figure(row, &curve.column)?;
            let rate = table.base(row, &curve.against)? / most(table);
            Some((rate, charted(figure.unit.label, figure.base()), true))
        };
        Series {
            key: "published".to_owned(),
            label: format!("{name}, published"),
            dashed: false,
            name: Some(name.to_owned()),
            points: table.rows.iter().filter_map(point).collect(),
        }
    };
    curve.tables.iter().filter_map(|id| study.table(id)).map(line).collect()
}

fn line(table: &PublishedTable, curve: &StudyCurve, rows: &[&StudyRow], at: usize) -> Series {
    let most = table.highest(&curve.against).unwrap_or(1.0);
    let points = rows.iter().filter_map(|row| {
        let beside = table.rows.iter().find(|published| published.name == row.row)?;
        let base = if row.unit == "%" { row.value? / 100.0 } else { row.value? };
        Some((table.base(beside, &curve.against)? / most, charted(&row.unit, base), true))
    });
    Series {
        key: key(at),
        label: format!("{}, {}", rows[0].arm, rows[0].figure),
        dashed: rows[0].meter == "achievable",
        name: None,
        points: points.collect(),
    }
}
