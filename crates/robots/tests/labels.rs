//! The table of labels in docs/caches.md is that of the code. `UPDATE_GOLDEN=1` writes it.

#![allow(clippy::unwrap_used)] // a test that cannot read its own tree has failed

use bakeoff_robots::judge::{LABELS, markdown};
use std::path::Path;

/// The table's first line, by which it is found.
const HEAD: &str = "| name | class | harm | RFC | meaning |\n";

#[test]
fn the_table_in_the_docs_is_that_of_the_code() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/caches.md");
    let text = std::fs::read_to_string(&file).unwrap();
    let begin = text.find(HEAD).unwrap();
    let end = begin + text[begin..].find("\n\n").unwrap() + 1;
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let whole = format!("{}{}{}", &text[..begin], markdown(), &text[end..]);
        return std::fs::write(file, whole).unwrap();
    }
    assert_eq!(text[begin..end], markdown(), "UPDATE_GOLDEN=1 writes it");
    assert_eq!(markdown().lines().count(), LABELS.len() + 2);
}
