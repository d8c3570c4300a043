//! Recorded runs, analysed again: what a quiet machine showed is asked of every version, on machines that are not.
//!
//! `tests/recorded` has a directory a run (plan, set-up, slices, end); its README says how each was made. A version that
//! cannot read them any more reads no results of its users either: then they are recorded anew, with the reason in
//! CHANGELOG.md.

use crate::support::Yard;
use serde_json::Value;
use std::path::{Path, PathBuf};

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

/// What took the verdict away before: the amount at full speed is another one.
#[test]
fn a_quickstart_whose_cost_depends_on_the_load_ends_in_costs() {
    for name in ["quickstart-1", "quickstart-2"] {
        let (said, results) = report(name);
        let primary = rows(&results, "https").find(|row| row["primary"] == true).unwrap();
        assert_eq!(
            (&primary["verdict"], &primary["contradiction"]),
            (&"costs".into(), &Value::Null),
            "{name}"
        );
        let full = rows(&results, "https").find(|row| row["at"] == "full speed").unwrap();
        let apart = number(&full["amount_low"]) > number(&primary["amount_high"])
            || number(&full["amount_high"]) < number(&primary["amount_low"]);
        assert!(apart, "{name} was recorded since the two do not agree: {primary} {full}");
        let sentence = primary["sentence"].as_str().unwrap();
        assert!(sentence.contains("what it costs depends on the load"), "{name}: {sentence}");
        assert!(said.contains("CPU/request, full speed"), "{said}");
    }
}

#[test]
fn planted_curves_have_their_word() {
    for (name, word) in [("flat", "flat"), ("growing", "grows")] {
        let (said, results) = report(name);
        let curve = &results["curve"]["arms"][0];
        assert_eq!(curve["trend"], word, "{curve}");
        assert!(said.contains("Cost over the load"), "{said}");
        let at_loads: Vec<f64> = (0..3)
            .map(|load| {
                rows(&results, "burns").find(|row| row["load"] == load && row["design"] == "duet").unwrap()
            })
            .map(|row| number(&row["amount"]))
            .collect();
        if word == "grows" {
            assert!(at_loads[2] > 1.5 * at_loads[0], "{at_loads:?}");
        } else {
            // 5 us were planted.
            assert!(at_loads.iter().all(|amount| (4_500.0..5_500.0).contains(amount)), "{at_loads:?}");
        }
    }
}
