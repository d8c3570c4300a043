//! Directories of bake-offs: unfinished ones are read to their last line.

#![allow(clippy::unwrap_used)] // a test's panic is its message

use bakeoff_caches::directory::{self, BakeoffDirectory};
use bakeoff_caches::records::{
    Achievable, BakeoffSetup, End, EntrantRecord, IntervalLine, Moments, OriginHeard, Outage, PhaseLine,
    PhaseUsage, RunPurpose, RunRecord, Store, TrialVerdict,
};
use bakeoff_caches::results::{BakeoffResults, CutShort, Point};
use bakeoff_caches::transactions::Logged;
use bakeoff_caches::{NothingChosen, Selection, analyse, choose, shipped};
use bakeoff_results::directory::{END, ResultsDir};
use bakeoff_results::entrant::EntrantVerdict;
use bakeoff_robots::judge::{ReplyFault, RequestKind};
use bakeoff_robots::ledger::{FirstFailure, LedgerRecord, RecordScope, Sums};
use bakeoff_robots::phases::EndReason;
use std::io::Write;

fn setup() -> BakeoffSetup {
    BakeoffSetup {
        format: 1,
        name: "polymix-1".to_owned(),
        started: "2026-11-22T12:00:00Z".to_owned(),
        bakeoff: "0.1.0".to_owned(),
        flags: vec!["--rate 100/s".to_owned()],
        part: None,
        scale: "1".to_owned(),
        rate_per_s: Some(100.0),
        facts: Vec::new(),
        warnings: Vec::new(),
        generator_cores: vec![0],
        subject_cores: vec![1],
        driver: "epoll".to_owned(),
        entrants: Vec::new(),
        turns: Vec::new(),
    }
}

/// 100 requests a second for 60 s with this number of hits, which take 10 ms; misses take 3 s. 55 % are offered.
fn record(scope: RecordScope, seconds: u64, hits: u64) -> LedgerRecord {
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
        let is_offered = n < all * 55 / 100;
        if is_offered { &mut sums.offered_hit_bytes } else { &mut sums.offered_miss_bytes }.add(1000);
    }
    let ended_ns = seconds * 1_000_000_000;
    LedgerRecord {
        worker: 0,
        scope,
        phase: "meas".to_owned(),
        number: 1,
        began_ns: 0,
        ended_ns,
        progress: all,
        sums,
    }
}

fn run(hits: u64) -> RunRecord {
    let cpu =
        PhaseUsage { cache_cpu_ns: Some(600_000_000), origin_replies: 6_000 - hits, ..PhaseUsage::default() };
    RunRecord {
        entrant: EntrantRecord {
            name: "squid".to_owned(),
            version: Some("squid/9".to_owned()),
            ..EntrantRecord::default()
        },
        second_of: None,
        pass: None,
        purpose: RunPurpose::Rate { order: 1, rate_per_s: 100.0 },
        phases: vec![PhaseLine {
            phase: record(RecordScope::Phase, 60, hits),
            measured: true,
            ended: Some(EndReason::Duration),
            used: cpu,
            achievable: None,
        }],
        store: None,
        store_unreadable: None,
        ended: "its time was over".to_owned(),
        hits_before_fetch: 0,
        slow_hits: 0,
        failed: None,
        lateness_p99_ns: 1_000,
        robots_busy: 0.1,
        achievable: None,
        clock_ahead_s: Some(0),
        outages: Vec::new(),
        transactions: None,
        tls: None,
        without: Vec::new(),
        of_intervals: false,
    }
}

fn sentence(run: &RunRecord) -> String {
    results_of("polymix-1", std::slice::from_ref(run)).entrants[0].sentence.clone()
}

#[test]
fn no_faults_is_said_only_where_no_request_failed() {
    assert!(sentence(&run(3_300)).ends_with("; no faults"));
    let mut broken = run(3_300);
    broken.phases[0].phase.sums.errors = [("truncated".to_owned(), 66), ("reset".to_owned(), 6)].into();
    let said = sentence(&broken);
    assert!(said.ends_with("; 1.2 % of the requests got no whole reply, most often truncated"), "{said}");
    // A request without a reply long after the last phase has hung.
    broken.phases[0].phase.sums.errors = [("cut-off".to_owned(), 6)].into();
    let said = sentence(&broken);
    assert!(said.ends_with("; 0.1 % of the requests got no whole reply, most often cut-off"), "{said}");
    // Requests under way when bakeoff broke off are not its fault.
    broken.phases[0].ended = None;
    assert!(sentence(&broken).ends_with("; no faults"));
}

#[test]
fn a_directory_gives_its_figures_back() {
    let temp = tempfile::tempdir().unwrap();
    let dir = ResultsDir::create(temp.path(), &directory::BAKEOFF).unwrap();
    let plan = shipped::PLANS.iter().find(|plan| plan.name == "polymix-1").unwrap().text;
    let mut directory = BakeoffDirectory::begin(&dir, plan, &setup()).unwrap();
    for _ in 0..12 {
        let interval = record(RecordScope::Interval, 5, 275);
        directory.interval(&IntervalLine { run: 0, cache_cpu_ns: None, interval }).unwrap();
    }
    directory.run(&run(3_300)).unwrap();
    directory.end(&End::Complete).unwrap();
    let results = analyse(&directory::load(temp.path()).unwrap()).unwrap();
    let point = &results.entrants[0].points[0];
    assert_eq!((point.rate_per_s, point.asked_rate_per_s), (Some(100.0), Some(100.0)));
    assert_eq!((point.request_rate_per_s, point.reply_rate_per_s), (100.0, 100.0));
    assert_eq!(point.hit_ratio, Some(0.55));
    assert_eq!(point.two_sided_hit_ratio, Some(0.55));
    // 0.55 x 10 ms + 0.45 x 3 s, in every interval alike.
    assert_eq!((point.mean_ns, point.mean_low_ns), (1_355_500_000, Some(1_355_500_000)));
    let hit = (point.hit_mean_ns, point.hit_mean_low_ns, point.hit_mean_high_ns);
    assert_eq!(hit, (Some(10_000_000), Some(10_000_000), Some(10_000_000)));
    let miss = (point.miss_mean_ns, point.miss_mean_low_ns, point.miss_mean_high_ns);
    assert_eq!(miss, (Some(3_000_000_000), Some(3_000_000_000), Some(3_000_000_000)));
    assert_eq!(point.cpu_per_request_ns, Some(100_000));
    assert_eq!(point.passed(), Some(true));
    assert_eq!((results.ended, results.scale.as_str()), (End::Complete, "1"));
    let said = &results.entrants[0].sentence;
    assert!(said.contains("passes at every rate, up to 100/s") && said.contains("1.36 s"), "{said}");
}

/// True costs of a made-up cache: of a hit, of a miss, and of a second.
#[derive(Clone, Copy)]
struct TrueCosts {
    hit_ns: f64,
    miss_ns: f64,
    second_ns: f64,
    /// What waking up adds to a request that comes while nothing is done.
    wake_ns: f64,
}

impl TrueCosts {
    /// CPU of a second at which so many hits and misses come: a busier cache sleeps less, so it wakes up less often.
    fn second(self, hits: f64, misses: f64) -> f64 {
        let asked = hits + misses;
        let busy = (self.second_ns + hits * self.hit_ns + misses * self.miss_ns) / 1e9;
        let wakes = asked * self.wake_ns;
        // Of the time that is left it sleeps: u = busy + wakes x (1 - u).
        1e9 * (busy + wakes / 1e9) / (1.0 + wakes / 1e9)
    }
}

