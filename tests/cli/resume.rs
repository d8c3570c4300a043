//! Runs that end before their time: killed, interrupted, and resumed.

use crate::contract;
use crate::support::{ORIGINS, PATIENCE, SLOW, SLOW_GET, Started, Yard, plan, signal, wait_until};
use serde_json::Value;
use std::collections::BTreeSet;
use std::os::unix::process::CommandExt;

/// A slow run that has measured at least `slices` slices; its own process group, as in a shell.
fn caught(yard: &Yard, slices: usize) -> Started {
    caught_with(yard, slices, SLOW, &[])
}

fn caught_with(yard: &Yard, slices: usize, experiment: &str, flags: &[&str]) -> Started {
    yard.write("plan.toml", plan(experiment, SLOW_GET, ORIGINS));
    let mut command = yard.bakeoff(&["run", "plan.toml", "--out", "out"]);
    command.args(flags);
    command.process_group(0);
    let mut started = yard.start(command);
    wait_until(PATIENCE, || {
        let lines =
            std::fs::read_to_string(yard.path("out/slices.jsonl")).unwrap_or_default().lines().count();
        assert!(started.child.try_wait().unwrap().is_none(), "it ended before it could be caught");
        if lines >= slices { Ok(()) } else { Err(format!("{lines} slices")) }
    });
    started
}

/// Each arm once in each of six rounds.
fn is_complete(yard: &Yard, before: &str) {
    let after = yard.read("out/slices.jsonl");
    assert!(after.starts_with(before), "slices of before are kept byte for byte");
    let mut seen = BTreeSet::new();
    for line in after.lines() {
        let slice: Value = serde_json::from_str(line).unwrap();
        let place = (slice["round"].as_u64().unwrap(), slice["arm"].as_str().unwrap().to_owned());
        assert!(seen.insert(place.clone()), "{place:?} was measured twice");
    }
    assert_eq!(seen.len(), 18);
    let results = contract::kept(yard, "out", &["plain", "tls"], "subject_cpu_per_request");
    assert_eq!(results["rounds"], 6);
    assert!(
        ["verdicts", "rounds"].contains(&results["stopped_by"].as_str().unwrap()),
        "{}",
        results["stopped_by"]
    );
    assert_eq!(results["arms"]["tls"]["replies"], 6 * 40);
}

#[test]
fn a_killed_run_leaves_nobody_and_goes_on_where_it_was() {
    let yard = Yard::new();
    let mut started = caught(&yard, 4);
    let below = bakeoff_sys::process::descendants(started.pid()).unwrap();
    assert!(below.len() >= 6, "three supervisors with a server each: {below:?}");
    started.child.kill().unwrap();
    started.wait();
    wait_until(PATIENCE, || {
        let is_there = |stat: &&bakeoff_sys::process::Stat| {
            bakeoff_sys::process::stat(stat.pid)
                .is_ok_and(|now| now.start_ticks == stat.start_ticks && now.state != 'Z')
        };
        let left: Vec<_> = below.iter().filter(is_there).collect();
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
    });
    yard.nobody_left_behind_the_killed();

    let before = yard.read("out/slices.jsonl");
    let whole = &before[..before.rfind('\n').unwrap() + 1];
    assert!((4..18).contains(&whole.lines().count()));
    yard.write("out/slices.jsonl", format!("{whole}{{\"round\":9,\"posi"));
    // An unfinished run can be reported without resuming it.
    let looked = yard.start(yard.bakeoff(&["report", "out"])).wait().exits(0);
    assert!(looked.stdout.contains("interrupted"), "{}", looked.stdout);
    let said = yard.run(&["run", "--resume", "out", "--quiet"]).exits(0);
    assert_eq!(said.stdout, "results: out\n");
    is_complete(&yard, whole);
}

#[test]
fn a_run_goes_on_with_as_much_as_it_began() {
    let yard = Yard::new();
    let two = "max_rounds = { sample = 3, full = 6 }\nslice_requests = { sample = 20, full = 40 }";
    let mut started = caught_with(&yard, 2, two, &["--full"]);
    started.child.kill().unwrap();
    started.wait();
    let before = yard.read("out/slices.jsonl");
    let whole = &before[..before.rfind('\n').unwrap() + 1];
    yard.run(&["run", "--resume", "out", "--quiet"]).exits(0);
    is_complete(&yard, whole);
    let results: Value = serde_json::from_str(&yard.read("out/results.json")).unwrap();
    assert_eq!(results["extent"], "full");
}

