//! The page: one self-contained HTML file that opens offline, prints, and fits a phone.
//!
//! The template is `assets/report.html.j2`; style, script and the plotting library stand inside the
//! file, and a content security policy forbids it to load anything. Every value is escaped by the
//! template engine; the plots' data is JSON in a data block with all markup characters escaped.
//! Tables and the forest plot need no script; only the interactive plots do.

mod bars;
mod caches;
mod chart;
mod course;
mod curves;
mod forest;
mod guest;
mod load_curve;
mod page;
mod peak;
mod plots;
mod study;
mod suite;
mod sweep;
mod tables;
mod typeset;

pub use caches::caches_html;
pub use guest::guest_html;
pub use suite::suite_html;

use crate::Bundle;
use minijinja::HtmlEscape;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, UndefinedBehavior, escape_formatter};
use typeset::typeset;

const TEMPLATE: &str = include_str!("../../assets/report.html.j2");
/// What stands in place of verdicts and comparisons after a search for peaks.
const PEAK: &str = include_str!("../../assets/peak.html.j2");
/// Macros of all templates: tables, charts, headings.
const PARTS: &str = include_str!("../../assets/parts.html.j2");

/// The report as one HTML file.
pub fn html(bundle: &Bundle) -> String {
    let mut environment = environment();
    environment.add_template("peak.html.j2", PEAK).expect("the template is a constant");
    environment
        .render_str(TEMPLATE, Serde(page::Page::of(bundle)))
        .expect("the template is a constant, and every name in it is a field of `Page`")
}

/// What all templates are rendered with. All text is typeset when it is put down, but for what somebody may want to copy,
/// which goes through the filter `verbatim`.
fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.add_template("parts.html.j2", PARTS).expect("the template is a constant");
    environment.set_formatter(|out, state, value| match value.as_str() {
        Some(text) if !value.is_safe() => escape_formatter(out, state, &Value::from(typeset(text))),
        _ => escape_formatter(out, state, value),
    });
    environment.add_filter("verbatim", |text: &str| Value::from_safe_string(HtmlEscape(text).to_string()));
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(syntax.expect("the delimiters are the standard ones"));
    environment
}
