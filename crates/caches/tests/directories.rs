//! Directories of bake-offs: what was cut short is read to its last line.

#![allow(clippy::unwrap_used)] // a test's panic is its message

use bakeoff_caches::directory::{self, Directory};
use bakeoff_caches::records::{EntrantRecord, IntervalLine, PhaseLine, Purpose, RunRecord, Setup, Used};
use bakeoff_caches::results::{Achievable, CutShort, Point, Results, SUSTAINED};
use bakeoff_caches::transactions::Logged;
use bakeoff_caches::{NothingChosen, Wanted, analyse, choose, shipped};
use bakeoff_experiment::directory::ResultsDir;
use bakeoff_robots::ledger::{Record, Scope, Sums};
use bakeoff_robots::phases::EndReason;
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
        transactions: None,
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
        directory.interval(&IntervalLine { run: 0, cache_cpu_ns: None, interval }).unwrap();
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
    let hit = (point.hit_mean_ns, point.hit_mean_low_ns, point.hit_mean_high_ns);
    assert_eq!(hit, (Some(10_000_000), Some(10_000_000), Some(10_000_000)));
    let miss = (point.miss_mean_ns, point.miss_mean_low_ns, point.miss_mean_high_ns);
    assert_eq!(miss, (Some(3_000_000_000), Some(3_000_000_000), Some(3_000_000_000)));
    assert_eq!(point.cpu_per_request_ns, Some(100_000));
    assert!(point.rule.passed());
    assert_eq!((results.ended.as_str(), results.scale.as_str()), ("complete", "1/60"));
    let said = &results.entrants[0].sentence;
    assert!(said.contains("passes at every rate, up to 100/s") && said.contains("1.36 s"), "{said}");
}

/// A fill with a miss of 1 ms of CPU, in four intervals of 0.8 and 1.2 ms in turn; then a rate whose hits take 0.2 ms.
#[test]
fn the_cost_of_a_hit_has_the_error_of_the_miss_in_it() {
    let temp = tempfile::tempdir().unwrap();
    let dir = ResultsDir::create(temp.path()).unwrap();
    let plan = shipped::PLANS.iter().find(|plan| plan.name == "polymix-1").unwrap().text;
    let mut directory = Directory::begin(&dir, plan, &setup()).unwrap();
    let interval = |run, hits, cpu_ns| {
        let interval = record(Scope::Interval, 5, hits);
        IntervalLine { run, cache_cpu_ns: Some(cpu_ns), interval }
    };
    let used = |cpu_ns| Used { cache_cpu_ns: Some(cpu_ns), ..Used::default() };
    let mut fill = RunRecord { purpose: Purpose::Fill, ..run(0) };
    (fill.phases[0].phase, fill.phases[0].used) = (record(Scope::Phase, 20, 0), used(2_000_000_000));
    let mut rate = run(3_300);
    rate.phases[0].used = used(3_360_000_000);
    for cpu_ns in [400_000_000, 600_000_000, 400_000_000, 600_000_000] {
        directory.interval(&interval(0, 0, cpu_ns)).unwrap();
    }
    directory.run(&fill).unwrap();
    for _ in 0..12 {
        directory.interval(&interval(1, 275, 275 * 200_000 + 225 * 1_000_000)).unwrap();
    }
    directory.run(&rate).unwrap();
    directory.end("complete").unwrap();
    let results = analyse(&directory::load(temp.path()).unwrap()).unwrap();
    let cost = results.entrants[0].cost.as_ref().unwrap();
    let is = |found: Option<f64>, expected: f64| assert!((found.unwrap() - expected).abs() < 1.0, "{cost:?}");
    is(Some(cost.miss_ns), 1_000_000.0);
    is(cost.hit_ns, 200_000.0);
    // 0.1 s off, four times: t(3, 95 %) x sqrt(0.04 s2 x 4/3) / 2000; a hit has 0.45/0.55 of it.
    is(cost.miss_high_ns, 1_367_477.2);
    is(cost.miss_low_ns, 632_522.8);
    is(cost.hit_high_ns, 500_663.2);
    is(cost.hit_low_ns, 0.0);
}

