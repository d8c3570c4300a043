//! Searches for peaks: `bakeoff peak`, plans of that kind, and their directories.
//!
//! On a busy machine the load generator is late and trials are void; then no rate need be found, but none may be
//! claimed that no trial bore.

use crate::schema;
use crate::support::{Ended, Origin, PATIENCE, Yard, has, median, signal, skipped, wait_until};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// CPU time that the origin burns on each request, roughly: the speed of a core changes while it is calibrated.
const BURN: &str = "4ms";
const BURN_NS: f64 = 4e6;
/// Estimates lie on a grid of rates that are 1 % apart.
const GRID: f64 = 1.01;

fn plan(experiment: &str, peak: &str, arms: &str) -> String {
    format!(
        "[experiment]\nkind = \"peak\"\nbaseline = \"plain\"\n{experiment}\n[peak]\n{peak}\n[workload]\nkind = \"get\"\n\
         urls = [\"/bytes/500\"]\nconnections = 200\n\n{arms}\n"
    )
}

/// Checks the keys that scripts may rely on, and returns the arms' results.
fn kept(yard: &Yard, dir: &str, arms: &[&str]) -> Value {
    let results = yard.results(dir);
    schema::holds(&yard.run(&["schema", "results"]).exits(0).json(), &results);
    assert_eq!(results["comparisons"], serde_json::json!([]));
    let peak = results["peak"].as_object().unwrap();
    assert_eq!(peak["arms"].as_object().unwrap().keys().collect::<Vec<_>>(), arms);
    let mut numbers = Vec::new();
    for arm in peak["arms"].as_object().unwrap().values() {
        assert!(!arm["sentence"].as_str().unwrap().is_empty());
        for trial in arm["trials"].as_array().unwrap() {
            let errors: u64 =
                trial["errors"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
            assert_eq!(trial["due"].as_u64().unwrap(), trial["replies"].as_u64().unwrap() + errors);
            let word = trial["verdict"].as_str().unwrap();
            assert_eq!(word == "passed", trial["reasons"].as_array().unwrap().is_empty(), "{trial}");
            numbers.push(trial["number"].as_u64().unwrap());
        }
    }
    numbers.sort_unstable();
    assert!(numbers.iter().copied().eq(0..numbers.len() as u64), "{numbers:?}");
    assert_eq!(yard.read(&format!("{dir}/trials.jsonl")).lines().count(), numbers.len());
    assert_eq!(yard.read(&format!("{dir}/trials.csv")).lines().count(), numbers.len() + 1);
    results["peak"].clone()
}

fn trials<'a>(peak: &'a Value, arm: &str) -> &'a Vec<Value> {
    peak["arms"][arm]["trials"].as_array().unwrap()
}

fn rate(trial: &Value) -> f64 {
    trial["rate_per_s"].as_f64().unwrap()
}

/// A search of one arm that burns on every request: its output, its results, and the yard.
fn searched() -> (Yard, Ended, Value) {
    let yard = Yard::new();
    let arms = format!("[arm.plain]\nserver = \"origin\"\nburn = \"{BURN}\"");
    let peak = "slo = \"50ms\"\nprecision = \"20%\"\nconfirm = \"1s\"";
    yard.write("plan.toml", plan("budget = \"60s\"\n", peak, &arms));
    yard.run(&["check", "plan.toml"]).exits(0);
    let said = yard.run(&["run", "plan.toml", "--out", "out"]);
    assert!(matches!(said.code(), Some(0 | 4)), "{said:?}");
    let found = kept(&yard, "out", &["plain"]);
    (yard, said, found)
}

/// The share of its cores that other processes left to an arm depends on the machine, and so do the finding and how
/// many trials the budget bore; a rate that no trial bore is wrong on any.
#[test]
fn a_peak_is_a_rate_that_trials_bore_and_is_told_again() {
    let (yard, said, found) = searched();
    let arm = &found["arms"]["plain"];
    let with = |verdict: &str| -> Vec<f64> {
        trials(&found, "plain").iter().filter(|trial| trial["verdict"] == verdict).map(rate).collect()
    };
    let (passed, failed) = (with("passed"), with("failed"));
    let most = passed.iter().chain(&failed).fold(0.0_f64, |most, rate| most.max(*rate));
    let finding = arm["finding"].as_str().unwrap();
    match finding {
        "peak" => {
            assert!(!passed.is_empty() && !failed.is_empty(), "{arm}");
            assert!(rate(arm) <= most * GRID, "{arm}");
            assert!(arm["low_per_s"].as_f64() < arm["high_per_s"].as_f64() && arm["binding"].is_string());
        }
        "at-least" => assert!(passed.iter().any(|bore| *bore * GRID >= rate(arm)), "{arm}"),
        "no-rate-passes" => assert!(passed.is_empty() && !failed.is_empty(), "{arm}"),
        "not-measured" => assert!(arm["rate_per_s"].is_null(), "{arm}"),
        other => panic!("{other}: {arm}"),
    }
    assert_eq!(said.code(), Some(if finding == "not-measured" { 4 } else { 0 }), "{arm}");
    assert!(said.stdout.contains("what rate does plain sustain?"), "{}", said.stdout);
    // Every output can be made again, and says the same.
    let before = yard.read("out/results.json");
    yard.run(&["report", "out"]);
    assert_eq!(yard.read("out/results.json"), before);
}

