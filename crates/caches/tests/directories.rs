//! Directories of bake-offs: what was cut short is read to its last line.

#![allow(clippy::unwrap_used)] // a test's panic is its message

use bakeoff_caches::directory::{self, Directory};
use bakeoff_caches::records::{EntrantRecord, IntervalLine, PhaseLine, Purpose, RunRecord, Setup, Used};
use bakeoff_caches::{analyse, shipped};
use bakeoff_experiment::directory::ResultsDir;
use bakeoff_robots::ledger::{Record, Scope, Sums};
use std::io::Write;

fn setup() -> Setup {
    Setup {
        format: 1,
        name: "polymix-1".to_owned(),
        started: "2026-11-22T12:00:00Z".to_owned(),
        bakeoff: "0.1.0".to_owned(),
        flags: vec!["--scale 1/60".to_owned()],
        scale: "1/60".to_owned(),
        rate_per_s: Some(100.0),
        facts: Vec::new(),
        warnings: Vec::new(),
        generator_cores: vec![0],
        subject_cores: vec![1],
        driver: "epoll".to_owned(),
    }
}

/// 100 requests a second for 60 s, so many of them hits, which take 10 ms; misses take 3 s.
fn record(scope: Scope, seconds: u64, hits: u64) -> Record {
    let all = 100 * seconds;
    let mut sums = Sums { asked: all, finished: all, good: all, ..Sums::default() };
    for n in 0..all {
        let time = if n < hits { 10_000_000 } else { 3_000_000_000 };
        sums.replies.traffic.response_ns.add(time);
        sums.replies.response.record(bakeoff_units::Nanos::new(time));
        let part = if n < hits { &mut sums.hits } else { &mut sums.misses };
        part.traffic.response_ns.add(time);
        part.traffic.bytes.add(1000);
        sums.basic.bytes.add(1000);
        sums.offered_hit_bytes.add(1000);
    }
    let ended_ns = seconds * 1_000_000_000;
    Record { lane: 0, scope, phase: "meas".to_owned(), number: 1, began_ns: 0, ended_ns, progress: all, sums }
}

fn run(hits: u64) -> RunRecord {
    let cpu = Used { cache_cpu_ns: Some(600_000_000), origin_replies: 6_000 - hits, ..Used::default() };
    RunRecord {
        entrant: EntrantRecord {
            name: "squid".to_owned(),
            version: Some("squid/9".to_owned()),
            config: None,
        },
        purpose: Purpose::Rate { order: 1, rate_per_s: 100.0 },
        phases: vec![PhaseLine {
            phase: record(Scope::Phase, 60, hits),
            measured: true,
            ended: "its time was over".to_owned(),
            used: cpu,
            achievable: None,
        }],
        store: None,
        store_unreadable: None,
        ended: "its time was over".to_owned(),
        failed: None,
        lateness_p99_ns: 1_000,
        robots_busy: 0.1,
        achievable: None,
        clock_ahead_s: Some(0),
    }
}

#[test]
fn a_directory_gives_its_figures_back() {
    let temp = tempfile::tempdir().unwrap();
    let dir = ResultsDir::create(temp.path()).unwrap();
    let plan = shipped::PLANS.iter().find(|plan| plan.name == "polymix-1").unwrap().text;
    let mut directory = Directory::begin(&dir, plan, &setup()).unwrap();
    for _ in 0..12 {
        let interval = record(Scope::Interval, 5, 275);
        directory.interval(&IntervalLine { run: 0, interval }).unwrap();
    }
    directory.run(&run(3_300)).unwrap();
    directory.end("complete").unwrap();
    let results = analyse(&directory::load(temp.path()).unwrap()).unwrap();
    let point = &results.entrants[0].points[0];
    assert_eq!((point.rate_per_s, point.request_rate_per_s, point.reply_rate_per_s), (100.0, 100.0, 100.0));
    assert_eq!(point.hit_ratio, Some(0.55));
    assert_eq!(point.two_sided_hit_ratio, Some(0.55));
    // 0.55 x 10 ms + 0.45 x 3 s, in every interval alike.
    assert_eq!((point.mean_ns, point.mean_low_ns), (1_355_500_000, Some(1_355_500_000)));
    assert_eq!(point.cpu_per_request_ns, Some(100_000));
    assert!(point.rule.passed());
    assert_eq!((results.ended.as_str(), results.scale.as_str()), ("complete", "1/60"));
    let said = &results.entrants[0].sentence;
    assert!(said.contains("passes at every rate, up to 100/s") && said.contains("1.36 s"), "{said}");
}

