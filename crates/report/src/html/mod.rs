//! The page: one self-contained HTML file that opens offline, prints, and fits a phone.
//!
//! The template is `assets/report.html.j2`; style, script and the plotting library stand inside the
//! file, and a content security policy forbids it to load anything. Every value is escaped by the
//! template engine; the plots' data is JSON in a data block with all markup characters escaped.
//! Tables and the forest plot need no script; only the interactive plots do.

mod caches;
mod chart;
mod curves;
mod forest;
mod page;
mod peak;
mod plots;
mod study;
mod tables;

pub use caches::caches_html;

use crate::Bundle;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};

const TEMPLATE: &str = include_str!("../../assets/report.html.j2");
/// What stands in place of verdicts and comparisons after a search for peaks.
const PEAK: &str = include_str!("../../assets/peak.html.j2");

/// The report as one HTML file.
pub fn html(bundle: &Bundle) -> String {
    let mut environment = environment();
    environment.add_template("peak.html.j2", PEAK).expect("the template is a constant");
    environment
        .render_str(TEMPLATE, Serde(page::Page::of(bundle)))
        .expect("the template is a constant, and every name in it is a field of `Page`")
}

/// What all templates are rendered with.
fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(syntax.expect("the delimiters are the standard ones"));
    environment
}
