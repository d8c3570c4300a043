//! Replays of the log that is shipped with the program: their contents, and that they never change.

#![allow(clippy::unwrap_used)] // a test's panic is its message

use bakeoff_content::SplitMix64;
use bakeoff_workload::replay::{InOrder, LogSource, ReplayOptions, Shuffled, SkipReason};
use bakeoff_workload::{Expect, Slice, Workload};
use std::collections::HashMap;
use std::num::NonZeroU32;

fn bundled() -> LogSource {
    let bytes = include_bytes!("../../../plans/weblog.log.gz");
    LogSource::Embedded { name: "the bundled log", bytes }
}

fn shuffled(robots: usize, passes: u32, seed: u64) -> Shuffled {
    Shuffled::new(&bundled(), &ReplayOptions::default(), robots, NonZeroU32::new(passes), seed).unwrap()
}

fn in_order(stamps: bool, seed: u64) -> InOrder {
    InOrder::new(&bundled(), &ReplayOptions::default(), stamps, seed).unwrap()
}

fn targets(slice: &Slice, list: usize) -> Vec<String> {
    let text =
        |index: &u32| String::from_utf8(slice.table.requests[*index as usize].target.to_vec()).unwrap();
    slice.lists[list].iter().map(text).collect()
}

fn bytes(slice: &Slice) -> f64 {
    let size = |index: &u32| match slice.table.requests[*index as usize].expect {
        Expect::Body(body) | Expect::BodyOrRedirect(body) => body.len() as f64,
        _ => 0.0,
    };
    slice.lists.iter().flatten().map(size).sum()
}

#[test]
fn every_line_is_replayed_or_counted() {
    let replay = shuffled(15, 0, 7);
    let summary = replay.summary().unwrap();
    assert_eq!((summary.lines, summary.requests), (10_000, 9992));
    let reasons = [SkipReason::Method, SkipReason::Control, SkipReason::NameTooLong];
    assert_eq!(reasons.map(|reason| summary.skips.count(reason)), [6, 1, 1]);
    assert_eq!(replay.skipped().values().sum::<u64>(), 8);
    assert_eq!(replay.total(), Some(9992 * 15));
    let need = replay.site().unwrap().disk_need();
    assert!((550_000_000..600_000_000).contains(&need.bytes.get()), "{need:?}");
}

#[test]
fn a_whole_pass_is_every_line_for_every_robot_in_its_own_order() {
    let mut replay = shuffled(3, 2, 7);
    let slice = replay.slice(0, 1).unwrap();
    let mut counts = slice.lists.iter().map(|list| {
        assert_eq!(list.len(), 2 * 9992);
        let mut counts = HashMap::new();
        list.iter().for_each(|index| *counts.entry(*index).or_insert(0) += 1);
        counts
    });
    let first = counts.next().unwrap();
    assert!(counts.all(|other| other == first) && first.values().all(|count| count % 2 == 0));
    assert_ne!(slice.lists[0], slice.lists[1]);
    assert_eq!(replay.total(), Some(slice.len() as u64));
}

/// The promise of even sampling: rounds differ little in bytes, though 1.7 % of the replies carry
/// 90 % of them.
#[test]
fn slices_have_the_whole_mix_of_sizes() {
    let (robots, requests, rounds) = (15, 2000, 60);
    let mut replay = shuffled(robots, 0, 7);
    let even: Vec<f64> = (0..rounds).map(|round| bytes(&replay.slice(round, requests).unwrap())).collect();
    let mut whole = shuffled(1, 1, 7);
    let all = whole.slice(0, 1).unwrap();
    let mut random = SplitMix64::new(1);
    let mut at_random = || {
        let draw = (0..requests).map(|_| all.lists[0][random.below(9992) as usize]).collect();
        bytes(&Slice { lists: std::sync::Arc::new(vec![draw]), ..all.clone() })
    };
    let dice: Vec<f64> = (0..rounds).map(|_| at_random()).collect();
    let (even, dice) = (variation(&even), variation(&dice));
    println!("bytes a slice, sd/mean: even {:.2} %, at random {:.2} %", even.1 * 100.0, dice.1 * 100.0);
    println!("mean {:.1} MB and {:.1} MB", even.0 / 1e6, dice.0 / 1e6);
    assert!((even.0 / (bytes(&all) * requests as f64 / 9992.0) - 1.0).abs() < 0.02);
    assert!(even.1 < dice.1 / 5.0, "{} against {}", even.1, dice.1);
}

