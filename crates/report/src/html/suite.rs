//! The page of a suite: the verdicts of its parts, and all of them beside the published figures.

use super::environment;
use super::page::{Card, STYLE};
use super::study::Beside;
use crate::reading::Reading;
use crate::suite::{PartBundle, SuiteBundle};
use crate::words;
use minijinja::Value;
use minijinja::value::Serde;
use serde::Serialize;

const TEMPLATE: &str = include_str!("../../assets/suite.html.j2");

/// Everything in the template.
#[derive(Serialize)]
struct View {
    name: String,
    title: String,
    bakeoff: String,
    parts: Vec<PartView>,
    studies: Vec<Beside>,
    // Ours, hence not escaped.
    style: Value,
}

#[derive(Serialize)]
struct PartView {
    name: String,
    plan: String,
    page: Option<String>,
    title: Option<String>,
    extent: Option<String>,
    partial: Option<String>,
    said: Option<&'static str>,
    verdicts: Vec<Card>,
}

/// A suite's report as one HTML file, which links to those of its parts.
pub fn suite_html(suite: &SuiteBundle) -> String {
    let view = View {
        name: suite.name.clone(),
        title: suite.summary.clone(),
        bakeoff: suite.bakeoff.clone(),
        parts: suite.parts.iter().map(PartView::of).collect(),
        studies: suite.studies().iter().map(Beside::of).collect(),
        style: Value::from_safe_string(STYLE.to_owned()),
    };
    environment()
        .render_str(TEMPLATE, Serde(view))
        .expect("the template is a constant, and every name in it is a field of `View`")
}

impl PartView {
    fn of(part: &PartBundle) -> Self {
        let said = part.without_verdicts();
        let reading = part.experiment().filter(|_| said.is_none()).map(Reading::of);
        let results = reading.as_ref().map(|reading| &reading.bundle.results);
        Self {
            name: part.name.clone(),
            plan: part.plan.clone(),
            page: part.measured().then(|| part.page()),
            title: reading.as_ref().map(words::title),
            extent: results.map(words::extent),
            partial: results
                .filter(|results| words::is_partial(results))
                .map(|results| words::stopped_by(results).to_owned()),
            said,
            verdicts: reading
                .iter()
                .flat_map(|reading| reading.judged().filter_map(|arm| Card::of(reading, arm)))
                .collect(),
        }
    }
}
