//! A plan changed on the command line, shipped plans as text, and results for programs.

use crate::support::{GET, ORIGINS, Yard, plan};
use std::path::Path;

#[test]
fn what_is_set_is_run_stored_and_known_to_report_and_resume() {
    let yard = Yard::new();
    yard.write("plan.toml", plan("max_rounds = 80", GET, ORIGINS));
    let set =
        ["--set", "experiment.max_rounds=3", "--set", "workload.urls=[\"/bytes/700\"]", "--budget", "140s"];
    let said = yard.run(&[&["run", "plan.toml", "--out", "out", "--json"], &set[..]].concat()).exits(0);
    // One JSON document and nothing else; words are on the other stream.
    assert_eq!(said.json(), yard.results("out"));
    assert_eq!(said.stdout, yard.read("out/results.json"));
    assert_eq!(said.stderr.lines().last(), Some("results: out"));
    let results = yard.results("out");
    assert_eq!(results["rounds"], 3);
    assert!(
        results["workload"]["description"].as_str().unwrap().contains("/bytes/700"),
        "{}",
        results["workload"]
    );
    let setup: serde_json::Value = serde_json::from_str(&yard.read("out/setup.json")).unwrap();
    assert_eq!(setup["budget_ns"], 140_000_000_000_u64);
    let stored = yard.read("out/plan.toml");
    for line in ["max_rounds = 3\n", "# --set experiment.max_rounds=3\n", "# --set experiment.budget=140s\n"]
    {
        assert!(stored.contains(line), "{stored}");
    }
    yard.run(&["report", "out"]).exits(0);
    yard.run(&["verify", "out"]).exits(0);
    yard.run(&["run", "--resume", "out"]).exits(0).says(&["the run is complete"]);
    yard.run(&["run", "--resume", "out", "--budget", "3min"]).exits(2).says(&["--budget"]);
}

#[test]
fn a_value_that_does_not_fit_is_shown_where_it_would_stand() {
    let yard = Yard::new();
    yard.write("plan.toml", plan("", GET, ORIGINS));
    for (key, words) in [
        ("experiment.margn=2%", &["margn", "did you mean `margin`?", "plan.toml, with --set:"][..]),
        ("experiment.margin=lots", &["margin = \"lots\"", "^^^^^^"]),
        ("experiment.seed.x=1", &["experiment.seed is no table"]),
        ("experiment.seed", &["no `=`", "experiment.budget=30s"]),
        ("workload.urls=[\"/a\"", &["no TOML", "workload.urls="]),
    ] {
        yard.run(&["check", "plan.toml", "--set", key]).exits(2).says(words);
        yard.run(&["run", "plan.toml", "--out", "out", "--set", key]).exits(2).says(words);
    }
    assert!(!yard.path("out").exists());
    let said = yard.run(&["check", "plan.toml", "--set", "experiment.margin=3%", "--budget", "7s"]).exits(0);
    assert!(said.stdout.contains("margin 3 %, budget 7 s"), "{}", said.stdout);
    yard.run(&["check", "polymix-1", "--budget", "7s"]).exits(2).says(&["--scale"]);
    let said = yard.run(&["check", "polymix-1", "--set", "bakeoff.scale=1/6"]).exits(0).stdout;
    assert_ne!(said, yard.run(&["check", "polymix-1"]).exits(0).stdout);
}

#[test]
fn a_shipped_plan_is_printed_as_it_is() {
    let yard = Yard::new();
    for name in ["quickstart", "enforcer", "polymix-1"] {
        let text = std::fs::read_to_string(
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../plans/{name}.toml")),
        );
        assert_eq!(yard.run(&["plans", name]).exits(0).stdout, text.unwrap());
    }
    yard.run(&["plans", "quickest"]).exits(2).says(&["quickest: no such plan", "bakeoff plans"]);
}

#[test]
fn a_suite_is_written_with_its_parts_and_what_is_changed_there_counts() {
    let yard = Yard::new();
    yard.run(&["plans", "tls", "--out", "mine"]).exits(0).says(&["bakeoff run mine/tls.toml"]);
    let part = "mine/tls-certificates.toml";
    yard.write(part, yard.read(part).replace("budget = \"5min\"", "budget = \"2min\""));
    let said = yard.run(&["check", "mine/tls.toml"]).exits(0).stdout;
    assert!(said.contains("a suite: handshake, ciphers, certificates; budget 22 min"), "{said}");
    yard.run(&["plans", "tls", "--out", "mine"]).exits(2).says(&["mine/tls.toml: is there already"]);
    yard.run(&["plans", "--out", "mine"]).exits(2);
}

#[test]
fn shells_complete_commands_and_help_is_a_command() {
    let yard = Yard::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = yard.run(&["completions", shell]).exits(0).stdout;
        assert!(["compare-results", "fail-if"].iter().all(|word| script.contains(word)), "{shell}: {script}");
    }
    yard.run(&["completions", "csh"]).exits(2).says(&["csh"]);
    assert_eq!(yard.run(&["help", "check"]).exits(0).stdout, yard.run(&["check", "--help"]).exits(0).stdout);
}
