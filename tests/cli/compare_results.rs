//! `bakeoff compare-results`: a stored run against a newer one.

use crate::support::{GET, Yard, as_on_a_quiet_machine, plan};
use serde_json::Value;

/// An arm that burns is measured with few requests as precisely as one that does not with many.
fn arms(burn: &str, requests: u32) -> String {
    format!(
        "[arm.plain]\nserver = \"origin\"\n\n[arm.dear]\nserver = \"origin\"\nburn = \"{burn}\"\nslice_requests = {requests}"
    )
}

fn ran(yard: &Yard, out: &str, text: String) {
    yard.write("plan.toml", text);
    yard.run(&["run", "plan.toml", "--out", out, "--quiet"]).exits(0);
}

/// The same, as a quiet machine would have measured it.
fn ran_quietly(yard: &Yard, out: &str, text: String, dear_ns: f64) {
    ran(yard, out, text);
    as_on_a_quiet_machine(yard, out, |arm| if arm == "dear" { dear_ns } else { 20e3 });
    yard.run(&["report", out]).exits(0);
}

#[test]
fn what_an_arm_costs_then_and_now_is_told_with_the_change() {
    let yard = Yard::new();
    let rounds = "max_rounds = 8\nslice_requests = 600";
    ran_quietly(&yard, "old", plan(rounds, GET, &arms("100us", 200)), 120e3);
    ran_quietly(&yard, "new", plan(rounds, GET, &arms("600us", 200)), 620e3);
    let json = yard.run(&["compare-results", "old", "new", "--json"]).exits(0).json();
    assert_eq!(json["schema"], "bakeoff-compare-results/2");
    let row = |arm: &str| -> Value {
        let rows = json["rows"].as_array().unwrap();
        rows.iter().find(|row| row["arm"] == arm).unwrap_or_else(|| panic!("{arm}: {json}")).clone()
    };
    assert_eq!(json["rows"].as_array().unwrap().len(), 2, "plain and dear in the primary figure");
    assert!(row("plain")["cost"].is_null() && row("plain")["figure"].is_object());
    // 500 us more a request, on a server that uses 20: 25 times its CPU.
    let cost = &row("dear")["cost"];
    let [low, change] = ["change_low", "change"].map(|key| cost[key].as_f64().unwrap());
    assert!(low > 24.0 && (change - 25.0).abs() < 0.5, "{cost}");
    let sum = cost["old"].as_f64().unwrap() + cost["change"].as_f64().unwrap();
    assert!((sum - cost["new"].as_f64().unwrap()).abs() < 1e-9, "{cost}");
    assert!(row("dear")["figure"]["change_low"].as_f64().unwrap() > 0.5);
    let differs: Vec<&str> =
        json["differs"].as_array().unwrap().iter().map(|one| one["what"].as_str().unwrap()).collect();
    assert!(differs.contains(&"plan (SHA-256)") && !differs.contains(&"kernel"), "{differs:?}");
    let said = yard.run(&["compare-results", "old", "new", "--arm", "dear"]).exits(0);
    for word in ["dear", "was +", "changed by +", "points", "not pairs", "plan (SHA-256)"] {
        assert!(said.stdout.contains(word), "{word}:\n{}", said.stdout);
    }
    assert!(!said.stdout.contains("plain  "), "{}", said.stdout);

    let three = yard.run(&["compare-results", "old", "new", "old"]).exits(0).stdout;
    let rows: Vec<&str> = three.lines().filter(|line| line.contains(" us (")).collect();
    assert!(three.contains("3 runs of ") && rows.len() == 3, "{three}");
    assert!(rows[0].trim_start().starts_with("old") && rows[0].contains("+100"), "{three}");
    assert!(rows[1].contains("+600") && rows[1].matches(" us (").count() == 2, "{three}");
    assert!(rows[2].contains("may be nothing"), "equal runs: {three}");
    let json = yard.run(&["compare-results", "old", "new", "old", "--json"]).exits(0).json();
    assert_eq!(json["schema"], "bakeoff-compare-many/1");
    assert_eq!(
        (&json["runs"][0]["directory"], &json["runs"][0]["between"]["rows"][1]["cost"]),
        (&"new".into(), cost)
    );
}

#[test]
fn runs_that_did_not_do_the_same_are_refused_unless_asked_for() {
    let yard = Yard::new();
    ran(&yard, "old", plan("", GET, &arms("2us", 200)));
    ran(&yard, "new", plan("", &GET.replace('4', "5"), &arms("2us", 200)));
    let both = ["compare-results", "old", "new"];
    yard.run(&both).exits(2).says(&["the load was closed loop, 4 robots", "5 robots", "--anyway"]);
    let said = yard.run(&[&both[..], &["--anyway"]].concat()).exits(0);
    assert!(said.stdout.contains("closed loop, 4 robots -> closed loop, 5 robots"), "{}", said.stdout);
    for (more, word) in
        [(["--arm", "dera"], "did you mean `dear`?"), (["--meter", "speed"], "`bakeoff meters`")]
    {
        yard.run(&[&both[..], &["--anyway"], &more[..]].concat()).exits(2).says(&[word]);
    }
    yard.run(&["compare-results", "old", "nowhere"]).exits(2).says(&["nowhere"]);
}