#[test]
fn pages_are_told_where_one_has_more_than_one_object() {
    let of_pages = |objects| {
        let mut run = run(3_300);
        let pages = &mut run.phases[0].phase.sums.pages;
        (pages.good, pages.failed, pages.objects) = (2, 1, objects);
        for time_ns in [1_000_000_000, 3_000_000_000] {
            pages.response_ns.add(time_ns);
            pages.response.record(bakeoff_units::Nanos::new(time_ns));
        }
        results_of("polymix-1", &[run]).entrants[0].points[0].pages
    };
    assert_eq!(of_pages(2), None);
    let pages = of_pages(10).unwrap();
    assert_eq!((pages.good, pages.failed, pages.objects_mean), (2, 1, 5.0));
    assert_eq!((pages.mean_ns, pages.mean_high_ns), (2_000_000_000, None));
    assert!(pages.p99_ns >= 2_990_000_000, "{pages:?}");
}

#[test]
fn a_silent_gauge_and_rows_that_were_dropped_are_told() {
    let mut silent = run(3_300);
    silent.store_unreadable = Some("no such counter".to_owned());
    silent.transactions = Some(Logged { rows: 5_000, dropped: 1_000, parts: 3, bytes: 200_000 });
    let whole = Logged { rows: 100, dropped: 0, parts: 1, bytes: 5_000 };
    let other = RunRecord { transactions: Some(whole), ..run(3_300) };
    let results = results_of("polymix-1", &[silent, other]);
    let entrant = &results.entrants[0];
    assert_eq!(entrant.store_unreadable.as_deref(), Some("no such counter"));
    let all = Logged { rows: 5_100, dropped: 1_000, parts: 4, bytes: 205_000 };
    assert_eq!(entrant.transactions, Some(all));
    let warned =
        |warning: &&String| warning.contains("squid, run 0: transactions-dropped: 1000 of 6000 requests");
    assert_eq!(results.warnings.iter().filter(warned).count(), 1, "{:?}", results.warnings);
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

/// What a directory with these runs comes to; the plan is a shipped one.
fn results_of(plan: &str, runs: &[RunRecord]) -> Results {
    let temp = tempfile::tempdir().unwrap();
    let dir = ResultsDir::create(temp.path()).unwrap();
    let plan = shipped::PLANS.iter().find(|shipped| shipped.name == plan).unwrap().text;
    let setup = if plan.contains("rates = ") { Setup { rate_per_s: None, ..setup() } } else { setup() };
    let mut directory = Directory::begin(&dir, plan, &setup).unwrap();
    for run in runs {
        directory.run(run).unwrap();
    }
    directory.end("complete").unwrap();
    analyse(&directory::load(temp.path()).unwrap()).unwrap()
}

#[test]
fn what_was_broken_off_neither_passes_nor_fails_and_what_had_too_many_errors_fails() {
    let mut cut = run(3_300);
    for (ended, why, failed_from) in [
        ("", CutShort::BrokenOff, None),
        (EndReason::TooManyErrors.meaning(), CutShort::TooManyErrors, Some(100.0)),
    ] {
        ended.clone_into(&mut cut.phases[0].ended);
        let results = results_of("polymix-1", std::slice::from_ref(&cut));
        let entrant = &results.entrants[0];
        assert_eq!(entrant.points[0].cut_short, Some(why));
        assert!(!entrant.points[0].rule.passed() && entrant.points[0].rule.mean);
        assert_eq!((entrant.passed_up_to_per_s, entrant.failed_from_per_s), (None, failed_from));
        let warned = |warning: &String| {
            warning.contains("squid at 100/s: cut short") && warning.contains(why.in_words())
        };
        assert!(results.warnings.iter().any(warned), "{:?}", results.warnings);
    }
}

#[test]
fn every_measured_phase_of_a_run_is_a_point_of_its_own() {
    let mut two = run(3_300);
    let mut second = two.phases[0].clone();
    second.phase = Record { phase: "top2".to_owned(), ..record(Scope::Phase, 60, 3_000) };
    two.phases.push(second);
    let ratios = Achievable {
        at_once: (0.6, 0.6),
        when_fetched: (0.5, 0.5),
        capacity_bytes: None,
        lru: None,
        s3_fifo: None,
        belady: None,
    };
    two.achievable = Some(ratios);
    let results = results_of("polymix-1", &[two]);
    let entrant = &results.entrants[0];
    let seen = |point: &Point| (point.phase.clone(), point.hit_ratio, point.achievable);
    assert_eq!(
        entrant.points.iter().map(seen).collect::<Vec<_>>(),
        [("meas".to_owned(), Some(0.55), None), ("top2".to_owned(), Some(0.5), Some(ratios))]
    );
    // One of the two did not pass: the rate did not.
    assert_eq!((entrant.passed_up_to_per_s, entrant.failed_from_per_s), (None, Some(100.0)));
    assert!(entrant.sentence.contains("at 100/s in meas"), "{}", entrant.sentence);
}

#[test]
fn what_the_origin_was_asked_about_it_answered_whatever_it_said() {
    let mut revalidating = run(3_300);
    revalidating.phases[0].used.origin_replies = 6_000;
    revalidating.phases[0].used.origin_validations = 3_300;
    let results = results_of("polymix-1", &[revalidating]);
    let point = &results.entrants[0].points[0];
    assert_eq!((point.hit_ratio, point.two_sided_hit_ratio), (Some(0.55), Some(0.0)));
    assert_eq!(results.flags, ["--scale 1/60"]);
}

#[test]
fn a_peak_says_whether_it_was_ever_sustained() {
    let trial = |rate_per_s: f64, verdict: &str| RunRecord {
        purpose: Purpose::Trial { rate_per_s, verdict: verdict.to_owned() },
        ..run(3_300)
    };
    let measured = RunRecord { purpose: Purpose::Rate { order: 1, rate_per_s: 100.0 }, ..run(3_300) };
    let failed =
        RunRecord { failed: Some("it went away".to_owned()), phases: Vec::new(), ..trial(50.0, "x") };
    for (runs, rate, how) in [
        (
            vec![trial(100.0, SUSTAINED), trial(200.0, "too slow"), measured.clone()],
            Some(100.0),
            "found in 2 trials",
        ),
        (
            vec![trial(400.0, "too slow"), trial(200.0, "too slow"), measured],
            Some(100.0),
            "none of 2 trials was sustained; half of the lowest",
        ),
        (vec![trial(100.0, "too slow"), failed], None, "after 2 trials no rate was measured"),
    ] {
        let results = results_of("cache-bakeoff", &runs);
        let peak = results.entrants[0].peak.as_ref().unwrap();
        assert_eq!((peak.rate_per_s, peak.how.as_str(), peak.trials.len()), (rate, how, 2));
    }
}

#[test]
fn phases_of_several_runs_are_listed_once() {
    let temp = tempfile::tempdir().unwrap();
    let dir = ResultsDir::create(temp.path()).unwrap();
    let mut directory = Directory::begin(&dir, shipped::PLANS[0].text, &setup()).unwrap();
    let mut two = run(3_300);
    let cool = PhaseLine {
        phase: Record { phase: "cool".to_owned(), ..record(Scope::Phase, 60, 0) },
        measured: false,
        ..two.phases[0].clone()
    };
    two.phases.push(cool);
    directory.run(&two).unwrap();
    directory.run(&two).unwrap();
    directory.end("complete").unwrap();
    let stored = directory::load(temp.path()).unwrap();
    let wanted = Wanted { phase: Some("warm".to_owned()), ..Wanted::default() };
    assert_eq!(choose(&stored, &wanted).unwrap_err(), NothingChosen::NoSuchPhase("meas, cool".to_owned()));
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
    value.as_object_mut().unwrap().remove("transactions");
    value["phases"][0].as_object_mut().unwrap().remove("achievable");
    value["achievable"] = serde_json::json!({"at_once": [0.5, 0.4], "when_fetched": [0.3, 0.2]});
    let read: RunRecord = serde_json::from_value(value).unwrap();
    assert_eq!(read.achievable.unwrap().when_fetched, (0.3, 0.2));
    assert_eq!((read.store_unreadable, read.phases[0].achievable), (None, None));
}