/// A short trial can end before its queue has grown, and has more or fewer requests by chance: half as much again as the
/// origin can do is beyond that.
#[test]
#[ignore = "other work moves the CPU of a request; part of `make calibrate`"]
fn no_more_is_claimed_than_an_origin_with_a_known_capacity_bears() {
    let (yard, _, found) = searched();
    let cores = yard.results("out")["environment"]["subject_cores"].as_array().unwrap().len();
    let burned = trials(&found, "plain").iter().filter_map(|trial| trial["cpu_per_request_ns"].as_f64());
    let burned_ns = median(&burned.collect::<Vec<_>>());
    assert!((0.5..2.0).contains(&(burned_ns / BURN_NS)), "{burned_ns}");
    let capacity = 1e9 / burned_ns * cores as f64;
    for trial in trials(&found, "plain") {
        assert!(rate(trial) < 1.5 * capacity || trial["verdict"] != "passed", "{trial}");
    }
    let arm = &found["arms"]["plain"];
    assert_eq!(arm["finding"], "peak", "{arm}");
    assert!(rate(arm) < 1.25 * capacity, "{arm}");
}

#[test]
fn two_configurations_of_nginx_are_searched_in_turn_and_never_beyond_the_highest_rate() {
    if !has("nginx", "two_configurations_of_nginx_are_searched_in_turn_and_never_beyond_the_highest_rate") {
        return;
    }
    let yard = Yard::new();
    let config = |extra: &str| {
        format!(
            "events {{ worker_connections 1024; }}\nhttp {{\n  server {{\n    listen {{host}}:{{port}};\n    {extra}\n    \
             location / {{ return 200 \"hello\"; }}\n  }}\n}}\n"
        )
    };
    yard.write("a.conf", config(""));
    yard.write("b.conf", config("add_header X-Served-By bakeoff;"));
    let args = ["peak", "--server", "nginx", "a.conf", "b.conf", "--max-rate", "200/s", "--slo", "100ms"];
    let said = yard
        .run(&[&args[..], &["--budget", "90s", "--confirm", "1s", "--seed", "5", "--out", "out"]].concat());
    assert!(matches!(said.code(), Some(0 | 4)), "{said:?}");
    let found = kept(&yard, "out", &["a", "b"]);
    for arm in ["a", "b"] {
        assert!(trials(&found, arm).iter().all(|trial| rate(trial) <= 200.0), "{found}");
        let start = &found["setup"]["arms"][arm];
        assert!(
            start["closed"].as_array().unwrap().is_empty(),
            "a closed loop has no rate that could be bounded"
        );
        assert!(start["unloaded"]["replies_per_s"].as_f64().unwrap() <= 20.0, "{start}");
    }
    let order: Vec<Value> =
        yard.read("out/trials.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // As long as both are searched: one may have come to its end before.
    let both = 2 * ["a", "b"].map(|arm| trials(&found, arm).len()).into_iter().min().unwrap();
    for turn in order[..both].chunks_exact(2) {
        assert_ne!(turn[0]["arm"], turn[1]["arm"], "arms take turns");
    }
    let plan = yard.read("out/plan.toml");
    assert!(
        said.stderr.contains("of the plan out/plan.toml") && plan.contains("max_rate = \"200/s\""),
        "{said:?}"
    );
    yard.write("kept.toml", &plan);
    yard.run(&["check", "kept.toml"]).exits(0);
}

#[test]
fn an_interrupted_search_keeps_its_trials_and_goes_on() {
    let yard = Yard::new();
    let arms = format!("[arm.plain]\nserver = \"origin\"\nburn = \"{BURN}\"");
    let peak = "slo = \"100ms\"\nmax_rate = \"150/s\"\nconfirm = \"1s\"\nprecision = \"20%\"";
    yard.write("plan.toml", plan("budget = \"60s\"\n", peak, &arms));
    let started = yard.start(yard.bakeoff(&["run", "plan.toml", "--out", "out"]));
    let lines = || std::fs::read_to_string(yard.path("out/trials.jsonl")).unwrap_or_default();
    wait_until(PATIENCE, || match lines().lines().count() {
        0..=1 => Err("no two trials".to_owned()),
        _ => Ok(()),
    });
    signal("INT", &started.pid().to_string());
    let said = yard.ended(started).exits(130).says(&["interrupted", "--resume"]);
    assert!(said.stdout.contains("PARTIAL RESULTS"), "{}", said.stdout);
    let before = lines();
    kept(&yard, "out", &["plain"]);
    // Killed in the middle of a line.
    yard.write("out/trials.jsonl", format!("{before}{{\"number\":9,\"ar"));
    let said = yard.run(&["run", "--resume", "out", "--quiet"]);
    assert!(matches!(said.code(), Some(0 | 4)), "{said:?}");
    assert!(lines().starts_with(&before), "trials of before are kept byte for byte");
    assert!(lines().lines().count() > before.lines().count());
    kept(&yard, "out", &["plain"]);
}

/// Threads of this test that leave no time on a core until they are dropped.
struct Busy {
    ends: Arc<AtomicBool>,
}

impl Busy {
    fn on(core: usize, threads: usize) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        for _ in 0..threads {
            let ends = Arc::clone(&ends);
            std::thread::spawn(move || {
                bakeoff_sys::affinity::pin(&[core]).unwrap();
                while !ends.load(Ordering::Relaxed) {}
            });
        }
        Self { ends }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
    }
}

