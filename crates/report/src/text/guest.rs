//! What a guest counted, for the terminal.

use super::layout::{Page, Paint};
use crate::guest::{READ, WHERE, checks, costs, extent, facts, head, modes, verdict};
use bakeoff_guest::results::Results;

/// The report, lines of at most `width` columns.
pub fn guest_text(results: &Results, width: usize, colour: bool) -> String {
    let mut page = Page::new(width, colour);
    page.title(&format!("{}: {}", results.name, results.title), &extent(results));
    if let Some(invalid) = &results.invalid {
        page.paragraph(&format!("INVALID: {invalid}"), Paint::Alarm);
    }
    if results.ended < results.planned {
        page.paragraph(&format!("PARTIAL RESULTS: {}.", extent(results)), Paint::Alarm);
    }
    for table in &results.tables {
        page.heading(&head(results, table));
        page.note(&verdict(table));
        let costs = costs(table);
        page.table(&costs.head, &costs.rows, costs.head.len() - 2);
        page.note(READ);
        if table.modes.len() > 1 {
            page.heading(&format!("{}: every mode", results.statement));
            let modes = modes(table);
            page.table(&modes.head, &modes.rows, modes.head.len() - 1);
            page.note(&format!("{WHERE}; in brackets what is not resolved"));
        }
    }
    page.heading("Checks");
    checks(results).iter().for_each(|line| page.bullet(line));
    page.heading("What was booted");
    let facts: Vec<_> =
        facts(results).into_iter().map(|(name, value)| (name.to_owned(), value, Paint::Plain)).collect();
    page.definitions(&facts);
    if !results.differs.is_empty() {
        page.heading("Kept and modernised");
        results.differs.iter().for_each(|line| page.bullet(line));
    }
    page.finish()
}
