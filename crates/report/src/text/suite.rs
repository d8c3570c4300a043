//! A suite in the terminal: the verdicts of its parts, then all of them beside the published figures.

use super::layout::{Page, Paint};
use super::study::stated;
use super::verdicts;
use crate::reading::Reading;
use crate::suite::{PartBundle, SuiteBundle};
use crate::words;

/// What a suite found, for a terminal of `width` columns; as [`text`](super::text()).
pub fn suite_text(suite: &SuiteBundle, width: usize, colour: bool) -> String {
    let mut page = Page::new(width, colour);
    page.title(
        &format!("{}: {}", suite.name, suite.summary),
        &match suite.parts.len() {
            1 => "1 part".to_owned(),
            count => format!("{count} parts"),
        },
    );
    suite.parts.iter().for_each(|part| show(&mut page, part));
    for section in suite.studies() {
        stated(&mut page, &section, &section.rows.iter().collect::<Vec<_>>());
    }
    page.finish()
}

fn show(page: &mut Page, part: &PartBundle) {
    let said = match part.experiment().map(Reading::of) {
        Some(reading) if reading.bundle.results.peak.is_none() => {
            let question = words::lower_first(&words::title(&reading));
            format!("{question} ({})", words::extent(&reading.bundle.results))
        }
        _ => part.plan.clone(),
    };
    page.heading(&format!("{}: {said}", part.name));
    match (part.without_verdicts(), part.experiment()) {
        (None, Some(bundle)) => {
            if words::is_partial(&bundle.results) {
                let why = words::stopped_by(&bundle.results);
                page.paragraph(&format!("PARTIAL RESULTS: {why}."), Paint::Alarm);
            }
            verdicts(page, &Reading::of(bundle));
        }
        (said, _) => page.note(&format!("{}.", words::upper_first(said.unwrap_or_default()))),
    }
}
