//! Reports of bake-offs of caches, from made-up results.

use bakeoff_caches::results::{Cost, CutShort, Entrant, FORMAT, Pages, Peak, Point, Results, Rule};
use bakeoff_caches::transactions::Logged;
use bakeoff_report::{caches_html, caches_text};

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
        hit_mean_low_ns: None,
        hit_mean_high_ns: None,
        miss_mean_ns: None,
        miss_mean_low_ns: None,
        miss_mean_high_ns: None,
        pages: None,
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
        store_unreadable: None,
        transactions: None,
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

#[test]
fn pages_hits_and_misses_have_their_times_where_there_are_any() {
    let mut results = results(vec![point(1, "top1"), point(1, "top2")]);
    shows(&results, &[], &["a hit takes", "7.65 s"]);
    for point in &mut results.entrants[0].points {
        (point.hit_mean_ns, point.hit_mean_high_ns) = (Some(5_200_000), Some(6_300_000));
        (point.miss_mean_ns, point.miss_mean_high_ns) = (Some(3_010_000_000), Some(3_120_000_000));
        point.pages = Some(Pages {
            good: 1_234,
            failed: 56,
            objects_mean: 5.4,
            mean_ns: 7_650_000_000,
            mean_low_ns: Some(7_250_000_000),
            mean_high_ns: Some(8_050_000_000),
            p50_ns: 7_000_000_000,
            p95_ns: 12_000_000_000,
            p99_ns: 19_000_000_000,
        });
    }
    let there = [
        "a hit takes",
        "5.2 ms \u{b1} 1.1 ms",
        "3.01 s \u{b1} 110 ms",
        "1,234",
        "5.4",
        "7.65 s \u{b1} 400 ms",
    ];
    shows(&results, &there, &[]);
    for width in [80, 40] {
        let text = caches_text(&results, width, false);
        assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
    }
}

#[test]
fn what_is_known_of_an_entrant_stands_above_its_tables() {
    let mut results = results(vec![point(1, "meas")]);
    shows(&results, &[], &["could not be read", "transactions: "]);
    let entrant = &mut results.entrants[0];
    entrant.store_unreadable = Some("no such counter".to_owned());
    entrant.transactions = Some(Logged { rows: 5_000, dropped: 0, parts: 3, bytes: 200_000 });
    entrant.cost = Some(Cost {
        hit_ns: Some(300_000.0),
        hit_low_ns: Some(280_000.0),
        hit_high_ns: Some(320_000.0),
        miss_ns: 900_000.0,
        miss_low_ns: None,
        miss_high_ns: None,
        how: "as told".to_owned(),
    });
    let there = [
        "store: how full it is could not be read: no such counter",
        "transactions: 5,000 in 3 files, 200 KB",
        "CPU: 300 us \u{b1} 20 us a hit, 900 us a miss (as told)",
    ];
    shows(&results, &there, &["transactions-dropped"]);
    if let Some(logged) = &mut results.entrants[0].transactions {
        logged.dropped = 1_000;
    }
    shows(&results, &["200 KB, 1,000 not (transactions-dropped)"], &[]);
}