/// The results of a fill at full speed, in which nothing wakes up, and of `rates` from 25/s on: two intervals of 5 s
/// without hits, then six in which 55 % are. `seed`: of the noise of CPU, 3 % in each interval.
fn costed(truth: TrueCosts, rates: u32, seed: u64) -> BakeoffResults {
    let temp = tempfile::tempdir().unwrap();
    let dir = ResultsDir::create(temp.path(), &directory::BAKEOFF).unwrap();
    let plan = shipped::PLANS.iter().find(|plan| plan.name == "cache-bakeoff").unwrap().text;
    let setup = BakeoffSetup { rate_per_s: None, scale: "1/60".to_owned(), ..setup() };
    let mut directory = BakeoffDirectory::begin(&dir, plan, &setup).unwrap();
    let mut random = bakeoff_content::SplitMix64::new(seed);
    let mut noise = || 1.0 + 0.06 * (random.next_u64() as f64 / u64::MAX as f64 - 0.5);
    let of_phase = |phase: &str, seconds: u64, rate: u64, hits: u64| {
        let mut of = record(RecordScope::Interval, seconds, 0);
        let all = seconds * rate;
        of.phase = phase.to_owned();
        of.sums = Sums { asked: all, finished: all, good: all, ..Sums::default() };
        for n in 0..all {
            let part = if n < hits { &mut of.sums.hits } else { &mut of.sums.misses };
            part.traffic.response_ns.add(1_000_000);
            part.traffic.bytes.add(1000);
            of.sums.replies.traffic.response_ns.add(1_000_000);
            of.sums.basic.bytes.add(1000);
        }
        of
    };
    let used = |cpu_ns: f64| PhaseUsage { cache_cpu_ns: Some(cpu_ns as u64), ..PhaseUsage::default() };
    let line = |of: LedgerRecord, cpu_ns: f64| PhaseLine {
        measured: of.phase == "meas",
        phase: LedgerRecord { scope: RecordScope::Phase, ..of },
        ended: Some(EndReason::Duration),
        used: used(cpu_ns),
        achievable: None,
    };
    let fill_ns = 4_000.0 * truth.miss_ns;
    let interval = |run, of: &LedgerRecord, cpu_ns: f64| {
        let cache_cpu_ns = Some(cpu_ns as u64);
        IntervalLine {
            run,
            cache_cpu_ns,
            interval: LedgerRecord { scope: RecordScope::Interval, ..of.clone() },
        }
    };
    let full_speed = of_phase("fill", 5, 800, 0);
    directory.interval(&interval(0, &full_speed, fill_ns)).unwrap();
    let phases = vec![line(full_speed, fill_ns)];
    directory.run(&RunRecord { purpose: RunPurpose::Fill, phases, ..run(0) }).unwrap();
    for order in 1..=rates {
        let rate = 25 * u64::from(order);
        let mut phases = Vec::new();
        for (phase, intervals, share) in [("warm", 2, 0.0), ("meas", 6, 0.55)] {
            let hits = (share * (5 * rate) as f64) as u64;
            let (mut total, of) = (0.0, of_phase(phase, 5, rate, hits));
            for _ in 0..intervals {
                let per_second = (hits as f64 / 5.0, (5 * rate - hits) as f64 / 5.0);
                let cpu_ns = 5.0 * truth.second(per_second.0, per_second.1) * noise();
                directory.interval(&interval(order, &of, cpu_ns)).unwrap();
                total += cpu_ns;
            }
            phases.push(line(of_phase(phase, 5 * intervals, rate, intervals * hits), total));
        }
        let purpose = RunPurpose::Rate { order, rate_per_s: rate as f64 };
        directory.run(&RunRecord { purpose, phases, ..run(0) }).unwrap();
    }
    directory.end(&End::Complete).unwrap();
    analyse(&directory::load(temp.path()).unwrap()).unwrap()
}

#[test]
fn costs_of_hits_and_misses_are_those_that_were_planted_within_their_intervals() {
    let (mut held, runs) = ([0_u32; 3], 40_u32);
    for seed in 0..u64::from(runs) {
        for truth in [
            TrueCosts { hit_ns: 200_000.0, miss_ns: 900_000.0, second_ns: 5e6, wake_ns: 0.0 },
            TrueCosts { hit_ns: 500_000.0, miss_ns: 500_000.0, second_ns: 20e6, wake_ns: 0.0 },
        ] {
            let cost = costed(truth, 10, seed).entrants[0].cost.unwrap();
            let inside = |truth: f64, low: f64, high: f64| u32::from((low..=high).contains(&truth));
            held[0] += inside(truth.hit_ns, cost.hit_low_ns, cost.hit_high_ns);
            held[1] += inside(truth.miss_ns, cost.miss_low_ns, cost.miss_high_ns);
            held[2] += inside(truth.second_ns, cost.fixed_low_ns_per_s, cost.fixed_high_ns_per_s);
            let width = (cost.hit_high_ns - cost.hit_low_ns) / 2.0;
            assert!(width < 0.2 * truth.hit_ns, "{width} of {}", truth.hit_ns);
        }
    }
    // 95 % of 80, less three standard deviations.
    assert!(held.iter().all(|held| *held >= 70), "{held:?} of 80");
}

/// Waking up for each request makes a slow rate dear and a busy one cheap; the fill is the busiest of all. A hit that
/// takes a third of a miss must not seem dearer.
#[test]
fn a_cache_that_wakes_up_for_each_request_has_no_hit_that_seems_dearer_than_a_miss() {
    let truth = TrueCosts { hit_ns: 100_000.0, miss_ns: 300_000.0, second_ns: 5e6, wake_ns: 400_000.0 };
    for seed in 0..20 {
        let cost = costed(truth, 10, seed).entrants[0].cost.unwrap();
        assert!(cost.hit_ns < cost.miss_ns, "{cost:?}");
        let saved = cost.miss_ns - cost.hit_ns;
        assert!((100_000.0..300_000.0).contains(&saved), "200 us saved, less what waking up hides: {cost:?}");
    }
}

#[test]
fn costs_that_cannot_be_told_apart_are_not_printed() {
    let truth = TrueCosts { hit_ns: 200_000.0, miss_ns: 900_000.0, second_ns: 5e6, wake_ns: 0.0 };
    for rates in [1, 4] {
        assert_eq!(costed(truth, rates, 1).entrants[0].cost, None, "{rates} rates");
    }
    let free = TrueCosts { hit_ns: 0.0, ..truth };
    let told = (0..20).filter(|seed| costed(free, 10, *seed).entrants[0].cost.is_some()).count();
    assert!(told <= 3, "a hit that takes nothing has a price in {told} of 20");
}

