//! Whole experiments with real servers whose truth is known: nothing between equal arms, and a
//! planted cost. How often verdicts are right is the calibration's question; here stands only what
//! holds in every run.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // helpers of tests are tests too

#[path = "../cli/support.rs"]
mod support;

mod clients;
mod method;
mod recorded;

use serde_json::Value;
use support::{GET, Yard, plan, seen};

fn run(experiment: &str, arms: &str) -> Value {
    let yard = Yard::new();
    yard.write("plan.toml", plan(experiment, GET, arms));
    yard.run(&["run", "plan.toml", "--out", "out", "--quiet"]).exits(0);
    yard.results("out")
}

fn primary<'a>(results: &'a Value, arm: &str) -> &'a Value {
    let rows = results["comparisons"].as_array().unwrap();
    rows.iter().find(|row| row["arm"] == arm && row["primary"] == true).unwrap()
}

/// Chance may give a single run any verdict; the noise floor must be told whatever it is.
#[test]
fn equal_arms_tell_the_noise_floor() {
    let arms = "[arm.plain]\nserver = \"origin\"\n\n[arm.same]\nserver = \"origin\"";
    let results = run("max_rounds = 10\nallow_equal_arms = true", arms);
    let floor = primary(&results, "plain'");
    assert!(floor["sentence"].as_str().unwrap().contains("noise floor"), "{floor}");
    assert_eq!(floor["differences"].as_array().unwrap().len() as u64, results["rounds"].as_u64().unwrap());
    for row in [floor, primary(&results, "same")] {
        let [low, effect, high] = ["low", "effect", "high"].map(|key| row[key].as_f64().unwrap());
        assert!(low < effect && effect < high, "{row}");
        assert!(row["smallest_detectable"].as_f64().unwrap() > 0.0, "{row}");
        assert!(row["paired_sd"].as_f64().unwrap() > 0.0, "{row}");
        // 1.0 would be twice the work for the same requests.
        assert!(effect.abs() < 1.0, "{row}");
    }
}

/// 200 us of CPU in each request, beside some 15 us that the origin needs itself, of which more requests are as sure.
#[test]
fn a_planted_cost_is_found_and_the_interval_holds_it() {
    let arms = "[arm.plain]\nserver = \"origin\"\n\n[arm.burning]\nserver = \"origin\"\nburn = \"200us\"\nslice_requests = 100";
    let test = "a_planted_cost_is_found_and_the_interval_holds_it";
    let decided = seen(test, || {
        let results = run("max_rounds = 10\nslice_requests = 400", arms);
        let row = primary(&results, "burning").clone();
        // Rightly so where rounds scatter by a tenth.
        let open = row["verdict"] == "not-resolved" && row["paired_sd"].as_f64().unwrap() > 0.1;
        if open { Err(row["sentence"].to_string()) } else { Ok((results, row)) }
    });
    let Some((results, row)) = decided else { return };
    assert_eq!(row["verdict"], "costs", "{row}");
    assert!(row["sentence"].as_str().unwrap().starts_with("costs"), "{row}");
    let [low, high, value, baseline] =
        ["low", "high", "value", "baseline_value"].map(|key| row[key].as_f64().unwrap());
    let planted = value - baseline;
    assert!((190e3..400e3).contains(&planted), "{planted} ns were found");
    // What was planted, in proportion to the baseline that was measured.
    let truth = 200e3 / baseline;
    assert!(low < truth * 1.5 && high > truth * 0.5 && low > 0.5, "{truth} and {row}");
    let floor = primary(&results, "plain'");
    assert!(floor["effect"].as_f64().unwrap().abs() < low, "{floor}");
}

#[test]
fn of_several_arms_each_is_compared_with_the_baseline() {
    let arms = "[arm.plain]\nserver = \"origin\"\n\n[arm.some]\nserver = \"origin\"\nburn = \"100us\"\n\n[arm.more]\nserver = \"origin\"\nburn = \"400us\"";
    let results = run("slice_requests = 100", arms);
    let effect = |arm: &str| primary(&results, arm)["effect"].as_f64().unwrap();
    assert!(
        effect("more") > 1.5 * effect("some") && effect("some") > 1.0,
        "{} {}",
        effect("some"),
        effect("more")
    );
    for arm in ["some", "more"] {
        assert_eq!(primary(&results, arm)["baseline"], "plain");
    }
    assert_eq!(results["order"], serde_json::json!(["plain", "plain'", "some", "more"]));
}
