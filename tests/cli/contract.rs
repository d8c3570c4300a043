//! Contract of `results.json` with scripts: every key with its type, checked by hand and against the published schema.

use crate::schema;
use crate::support::Yard;
use serde_json::Value;

const VERDICTS: [&str; 7] =
    ["costs", "saves", "no-cost", "not-worse", "not-resolved", "no-verdict", "invalid"];

/// Checks `results.json` of a run of these arms (the baseline first) and gives it back.
pub(crate) fn kept(yard: &Yard, dir: &str, arms: &[&str], primary: &str) -> Value {
    let results = yard.results(dir);
    let schema = yard.run(&["schema", "results"]).exits(0).json();
    schema::holds(&schema, &results);
    assert!(results["schema"].as_str().unwrap().starts_with("bakeoff-results/"));
    assert!(results["seed"].is_u64() && results["margin"].is_f64() && results["rounds"].is_u64());
    let stopped_by = results["stopped_by"].as_str().unwrap();
    assert!(["verdicts", "rounds", "budget", "interrupted", "failed"].contains(&stopped_by), "{stopped_by}");
    let second = format!("{}'", arms[0]);
    let mut names: Vec<&str> = arms.iter().copied().chain([second.as_str()]).collect();
    names.sort_unstable();
    counts(&results, &names);
    comparisons(&results, &second, arms, primary);
    results
}

fn counts(results: &Value, names: &[&str]) {
    let arms = results["arms"].as_object().unwrap();
    assert_eq!(arms.keys().map(String::as_str).collect::<Vec<_>>(), names);
    let mut sum = 0;
    for (name, arm) in arms {
        let errors: u64 =
            arm["errors"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
        let (requests, replies) = (arm["requests"].as_u64().unwrap(), arm["replies"].as_u64().unwrap());
        assert_eq!(requests, replies + errors, "{name}");
        assert!(arm["bytes"].is_u64());
        sum += requests;
    }
    assert_eq!(results["workload"]["requests"].as_u64().unwrap(), sum);
    assert!(results["workload"]["skipped"].is_object());
}

/// Exactly one primary row for each arm and one for the second baseline.
fn comparisons(results: &Value, second: &str, arms: &[&str], primary: &str) {
    let rows = results["comparisons"].as_array().unwrap();
    for row in rows {
        for key in ["arm", "baseline", "meter", "unit", "sentence"] {
            assert!(row[key].as_str().is_some_and(|text| !text.is_empty()), "{key}: {row}");
        }
        assert_eq!(row["baseline"], arms[0]);
        assert!(VERDICTS.contains(&row["verdict"].as_str().unwrap()), "{row}");
        assert!(row["rounds"].as_u64().unwrap() <= results["rounds"].as_u64().unwrap(), "{row}");
        let level = row["level"].as_f64().unwrap();
        assert!(level > 0.5 && level < 1.0, "{level}");
        assert!(row["value"].is_number() && row["baseline_value"].is_number(), "{row}");
        if let Some(effect) = row["effect"].as_f64() {
            let (low, high) = (row["low"].as_f64().unwrap(), row["high"].as_f64().unwrap());
            assert!(low <= effect && effect <= high, "{row}");
        }
    }
    let mut judged: Vec<&str> =
        rows.iter().filter(|row| row["primary"] == true).map(|row| row["arm"].as_str().unwrap()).collect();
    judged.sort_unstable();
    let mut expected: Vec<&str> = arms[1..].iter().copied().chain([second]).collect();
    expected.sort_unstable();
    assert_eq!(judged, expected);
    assert!(rows.iter().filter(|row| row["primary"] == true).all(|row| row["meter"] == primary), "{primary}");
}

/// The primary row of an arm.
pub(crate) fn row<'a>(results: &'a Value, arm: &str) -> &'a Value {
    let rows = results["comparisons"].as_array().unwrap();
    rows.iter()
        .find(|row| row["arm"] == arm && row["primary"] == true)
        .unwrap_or_else(|| panic!("no row of {arm}"))
}
