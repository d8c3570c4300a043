//! The document as a page: one self-contained HTML file that opens offline, prints, and fits a phone.
//!
//! There is one template, `assets/page.html.j2`; style, script and the plotting library stand inside the file, and a
//! content security policy forbids it to load anything. Every value is escaped by the template engine; the plots' data
//! is JSON in a data block with all markup characters escaped. Only the interactive plots need a script.

use super::typeset::typeset;
use super::{Alarm, Block, Document, Head, Section, Shown};
use minijinja::HtmlEscape;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, UndefinedBehavior, escape_formatter};
use serde::Serialize;

const PAGE: &str = include_str!("../../assets/page.html.j2");
/// Macros of the template: blocks and drawings.
const BLOCKS: &str = include_str!("../../assets/blocks.html.j2");
const STYLE: &str = include_str!("../../assets/report.css");
const SCRIPT: &str = include_str!("../../assets/report.js");
const PLOT_STYLE: &str = include_str!("../../assets/uplot/uPlot.min.css");
const PLOT_SCRIPT: &str = include_str!("../../assets/uplot/uPlot.iife.min.js");
const PLOT_LICENCE: &str = include_str!("../../assets/uplot/LICENSE");
const PLOT_VERSIONS: &str = include_str!("../../assets/uplot/VERSIONS");

/// Everything in the template.
#[derive(Serialize)]
struct View<'d> {
    head: &'d Head,
    alarms: Vec<&'d Alarm>,
    nav: Vec<(&'d str, &'d str)>,
    /// Sections; those of the first screen together.
    groups: Vec<Vec<SectionView<'d>>>,
    // Ours, hence not escaped.
    style: Value,
    plots: Option<Plots>,
}

#[derive(Serialize)]
struct SectionView<'d> {
    id: String,
    title: &'d str,
    quiet: bool,
    first: bool,
    blocks: Vec<&'d Block>,
}

/// What interactive plots need.
#[derive(Serialize)]
struct Plots {
    library: &'static str,
    licence: &'static str,
    style: Value,
    script: Value,
    plot_script: Value,
    data: Value,
}

impl Document {
    /// One HTML file.
    pub fn html(&self) -> String {
        let shown = || self.sections.iter().filter(|section| section.shown != Shown::Terminal);
        let views: Vec<SectionView<'_>> = shown().enumerate().map(|(at, section)| section.view(at)).collect();
        let mut groups: Vec<Vec<SectionView<'_>>> = Vec::new();
        for view in views {
            match groups.last_mut() {
                Some(group) if view.first && group.iter().all(|other| other.first) => group.push(view),
                _ => groups.push(vec![view]),
            }
        }
        let view = View {
            head: &self.head,
            alarms: self.head.alarms.iter().collect(),
            nav: shown().filter_map(Section::link).collect(),
            groups,
            style: Value::from_safe_string(STYLE.to_owned()),
            plots: self.plots.as_deref().map(Plots::of),
        };
        let template = "the template is a constant, and every name in it is a field of `View`";
        let environment = environment();
        environment.get_template("page.html.j2").and_then(|page| page.render(Serde(view))).expect(template)
    }
}

impl Plots {
    fn of(data: &str) -> Self {
        let safe = |text: &str| Value::from_safe_string(text.to_owned());
        // As it may stand inside a `script` element: no character of markup is left.
        let data = data.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026");
        Self {
            library: PLOT_VERSIONS.lines().next().unwrap_or_default(),
            licence: PLOT_LICENCE,
            style: safe(PLOT_STYLE),
            script: safe(SCRIPT),
            plot_script: safe(PLOT_SCRIPT),
            data: safe(&data),
        }
    }
}

impl Section {
    fn view(&self, at: usize) -> SectionView<'_> {
        SectionView {
            id: if self.id.is_empty() { format!("section-{}", at + 1) } else { self.id.clone() },
            title: &self.title,
            quiet: self.quiet,
            first: self.first,
            blocks: self.shown(Shown::Page).collect(),
        }
    }

    /// Where the page's list of sections leads: not to what is not there.
    fn link(&self) -> Option<(&str, &str)> {
        let leads = |block: &Block| !block.is_remark() && !matches!(block, Block::Absent(_));
        let name = self.nav.as_deref()?;
        self.shown(Shown::Page).any(leads).then_some((self.id.as_str(), name))
    }
}

/// All text is typeset when it is put down, but for what somebody may want to copy, which goes through the filter
/// `verbatim`.
fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_formatter(|out, state, value| match value.as_str() {
        Some(text) if !value.is_safe() => escape_formatter(out, state, &Value::from(typeset(text))),
        _ => escape_formatter(out, state, value),
    });
    environment.add_filter("verbatim", |text: &str| Value::from_safe_string(HtmlEscape(text).to_string()));
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(syntax.expect("the delimiters are the standard ones"));
    for (name, text) in [("blocks.html.j2", BLOCKS), ("page.html.j2", PAGE)] {
        environment.add_template(name, text).expect("the template is a constant");
    }
    environment
}