/// A fortieth of the hits takes 10 s: beside all replies it is hardly seen.
#[test]
fn the_tails_of_hits_and_of_misses_are_told_apart_and_one_out_of_proportion_is_named() {
    let with_late_hits = |late: u64| {
        let mut run = run(3_300);
        let sums = &mut run.phases[0].phase.sums;
        for hit in 0..3_300 {
            let time_ns = if hit < late { 10_000_000_000 } else { 5_000_000 };
            sums.hits.response.record(bakeoff_units::Nanos::new(time_ns));
        }
        for _ in 0..2_700 {
            sums.misses.response.record(bakeoff_units::Nanos::from_secs(3));
        }
        results_of("polymix-1", &[run])
    };
    let near = |ns: u64, expected: u64| assert!(ns.abs_diff(expected) < expected / 100, "{ns} {expected}");
    let results = with_late_hits(83);
    let point = &results.entrants[0].points[0];
    let (hits, misses) = (point.hit_tail.unwrap(), point.miss_tail.unwrap());
    assert_eq!((hits.replies, misses.replies), (3_300, 2_700));
    near(hits.p50_ns, 5_000_000);
    near(hits.p99_ns, 10_000_000_000);
    near(misses.p999_ns, 3_000_000_000);
    let named = |results: &BakeoffResults| {
        results.warnings.iter().filter(|said| said.contains("a long tail")).count()
    };
    assert_eq!(named(&results), 1, "{:?}", results.warnings);
    assert!(results.warnings.iter().any(|said| said.starts_with("squid at 100/s: hits have")));
    assert_eq!(named(&with_late_hits(3)), 0);
}

/// A failed request may have come to the origin all the same.
#[test]
fn posts_that_come_to_the_origin_more_often_than_they_were_sent_are_named() {
    let with_posts = |origin: u64, failed: u64| {
        let mut run = run(3_300);
        let line = &mut run.phases[0];
        line.used.origin_posts = origin;
        line.phase.sums.failed = failed;
        let posts = &mut line.phase.sums.kinds[RequestKind::Post.index()];
        (0..50).for_each(|_| posts.bytes.add(100));
        results_of("polymix-1", &[run])
    };
    let found = |results: &BakeoffResults| {
        let faults = &results.entrants[0].faults;
        faults.iter().find(|fault| fault.label == "post-repeated").map(|fault| fault.count)
    };
    assert_eq!([found(&with_posts(50, 0)), found(&with_posts(53, 3)), found(&with_posts(0, 0))], [None; 3]);
    let twice = with_posts(57, 3);
    assert_eq!(found(&twice), Some(4));
    assert!(
        twice.entrants[0].sentence.ends_with("one kind of fault, post-repeated"),
        "{}",
        twice.entrants[0].sentence
    );
}

/// What the origin sees of requests stands beside what robots see of replies; Via by itself accuses nobody.
#[test]
fn requests_that_come_to_the_origin_as_they_should_not_are_named() {
    let heard = OriginHeard { asks: 2_700, ..OriginHeard::default() };
    let found = |entrant: &str, heard: OriginHeard| {
        let mut run = run(3_300);
        run.phases[0].used.origin_heard = Some(heard);
        entrant.clone_into(&mut run.entrant.name);
        let entrant = results_of("polymix-1", &[run]).entrants.remove(0);
        let faults = entrant.faults.into_iter();
        faults.map(|fault| (fault.label, fault.count, fault.only_counted)).collect::<Vec<_>>()
    };
    let said = |label: &str, count, only_counted| (label.to_owned(), count, only_counted);
    assert_eq!(found("squid", heard), []);
    let all = OriginHeard { without_via: 2_700, hop_passed: 7, other_host: 9, ..heard };
    let expected =
        [said("host-changed", 9, false), said("hop-passed", 7, false), said("no-via", 2_700, true)];
    assert_eq!(found("squid", all), expected);
    assert_eq!(found("none", all), [], "robots send no Via");
}

/// RFC 9111 section 4.2.4: a configuration that was agreed on may allow it.
#[test]
fn stale_hits_are_named_by_the_configuration_that_allows_them() {
    let found = |stale_by: Option<&str>| {
        let mut run = run(3_300);
        run.phases[0].phase.sums.faults = [(ReplyFault::StaleHit, 5)].into();
        run.entrant.stale_by = stale_by.map(str::to_owned);
        let entrant = results_of("polymix-1", &[run]).entrants.remove(0);
        (entrant.faults[0].label.clone(), entrant.faults[0].only_counted, entrant.verdict)
    };
    assert_eq!(found(None), ("stale-hit".to_owned(), false, EntrantVerdict::PassesWithFaults));
    let named = ("stale-by-configuration".to_owned(), true, EntrantVerdict::Passes);
    assert_eq!(found(Some("proxy_cache_use_stale")), named);
}

/// Failures that were no POSTs hide no POST that came twice.
#[test]
fn posts_that_come_twice_are_named_beside_failures_of_other_requests() {
    let mut run = run(3_300);
    let line = &mut run.phases[0];
    line.used.origin_posts = 57;
    (line.phase.sums.failed, line.phase.sums.posts_failed) = (60, Some(3));
    let posts = &mut line.phase.sums.kinds[RequestKind::Post.index()];
    (0..50).for_each(|_| posts.bytes.add(100));
    let entrant = results_of("polymix-1", &[run]).entrants.remove(0);
    let found: Vec<_> = entrant.faults.iter().map(|fault| (fault.label.as_str(), fault.count)).collect();
    assert_eq!(found, [("post-repeated", 4)]);
}

#[test]
fn hits_out_of_all_proportion_are_counted_from_one_in_a_thousand_on() {
    let found = |slow_hits| {
        let entrant = results_of("polymix-1", &[RunRecord { slow_hits, ..run(3_300) }]).entrants.remove(0);
        let slow = entrant.faults.iter().find(|fault| fault.label == "slow-hits").map(|fault| fault.count);
        assert_eq!((entrant.accusations(), entrant.verdict), (0, EntrantVerdict::Passes));
        slow
    };
    assert_eq!([found(0), found(4), found(5), found(33)], [None, None, Some(5), Some(33)]);
}

/// A reply that is cut short or wrong was answered: nothing piles up.
#[test]
fn a_cache_that_answers_badly_is_not_overloaded_and_one_that_does_not_answer_is() {
    let with_failures = |class: &str| {
        let mut run = run(3_300);
        let sums = &mut run.phases[0].phase.sums;
        (sums.good, sums.failed) = (sums.good - 480, 480);
        sums.errors.insert(class.to_owned(), 480);
        results_of("polymix-1", &[run])
    };
    for class in ["truncated", "reset", "closed-early"] {
        let results = with_failures(class);
        let said = &results.entrants[0].sentence;
        assert!(!said.contains("overloaded") && said.contains(class), "{said}");
        assert!(!results.warnings.iter().any(|said| said.contains("overloaded")), "{:?}", results.warnings);
    }
    for class in ["timeout", "cut-off", "not-sent", "connect-timeout"] {
        let said = with_failures(class).entrants[0].sentence.clone();
        assert!(said.contains("overloaded at 100/s, where 92 % of what was due was answered"), "{said}");
    }
}

/// A phase that begins from rest has its last replies in the next; of an origin that thinks 3 s those are 300 at 100/s.
#[test]
fn what_the_origin_still_thinks_about_is_in_no_line() {
    let with_in_flight = |last: i64| {
        let mut run = run(3_300);
        let sums = &mut run.phases[0].phase.sums;
        (sums.good, sums.finished) = (sums.good - last as u64, sums.finished - last as u64);
        (sums.in_flight.started, sums.in_flight.finished, sums.in_flight.last) = (6_000, sums.finished, last);
        results_of("polymix-1", &[run]).entrants.remove(0).sentence
    };
    assert!(!with_in_flight(500).contains("overloaded"), "{}", with_in_flight(500));
    assert!(with_in_flight(700).contains("overloaded at 100/s, where 93 %"), "{}", with_in_flight(700));
}