fn variation(x: &[f64]) -> (f64, f64) {
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (x.len() - 1) as f64;
    (mean, variance.sqrt() / mean)
}

#[test]
fn every_robot_visits_every_line_equally_often_in_the_long_run() {
    let mut replay = shuffled(3, 0, 7);
    let mut counts = vec![HashMap::new(); 3];
    let rounds = 300;
    for round in 0..rounds {
        let slice = replay.slice(round, 999).unwrap();
        for (robot, list) in slice.lists.iter().enumerate() {
            list.iter().for_each(|index| *counts[robot].entry(*index).or_insert(0_u64) += 1);
        }
    }
    let lines =
        shuffled(1, 1, 7).slice(0, 1).unwrap().lists[0].iter().fold(HashMap::new(), |mut lines, index| {
            *lines.entry(*index).or_insert(0_u64) += 1;
            lines
        });
    for (request, lines) in lines {
        let expected = lines as f64 * 333.0 * rounds as f64 / 9992.0;
        for counts in &counts {
            let got = counts.get(&request).copied().unwrap_or(0) as f64;
            assert!((got - expected).abs() < 4.0 + 0.02 * expected, "{got} visits, {expected:.1} expected");
        }
    }
}

#[test]
fn seeds_decide_orders_and_nothing_else_does() {
    let lists = |seed| shuffled(4, 0, seed).slice(3, 500).unwrap().lists;
    assert_eq!(lists(7), lists(7));
    assert_ne!(lists(7), lists(8));
    let mut replay = shuffled(4, 0, 7);
    replay.slice(9, 100).unwrap();
    assert_eq!(replay.slice(3, 500).unwrap().lists, lists(7), "whatever was asked before");
}

/// Recorded runs stay comparable: a change of these names is told in CHANGELOG.md.
#[test]
fn the_first_targets_of_seed_7() {
    let slice = shuffled(15, 0, 7).slice(0, 2000).unwrap();
    assert_eq!(targets(&slice, 0)[..10], GOLDEN);
}
const GOLDEN: [&str; 10] = [
    "/projects/xdotool/",
    "/blog/geekery/xvfb-firefox.html",
    "/images/jordan-80.png",
    "/favicon.ico",
    "/blog/tags/jquery%20mobile",
    "/presentations/logstash-1/js/showoff.js",
    "/blog/tags/X11",
    "/images/jordan-80.png",
    "/presentations/logstash-scale11x/images/computer-keyboard-jacket.jpg",
    "/images/web/2009/banner.png",
];

#[test]
fn in_order_a_slice_is_the_next_lines_and_the_log_begins_again() {
    let mut replay = in_order(false, 7);
    assert_eq!((replay.closed(), replay.total()), (None, Some(9992)));
    let all = targets(&replay.slice(0, 9992).unwrap(), 0);
    assert_eq!(all[0], "/presentations/logstash-monitorama-2013/images/kibana-search.png");
    for round in [0, 1, 5, 2, 9, 10] {
        let slice = replay.slice(round, 1000).unwrap();
        assert!(slice.at.is_empty() && slice.lists.len() == 1);
        let expected: Vec<String> =
            (0..1000).map(|i| all[(round as usize * 1000 + i) % all.len()].clone()).collect();
        assert_eq!(targets(&slice, 0), expected, "round {round}");
    }
}