/// Found as `peak ... "sustains at least 57.4/s; give it more cores"`, exit code 0, for a server that bears 7,200/s.
#[test]
fn a_generator_whose_core_others_have_ends_the_search_and_claims_nothing() {
    let test = "a_generator_whose_core_others_have_ends_the_search_and_claims_nothing";
    let cores = bakeoff_sys::affinity::allowed().unwrap();
    let [subject, .., generator] = cores[..] else { return skipped(test, "needs two cores") };
    let yard = Yard::new();
    let places = format!("budget = \"60s\"\ngenerator_cores = [{generator}]\nsubject_cores = [{subject}]\n");
    let peak = "slo = \"100ms\"\nmax_rate = \"1000/s\"\nconfirm = \"1s\"\nprecision = \"20%\"";
    yard.write("plan.toml", plan(&places, peak, "[arm.plain]\nserver = \"origin\""));
    let busy = Busy::on(generator, 3);
    // With less weight than they have, it must wait for them, even if it needs little.
    let line = "exec nice -n 10 \"$@\"";
    let said =
        yard.ended(yard.start(yard.shell(line, &["run", "plan.toml", "--out", "out", "--verbose"]))).exits(4);
    drop(busy);
    let found = kept(&yard, "out", &["plain"]);
    let arm = &found["arms"]["plain"];
    assert_eq!((&arm["finding"], &arm["rate_per_s"]), (&Value::from("not-measured"), &Value::Null), "{arm}");
    assert!(arm["sentence"].as_str().unwrap().contains("the machine is too busy"), "{arm}");
    let busy = trials(&found, "plain").iter().filter(|trial| trial["reasons"][0] == "machine-busy").count();
    // In the others it was only late: the threads on its core had waited before, too.
    assert!(busy > 0 && trials(&found, "plain").len() <= 4 * busy, "{arm}");
    assert!(said.stdout.contains("others had the load generator's core"), "{}", said.stdout);
}

#[test]
fn a_url_is_searched_without_its_cpu() {
    let yard = Yard::new();
    let origin = Origin::start(&yard, &["--burn", BURN]);
    let url = format!("{}/bytes/500", origin.url);
    let args = ["peak", &url, "--max-rate", "100/s", "--slo", "100ms", "--confirm", "1s", "--budget", "20s"];
    let said = yard.start(yard.bakeoff(&[&args[..], &["--out", "out", "--quiet"]].concat())).wait();
    assert!(matches!(said.code(), Some(0 | 4)), "{said:?}");
    drop(origin);
    let name = url.split('/').nth(2).unwrap().replace(':', "-");
    let found = kept(&yard, "out", &[&name]);
    assert!(trials(&found, &name).iter().all(|trial| trial["cpu_per_request_ns"].is_null()));
}

#[test]
fn a_server_that_answers_nothing_ends_the_search_with_its_reason() {
    let yard = Yard::new();
    let said =
        yard.run(&["peak", "http://127.0.0.1:1/", "--confirm", "1s", "--budget", "10s", "--out", "out"]);
    said.exits(3).says(&["nobody answers", "start the server first"]);
}