/// What is within chance is no accusation, and is not hidden behind "no faults".
#[test]
fn below_one_in_a_hundred_what_does_not_agree_is_counted() {
    let with_forged = |forged: u64| {
        let mut run = run(3_300);
        run.hits_before_fetch = forged;
        run.phases[0].used.origin_heard = Some(OriginHeard { asks: 2_700, ..OriginHeard::default() });
        (run.phases[0].phase.sums.from_origin, run.phases[0].phase.sums.from_store) = (2_700, 3_300);
        results_of("polymix-1", &[run]).entrants.remove(0)
    };
    let none = with_forged(0);
    assert!(
        none.sentence.ends_with("; no faults") && none.verdict == EntrantVerdict::Passes,
        "{}",
        none.sentence
    );
    let few = with_forged(48);
    let said = "; no faults beyond 1 % of the requests, and counted: 48 unexplained-hit";
    assert!(few.sentence.ends_with(said), "{}", few.sentence);
    assert_eq!((few.verdict, few.accusations(), few.faults[0].count), (EntrantVerdict::Passes, 0, 48));
    let many = with_forged(61);
    assert!(
        many.sentence.starts_with("what it gave and what the origin sent do not agree (61 unexplained-hit;")
    );
    assert!(many.sentence.contains("no refreshes in the background"), "{}", many.sentence);
    assert_eq!((many.verdict, many.passed_up_to_per_s), (EntrantVerdict::Cheat, None));
}

/// The rule of 1999 is held against what was offered, at scale 1 alone, and for caches alone.
#[test]
fn the_rule_of_1999_is_for_caches_at_scale_1() {
    let of = |scale: &str, name: &str, hits: u64| {
        let mut run = run(hits);
        name.clone_into(&mut run.entrant.name);
        let plan = shipped::PLANS.iter().find(|shipped| shipped.name == "polymix-1").unwrap().text;
        let setup = BakeoffSetup { scale: scale.to_owned(), ..setup() };
        results_with(&setup, plan, &[run]).entrants.remove(0)
    };
    assert_eq!(of("1", "squid", 3_300).verdict, EntrantVerdict::Passes);
    assert_eq!(of("1", "squid", 3_000).verdict, EntrantVerdict::Fails);
    let smaller = of("1/60", "squid", 3_300);
    assert_eq!((smaller.verdict, smaller.points[0].rule), (EntrantVerdict::Measured, None));
    assert!(
        smaller.sentence.starts_with("at scale 1/60 the rule of 1999 is not judged; "),
        "{}",
        smaller.sentence
    );
    let direct = of("1", "none", 0);
    assert_eq!((direct.verdict, direct.points[0].rule), (EntrantVerdict::Measured, None));
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
    let dir = ResultsDir::create(temp.path(), &directory::BAKEOFF).unwrap();
    let plan = shipped::PLANS.iter().find(|plan| plan.name == "polymix-1").unwrap().text;
    let mut directory = BakeoffDirectory::begin(&dir, plan, &setup()).unwrap();
    directory.run(&run(3_000)).unwrap();
    directory.end(&End::Complete).unwrap();
    let results = analyse(&directory::load(temp.path()).unwrap()).unwrap();
    let rule = results.entrants[0].points[0].rule.unwrap();
    assert_eq!((rule.hit_ratio, rule.mean, rule.reply_rate), (Some(false), true, true));
    assert_eq!(
        (results.entrants[0].passed_up_to_per_s, results.entrants[0].failed_from_per_s),
        (None, Some(100.0))
    );
}

#[test]
fn half_a_line_is_what_a_killed_run_leaves() {
    let temp = tempfile::tempdir().unwrap();
    let dir = ResultsDir::create(temp.path(), &directory::BAKEOFF).unwrap();
    let plan = shipped::PLANS[0].text;
    let mut directory = BakeoffDirectory::begin(&dir, plan, &setup()).unwrap();
    directory.run(&run(3_300)).unwrap();
    drop(directory);
    let mut file = std::fs::OpenOptions::new().append(true).open(temp.path().join(directory::RUNS)).unwrap();
    file.write_all(b"{\"entrant\": {").unwrap();
    let stored = directory::load(temp.path()).unwrap();
    assert_eq!((stored.runs.len(), stored.ended.as_ref()), (1, None));
    assert_eq!(analyse(&stored).unwrap().ended, End::Killed);
    // A whole line that is no record is not half a line.
    file.write_all(b"\n").unwrap();
    let why = directory::load(temp.path()).unwrap_err().to_string();
    assert!(why.contains("line 2"), "{why}");
}

/// Results of a directory with these runs; the plan is a shipped one.
fn results_of(plan: &str, runs: &[RunRecord]) -> BakeoffResults {
    results_of_text(shipped::PLANS.iter().find(|shipped| shipped.name == plan).unwrap().text, runs)
}

/// The same for a plan given as text.
fn results_of_text(plan: &str, runs: &[RunRecord]) -> BakeoffResults {
    let temp = tempfile::tempdir().unwrap();
    let dir = ResultsDir::create(temp.path(), &directory::BAKEOFF).unwrap();
    let has_its_own = plan.contains("rates = ") || plan.contains("best effort");
    let setup = if has_its_own { BakeoffSetup { rate_per_s: None, ..setup() } } else { setup() };
    results_in(&dir, &setup, plan, runs)
}

/// The same with this setup.
fn results_with(setup: &BakeoffSetup, plan: &str, runs: &[RunRecord]) -> BakeoffResults {
    let temp = tempfile::tempdir().unwrap();
    let dir = ResultsDir::create(temp.path(), &directory::BAKEOFF).unwrap();
    results_in(&dir, setup, plan, runs)
}

fn results_in(dir: &ResultsDir, setup: &BakeoffSetup, plan: &str, runs: &[RunRecord]) -> BakeoffResults {
    let mut directory = BakeoffDirectory::begin(dir, plan, setup).unwrap();
    for run in runs {
        directory.run(run).unwrap();
    }
    directory.end(&End::Complete).unwrap();
    analyse(&directory::load(dir.path()).unwrap()).unwrap()
}

#[test]
fn a_rate_that_was_too_much_is_told_before_all_else() {
    let asked = |rate_per_s| RunRecord { purpose: RunPurpose::Rate { order: 1, rate_per_s }, ..run(3_300) };
    let results = results_of("polymix-1", &[asked(400.0)]);
    let said = &results.entrants[0].sentence;
    assert!(said.starts_with("overloaded at 400/s, where 25 % of what was due was answered; "), "{said}");
    let warning = "squid at 400/s: overloaded: 25 % of the requests that were due were answered, 100/s";
    assert!(results.warnings[0].starts_with(warning), "{:?}", results.warnings);
    // Requests that no free robot could make were due all the same.
    assert_eq!(results.entrants[0].points[0].error_share, 0.75);
    let kept_up = results_of("polymix-1", &[asked(100.0)]);
    assert_eq!(kept_up.entrants[0].points[0].error_share, 0.0);
    assert!(!kept_up.entrants[0].sentence.contains("overloaded"), "{}", kept_up.entrants[0].sentence);
}

#[test]
fn a_rate_at_which_a_cache_broke_down_is_told_before_all_else() {
    let mut broken = run(3_300);
    broken.phases[0].ended = Some(EndReason::TooManyErrors);
    broken.phases[0].phase.sums.failed = broken.phases[0].phase.sums.finished * 3 / 10;
    let said = &results_of("polymix-1", &[broken]).entrants[0].sentence;
    assert!(said.starts_with("broke down at 100/s, where 30 % of the requests failed; "), "{said}");
}