/// The log has whole seconds, and within each hour they are in no order at all.
#[test]
fn the_original_clock_gives_offsets_that_never_decrease() {
    let mut replay = in_order(true, 7);
    let summary = replay.summary();
    assert!(summary.out_of_order > 0 && summary.unstamped == 0);
    for round in [0, 9] {
        let slice = replay.slice(round, 1000).unwrap();
        assert_eq!(slice.at.len(), 1000);
        assert!(slice.at.is_sorted() && slice.at[0].get() == 0 && slice.at[999].as_secs_f64() > 3600.0);
    }
    let at = |seed| in_order(true, seed).slice(0, 1000).unwrap().at;
    assert_eq!(at(7), at(7));
    assert_ne!(at(7), at(8));
}

#[test]
fn conditional_requests_are_asked_when_told_to() {
    let options = ReplayOptions { conditional: true, ..ReplayOptions::default() };
    let mut replay = Shuffled::new(&bundled(), &options, 1, NonZeroU32::new(1), 7).unwrap();
    let slice = replay.slice(0, 1).unwrap();
    let kinds = |wanted: fn(&Expect) -> bool| {
        let is = |index: &&u32| wanted(&slice.table.requests[**index as usize].expect);
        slice.lists[0].iter().filter(is).count()
    };
    let not_modified = kinds(|expect| *expect == Expect::Status(304));
    let ranges = kinds(|expect| matches!(expect, Expect::FirstBytes { .. }));
    // The log has 445 and 45; the others were never answered with 200, or may redirect.
    assert_eq!((not_modified, ranges), (393, 45));
}

/// Each expectation is what a file server would do with the files that are written.
#[test]
fn the_site_on_disk_holds_what_requests_expect() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("site");
    let options = ReplayOptions::default();
    let log = br#"h - - [17/May/2015:10:05:03 +0000] "GET /blog HTTP/1.1" 200 10
h - - [17/May/2015:10:05:03 +0000] "GET /blog/ HTTP/1.1" 200 70
h - - [17/May/2015:10:05:03 +0000] "GET /blog/index.html HTTP/1.1" 200 20
h - - [17/May/2015:10:05:03 +0000] "GET /blog/a%20b?x=1 HTTP/1.1" 200 30
h - - [17/May/2015:10:05:03 +0000] "GET /blog/a%20b?x=2 HTTP/1.1" 200 31
h - - [17/May/2015:10:05:03 +0000] "HEAD //x HTTP/1.1" 200 -
h - - [17/May/2015:10:05:03 +0000] "GET /y HTTP/1.1" 500 5
"#;
    let source = LogSource::Embedded { name: "test", bytes: log };
    let mut replay = Shuffled::new(&source, &options, 1, NonZeroU32::new(1), 7).unwrap();
    replay.site().unwrap().write_to(&dir).unwrap();
    let slice = replay.slice(0, 1).unwrap();
    for request in &slice.table.requests {
        let text = String::from_utf8(request.target.to_vec()).unwrap();
        let path = text.split('?').next().unwrap().replace("%20", " ");
        let mut file = dir.join(path.trim_start_matches('/'));
        let redirects = file.is_dir() && !path.ends_with('/');
        if file.is_dir() {
            file.push("index.html");
        }
        match (request.expect, std::fs::read(&file)) {
            (Expect::Body(body), Ok(bytes)) if !redirects => assert_eq!(bytes.len() as u64, body.len()),
            (Expect::BodyOrRedirect(body), Ok(bytes)) if redirects => {
                assert!(bytes.len() == 70 && body.matches(0, &bytes));
            }
            (Expect::Status(404), Err(_)) => assert_eq!(path, "/y"),
            other => panic!("{text}: {other:?}"),
        }
    }
    assert_eq!(std::fs::metadata(dir.join("blog/a b")).unwrap().len(), 31);
}