#[test]
fn too_few_hits_fail_the_rule_of_1999() {
    let temp = tempfile::tempdir().unwrap();
    let dir = ResultsDir::create(temp.path()).unwrap();
    let plan = shipped::PLANS.iter().find(|plan| plan.name == "polymix-1").unwrap().text;
    let mut directory = Directory::begin(&dir, plan, &setup()).unwrap();
    directory.run(&run(3_000)).unwrap();
    directory.end("complete").unwrap();
    let results = analyse(&directory::load(temp.path()).unwrap()).unwrap();
    let rule = results.entrants[0].points[0].rule;
    assert_eq!((rule.hit_ratio, rule.mean, rule.reply_rate), (Some(false), true, true));
    assert_eq!(
        (results.entrants[0].passed_up_to_per_s, results.entrants[0].failed_from_per_s),
        (None, Some(100.0))
    );
}

#[test]
fn half_a_line_is_what_a_killed_run_leaves() {
    let temp = tempfile::tempdir().unwrap();
    let dir = ResultsDir::create(temp.path()).unwrap();
    let plan = shipped::PLANS[0].text;
    let mut directory = Directory::begin(&dir, plan, &setup()).unwrap();
    directory.run(&run(3_300)).unwrap();
    drop(directory);
    let mut file = std::fs::OpenOptions::new().append(true).open(temp.path().join(directory::RUNS)).unwrap();
    file.write_all(b"{\"entrant\": {").unwrap();
    let stored = directory::load(temp.path()).unwrap();
    assert_eq!((stored.runs.len(), stored.ended.as_deref()), (1, None));
    assert_eq!(analyse(&stored).unwrap().ended, "it was killed");
    // A whole line that is none is no half one.
    file.write_all(b"\n").unwrap();
    let why = directory::load(temp.path()).unwrap_err().to_string();
    assert!(why.contains("line 2"), "{why}");
}

#[test]
fn half_a_line_may_end_within_a_character() {
    let temp = tempfile::tempdir().unwrap();
    let dir = ResultsDir::create(temp.path()).unwrap();
    let mut directory = Directory::begin(&dir, shipped::PLANS[0].text, &setup()).unwrap();
    directory.run(&run(3_300)).unwrap();
    drop(directory);
    let mut file = std::fs::OpenOptions::new().append(true).open(temp.path().join(directory::RUNS)).unwrap();
    file.write_all(b"{\"ended\": \"\xc3").unwrap();
    assert_eq!(directory::load(temp.path()).unwrap().runs.len(), 1);
}

#[test]
fn another_form_is_refused_with_the_version_that_wrote_it() {
    let temp = tempfile::tempdir().unwrap();
    let dir = ResultsDir::create(temp.path()).unwrap();
    Directory::begin(&dir, shipped::PLANS[0].text, &setup()).unwrap();
    // Of a form to come it knows these two members, and no others.
    std::fs::write(temp.path().join(directory::SETUP), r#"{"format": 2, "bakeoff": "9.0.0"}"#).unwrap();
    let why = directory::load(temp.path()).unwrap_err().to_string();
    for word in ["bakeoff.json", "bakeoff 9.0.0", "form 2", "reads 1", "use the bakeoff that wrote it"] {
        assert!(why.contains(word), "{word}: {why}");
    }
}

#[test]
fn an_end_that_cannot_be_read_is_no_killed_run() {
    let temp = tempfile::tempdir().unwrap();
    let dir = ResultsDir::create(temp.path()).unwrap();
    Directory::begin(&dir, shipped::PLANS[0].text, &setup()).unwrap();
    assert_eq!(directory::load(temp.path()).unwrap().ended, None);
    std::fs::create_dir(temp.path().join(directory::END)).unwrap();
    let why = directory::load(temp.path()).unwrap_err().to_string();
    assert!(why.contains("ended.txt"), "{why}");
}

#[test]
fn records_of_before_have_what_caches_would_have_made_of_them_in_the_run() {
    let mut value = serde_json::to_value(run(3_300)).unwrap();
    value.as_object_mut().unwrap().remove("store_unreadable");
    value["phases"][0].as_object_mut().unwrap().remove("achievable");
    value["achievable"] = serde_json::json!({"at_once": [0.5, 0.4], "when_fetched": [0.3, 0.2]});
    let read: RunRecord = serde_json::from_value(value).unwrap();
    assert_eq!(read.achievable.unwrap().when_fetched, (0.3, 0.2));
    assert_eq!((read.store_unreadable, read.phases[0].achievable), (None, None));
}
