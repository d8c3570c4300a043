//! `results.json` as text, and its schema. Key order is that of the declarations; maps are sorted.

use bakeoff_analysis::between::Between;
use bakeoff_results::Results;

/// `results.json`: indented, stable key order, newline at the end. Figures that are no number
/// become `null`.
pub fn json(results: &Results) -> String {
    pretty(results)
}

/// What `compare-results --json` prints, in the same form.
pub fn between_json(between: &Between) -> String {
    pretty(between)
}

/// The same of two suites: each part's by its name.
pub fn between_suites_json(parts: &[(String, Between)]) -> String {
    let parts = parts.iter().map(|(part, between)| serde_json::json!({ "part": part, "between": between }));
    pretty(&serde_json::json!({ "schema": "bakeoff-compare-suites/1", "parts": parts.collect::<Vec<_>>() }))
}

/// The same of more than two runs: each but the first by its directory, beside the first.
pub fn between_many_json(others: &[(String, Between)]) -> String {
    let runs =
        others.iter().map(|(dir, between)| serde_json::json!({ "directory": dir, "between": between }));
    pretty(&serde_json::json!({ "schema": "bakeoff-compare-many/1", "runs": runs.collect::<Vec<_>>() }))
}

/// The JSON schema of `results.json`.
pub fn results_schema() -> String {
    pretty(&schemars::schema_for!(Results))
}

pub(crate) fn pretty<T: serde::Serialize>(value: &T) -> String {
    let mut text = serde_json::to_string_pretty(value)
        .expect("writing into memory cannot fail, and all keys are strings or integers");
    text.push('\n');
    text
}
