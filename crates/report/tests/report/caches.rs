//! Reports of bake-offs of caches, from made-up results.

use bakeoff_caches::results::{CutShort, Entrant, FORMAT, Peak, Point, Results, Rule};
use bakeoff_report::{caches_html, caches_text};

/// All of it holds.
const RULE: Rule =
    Rule { whole: true, mean: true, hit_ratio: Some(true), request_rate: true, reply_rate: true };

fn point(order: u32, phase: &str) -> Point {
    Point {
        order,
        rate_per_s: Some(f64::from(order) * 50.0),
        asked_rate_per_s: Some(f64::from(order) * 50.0),
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
        rule: Some(RULE),
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
        hit_ratio_asked: Some(0.55),
        mean_bound_ns: 3_000_000_000,
        study: Some("polygraph".to_owned()),
        path: None,
        entrants: vec![entrant],
        facts: Vec::new(),
        warnings: Vec::new(),
        ended: "complete".to_owned(),
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
    cut.entrants[0].points[0].rule = Some(Rule { whole: false, ..RULE });
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

#[test]
fn a_workload_that_the_rule_of_1999_is_not_for_is_not_judged_by_it() {
    let mut results = results(vec![Point { rule: None, ..point(1, "top1") }]);
    (results.hit_ratio_asked, results.study) = (None, None);
    results.entrants[0].passed_up_to_per_s = None;
    shows(&results, &["50/s"], &["1999", "cut short"]);
    assert!(caches_html(&results, "").contains("</span> measured</p>"));
    // What came of it is told all the same.
    results.entrants[0].points[0].cut_short = Some(CutShort::TookTooLong);
    shows(&results, &["cut short: what it waited for had not come"], &["passed in 1999"]);
}

#[test]
fn a_phase_that_asks_for_less_than_its_run_says_how_much() {
    let less = Point { asked_rate_per_s: Some(5.0), ..point(1, "idle") };
    let of = |points| Results { study: None, ..results(points) };
    shows(&of(vec![point(1, "top1"), less]), &["asked", "50/s idle", "5/s"], &[]);
    assert!(!caches_text(&of(vec![point(1, "meas")]), 100, false).contains("asked"));
}

#[test]
fn robots_without_a_rate_are_shown_by_what_they_reached() {
    let point = Point {
        rate_per_s: None,
        asked_rate_per_s: None,
        reply_rate_per_s: 812.0,
        rule: None,
        ..point(1, "meas")
    };
    let mut results = Results { study: None, ..results(vec![point]) };
    results.entrants[0].passed_up_to_per_s = None;
    shows(
        &results,
        &["best effort", "812/s", "1 entrant, best effort, scale 1/60"],
        &["50/s", "passed in 1999"],
    );
    // Nothing to be drawn against a rate.
    assert!(!caches_html(&results, "").contains("Against the rate"));
}
