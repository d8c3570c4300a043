//! Reports of bake-offs of caches, from made-up results.

use bakeoff_caches::conformance::{Conformance, Conforms, FailedTest, Tally};
use bakeoff_caches::results::{CutShort, Entrant, FORMAT, Peak, Point, Results, Rule};
use bakeoff_report::{caches_html, caches_text, conformance_text};

fn point(order: u32, phase: &str) -> Point {
    Point {
        order,
        rate_per_s: f64::from(order) * 50.0,
        phase: phase.to_owned(),
        cut_short: None,
        seconds: 54.0,
        request_rate_per_s: 50.0,
        reply_rate_per_s: 50.0,
        replies: 2_700,
        error_share: 0.0,
        mean_ns: 1_500_000_000,
        mean_low_ns: None,
        mean_high_ns: None,
        p50_ns: 1,
        p95_ns: 2,
        p99_ns: 3_000_000_000,
        hit_mean_ns: None,
        miss_mean_ns: None,
        hit_ratio: Some(0.55),
        hit_ratio_low: None,
        hit_ratio_high: None,
        byte_hit_ratio: None,
        offered_hit_ratio: None,
        offered_byte_hit_ratio: None,
        two_sided_hit_ratio: None,
        achievable: None,
        fault_share: 0.0,
        in_flight_mean: 75.0,
        cpu_per_request_ns: None,
        origin_cpu_per_request_ns: None,
        robots_cpu_per_request_ns: 10,
        lateness_p99_ns: 20,
        rule: Rule { whole: true, mean: true, hit_ratio: Some(true), request_rate: true, reply_rate: true },
    }
}

fn results(points: Vec<Point>) -> Results {
    let entrant = Entrant {
        name: "squid".to_owned(),
        sentence: "passes".to_owned(),
        version: None,
        config: None,
        fill: None,
        peak: None,
        points,
        passed_up_to_per_s: Some(50.0),
        failed_from_per_s: None,
        cost: None,
        faults: Vec::new(),
        errors: Vec::new(),
        failed: None,
    };
    Results {
        format: FORMAT,
        name: "polymix".to_owned(),
        title: "PolyMix".to_owned(),
        started: "2026-11-22T12:00:00Z".to_owned(),
        bakeoff: "0.1.0".to_owned(),
        flags: Vec::new(),
        scale: "1/60".to_owned(),
        not_scaled: Vec::new(),
        differs: Vec::new(),
        mode: "reverse".to_owned(),
        hit_ratio_asked: 0.55,
        mean_bound_ns: 3_000_000_000,
        study: Some("polygraph".to_owned()),
        path: None,
        entrants: vec![entrant],
        facts: Vec::new(),
        warnings: Vec::new(),
        ended: "complete".to_owned(),
        conformance: None,
    }
}

/// Words that must or must not stand in the text and on the page.
#[track_caller]
fn shows(results: &Results, there: &[&str], not_there: &[&str]) {
    let page = caches_html(results, "");
    for shown in [caches_text(results, 100, false), page.replace("&#x2f;", "/").replace("&lt;", "<")] {
        for words in there {
            assert!(shown.contains(words), "should show `{words}`:\n{shown}");
        }
        for words in not_there {
            assert!(!shown.contains(words), "should not show `{words}`:\n{shown}");
        }
    }
}

#[test]
fn a_phase_is_named_where_a_run_has_several() {
    let one = results(vec![point(1, "meas"), point(2, "meas")]);
    shows(&one, &["50/s", "100/s", "1 entrant, 2 rates"], &["/s meas"]);
    let two = results(vec![point(1, "top1"), point(1, "top2")]);
    shows(&two, &["50/s top1", "50/s top2", "1 entrant, 1 rate,"], &[]);
}

#[test]
fn what_was_cut_short_and_what_failed_is_shown_where_it_was() {
    let mut cut = results(vec![point(1, "meas"), point(2, "meas")]);
    shows(&cut, &["passed in 1999"], &["cut short", "< 0.1 %", "run with", "Run with"]);
    cut.entrants[0].points[0].cut_short = Some(CutShort::BrokenOff);
    cut.entrants[0].points[0].rule.whole = false;
    cut.entrants[0].points[1].error_share = 0.0004;
    cut.flags = vec!["--product squid".to_owned(), "--scale 1/60".to_owned()];
    shows(&cut, &["cut short: broken off", "failed", "0.1 %", "--product squid --scale 1/60"], &[]);
    assert!(caches_text(&cut, 100, false).contains("< 0.1 %"));
}

#[test]
fn a_peak_that_was_not_found_is_none() {
    let mut results = results(vec![point(1, "meas")]);
    let how = "after 2 trials no rate was measured".to_owned();
    results.entrants[0].peak = Some(Peak { rate_per_s: None, how, trials: Vec::new() });
    shows(&results, &["peak: none, after 2 trials no rate was measured"], &[]);
}

fn conforms(name: &str) -> Conforms {
    let tally = |all, passed, failed| Tally {
        all,
        passed,
        failed,
        unjudged: [("setup-failed".to_owned(), all - passed - failed)].into(),
    };
    Conforms {
        name: name.to_owned(),
        version: Some("squid/5.7".to_owned()),
        config: None,
        seconds: 60.0,
        required: tally(146, 103, 40),
        optimal: tally(90, 60, 30),
        check: tally(70, 20, 50),
        failed_tests: vec![FailedTest {
            id: "vary-match".to_owned(),
            name: "Does it <match>?".to_owned(),
            said: Some("Response 2 comes from cache".to_owned()),
        }],
        differs: vec!["another version: squid/5.7 was examined, squid/6.1 measured".to_owned()],
        failed: None,
    }
}

#[test]
fn what_the_suite_said_is_shown_with_what_differs() {
    let mut results = results(vec![point(1, "meas")]);
    shows(&results, &[], &["Conformance"]);
    let died =
        Conforms { failed: Some("it died".to_owned()), failed_tests: Vec::new(), ..conforms("squid-my") };
    let found = Conformance {
        suite: "http-cache-tests 0.4.5 (code 0123, 306 tests) on node 20.1.2".to_owned(),
        started: "2026-11-22T12:00:00Z".to_owned(),
        products: vec![conforms("squid"), died],
    };
    results.conformance = Some(found.clone());
    let table = ["squid/5.7", "103 of 146", "60 of 90", "20 of 70", "squid-my (squid/5.7)"];
    shows(&results, &[&["Conformance", "another version: squid/5.7 was examined"][..], &table].concat(), &[]);
    shows(&results, &["squid-my: no figures: it died", "306 tests"], &["vary-match: Does"]);
    let page = caches_html(&results, "");
    assert!(
        page.contains("Does it &lt;match&gt;?") && page.contains("Response 2 comes from cache"),
        "{page}"
    );
    let text = conformance_text(&found, 80, false);
    assert!(text.contains("  - vary-match: Does it <match>?\n"), "{text}");
    assert!(table.iter().all(|words| text.contains(words)), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}
