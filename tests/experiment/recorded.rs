//! Recorded runs, analysed again: what a quiet machine showed is asked of every version, on machines that are not.
//!
//! `tests/recorded` has a directory a run (plan, set-up, slices, end); its README says how each was made. A version that
//! cannot read them any more reads no results of its users either: then they are recorded anew, with the reason in
//! CHANGELOG.md.

use crate::support::Yard;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Of `flat`: what the origin burned for a request, by its last lines.
const PLANTED_NS: f64 = 20_900.0;
const CPU: &str = "subject_cpu_per_request";

/// The report of a recorded run, and its results.
fn report(name: &str) -> (String, Value) {
    let yard = Yard::new();
    let recorded: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/recorded").join(name);
    std::fs::create_dir(yard.path("out")).unwrap();
    for file in ["plan.toml", "setup.json", "slices.jsonl", "end.json"] {
        std::fs::copy(recorded.join(file), yard.path("out").join(file)).unwrap();
    }
    let said = yard.run(&["report", "out"]).exits(0);
    (said.stdout.clone(), yard.results("out"))
}

fn rows<'r>(results: &'r Value, arm: &'r str) -> impl Iterator<Item = &'r Value> {
    let rows = results["comparisons"].as_array().unwrap().iter();
    rows.filter(move |row| row["arm"] == arm && row["meter"] == CPU)
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn interval(row: &Value) -> (f64, f64) {
    (number(&row["amount_low"]), number(&row["amount_high"]))
}

#[test]
fn a_quickstart_ends_in_costs() {
    let (said, results) = report("quickstart");
    let primary = rows(&results, "https").find(|row| row["primary"] == true).unwrap();
    assert_eq!((&primary["verdict"], &primary["contradiction"]), (&"costs".into(), &Value::Null));
    assert!(said.contains("CPU/request, full speed"), "{said}");
}

/// Another amount at full speed took the verdict away once.
#[test]
fn a_cost_that_is_another_at_full_speed_is_said_with_both() {
    let (said, results) = report("apart");
    let primary = rows(&results, "burns").find(|row| row["primary"] == true).unwrap();
    assert_eq!((&primary["verdict"], &primary["contradiction"]), (&"costs".into(), &Value::Null));
    let full = rows(&results, "burns").find(|row| row["at"] == "full speed").unwrap();
    let (low, full_high) = (interval(primary).0, interval(full).1);
    assert!(full_high < low, "it was recorded since the two are apart: {primary} {full}");
    assert!(primary["sentence"].as_str().unwrap().contains("what it costs depends on the load"), "{primary}");
    assert!(said.contains("CPU/request, full speed"), "{said}");
}

#[test]
fn planted_curves_have_their_word() {
    for (name, word) in [("flat", "flat"), ("growing", "grows")] {
        let (said, results) = report(name);
        let curve = &results["curve"]["arms"][0];
        assert_eq!(curve["trend"], word, "{curve}");
        assert!(said.contains("Cost over the load"), "{said}");
        let at = |load: usize| {
            rows(&results, "burns").find(|row| row["load"] == load && row["design"] == "duet").unwrap()
        };
        if word == "grows" {
            assert!(number(&at(2)["amount"]) > 1.5 * number(&at(0)["amount"]), "{results}");
        } else {
            let near = |load| (number(&at(load)["amount"]) / PLANTED_NS - 1.0).abs() < 0.1;
            assert!((0..3).all(near), "{results}");
        }
    }
}