#[test]
fn what_was_broken_off_neither_passes_nor_fails_and_what_had_too_many_errors_fails() {
    let mut cut = run(3_300);
    for (ended, why, failed_from) in [
        (None, CutShort::BrokenOff, None),
        (Some(EndReason::TooManyErrors), CutShort::TooManyErrors, Some(100.0)),
        (Some(EndReason::TookTooLong), CutShort::TookTooLong, Some(100.0)),
    ] {
        cut.phases[0].ended = ended;
        let results = results_of("polymix-1", std::slice::from_ref(&cut));
        let entrant = &results.entrants[0];
        assert_eq!(entrant.points[0].cut_short, Some(why));
        let rule = entrant.points[0].rule.unwrap();
        assert!(!rule.passed() && rule.mean);
        assert_eq!((entrant.passed_up_to_per_s, entrant.failed_from_per_s), (None, failed_from));
        let warned = |warning: &String| {
            warning.contains("squid at 100/s: cut short") && warning.contains(why.in_words())
        };
        assert!(results.warnings.iter().any(warned), "{:?}", results.warnings);
    }
}

#[test]
fn hits_that_no_cache_could_have_are_not_judged() {
    let mut short = run(3_000);
    short.achievable = Some(Achievable {
        at_once: (0.55, 0.55),
        when_fetched: (0.5, 0.5),
        capacity_bytes: None,
        lru: None,
        s3_fifo: None,
        belady: None,
    });
    let results = results_of("polymix-1", &[short]);
    let entrant = &results.entrants[0];
    assert_eq!((entrant.points[0].rule.unwrap().hit_ratio, entrant.points[0].passed()), (None, Some(true)));
    let said = "of 50.0 % that an endless cache would have had (55.0 % offered: not judged, as no cache could have had them)";
    assert!(entrant.sentence.contains(said), "{}", entrant.sentence);
    assert!(entrant.sentence.contains("passes at every rate"), "{}", entrant.sentence);
}

