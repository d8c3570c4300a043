//! Reports of bake-offs of caches, from made-up results.

use bakeoff_caches::beside;
use bakeoff_caches::conformance::{Conformance, Conforms, FailedTest, TestCounts};
use bakeoff_caches::records::{End, EntrantRecord, IntervalLine, RunPurpose, RunRecord, Tls, TrialVerdict};
use bakeoff_caches::results::{
    Apart, BakeoffResults, BaselinePair, CacheCost, Class, CutShort, Downtime, EntrantResults, FORMAT,
    FaultCount, Gzip, Harm, PageResults, PassRule, Peak, Point, Spread,
};
use bakeoff_caches::transactions::Logged;
use bakeoff_plan::study;
use bakeoff_report::{KeptStudy, caches, conformance, studies_page, study_plot};
use bakeoff_results::entrant::EntrantVerdict;
use bakeoff_results::{KeptRun, Standing, StudyRow};

/// All of it holds.
const RULE: PassRule = PassRule {
    whole: true,
    mean: true,
    hit_ratio: Some(true),
    request_rate: true,
    reply_rate: true,
    content: true,
    books: true,
};

/// 0.3 ms a hit, 0.9 ms a miss, 2 ms a second.
const COST: CacheCost = CacheCost {
    hit_ns: 300_000.0,
    hit_low_ns: 280_000.0,
    hit_high_ns: 320_000.0,
    miss_ns: 900_000.0,
    miss_low_ns: 850_000.0,
    miss_high_ns: 950_000.0,
    fixed_ns_per_s: 2_000_000.0,
    fixed_low_ns_per_s: 1_500_000.0,
    fixed_high_ns_per_s: 2_500_000.0,
};

fn point(order: u32, phase: &str) -> Point {
    Point {
        order,
        pass: None,
        rate_per_s: Some(f64::from(order) * 50.0),
        asked_rate_per_s: Some(f64::from(order) * 50.0),
        phase: phase.to_owned(),
        cut_short: None,
        seconds: 54.0,
        request_rate_per_s: 50.0,
        reply_rate_per_s: 50.0,
        replies: 2_700,
        answered: 2_700,
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
        hit_tail: None,
        miss_tail: None,
        pages: None,
        hit_ratio: Some(0.55),
        hit_ratio_low: None,
        hit_ratio_high: None,
        byte_hit_ratio: None,
        offered_hit_ratio: None,
        offered_byte_hit_ratio: None,
        two_sided_hit_ratio: None,
        achievable: None,
        gzip: None,
        fault_share: 0.0,
        in_flight_mean: 75.0,
        cpu_per_request_ns: None,
        origin_cpu_per_request_ns: None,
        robots_cpu_per_request_ns: 10,
        lateness_p99_ns: 20,
        tls: None,
        rule: Some(RULE),
        passes: Vec::new(),
    }
}

fn results(points: Vec<Point>) -> BakeoffResults {
    let entrant = EntrantResults {
        name: "squid".to_owned(),
        second_of: None,
        verdict: EntrantVerdict::Passes,
        sentence: "passes".to_owned(),
        version: None,
        config: None,
        fill: None,
        later_fills: Vec::new(),
        peak: None,
        points,
        spread: None,
        passed_up_to_per_s: Some(50.0),
        failed_from_per_s: None,
        downtime: Vec::new(),
        cost: None,
        memory_bytes: None,
        stored_bytes: None,
        faults: Vec::new(),
        errors: Vec::new(),
        failed: None,
        store_unreadable: None,
        transactions: None,
    };
    BakeoffResults {
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
        passes: 1,
        baselines: None,
        entrants: vec![entrant],
        facts: Vec::new(),
        warnings: Vec::new(),
        ended: End::Complete,
        conformance: None,
    }
}

