//! A machine that lacks what a run needs.

use crate::contract;
use crate::support::{GET, ORIGINS, SLOW, SLOW_GET, Yard, plan};

#[test]
fn an_output_directory_that_cannot_be_made() {
    let yard = Yard::new();
    yard.write("plan.toml", plan("", GET, ORIGINS));
    yard.write("file", "");
    for out in ["/proc/bakeoff-results", "file", "file/below"] {
        let said = yard.run(&["run", "plan.toml", "--out", out]).exits(3);
        let said = said.says(&[out, "cannot be written", "--out"]);
        assert!(!said.stderr.contains("make room"), "{}", said.stderr);
        assert_eq!(said.stdout, "");
    }
}

#[test]
fn no_temporary_directory() {
    let yard = Yard::new();
    yard.write("plan.toml", plan("", GET, ORIGINS));
    let mut command = yard.bakeoff(&["run", "plan.toml", "--out", "out"]);
    command.env("TMPDIR", yard.path("nowhere"));
    yard.ended(yard.start(command)).exits(3).says(&["nowhere", "TMPDIR"]);
}

#[test]
fn too_few_descriptors_are_named_with_the_number() {
    let yard = Yard::new();
    yard.write("plan.toml", plan("", GET, ORIGINS));
    let said = yard
        .ended(yard.start(yard.shell("ulimit -n 40; exec \"$@\"", &["run", "plan.toml", "--out", "out"])));
    said.exits(3).says(&["12 connections need 140 file descriptors", "40 at most", "ulimit -Hn 140"]);
}

/// A file size limit stands for a full disk: earlier slices stay, whole.
#[test]
fn a_disk_that_fills_up_in_the_middle_loses_one_slice_at_most() {
    let yard = Yard::new();
    yard.write("plan.toml", plan("max_rounds = 40\nslice_requests = 40", SLOW_GET, ORIGINS));
    // 40 blocks of 512 bytes, in every shell's measure at least; the signal would kill instead.
    let line = "trap '' XFSZ; ulimit -f 40; exec \"$@\"";
    let said = yard.ended(yard.start(yard.shell(line, &["run", "plan.toml", "--out", "out"]))).exits(3);
    let said = said.says(&["slices.jsonl", "cannot be written", "make room"]);
    assert_eq!(said.last_line(), "results: out");
    assert!(said.stdout.contains("PARTIAL RESULTS: a subject or the machine failed"), "{}", said.stdout);
    let slices = yard.read("out/slices.jsonl");
    assert!(slices.ends_with('\n') && slices.lines().count() >= 3, "{} bytes", slices.len());
    for line in slices.lines() {
        serde_json::from_str::<serde_json::Value>(line).unwrap();
    }
    // With room again the report can be made and the run goes on.
    yard.run(&["report", "out"]).exits(0);
    let rounds = yard.results("out")["rounds"].as_u64().unwrap();
    assert!(rounds >= 1);
}

#[test]
fn one_core_is_enough_and_the_report_warns() {
    let yard = Yard::new();
    yard.write("plan.toml", plan("", GET, ORIGINS));
    let core = bakeoff_sys::affinity::allowed().unwrap()[0];
    let line = format!("exec taskset -c {core} \"$@\"");
    let said = yard.ended(yard.start(yard.shell(&line, &["run", "plan.toml", "--out", "out"]))).exits(0);
    let results = contract::kept(&yard, "out", &["plain", "tls"], "subject_cpu_per_request");
    assert_eq!(results["environment"]["disjoint"], false);
    let warned = results["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .any(|w| w["sentence"].as_str().unwrap().contains("core"));
    assert!(warned, "{}", results["warnings"]);
    assert!(said.stdout.contains("Before you believe it"), "{}", said.stdout);
}

#[test]
fn the_budget_ends_a_run_in_time_and_what_was_measured_is_judged() {
    let yard = Yard::new();
    let text =
        plan(SLOW, SLOW_GET, ORIGINS).replace("max_rounds = 6", "max_rounds = 80").replace("150s", "20s");
    yard.write("plan.toml", text);
    yard.run(&["run", "plan.toml", "--out", "out", "--quiet"]).exits(0);
    let results = contract::kept(&yard, "out", &["plain", "tls"], "subject_cpu_per_request");
    assert!(["budget", "verdicts"].contains(&results["stopped_by"].as_str().unwrap()));
    assert!((1..80).contains(&results["rounds"].as_u64().unwrap()));
}
