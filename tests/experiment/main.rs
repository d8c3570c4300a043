//! Whole experiments with real servers whose truth is known: equal arms without a difference, and a planted cost.
//!
//! The calibration tests how often verdicts are right, and the word that a run earns depends on the machine. These
//! tests hold in every run on any machine, or follow from a directory rewritten as a quiet machine would have measured
//! it.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // helpers of tests are tests too

#[path = "../cli/support.rs"]
mod support;

mod clients;
mod goldens;
mod method;
mod recorded;

use serde_json::Value;
use support::{GET, Yard, as_on_a_quiet_machine, plan};

/// A plan whose budget bears all of its rounds also on a busy machine.
pub(crate) fn with_ample_budget(plan: &str) -> String {
    plan.replace("150s", "10min")
}

fn ran(experiment: &str, arms: &str) -> Yard {
    let yard = Yard::new();
    yard.write("plan.toml", with_ample_budget(&plan(experiment, GET, arms)));
    yard.run(&["run", "plan.toml", "--out", "out", "--quiet"]).exits(0);
    yard
}

fn run(experiment: &str, arms: &str) -> Value {
    ran(experiment, arms).results("out")
}

/// The words of a cost that was planted: a noisy machine leaves it open, and none denies it.
pub(crate) fn is_not_denied(row: &Value) {
    let verdict = row["verdict"].as_str().unwrap();
    assert!(["costs", "not-resolved", "no-verdict"].contains(&verdict), "{row}");
    let sentence = row["sentence"].as_str().unwrap();
    let says = match verdict {
        "costs" => sentence.starts_with("costs"),
        // By itself, or after `costs more than a, how much is`.
        "not-resolved" => sentence.contains("not resolved"),
        _ => sentence.starts_with("no verdict"),
    };
    assert!(says, "{row}");
}

fn primary<'a>(results: &'a Value, arm: &str) -> &'a Value {
    let rows = results["comparisons"].as_array().unwrap();
    rows.iter().find(|row| row["arm"] == arm && row["primary"] == true).unwrap()
}

/// Chance may give a single run any verdict; the noise floor must be reported with each of them.
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
        // A busy machine may need twice as much for the same requests in the next process; a count that holds another's
        // work, or none, is beyond that.
        assert!(effect.abs() < 3.0, "{row}");
    }
}

/// 2 ms of CPU in each request, beside some tens of microseconds that the origin needs itself.
#[test]
fn a_planted_cost_is_found_and_the_interval_holds_it() {
    let arms = "[arm.plain]\nserver = \"origin\"\n\n[arm.burning]\nserver = \"origin\"\nburn = \"2ms\"\nslice_requests = 40";
    let yard = ran("max_rounds = 10\nslice_requests = 400", arms);
    let results = yard.results("out");
    let row = primary(&results, "burning");
    is_not_denied(row);
    // The origin burns as many turns as 2 ms had when it started, at whatever speed a busy machine had then.
    let planted = row["value"].as_f64().unwrap() - row["baseline_value"].as_f64().unwrap();
    assert!((0.2e6..20e6).contains(&planted), "{planted} ns were found");

    // On a quiet machine it has its word.
    as_on_a_quiet_machine(&yard, "out", |arm| if arm == "burning" { 220e3 } else { 20e3 });
    yard.run(&["report", "out"]).exits(0);
    let results = yard.results("out");
    let row = primary(&results, "burning");
    assert_eq!(row["verdict"], "costs", "{row}");
    assert!(row["sentence"].as_str().unwrap().starts_with("costs"), "{row}");
    let [low, high, value, baseline] =
        ["low", "high", "value", "baseline_value"].map(|key| row[key].as_f64().unwrap());
    assert!(((value - baseline) / 200e3 - 1.0).abs() < 0.02, "{row}");
    assert!(low > 9.5 && high < 10.5 && low < high, "ten times the baseline were planted: {row}");
    let floor = primary(&results, "plain'");
    assert!(floor["effect"].as_f64().unwrap().abs() < 0.01, "{floor}");
}

#[test]
fn of_several_arms_each_is_compared_with_the_baseline() {
    let arms = "[arm.plain]\nserver = \"origin\"\n\n[arm.some]\nserver = \"origin\"\nburn = \"2ms\"\n\n[arm.more]\nserver = \"origin\"\nburn = \"8ms\"";
    let results = run("slice_requests = 40", arms);
    let effect = |arm: &str| primary(&results, arm)["effect"].as_f64().unwrap();
    assert!(
        effect("more") > 1.2 * effect("some") && effect("some") > 1.0,
        "{} {}",
        effect("some"),
        effect("more")
    );
    for arm in ["some", "more"] {
        assert_eq!(primary(&results, arm)["baseline"], "plain");
    }
    assert_eq!(results["order"], serde_json::json!(["plain", "plain'", "some", "more"]));
}