/// Words that must or must not stand in the text and on the page.
#[track_caller]
fn shows(results: &BakeoffResults, there: &[&str], not_there: &[&str]) {
    let page = caches(results, "", &[], &[]).html();
    for shown in [
        caches(results, "", &[], &[]).text(100, false),
        page.replace("&#x2f;", "/").replace("&lt;", "<").replace("\u{b5}s", "us"),
    ] {
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
    cut.entrants[0].points[0].rule = Some(PassRule { whole: false, ..RULE });
    cut.entrants[0].points[1].error_share = 0.0004;
    cut.flags = vec!["--product squid".to_owned(), "--scale 1/60".to_owned()];
    shows(&cut, &["cut short: broken off", "failed", "0.1 %", "--product squid --scale 1/60"], &[]);
    assert!(caches(&cut, "", &[], &[]).text(100, false).contains("< 0.1 %"));
}

#[test]
fn handshakes_are_shown_where_there_were_any() {
    let tls = Tls {
        agreed: Some("TLSv1_3 TLS13_AES_256_GCM_SHA384 X25519".to_owned()),
        full: 1_203,
        resumed: 1_497,
        failed: 4,
        stands_p50_ns: 2_500_000,
        handshake_p50_ns: 1_300_000,
    };
    let with = results(vec![Point { tls: Some(tls), ..point(1, "meas") }]);
    shows(&with, &["agreed on", "TLSv1_3", "1,203", "1,497", "2.5 ms", "1.3 ms"], &[]);
    shows(&results(vec![point(1, "meas")]), &["in flight"], &["agreed on"]);
}

#[test]
fn replies_in_gzip_are_shown_where_somebody_asked_for_them() {
    let gzip = Some(Gzip { asked: 1_200, came: 1_188 });
    let with = results(vec![Point { gzip, ..point(1, "meas") }, point(2, "meas")]);
    shows(&with, &["asked in gzip", "1,200", "1,188", "99.0 %"], &[]);
    shows(&results(vec![point(1, "meas")]), &["in flight"], &["gzip"]);
}

#[test]
fn a_peak_that_was_not_found_is_none() {
    let mut results = results(vec![point(1, "meas")]);
    let how = "no rate was measured in 2 trials".to_owned();
    results.entrants[0].peak =
        Some(Peak { rate_per_s: None, how, trials: Vec::new(), confirming: Vec::new() });
    shows(&results, &["peak: none, no rate was measured in 2 trials"], &[]);
}

#[test]
fn a_workload_that_the_rule_of_1999_is_not_for_is_not_judged_by_it() {
    let mut results = results(vec![Point { rule: None, ..point(1, "top1") }]);
    (results.hit_ratio_asked, results.study) = (None, None);
    results.entrants[0].passed_up_to_per_s = None;
    results.entrants[0].verdict = EntrantVerdict::Measured;
    shows(&results, &["50/s"], &["1999", "cut short"]);
    assert!(caches(&results, "", &[], &[]).html().contains("</span> measured</p>"));
    // What came of it is told all the same.
    results.entrants[0].points[0].cut_short = Some(CutShort::TookTooLong);
    shows(&results, &["cut short: what it waited for had not come"], &["passed in 1999"]);
}

#[test]
fn a_phase_that_asks_for_less_than_its_run_says_how_much() {
    let less = Point { asked_rate_per_s: Some(5.0), ..point(1, "idle") };
    let of = |points| BakeoffResults { study: None, ..results(points) };
    shows(&of(vec![point(1, "top1"), less]), &["asked", "50/s idle", "5/s"], &[]);
    assert!(!caches(&of(vec![point(1, "meas")]), "", &[], &[]).text(100, false).contains("asked"));
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
    let mut results = BakeoffResults { study: None, ..results(vec![point]) };
    results.entrants[0].passed_up_to_per_s = None;
    shows(
        &results,
        &["best effort", "812/s", "1 entrant, best effort, scale 1/60"],
        &["50/s", "passed in 1999"],
    );
    // Nothing to be drawn against a rate.
    assert!(!caches(&results, "", &[], &[]).html().contains("Against the rate"));
}

#[test]
fn an_outage_has_its_tables_and_says_how_exactly_it_is_known() {
    let mut away = results(vec![point(1, "meas")]);
    shows(&away, &[], &["known to", "still there", "came back"]);
    away.entrants[0].verdict = EntrantVerdict::CameBack;
    away.entrants[0].downtime = vec![Downtime {
        order: 1,
        pass: None,
        rate_per_s: 50.0,
        phase: "dark".to_owned(),
        away_ns: Some(5_010_000_000),
        first_reply_ns: Some(6_200_000_000),
        ready_ns: Some(1_100_000_000),
        first_good_ns: Some(1_190_000_000),
        first_hit_ns: None,
        first_miss_ns: Some(1_195_000_000),
        known_to_ns: Some(333_000_000),
        lost: [("connect-refused".to_owned(), 18), ("reset".to_owned(), 1)].into(),
        hit_ratio_before: Some(0.551),
        hit_ratio_after: Some(0.498),
        known_asked: 40,
        known_hits: 10,
    }];
    let there = [
        "known to",
        "5.01 s",
        "1.19 s",
        "333 ms",
        "19",
        "55.1 %",
        "49.8 %",
        "25.0 %",
        "18 connect-refused, 1 reset",
    ];
    shows(&away, &there, &[]);
    assert!(caches(&away, "", &[], &[]).html().contains("came back"));
    away.entrants[0].verdict = EntrantVerdict::NotBack;
    assert!(caches(&away, "", &[], &[]).html().contains("not back"));
}

#[test]
fn pages_hits_and_misses_have_their_times_where_there_are_any() {
    let mut results = results(vec![point(1, "top1"), point(1, "top2")]);
    shows(&results, &[], &["a hit", "7.65 s"]);
    for point in &mut results.entrants[0].points {
        (point.hit_mean_ns, point.hit_mean_high_ns) = (Some(5_200_000), Some(6_300_000));
        (point.miss_mean_ns, point.miss_mean_high_ns) = (Some(3_010_000_000), Some(3_120_000_000));
        point.pages = Some(PageResults {
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
    let there =
        ["a hit", "5.2 ms \u{b1} 1.1 ms", "3.01 s \u{b1} 110 ms", "1,234", "5.4", "7.65 s \u{b1} 400 ms"];
    shows(&results, &there, &[]);
    for width in [80, 40] {
        let text = caches(&results, "", &[], &[]).text(width, false);
        assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
    }
    // In lines of a table, not in lists.
    let text = caches(&results, "", &[], &[]).text(80, false);
    let squeezed: Vec<String> =
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert!(squeezed.iter().any(|line| line.starts_with("50/s top1 a hit 5.2 ms \u{b1} 1.1 ms")), "{text}");
}

#[test]
fn passes_and_both_starts_of_the_baseline_are_shown_with_what_they_differ_by() {
    let pass = |number, mean_ns| Point { pass: Some(number), mean_ns, ..point(1, "meas") };
    let passes = vec![pass(1, 1_400_000_000), pass(2, 1_600_000_000)];
    let mut twice = results(vec![Point { passes, ..point(1, "meas") }]);
    shows(&results(vec![point(1, "meas")]), &[], &["passes apart", "The baseline, twice", "2 passes"]);
    let apart = |median| Some(Apart { median, most: 2.0 * median });
    let spread = Spread { points: 10, mean: apart(0.04), hit_ratio: apart(0.005), cpu: None };
    twice.passes = 2;
    twice.entrants[0].spread = Some(spread);
    let mut second = twice.entrants[0].clone();
    "squid'".clone_into(&mut second.name);
    second.second_of = Some("squid".to_owned());
    second.points[0].mean_ns = 1_450_000_000;
    second.points[0].hit_ratio = Some(0.538);
    twice.entrants.push(second);
    let (first, second) = ("squid".to_owned(), "squid'".to_owned());
    twice.baselines = Some(BaselinePair { first, second, spread });
    let there = [
        "1 entrant, the baseline twice, 1 rate, 2 passes, scale 1/60",
        "1.4 s",
        "1.6 s",
        "13.3 %",
        "passes: mean response times 4.0 % apart (8.0 at most), hits 0.5 points apart (1.0 at most); the median of 10",
        "The baseline, twice",
        "3.4 %",
        "53.8 %",
    ];
    let text = caches(&twice, "", &[], &[]).text(100, false).split_whitespace().collect::<Vec<_>>().join(" ");
    let page = caches(&twice, "", &[], &[]).html().replace("&#x2f;", "/");
    for words in there {
        assert!(text.contains(words), "should show `{words}`:\n{text}");
        assert!(page.contains(words), "should show `{words}`:\n{page}");
    }
}

fn conforms(name: &str) -> Conforms {
    let tally = |all, passed, failed| TestCounts {
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
fn what_is_known_of_an_entrant_stands_above_its_tables() {
    let mut results = results(vec![point(1, "meas")]);
    shows(&results, &[], &["could not be read", "transactions: "]);
    let entrant = &mut results.entrants[0];
    entrant.store_unreadable = Some("no such counter".to_owned());
    entrant.transactions = Some(Logged { rows: 5_000, dropped: 0, parts: 3, bytes: 200_000 });
    entrant.cost = Some(COST);
    let there = [
        "store: how full it is could not be read: no such counter",
        "transactions: 5,000 in 3 files, 200 KB",
        "CPU: 300 us \u{b1} 20 us a hit, 900 us \u{b1} 50 us a miss, and 2 ms \u{b1} 500 us a second, asked or not",
    ];
    shows(&results, &there, &["transactions-dropped"]);
    if let Some(logged) = &mut results.entrants[0].transactions {
        logged.dropped = 1_000;
    }
    shows(&results, &["200 KB, 1,000 not (transactions-dropped)"], &[]);
}

#[test]
fn what_the_suite_said_is_shown_with_what_differs() {
    let mut results = results(vec![point(1, "meas")]);
    shows(&results, &[], &["Conformance"]);
    let found = examined();
    results.conformance = Some(found.clone());
    let table = ["squid/5.7", "103 of 146", "60 of 90", "20 of 70", "squid-my (squid/5.7)"];
    shows(&results, &[&["Conformance", "another version: squid/5.7 was examined"][..], &table].concat(), &[]);
    shows(&results, &["squid-my: no figures: it died", "306 tests"], &["vary-match: Does"]);
    let page = caches(&results, "", &[], &[]).html();
    assert!(
        page.contains("Does it &lt;match&gt;?") && page.contains("Response 2 comes from cache"),
        "{page}"
    );
    let text = conformance(&found).text(80, false);
    assert!(text.contains("  - vary-match: Does it <match>?\n"), "{text}");
    assert!(table.iter().all(|words| text.contains(words)), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let page = conformance_page();
    let shown = page.replace("&#x2f;", "/");
    let answers =
        ["passes 103 of 146 tests", "fails some</p>", "no figures</p>", "href=\"conformance.json\""];
    for words in answers.iter().chain(&table).chain(&["squid-my: no figures: it died"]) {
        assert!(shown.contains(words), "should show `{words}`:\n{page}");
    }
    assert!(page.contains("Does it &lt;match&gt;?") && !page.contains("<script"), "{page}");
}

/// One that was examined, and one that died.
pub(crate) fn conformance_page() -> String {
    conformance(&examined()).html()
}

fn examined() -> Conformance {
    let died =
        Conforms { failed: Some("it died".to_owned()), failed_tests: Vec::new(), ..conforms("squid-my") };
    Conformance {
        suite: "http-cache-tests 0.4.5 (code 0123, 306 tests) on node 20.1.2".to_owned(),
        started: "2026-11-22T12:00:00Z".to_owned(),
        products: vec![conforms("squid"), died],
    }
}

#[test]
fn what_nobody_has_read_of_a_killed_run_is_no_figure() {
    let killed = Point { robots_cpu_per_request_ns: 0, lateness_p99_ns: 0, ..point(1, "meas") };
    shows(&results(vec![killed]), &["late p99"], &[" 0 ns"]);
}

#[test]
fn what_was_published_stands_in_the_charts_where_something_was_measured() {
    let ours = caches(&results(vec![point(1, "meas"), point(2, "meas")]), "", &[], &[]).html();
    let grey = ours.matches("<g class=\"published\">").count();
    assert_eq!(grey, 6, "a line of each of three products in two charts");
    let plain = ours.replace("&#x2f;", "/").replace('\u{a0}', " ");
    let points: usize = ["TaskSmart C at PolyLab", "Squid", "InfoLibria DynaCache"]
        .map(|product| {
            assert_eq!(plain.matches(&format!(">{product}</text>")).count(), 2, "its name in both charts");
            plain.matches(&format!("<title>{product}, published at ")).count()
        })
        .into_iter()
        .sum();
    assert_eq!(points, 2 * 35, "each of 35 points in both charts");
    for title in ["Squid, published at 14/s: 1.37 s", "InfoLibria DynaCache, published at 690/s: 9.3 %"] {
        assert!(plain.contains(title), "{title}");
    }
    for none in [results(Vec::new()), BakeoffResults { study: None, ..results(vec![point(1, "meas")]) }] {
        assert!(!caches(&none, "", &[], &[]).html().contains("class=\"published\""));
    }
}

/// Two caches at two rates, with intervals.
pub(crate) fn page_over_time() -> String {
    let (results, runs, intervals) = over_time();
    caches(&results, "", &runs, &intervals).html()
}

fn over_time() -> (BakeoffResults, Vec<RunRecord>, Vec<IntervalLine>) {
    let mut both = results(vec![point(1, "meas"), point(2, "meas")]);
    let second = EntrantResults { name: "varnish".to_owned(), ..both.entrants[0].clone() };
    both.entrants.push(second);
    let run = |name: &str, order: u32| {
        let who = EntrantRecord { name: name.to_owned(), ..EntrantRecord::default() };
        RunRecord::of(who, RunPurpose::Rate { order, rate_per_s: f64::from(order) * 50.0 })
    };
    let runs = vec![run("squid", 1), run("squid", 2), run("varnish", 1), run("varnish", 2)];
    let interval = |run: u32, at: u64| {
        let mut line: IntervalLine = serde_json::from_str(include_str!("fixture/interval.json")).unwrap();
        line.run = run;
        (line.interval.began_ns, line.interval.ended_ns) = (at * 5_000_000_000, (at + 1) * 5_000_000_000);
        line
    };
    let intervals =
        (0..4).flat_map(|run| (0..12).map(move |at| (run, at))).map(|(run, at)| interval(run, at));
    (both, runs, intervals.collect())
}

#[test]
fn intervals_are_drawn_over_time_rate_by_rate() {
    let page = page_over_time().replace("&#x2f;", "/");
    assert!(page.contains("<summary>100/s</summary>") && page.contains("<summary>50/s</summary>"));
    // The mean of an interval, at its end.
    assert!(page.contains("<title>varnish at 1:00: 3.17 s</title>"), "{page}");
    assert!(!caches(&results(vec![point(1, "meas")]), "", &[], &[]).html().contains("Over time"));
}

#[test]
fn those_that_took_part_stand_side_by_side_and_equal_ones_have_a_letter() {
    let timed = |name: &str, mean_ns: u64| {
        let point = Point { mean_ns, mean_high_ns: Some(mean_ns + mean_ns / 100), ..point(1, "meas") };
        EntrantResults {
            name: name.to_owned(),
            points: vec![point],
            ..results(Vec::new()).entrants[0].clone()
        }
    };
    let mut all = results(Vec::new());
    all.entrants =
        vec![timed("squid", 1_500_000_000), timed("nginx", 2_000_000_000), timed("varnish", 1_510_000_000)];
    // Rows of each table: by what one chooses, CPU where it is known, and rate by rate.
    let tables = |all: &BakeoffResults| -> Vec<Vec<String>> {
        let text = caches(all, "", &[], &[]).text(80, false);
        let both = text.split("Side by side").nth(1).unwrap().split("Means with").next().unwrap().to_owned();
        let squeezed = both.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        let lines: Vec<String> = squeezed.collect();
        let heads = lines.iter().enumerate().filter(|(_, line)| line.starts_with("entrant"));
        let at: Vec<usize> = heads.map(|(at, _)| at + 1).collect();
        let rows = |&at: &usize| lines[at..].iter().take(3).cloned().collect();
        at.iter().map(rows).collect()
    };
    let rows = |all: &BakeoffResults| tables(all).pop().unwrap();
    assert_eq!(tables(&all).len(), 2, "nobody's hits have a cost of their own");
    all.entrants[1].memory_bytes = Some(33_000_000);
    all.entrants[1].stored_bytes = Some(256_000_000);
    all.entrants[1].points[0].hit_mean_ns = Some(5_000_000);
    all.entrants[1].points[0].miss_mean_ns = Some(3_000_000_000);
    all.entrants[1].cost = Some(COST);
    assert_eq!(tables(&all)[0][1], "nginx 50/s 5 ms 3 s 33 MB 256 MB 0");
    assert_eq!(tables(&all)[1][0], "nginx 300 us \u{b1} 20 us 900 us \u{b1} 50 us");
    let told = rows(&all);
    assert!(told[0].starts_with("squid 50/s 1.5 s") && told[0].ends_with(" a"), "{told:#?}");
    assert!(told[1].starts_with("varnish") && told[1].ends_with(" a"), "{told:#?}");
    assert!(
        told[2].starts_with("nginx") && told[2].ends_with(" -"),
        "the slowest, and equal to none: {told:#?}"
    );
    // Two starts of one that differ by a tenth make nobody equal within a twentieth.
    let spread =
        Spread { points: 1, mean: Some(Apart { median: 0.1, most: 0.1 }), hit_ratio: None, cpu: None };
    all.baselines = Some(BaselinePair { first: "squid".to_owned(), second: "nginx".to_owned(), spread });
    assert!(rows(&all).iter().take(3).all(|row| row.ends_with(" -")), "{:#?}", rows(&all));
    assert!(
        !caches(&results(vec![point(1, "meas")]), "", &[], &[]).text(100, false).contains("Side by side")
    );
}

#[test]
fn what_is_only_counted_is_no_fault_and_a_version_has_its_name_once() {
    let mut results = results(vec![point(1, "meas")]);
    let fault = |label: &str, only_counted| FaultCount {
        label: label.to_owned(),
        meaning: "it means".to_owned(),
        class: if only_counted { Class::Counted } else { Class::Fault },
        rfc: "9111 4.2.4".to_owned(),
        harm: Harm::Stale,
        only_counted,
        count: 275,
        share: 0.0046,
        first: None,
    };
    results.entrants[0].version = Some("squid/5.7".to_owned());
    results.entrants[0].faults = vec![fault("stale", false), fault("false-miss", true)];
    results.entrants[0].errors = vec![fault("cut-off", false)];
    let text = caches(&results, "", &[], &[]).text(100, false);
    let row = |label: &str| text.lines().find(|line| line.trim_start().starts_with(label)).unwrap();
    assert!(row("stale").contains(" fault ") && row("cut-off").contains(" failure "), "{text}");
    assert!(row("false-miss").contains(" counted ") && text.contains("squid (5.7)"), "{text}");
    shows(
        &results,
        &["accuses nobody", "fill, warm-up and trials among them"],
        &["squid/5.7", "Faults and failures"],
    );
    assert!(caches(&results, "", &[], &[]).html().contains("squid 5.7"));
}

/// Two entrants whose peaks are 500/s and 1000/s, each at a tenth and at the whole of it.
fn two_at_their_peaks(scale: &str) -> BakeoffResults {
    let mut both = results(Vec::new());
    both.scale = scale.to_owned();
    both.entrants.push(EntrantResults { name: "varnish".to_owned(), ..both.entrants[0].clone() });
    for (entrant, peak) in both.entrants.iter_mut().zip([500.0, 1_000.0]) {
        let trial = |times: f64, verdict| (peak * times, None, verdict);
        let trials = vec![
            trial(2.0, TrialVerdict::TooSlow),
            trial(1.2, TrialVerdict::NotJudged),
            trial(1.5, TrialVerdict::PiledUp),
        ];
        entrant.peak =
            Some(Peak { rate_per_s: Some(peak), how: "found".to_owned(), trials, confirming: Vec::new() });
        entrant.points = [(1, 1.0), (2, 0.1)]
            .map(|(order, share)| Point {
                rate_per_s: Some(peak * share),
                hit_ratio_low: Some(0.54),
                hit_ratio_high: Some(0.56),
                mean_low_ns: Some(1_450_000_000),
                mean_high_ns: Some(1_550_000_000),
                ..point(order, "meas")
            })
            .into();
    }
    both
}

/// Ours stand beside the paper's ten rates at the same share of their own peak.
#[test]
fn entrants_stand_beside_the_published_points_at_the_same_share_of_their_peaks() {
    let study = study::find("polygraph").unwrap().unwrap();
    let rows = beside(&two_at_their_peaks("1"), &study);
    let squid: Vec<_> = rows.iter().filter(|row| row.arm == "squid").collect();
    let said = squid.iter().map(|row| (row.row.as_str(), row.column.as_str(), row.published.as_str()));
    assert_eq!(
        said.collect::<Vec<_>>(),
        [
            ("25/s", "mean response", "1.37 s"),
            ("25/s", "DHR", "55.16 %"),
            ("250/s", "rate", "250 req/s"),
            ("250/s", "mean response", "1.72 s"),
            ("250/s", "DHR", "55.12 %"),
        ]
    );
    let peak = squid.iter().find(|row| row.column == "rate").unwrap();
    assert_eq!((peak.value, peak.low, peak.high), (Some(500.0), Some(500.0), Some(750.0)));
    assert!(peak.standing == Standing::NotComparable && peak.said.contains("another product"), "{peak:?}");
    let hits = |rows: &[StudyRow]| rows.iter().find(|row| row.column == "DHR").unwrap().standing;
    assert_eq!(hits(&rows), Standing::Inside);
    assert_eq!(hits(&beside(&two_at_their_peaks("1/108"), &study)), Standing::NotComparable);
    let mut worse = two_at_their_peaks("1");
    worse.entrants[0].points[1].hit_ratio_high = Some(0.545);
    assert_eq!(hits(&beside(&worse, &study)), Standing::Lower);
}

#[test]
fn a_kept_bake_off_is_drawn_over_the_published_products() {
    let study = study::find("polygraph").unwrap().unwrap();
    let run = KeptRun {
        plan: "cache-bakeoff".to_owned(),
        command: "bakeoff run cache-bakeoff --scale 1/108".to_owned(),
        day: "2026-11-28".to_owned(),
        bakeoff: "0.1.0".to_owned(),
        machine: "a made-up machine".to_owned(),
        warnings: Vec::new(),
        results_sha256: String::new(),
        rows: beside(&two_at_their_peaks("1/108"), &study),
    };
    let kept = KeptStudy { study, runs: vec![run] };
    let drawn = study_plot(&kept).unwrap();
    let dots = |at: &str| drawn.matches(at).count();
    assert_eq!((dots("Squid, published at "), dots("varnish, ")), (2 * 14, 2 * 2 + 2), "{drawn}");
    assert!(drawn.contains("squid, mean response time at 10 %: 1.5 s"), "{drawn}");
    let page = studies_page(&[kept]);
    for said in [
        "| published as | published | squid | varnish |",
        "| 25/s, mean response | 1.37 s | 1.50 s (1.45..1.55 s) | 1.50 s (1.45..1.55 s) |",
        "| Squid at its peak beside TaskSmart C, requests a second | 250 req/s | 500 req/s (500..750 req/s) | 2.00; not comparable: another product on another machine |",
    ] {
        assert!(page.contains(said), "{said} is not in:\n{page}");
    }
}
