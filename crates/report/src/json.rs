//! `results.json` as text, and its schema. Key order is that of the declarations; maps are sorted.

use bakeoff_experiment::between::Between;
use bakeoff_experiment::results::Results;

/// `results.json`: indented, stable key order, newline at the end. Figures that are no number
/// become `null`.
pub fn json(results: &Results) -> String {
    pretty(results)
}

/// What `compare-results --json` prints, in the same form.
pub fn between_json(between: &Between) -> String {
    pretty(between)
}

/// The JSON schema of `results.json`.
pub fn results_schema() -> String {
    pretty(&schemars::schema_for!(Results))
}

fn pretty<T: serde::Serialize>(value: &T) -> String {
    let mut text = serde_json::to_string_pretty(value)
        .expect("writing into memory cannot fail, and all keys are strings or integers");
    text.push('\n');
    text
}