fn interrupted(name: &str, whole_group: bool) {
    let yard = Yard::new();
    let started = caught(&yard, 4);
    let pid = started.pid();
    signal(name, &if whole_group { format!("-{pid}") } else { pid.to_string() });
    let said = yard.ended(started).exits(130).says(&["interrupted", "--resume"]);
    assert_eq!(said.last_line(), "results: out");
    assert!(said.stdout.contains("what does tls cost?"), "the partial report:\n{}", said.stdout);
    let results = contract::kept(&yard, "out", &["plain", "tls"], "subject_cpu_per_request");
    assert_eq!(results["stopped_by"], "interrupted");
    assert!((1..6).contains(&results["rounds"].as_u64().unwrap()), "{}", results["rounds"]);
    assert!(yard.path("out/report.html").is_file());
    let before = yard.read("out/slices.jsonl");
    yard.run(&["run", "--resume", "out", "--quiet"]).exits(0);
    is_complete(&yard, &before);
}

/// The terminal sends it to the whole group; servers must not die of it in the middle of a slice.
#[test]
fn ctrl_c_keeps_what_was_measured_and_stops_the_servers() {
    interrupted("INT", true);
}

#[test]
fn sigterm_does_the_same() {
    interrupted("TERM", false);
}

#[test]
fn ctrl_c_before_the_first_slice_leaves_nothing_running() {
    let yard = Yard::new();
    yard.write("plan.toml", plan(SLOW, &SLOW_GET.replace("20ms", "5s"), ORIGINS));
    let started = yard.start(yard.bakeoff(&["run", "plan.toml", "--out", "out"]));
    let pid = started.pid();
    wait_until(PATIENCE, || {
        let below = bakeoff_sys::process::descendants(pid).unwrap().len();
        if below >= 6 { Ok(()) } else { Err(format!("{below} processes")) }
    });
    signal("INT", &pid.to_string());
    let said = yard.ended(started).exits(130).says(&["nothing was measured"]);
    assert!(!said.stderr.contains("--resume") && !yard.path("out").exists(), "{}", said.stderr);
    yard.run(&["report", "."]).exits(2).says(&[". is no results directory"]);
}

#[test]
fn an_interrupted_command_is_ended_and_its_cleanup_still_runs() {
    let yard = Yard::new();
    let workload = "kind = \"command\"\ncleanup = [\"sh\", \"-c\", \"sleep 0.3; echo cleaned >> log\"]";
    let arms = "[arm.plain]\ncommand = [\"sleep\", \"0.2\"]\n\n[arm.other]\ncommand = [\"sleep\", \"0.3\"]";
    yard.write("plan.toml", plan("max_rounds = 20", workload, arms));
    let started = yard.start(yard.bakeoff(&["run", "plan.toml", "--out", "out"]));
    wait_until(PATIENCE, || {
        let lines =
            std::fs::read_to_string(yard.path("out/slices.jsonl")).unwrap_or_default().lines().count();
        if lines >= 4 { Ok(()) } else { Err(format!("{lines} slices")) }
    });
    signal("INT", &started.pid().to_string());
    yard.ended(started).exits(130);
    let results = contract::kept(&yard, "out", &["plain", "other"], "elapsed");
    assert_eq!(results["stopped_by"], "interrupted");
    assert_eq!(yard.read("log"), "cleaned\n".repeat(3));
}

#[test]
fn a_second_bakeoff_on_the_directory_is_refused_and_the_first_goes_on() {
    let yard = Yard::new();
    let first = caught(&yard, 1);
    for args in [&["run", "plan.toml", "--out", "out"][..], &["run", "--resume", "out"], &["report", "out"]] {
        let second = yard.start(yard.bakeoff(args)).wait();
        second.exits(3).says(&["out is in use by another bakeoff", "--out"]);
    }
    yard.ended(first).exits(0);
    is_complete(&yard, "");
}
