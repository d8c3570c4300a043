//! The terminal's report of the public HTTP cache suite.

use super::layout::{Page, Paint};
use crate::conformance::{CAPTION, FIGURES, remarks, source, table};
use bakeoff_caches::conformance::Conformance;

/// The table, and the required tests that failed; lines of at most `width` columns.
pub fn conformance_text(conformance: &Conformance, width: usize, colour: bool) -> String {
    let mut page = Page::new(width, colour);
    page.paragraph(&format!("Conformance: {}", source(conformance)), Paint::Open);
    figures(&mut page, conformance);
    for product in conformance.products.iter().filter(|product| !product.failed_tests.is_empty()) {
        page.heading(&format!("{}: required tests that failed", product.name));
        for test in &product.failed_tests {
            page.bullet(&format!("{}: {}", test.id, test.name));
        }
    }
    page.finish()
}

/// As a section of a bake-off's report.
pub(super) fn section(page: &mut Page, conformance: &Conformance) {
    page.heading("Conformance");
    page.note(&source(conformance));
    figures(page, conformance);
}

fn figures(page: &mut Page, conformance: &Conformance) {
    let table = table(conformance);
    page.table(&table.head, &table.rows, FIGURES);
    page.note(&format!("{CAPTION}."));
    for remark in remarks(conformance) {
        page.bullet(&remark);
    }
}
