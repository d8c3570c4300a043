//! `bakeoff report`: every output again.

use crate::support::{GET, ORIGINS, Yard, plan};

#[test]
fn every_output_is_made_again_byte_for_byte() {
    let yard = Yard::new();
    yard.write("plan.toml", plan("", GET, ORIGINS));
    let first = yard.run(&["run", "plan.toml", "--out", "out"]).exits(0);
    let outputs = ["results.json", "slices.csv", "report.html"];
    let before: Vec<String> = outputs.iter().map(|name| yard.read(&format!("out/{name}"))).collect();
    for name in outputs {
        std::fs::remove_file(yard.path("out").join(name)).unwrap();
    }
    let again = yard.run(&["report", "out"]).exits(0);
    assert_eq!(again.stdout, first.stdout);
    for (name, before) in outputs.iter().zip(before) {
        assert!(yard.read(&format!("out/{name}")) == before, "{name} differs");
    }
    // Once the run is complete, to resume means to make the report.
    let resumed = yard.run(&["run", "--resume", "out"]).exits(0).says(&["complete"]);
    assert_eq!(resumed.stdout, first.stdout);
}

#[test]
fn a_damaged_directory_is_named_with_the_line() {
    let yard = Yard::new();
    yard.write("plan.toml", plan("", GET, ORIGINS));
    yard.run(&["run", "plan.toml", "--out", "out", "--quiet"]).exits(0);
    let slices = yard.read("out/slices.jsonl");
    yard.write("out/slices.jsonl", slices.replacen("{\"round\"", "{\"ruond\"", 1));
    yard.run(&["report", "out"]).exits(2).says(&["slices.jsonl", "line 1"]);
    yard.write("out/slices.jsonl", slices);
    let setup = yard.read("out/setup.json");
    yard.write("out/setup.json", setup.replacen("bakeoff-setup/4", "bakeoff-setup/0", 1));
    yard.run(&["report", "out"]).exits(2).says(&["setup.json", "bakeoff-setup/0", "bakeoff-setup/4"]);
}

/// Four arms that the Enforcer's study knows, the layer being a planted cost.
const STUDIED: &str = r#"
[experiment]
seed = 7
baseline = "apache.files.unchecked.http"
budget = "4min"
max_rounds = 3
slice_requests = 200
study = "enforcer"

[workload]
kind = "get"
urls = ["/bytes/500"]
robots = 4

[arm."apache.files.unchecked.http"]
server = "origin"

[arm."apache.files.checked.http"]
server = "origin"
burn = "100us"

[arm."apache.files.unchecked.https"]
server = "origin"
tls = true

[arm."apache.files.checked.https"]
server = "origin"
tls = true
burn = "100us"
"#;

#[test]
fn a_run_is_set_beside_the_study_that_its_plan_names() {
    let yard = Yard::new();
    yard.write("plan.toml", STUDIED);
    let said = yard.run(&["run", "plan.toml", "--out", "out"]);
    assert!(matches!(said.code(), Some(0 | 4)), "{said:?}");
    assert!(said.stdout.contains("Beside the published figures"), "{}", said.stdout);
    assert!(yard.read("out/report.html").contains("Beside the published figures"));
    let rows = yard.results("out")["study"]["rows"].as_array().unwrap().clone();
    let row =
        |arm: &str, meter: &str| rows.iter().find(|row| row["arm"] == arm && row["meter"] == meter).unwrap();
    for arm in ["apache.files.checked.http", "apache.files.checked.https"] {
        // Both have figures, that over TLS against its own protocol, which is not the plan's baseline.
        let row = row(arm, "replies_per_second");
        assert!(row["value"].is_f64() && row["low"].as_f64() <= row["high"].as_f64(), "{row}");
        // The generator may have been the limit; then the rates are invalid, and the report says so.
        let invalid = row["said"] == "not comparable: this run's figure is invalid";
        assert!(invalid || row["standing"] != "not-comparable", "{row}");
    }
    let absent = row("apache.store.checked.http", "replies_per_second");
    assert_eq!((&absent["value"], &absent["standing"]), (&serde_json::Value::Null, &"not-comparable".into()));
}

#[test]
fn a_budget_without_a_single_round_is_no_success() {
    let yard = Yard::new();
    yard.write("plan.toml", plan("", GET, ORIGINS));
    yard.run(&["run", "plan.toml", "--out", "out", "--quiet"]).exits(0);
    // As if it had ended in its first round.
    let first = yard.read("out/slices.jsonl").lines().next().unwrap().to_owned() + "\n";
    yard.write("out/slices.jsonl", first);
    let mut end: serde_json::Value = serde_json::from_str(&yard.read("out/end.json")).unwrap();
    end["stopped_by"] = "budget".into();
    yard.write("out/end.json", end.to_string());
    yard.run(&["report", "out"]).exits(4).says(&["the budget ended before the first round was complete"]);
}