#[test]
fn every_measured_phase_of_a_run_is_a_point_of_its_own() {
    let mut two = run(3_300);
    let mut second = two.phases[0].clone();
    second.phase = LedgerRecord { phase: "top2".to_owned(), ..record(RecordScope::Phase, 60, 3_000) };
    two.phases.push(second);
    let ratios = Achievable {
        at_once: (0.6, 0.6),
        when_fetched: (0.6, 0.6),
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
fn a_phase_is_held_against_what_its_factors_ask_for() {
    let text = shipped::PLANS.iter().find(|plan| plan.name == "polymix-1").unwrap().text;
    // A run at 200/s of which half is asked for: 100 requests a second are right.
    let half = text.replacen(
        "goal = { duration = \"54min\", errors = \"30%\" }",
        "goal = { duration = \"54min\", errors = \"30%\" }\nload = { begin = \"50%\" }",
        1,
    );
    let twice = RunRecord { purpose: RunPurpose::Rate { order: 1, rate_per_s: 200.0 }, ..run(3_300) };
    for (text, asked, passes) in [(text, 200.0, false), (half.as_str(), 100.0, true)] {
        let point = results_of_text(text, std::slice::from_ref(&twice)).entrants.remove(0).points.remove(0);
        assert_eq!((point.rate_per_s, point.asked_rate_per_s), (Some(200.0), Some(asked)));
        assert_eq!((point.rule.unwrap().request_rate, point.passed()), (passes, Some(passes)));
    }
}

#[test]
fn the_rule_of_1999_is_judged_where_the_plan_has_it() {
    let mut run = run(3_300);
    "top1".clone_into(&mut run.phases[0].phase.phase);
    for plan in ["polymix-4", "webaxe-4"] {
        let results = results_of(plan, std::slice::from_ref(&run));
        let entrant = &results.entrants[0];
        assert_eq!((results.hit_ratio_asked, entrant.points[0].rule), (None, None), "{plan}");
        assert_eq!((entrant.passed_up_to_per_s, entrant.failed_from_per_s), (None, None));
        assert!(!entrant.sentence.contains("passes"), "{}", entrant.sentence);
        let said =
            "at 100/s the mean response time is 1.36 s; 55.0 % of the replies are hits (55.0 % offered)";
        assert!(entrant.sentence.contains(said), "{}", entrant.sentence);
    }
}

/// A fill as fast as replies come, of this many seconds at 100/s.
fn filling(seconds: u64, ended: EndReason) -> RunRecord {
    let mut run = RunRecord { purpose: RunPurpose::BestEffort, ..run(0) };
    run.phases[0].phase = record(RecordScope::Phase, seconds, 0);
    run.phases[0].phase.sums.fill.bytes.add(2_000_000);
    run.phases[0].ended = Some(ended);
    run.store = Some(Store {
        used_bytes: 960_000_000,
        capacity_bytes: 1_000_000_000,
        evictions: Some(7),
        source: "its own count".to_owned(),
    });
    run
}

#[test]
fn a_fill_as_fast_as_it_goes_has_replies_a_second_and_neither_a_rate_nor_a_rule() {
    let results = results_of("polyfill", &[filling(60, EndReason::Fill)]);
    let entrant = &results.entrants[0];
    let point = &entrant.points[0];
    assert_eq!((point.rate_per_s, point.asked_rate_per_s, point.rule), (None, None, None));
    assert_eq!((point.reply_rate_per_s, point.cut_short), (100.0, None));
    let fill = entrant.fill.as_ref().unwrap();
    assert_eq!((fill.bytes, fill.stored_bytes, fill.evictions), (2_000_000, Some(960_000_000), Some(7)));
    assert_eq!(fill.ended, EndReason::Fill.meaning());
    assert!(entrant.sentence.starts_with("replies came at 100/s in meas; "), "{}", entrant.sentence);
    assert_eq!(results.warnings, Vec::<String>::new());
}

#[test]
fn a_fill_that_was_soon_over_or_took_too_long_is_said_to_be() {
    for (run, words) in [
        (filling(12, EndReason::Fill), "squid in meas: it held 12 s and 1200 replies; below 30 s"),
        (filling(600, EndReason::TookTooLong), "squid in meas: cut short after 10 min (what it waited for"),
    ] {
        let results = results_of("polyfill", &[run]);
        assert!(results.warnings.iter().any(|line| line.contains(words)), "{:?}", results.warnings);
    }
}

#[test]
fn what_had_no_rate_is_found_without_one() {
    let temp = tempfile::tempdir().unwrap();
    let dir = ResultsDir::create(temp.path(), &directory::BAKEOFF).unwrap();
    let mut directory = BakeoffDirectory::begin(&dir, shipped::PLANS[0].text, &setup()).unwrap();
    directory.run(&filling(60, EndReason::Fill)).unwrap();
    let stored = directory::load(temp.path()).unwrap();
    let chosen = choose(&stored, &Selection::default()).unwrap();
    assert_eq!(chosen[0].headline().to_string(), "run 0 (squid, best effort)");
    let at_a_rate = Selection { rate: bakeoff_units::PerSecond::new(100.0), ..Selection::default() };
    assert!(matches!(choose(&stored, &at_a_rate), Err(NothingChosen::NoSuchRun(_))));
}

#[test]
fn what_the_origin_was_asked_about_it_answered_whatever_it_said() {
    let mut revalidating = run(3_300);
    revalidating.phases[0].used.origin_replies = 6_000;
    revalidating.phases[0].used.origin_validations = 3_300;
    let results = results_of("polymix-1", &[revalidating]);
    let point = &results.entrants[0].points[0];
    assert_eq!((point.hit_ratio, point.two_sided_hit_ratio), (Some(0.55), Some(0.0)));
    assert_eq!(results.flags, ["--rate 100/s"]);
}

#[test]
fn through_tunnels_nothing_is_a_hit_nobody_passes_and_a_refusal_is_shown_whole() {
    let text = shipped::PLANS.iter().find(|plan| plan.name == "polymix-1").unwrap().text;
    let text = text.replacen("mode = \"reverse\"", "mode = \"forward\"", 1);
    let text = text.replacen("[origin]", "[origin]\ntls = true", 1);
    let mut tunnelled = run(0);
    let sums = &mut tunnelled.phases[0].phase.sums;
    sums.faults.insert(ReplyFault::FalseMiss, 3_000);
    sums.errors.insert("tunnel-refused".to_owned(), 7);
    let reply = "HTTP/1.1 403 Forbidden\r\n\r\n".to_owned();
    sums.failures.push(FirstFailure { class: "tunnel-refused".to_owned(), done_ns: 1, reply: reply.clone() });
    let results = results_of_text(&text, &[tunnelled]);
    let entrant = &results.entrants[0];
    let point = &entrant.points[0];
    assert_eq!((point.rule, point.hit_ratio, point.two_sided_hit_ratio), (None, None, None));
    assert_eq!(point.cpu_per_request_ns, Some(100_000));
    assert_eq!((entrant.passed_up_to_per_s, entrant.failed_from_per_s), (None, None));
    assert_eq!((&entrant.cost, entrant.faults.len()), (&None, 0), "a miss is nobody's fault");
    let error = &entrant.errors[0];
    assert_eq!((error.label.as_str(), error.count, &error.first), ("tunnel-refused", 7, &Some(reply)));
    for words in ["over TLS the rule of 1999 is not judged", "0 % of the replies are hits by design"] {
        assert!(entrant.sentence.contains(words), "{}", entrant.sentence);
    }
    assert_eq!(results.mode, "tunnel");
    assert!(results.differs.last().unwrap().contains("CONNECT"), "{:?}", results.differs);
}

#[test]
fn a_peak_says_whether_it_was_ever_sustained() {
    let tried = |rate_per_s: f64, verdict, confirming| RunRecord {
        purpose: RunPurpose::Trial { rate_per_s, verdict, confirming },
        ..run(3_300)
    };
    let trial = |rate_per_s, verdict| tried(rate_per_s, verdict, false);
    let at_100 = RunRecord { purpose: RunPurpose::Rate { order: 1, rate_per_s: 100.0 }, ..run(3_300) };
    let failed = RunRecord {
        failed: Some("it went away".to_owned()),
        phases: Vec::new(),
        ..trial(50.0, TrialVerdict::NotJudged)
    };
    for (runs, rate, how) in [
        (
            vec![trial(100.0, TrialVerdict::Sustained), trial(200.0, TrialVerdict::TooSlow), at_100.clone()],
            Some(100.0),
            "found in 2 trials",
        ),
        (vec![trial(100.0, TrialVerdict::Sustained), at_100.clone()], Some(100.0), "found in one trial"),
        (
            vec![trial(400.0, TrialVerdict::TooSlow), trial(200.0, TrialVerdict::TooSlow), at_100.clone()],
            Some(100.0),
            "not sustained in 2 trials; half of the lowest",
        ),
        (
            vec![
                trial(50.0, TrialVerdict::Sustained),
                trial(100.0, TrialVerdict::Sustained),
                tried(100.0, TrialVerdict::Sustained, true),
                at_100.clone(),
            ],
            Some(100.0),
            "found in 2 trials, then held for a minute",
        ),
        (
            vec![
                trial(62.5, TrialVerdict::Sustained),
                trial(125.0, TrialVerdict::Sustained),
                tried(125.0, TrialVerdict::TooSlow, true),
                tried(100.0, TrialVerdict::Sustained, true),
                at_100.clone(),
            ],
            Some(100.0),
            "found in 2 trials as 125/s, which did not hold for a minute; this did",
        ),
        (
            vec![
                trial(125.0, TrialVerdict::Sustained),
                trial(250.0, TrialVerdict::TooSlow),
                tried(125.0, TrialVerdict::TooSlow, true),
                at_100.clone(),
            ],
            Some(100.0),
            "found in 2 trials, but not even 125/s held for a minute",
        ),
        (vec![trial(100.0, TrialVerdict::TooSlow), failed], None, "no rate was measured in 2 trials"),
    ] {
        let searching = |run: &&RunRecord| matches!(run.purpose, RunPurpose::Trial { confirming: false, .. });
        let tried = runs.iter().filter(searching).count();
        let results = results_of("cache-bakeoff", &runs);
        let peak = results.entrants[0].peak.as_ref().unwrap();
        assert_eq!((peak.rate_per_s, peak.how.as_str(), peak.trials.len()), (rate, how, tried));
    }
}

#[test]
fn phases_of_several_runs_are_listed_once() {
    let temp = tempfile::tempdir().unwrap();
    let dir = ResultsDir::create(temp.path(), &directory::BAKEOFF).unwrap();
    let mut directory = BakeoffDirectory::begin(&dir, shipped::PLANS[0].text, &setup()).unwrap();
    let mut two = run(3_300);
    let cool = PhaseLine {
        phase: LedgerRecord { phase: "cool".to_owned(), ..record(RecordScope::Phase, 60, 0) },
        measured: false,
        ..two.phases[0].clone()
    };
    two.phases.push(cool);
    directory.run(&two).unwrap();
    directory.run(&two).unwrap();
    directory.end(&End::Complete).unwrap();
    let stored = directory::load(temp.path()).unwrap();
    let wanted = Selection { phase: Some("warm".to_owned()), ..Selection::default() };
    assert_eq!(choose(&stored, &wanted).unwrap_err(), NothingChosen::NoSuchPhase("meas, cool".to_owned()));
}

#[test]
fn half_a_line_may_end_within_a_character() {
    let temp = tempfile::tempdir().unwrap();
    let dir = ResultsDir::create(temp.path(), &directory::BAKEOFF).unwrap();
    let mut directory = BakeoffDirectory::begin(&dir, shipped::PLANS[0].text, &setup()).unwrap();
    directory.run(&run(3_300)).unwrap();
    drop(directory);
    let mut file = std::fs::OpenOptions::new().append(true).open(temp.path().join(directory::RUNS)).unwrap();
    file.write_all(b"{\"ended\": \"\xc3").unwrap();
    assert_eq!(directory::load(temp.path()).unwrap().runs.len(), 1);
}

#[test]
fn another_form_is_refused_with_the_version_that_wrote_it() {
    let temp = tempfile::tempdir().unwrap();
    let dir = ResultsDir::create(temp.path(), &directory::BAKEOFF).unwrap();
    BakeoffDirectory::begin(&dir, shipped::PLANS[0].text, &setup()).unwrap();
    // Of a form to come it knows these two members, and no others.
    std::fs::write(temp.path().join(directory::BAKEOFF.setup), r#"{"format": 2, "bakeoff": "9.0.0"}"#)
        .unwrap();
    let why = directory::load(temp.path()).unwrap_err().to_string();
    for word in ["bakeoff.json", "bakeoff 9.0.0", "form 2", "reads 1", "use the bakeoff that wrote it"] {
        assert!(why.contains(word), "{word}: {why}");
    }
}

#[test]
fn an_end_that_cannot_be_read_is_no_killed_run() {
    let temp = tempfile::tempdir().unwrap();
    let dir = ResultsDir::create(temp.path(), &directory::BAKEOFF).unwrap();
    BakeoffDirectory::begin(&dir, shipped::PLANS[0].text, &setup()).unwrap();
    assert_eq!(directory::load(temp.path()).unwrap().ended, None);
    std::fs::create_dir(temp.path().join(END)).unwrap();
    let why = directory::load(temp.path()).unwrap_err().to_string();
    assert!(why.contains("end.json"), "{why}");
}

/// A run with an outage of 5 s from 60 s on; the first good reply came 1.3 s after the start.
fn killed() -> RunRecord {
    let line = |name: &str, hits: u64, measured: bool| PhaseLine {
        phase: LedgerRecord { phase: name.to_owned(), ..record(RecordScope::Phase, 60, hits) },
        measured,
        ..run(0).phases[0].clone()
    };
    let second = 1_000_000_000;
    let asked = |due_ns: u64| Some(Moments { due_ns, sent_ns: due_ns, done_ns: due_ns + 2_000_000 });
    let outage = Outage {
        phase: "dark".to_owned(),
        killed_ns: 60 * second,
        gone_ns: 60 * second + 3_000_000,
        started_ns: Some(65 * second),
        ready_ns: Some(66 * second),
        first_reply: asked(66 * second),
        first_good: asked(66 * second + 300_000_000),
        first_hit: asked(68 * second),
        first_miss: asked(66 * second + 300_000_000),
        last_failed: asked(66 * second),
        lost: [("connect-refused".to_owned(), 18), ("reset".to_owned(), 1)].into(),
        known_asked: 40,
        known_hits: 10,
    };
    RunRecord {
        phases: vec![line("load", 3_300, true), line("dark", 0, false), line("meas", 3_000, true)],
        outages: vec![outage],
        ..run(0)
    }
}

#[test]
fn an_outage_says_when_the_cache_was_back_and_what_it_had_lost() {
    let results = results_of("downtime-2", &[killed()]);
    let entrant = &results.entrants[0];
    let [downtime] = entrant.downtime.as_slice() else { panic!("{entrant:?}") };
    let millis = |ns: Option<u64>| ns.map(|ns| ns / 1_000_000);
    assert_eq!((millis(downtime.away_ns), millis(downtime.first_reply_ns)), (Some(5_000), Some(6_002)));
    assert_eq!((millis(downtime.ready_ns), millis(downtime.first_good_ns)), (Some(1_000), Some(1_302)));
    assert_eq!((millis(downtime.first_miss_ns), millis(downtime.first_hit_ns)), (Some(1_302), Some(3_002)));
    assert_eq!((millis(downtime.known_to_ns), downtime.lost_in_all()), (Some(300), 19));
    assert_eq!((downtime.hit_ratio_before, downtime.hit_ratio_after), (Some(0.55), Some(0.5)));
    assert_eq!((downtime.survived(), entrant.came_back()), (Some(0.25), Some(true)));
    let said = &entrant.sentence;
    assert!(said.contains("away for 5 s") && said.contains("19 requests lost"), "{said}");
    assert!(said.contains("25 % were still there (10 of 40"), "{said}");
}

#[test]
fn who_did_not_come_back_is_told_by_what_there_is() {
    let mut never = killed();
    let outage = &mut never.outages[0];
    *outage =
        Outage { first_reply: None, first_good: None, first_hit: None, first_miss: None, ..outage.clone() };
    outage.known_asked = 0;
    let results = results_of("downtime-2", &[never.clone()]);
    let entrant = &results.entrants[0];
    assert_eq!((entrant.came_back(), entrant.downtime[0].survived()), (Some(false), None));
    assert!(entrant.sentence.contains("no good reply"), "{}", entrant.sentence);
    never.failed = Some("after its outage it did not come back: it died".to_owned());
    let said = &results_of("downtime-2", &[never]).entrants[0].sentence;
    assert_eq!(said, "did not finish: after its outage it did not come back: it died");
}

#[test]
fn records_of_before_have_what_caches_would_have_made_of_them_in_the_run() {
    let mut value = serde_json::to_value(run(3_300)).unwrap();
    value.as_object_mut().unwrap().remove("store_unreadable");
    value.as_object_mut().unwrap().remove("outages");
    value.as_object_mut().unwrap().remove("transactions");
    value["phases"][0].as_object_mut().unwrap().remove("achievable");
    value["achievable"] = serde_json::json!({"at_once": [0.5, 0.4], "when_fetched": [0.3, 0.2]});
    let read: RunRecord = serde_json::from_value(value).unwrap();
    assert_eq!(read.achievable.unwrap().when_fetched, (0.3, 0.2));
    assert_eq!((read.store_unreadable, read.phases[0].achievable), (None, None));
}

/// A run of a pass at a rate of `cache-bakeoff`, with this number of hits.
fn in_pass(name: &str, pass: u32, hits: u64) -> RunRecord {
    let mut run = RunRecord { pass: Some(pass), ..run(hits) };
    name.clone_into(&mut run.entrant.name);
    run.second_of = name.strip_suffix('\'').map(str::to_owned);
    run
}

#[test]
fn the_figure_is_the_mean_of_the_passes_and_what_they_differ_by_stands_beside_it() {
    // 0.55 x 10 ms + 0.45 x 3 s, and 0.5 of each.
    let results = results_of("cache-bakeoff", &[in_pass("squid", 1, 3_300), in_pass("squid", 2, 3_000)]);
    let entrant = &results.entrants[0];
    let [point] = entrant.points.as_slice() else { panic!("{entrant:?}") };
    assert_eq!(
        (point.mean_ns, point.pass, point.replies, point.seconds),
        (1_430_250_000, None, 12_000, 120.0)
    );
    assert!((point.hit_ratio.unwrap() - 0.525).abs() < 1e-12);
    let of_passes: Vec<_> = point.passes.iter().map(|pass| (pass.pass, pass.mean_ns)).collect();
    assert_eq!(of_passes, [(Some(1), 1_355_500_000), (Some(2), 1_505_000_000)]);
    // The second pass had too few hits by the rule of 1999, so that the rate did not pass.
    assert_eq!(
        (point.passes[0].passed(), point.passes[1].passed(), point.passed()),
        (Some(true), Some(false), Some(false))
    );
    let spread = entrant.spread.unwrap();
    assert_eq!(spread.points, 1);
    let mean = spread.mean.unwrap();
    assert!((mean.median - 149.5 / 1_430.25).abs() < 1e-9 && mean.most == mean.median, "{mean:?}");
    assert!((spread.hit_ratio.unwrap().most - 0.05).abs() < 1e-12);
    assert_eq!((spread.cpu.unwrap().most, results.passes), (0.0, 2));
}

#[test]
fn both_starts_of_a_baseline_stand_side_by_side_in_the_order_of_the_plan() {
    let runs = [in_pass("nginx", 1, 3_000), in_pass("squid'", 1, 3_000), in_pass("squid", 1, 3_300)];
    let temp = tempfile::tempdir().unwrap();
    let dir = ResultsDir::create(temp.path(), &directory::BAKEOFF).unwrap();
    let entrants = ["squid", "squid'", "nginx"].map(str::to_owned).to_vec();
    let setup = BakeoffSetup { rate_per_s: None, entrants, ..setup() };
    let plan = shipped::PLANS.iter().find(|plan| plan.name == "cache-bakeoff").unwrap().text;
    let mut directory = BakeoffDirectory::begin(&dir, plan, &setup).unwrap();
    runs.iter().for_each(|run| directory.run(run).unwrap());
    let results = analyse(&directory::load(temp.path()).unwrap()).unwrap();
    let names: Vec<&str> = results.entrants.iter().map(|entrant| entrant.name.as_str()).collect();
    assert_eq!(names, ["squid", "squid'", "nginx"]);
    let baselines = results.baselines.unwrap();
    assert_eq!((baselines.first.as_str(), baselines.second.as_str()), ("squid", "squid'"));
    assert!((baselines.spread.mean.unwrap().most - 149.5 / 1_430.25).abs() < 1e-9, "{baselines:?}");
    // It was killed in the first pass: there is no other to compare with.
    assert_eq!((results.entrants[0].spread, results.ended), (None, End::Killed));
}

#[test]
fn a_pass_that_was_broken_off_spoils_no_mean_and_one_that_broke_down_is_told() {
    let of = |ended| {
        let mut second = in_pass("squid", 2, 600);
        second.phases[0].ended = ended;
        results_of("cache-bakeoff", &[in_pass("squid", 1, 3_300), second])
    };
    let results = of(None);
    let point = &results.entrants[0].points[0];
    assert_eq!((point.cut_short, point.mean_ns, point.passed()), (None, 1_355_500_000, Some(true)));
    assert_eq!((point.passes.len(), results.entrants[0].spread), (2, None));
    let warned = "squid at 100/s (pass 2): cut short after 60 s (broken off)";
    assert!(results.warnings.iter().any(|warning| warning.starts_with(warned)), "{:?}", results.warnings);
    let results = of(Some(EndReason::TooManyErrors));
    let point = &results.entrants[0].points[0];
    assert_eq!((point.cut_short, point.passed()), (Some(CutShort::TooManyErrors), Some(false)));
}

#[test]
fn what_failed_in_one_pass_says_in_which_and_is_found_by_extract() {
    let failed =
        RunRecord { failed: Some("it died".to_owned()), phases: Vec::new(), ..in_pass("squid", 1, 0) };
    let runs = [failed, in_pass("squid", 2, 3_300)];
    let results = results_of("cache-bakeoff", &runs);
    assert_eq!(results.entrants[0].sentence, "did not finish: pass 1: it died");
    assert_eq!(results.entrants[0].points.len(), 1);
    let temp = tempfile::tempdir().unwrap();
    let dir = ResultsDir::create(temp.path(), &directory::BAKEOFF).unwrap();
    let mut directory = BakeoffDirectory::begin(&dir, shipped::PLANS[0].text, &setup()).unwrap();
    runs.iter().for_each(|run| directory.run(run).unwrap());
    let stored = directory::load(temp.path()).unwrap();
    let chosen = choose(&stored, &Selection::default()).unwrap();
    assert_eq!(chosen[0].headline().to_string(), "run 1 (squid, 100/s, pass 2)");
}

#[test]
fn the_second_start_of_a_baseline_has_the_peak_of_the_first_that_searched() {
    let trial = RunPurpose::Trial { rate_per_s: 100.0, verdict: TrialVerdict::Sustained, confirming: false };
    let runs = [
        RunRecord { purpose: trial, ..in_pass("squid'", 1, 3_300) },
        in_pass("squid'", 1, 3_300),
        in_pass("squid", 1, 3_300),
    ];
    let results = results_of("cache-bakeoff", &runs);
    let how: Vec<&str> =
        results.entrants.iter().map(|entrant| entrant.peak.as_ref().unwrap().how.as_str()).collect();
    assert_eq!(how, ["found in one trial", "as found for the other start of the baseline"]);
}

#[test]
fn records_and_set_ups_of_before_have_neither_passes_nor_turns() {
    let mut value = serde_json::to_value(run(3_300)).unwrap();
    for member in ["pass", "second_of"] {
        value.as_object_mut().unwrap().remove(member).unwrap();
    }
    let read: RunRecord = serde_json::from_value(value).unwrap();
    assert_eq!((read.pass, read.second_of), (None, None));
    let mut value = serde_json::to_value(setup()).unwrap();
    for member in ["entrants", "turns"] {
        value.as_object_mut().unwrap().remove(member).unwrap();
    }
    let read: BakeoffSetup = serde_json::from_value(value).unwrap();
    assert!(read.entrants.is_empty() && read.turns.is_empty());
}

/// The sentence on a cache with this number of hits in each 5 s at 50/s and at 100/s, and the possible hit ratios.
fn said_of_falling(hits: [u64; 2], possible: [f64; 2]) -> String {
    let temp = tempfile::tempdir().unwrap();
    let dir = ResultsDir::create(temp.path(), &directory::BAKEOFF).unwrap();
    let plan = shipped::PLANS.iter().find(|plan| plan.name == "cache-bakeoff").unwrap().text;
    let setup = BakeoffSetup { rate_per_s: None, ..setup() };
    let mut directory = BakeoffDirectory::begin(&dir, plan, &setup).unwrap();
    for (number, (hits, possible)) in hits.into_iter().zip(possible).enumerate() {
        for n in 0..12 {
            let interval = record(RecordScope::Interval, 5, hits + n % 3);
            directory.interval(&IntervalLine { run: number as u32, cache_cpu_ns: None, interval }).unwrap();
        }
        let (order, both) = (number as u32 + 1, (possible, possible));
        let mut run = run(12 * hits + 12);
        run.purpose = RunPurpose::Rate { order, rate_per_s: 50.0 * f64::from(order) };
        let at_once = (0.55, 0.55);
        let best = Achievable {
            at_once,
            when_fetched: both,
            capacity_bytes: None,
            lru: None,
            s3_fifo: None,
            belady: None,
        };
        run.phases[0].achievable = Some(best);
        directory.run(&run).unwrap();
    }
    directory.end(&End::Complete).unwrap();
    analyse(&directory::load(temp.path()).unwrap()).unwrap().entrants[0].sentence.clone()
}

#[test]
fn a_hit_ratio_that_falls_with_the_rate_is_a_bypass_unless_any_cache_would_have_had_less() {
    let bypass = said_of_falling([275, 200], [0.56, 0.56]);
    let words =
        "past its cache from 100/s on (bypass): 55.2 % of the replies are hits at 50/s, and 40.2 % at 100/s";
    assert!(bypass.contains(words), "{bypass}");
    for (why, said) in [
        ("what is still being fetched explains it", said_of_falling([275, 200], [0.56, 0.41])),
        ("no two points", said_of_falling([275, 267], [0.56, 0.56])),
        ("it rises", said_of_falling([200, 275], [0.56, 0.56])),
    ] {
        assert!(!said.contains("bypass"), "{why}: {said}");
    }
    // If the fall is explained in part, only the rest counts.
    assert!(said_of_falling([275, 200], [0.56, 0.46]).contains("bypass"));
}
