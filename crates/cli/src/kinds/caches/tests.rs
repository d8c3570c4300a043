//! Green means green: cards, tables and charts of terminal and page, JSON, rules and exit code of made-up records, for
//! every label, wherever it is found.

use super::{analyse, figures, print};
use crate::args::RuleArgs;
use crate::exit::Exit;
use bakeoff_caches::directory::{self, BAKEOFF, BakeoffDirectory};
use bakeoff_caches::records::{
    BakeoffSetup, End, EntrantRecord, OriginHeard, PhaseLine, PhaseUsage, RunPurpose, RunRecord,
};
use bakeoff_caches::shipped;
use bakeoff_results::directory::{RESULTS, ResultsDir};
use bakeoff_results::entrant::EntrantVerdict;
use bakeoff_robots::judge::{Class, Harm, LabelRow, ReplyFault, RunFault};
use bakeoff_robots::ledger::{LedgerRecord, RecordScope, Sums};
use bakeoff_robots::phases::EndReason;
use bakeoff_units::Nanos;
use proptest::prelude::*;
use serde_json::Value;

/// Requests of a run: 100/s for a minute.
const REQUESTS: u64 = 6_000;

/// Where something is wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Place {
    /// In the phase that is measured, of the first pass.
    #[default]
    Measured,
    /// Before it.
    WarmUp,
    /// In the other pass, all else being right.
    SecondPass,
    /// While the store was filled.
    Fill,
}

/// What is wrong with the replies of a cache that else passes.
#[derive(Clone, Debug, Default)]
struct Wrong {
    replies: Vec<(ReplyFault, u64)>,
    forged: u64,
    unasked: u64,
    repeated_posts: u64,
    truncated: u64,
    place: Place,
    /// Below scale 1 no rule judges.
    is_scaled: bool,
}

fn phase(name: &str, measured: bool, sums: Sums, used: PhaseUsage) -> PhaseLine {
    PhaseLine {
        phase: LedgerRecord {
            worker: 0,
            scope: RecordScope::Phase,
            phase: name.to_owned(),
            number: 1,
            began_ns: 0,
            ended_ns: 60_000_000_000,
            progress: sums.good,
            sums,
        },
        measured,
        ended: Some(EndReason::Duration),
        used,
        achievable: None,
    }
}

/// Sums of a right cache: all that was offered are hits.
fn right() -> Sums {
    let mut sums = Sums { asked: REQUESTS, finished: REQUESTS, good: REQUESTS, ..Sums::default() };
    for n in 0..REQUESTS {
        let is_hit = n < REQUESTS * 55 / 100;
        let time_ns = if is_hit { 10_000_000 } else { 3_000_000_000 };
        sums.replies.traffic.response_ns.add(time_ns);
        sums.replies.response.record(Nanos::new(time_ns));
        let part = if is_hit { &mut sums.hits } else { &mut sums.misses };
        part.traffic.bytes.add(1_000);
        part.traffic.response_ns.add(time_ns);
        sums.basic.bytes.add(1_000);
        if is_hit { &mut sums.offered_hit_bytes } else { &mut sums.offered_miss_bytes }.add(1_000);
    }
    (sums.from_origin, sums.from_store) = (2_700, 3_300);
    (sums.posts_failed, sums.failed) = (Some(0), 0);
    sums
}

/// A fill, and both passes of a rate.
fn runs(wrong: &Wrong) -> [RunRecord; 3] {
    let nothing = Wrong::default();
    let in_run = |is_here: bool| if is_here { wrong } else { &nothing };
    let rate = RunPurpose::Rate { order: 1, rate_per_s: 100.0 };
    let fill = run(in_run(wrong.place == Place::Fill), RunPurpose::Fill);
    let first = run(in_run(matches!(wrong.place, Place::Measured | Place::WarmUp)), rate.clone());
    let second = run(in_run(wrong.place == Place::SecondPass), rate);
    [fill, RunRecord { pass: Some(1), ..first }, RunRecord { pass: Some(2), ..second }]
}

fn run(wrong: &Wrong, purpose: RunPurpose) -> RunRecord {
    let (mut warm, mut measured) = (right(), right());
    let sums = if wrong.place == Place::WarmUp { &mut warm } else { &mut measured };
    for (fault, count) in &wrong.replies {
        *sums.faults.entry(*fault).or_default() += count;
    }
    if wrong.truncated > 0 {
        sums.errors.insert("truncated".to_owned(), wrong.truncated);
    }
    let heard = |unasked| Some(OriginHeard { asks: 2_700, unasked, ..OriginHeard::default() });
    let used = |unasked, origin_posts| PhaseUsage {
        origin_heard: heard(unasked),
        origin_posts,
        ..PhaseUsage::default()
    };
    let entrant = EntrantRecord { name: "squid".to_owned(), ..EntrantRecord::default() };
    RunRecord {
        hits_before_fetch: wrong.forged,
        phases: vec![
            phase("warm", false, warm, used(0, 0)),
            phase("meas", true, measured, used(wrong.unasked, wrong.repeated_posts)),
        ],
        ended: "its time was over".to_owned(),
        ..RunRecord::of(entrant, purpose)
    }
}

/// All that is said of such a run.
struct Said {
    exit: Exit,
    verdict: EntrantVerdict,
    entrant: Value,
    text: String,
    page: String,
    /// How it ends with `--fail-if 'faults > 0'`.
    ruled: Exit,
}

fn said(wrong: &Wrong) -> Said {
    let temp = tempfile::tempdir().unwrap();
    let dir = ResultsDir::create(temp.path(), &BAKEOFF).unwrap();
    let plan = shipped::PLANS.iter().find(|plan| plan.name == "polymix-1").unwrap().text;
    let setup = BakeoffSetup {
        format: 1,
        name: "polymix-1".to_owned(),
        started: "2026-11-22T12:00:00Z".to_owned(),
        bakeoff: "0.1.0".to_owned(),
        flags: Vec::new(),
        part: None,
        scale: if wrong.is_scaled { "1/60" } else { "1" }.to_owned(),
        rate_per_s: Some(100.0),
        facts: Vec::new(),
        warnings: Vec::new(),
        generator_cores: Vec::new(),
        subject_cores: Vec::new(),
        driver: String::new(),
        entrants: Vec::new(),
        turns: Vec::new(),
    };
    let mut directory = BakeoffDirectory::begin(&dir, plan, &setup).unwrap();
    runs(wrong).iter().for_each(|run| directory.run(run).unwrap());
    directory.end(&End::Complete).unwrap();
    let stored = directory::load(temp.path()).unwrap();
    let outputs = print(&stored, &RuleArgs::default()).unwrap();
    let rules = RuleArgs { fail_if: vec!["faults > 0".parse().unwrap()], strict: false };
    let file = |name: &str| {
        let bytes = outputs.files.iter().find(|(other, _)| *other == name).map(|(_, bytes)| bytes.clone());
        String::from_utf8(bytes.unwrap()).unwrap()
    };
    let json: Value = serde_json::from_str(&file(RESULTS)).unwrap();
    let own = figures(&analyse(&stored).unwrap().entrants[0]);
    Said {
        exit: outputs.exit,
        verdict: own.verdict,
        entrant: json["entrants"][0].clone(),
        text: outputs.document.text(200, false),
        page: file("report.html"),
        ruled: print(&stored, &rules).unwrap().exit,
    }
}

/// State of the page's only card.
fn state(page: &str) -> &str {
    let cards: Vec<&str> = page.split("<article class=\"verdict is-").skip(1).collect();
    assert_eq!(cards.len(), 1);
    cards[0].split('"').next().unwrap()
}

/// Cells of the page that say that a rate passed, and filled points of the entrant in its charts against the rate.
fn passes_on(page: &str) -> usize {
    let section =
        |id: &str| page.split(&format!("<section id=\"{id}\"")).nth(1).unwrap().split("</section>").next();
    let dots = section("rates").unwrap().split("<g class=\"").filter(|group| group.starts_with("arm-"));
    let filled: usize = dots.map(|group| group.matches("class=\"dot\"").count()).sum();
    filled + section("entrant-1").unwrap().matches(">yes<").count()
}

/// Everything that card, table, JSON, rule and exit code must agree on.
fn agrees(wrong: &Wrong) -> Said {
    let said = said(wrong);
    let rows: Vec<&LabelRow> = said.entrant["faults"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|fault| fault["only_counted"] == false)
        .map(|fault| LabelRow::of(fault["label"].as_str().unwrap()).unwrap())
        .collect();
    let has = |harm: Harm| rows.iter().any(|row| row.harm == harm);
    let sentence = said.entrant["sentence"].as_str().unwrap();
    let is_cheat =
        rows.iter().any(|row| RunFault::ALL.iter().any(|of| of.row() == *row && of.excludes().is_some()));
    let is_harmful = has(Harm::Leak) || has(Harm::WrongContent);

    // The worst decides verdict and exit code, at any count.
    let expected = match (is_cheat, is_harmful) {
        (true, _) => Exit::Cheat,
        (false, true) => Exit::Harmful,
        (false, false) => Exit::Verdicts,
    };
    assert_eq!(said.exit, expected, "{wrong:?} {sentence}");
    assert_eq!(said.entrant["verdict"], said.verdict.as_str());
    assert_eq!(said.ruled, if rows.is_empty() { Exit::Verdicts } else { Exit::Broken }, "{wrong:?}");

    // Green is for those against whom nothing is said.
    assert_eq!(state(&said.page) == "fine", said.verdict.is_sound(), "{wrong:?} {:?}", said.verdict);
    assert!(!said.verdict.is_sound() || rows.is_empty(), "{wrong:?} {sentence}");
    if is_cheat || is_harmful {
        assert_eq!(said.entrant["passed_up_to_per_s"], Value::Null, "{wrong:?}");
        assert!(
            !sentence.contains("passes at every rate") && !sentence.contains("passes up to"),
            "{sentence}"
        );
        assert!(!said.text.contains(" yes "), "{wrong:?}\n{}", said.text);
        assert_eq!(state(&said.page), "costs", "{wrong:?}");
        assert!(wrong.is_scaled || passes_on(&said.page) == 0, "{wrong:?}");
    }
    let has_passed = said.entrant["passed_up_to_per_s"] != Value::Null;
    assert!(!has_passed || passes_on(&said.page) > 1, "{wrong:?}: the page says so, too");

    // "No faults" is said where there is none, and where nothing is hidden behind a share.
    let is_silent = rows.is_empty() && wrong.forged + wrong.unasked + wrong.truncated == 0;
    assert_eq!(
        sentence.contains("; no faults") && !sentence.contains("counted:"),
        is_silent,
        "{wrong:?} {sentence}"
    );
    for row in &rows {
        assert!(said.text.contains(row.name) && said.page.contains(row.name), "{wrong:?} {}", row.name);
    }
    // The most harmful comes first.
    assert!(rows.is_sorted_by_key(|row| row.harm), "{rows:?}");
    said
}

#[test]
fn every_label_by_itself_is_said_alike_by_card_table_json_rule_and_exit_code() {
    agrees(&Wrong::default());
    for fault in ReplyFault::ALL {
        for (count, place, is_scaled) in [
            (1, Place::Measured, false),
            (92, Place::WarmUp, false),
            (1, Place::SecondPass, false),
            (1, Place::Fill, false),
            (1, Place::Measured, true),
        ] {
            let wrong = Wrong { replies: vec![(fault, count)], place, is_scaled, ..Wrong::default() };
            let said = agrees(&wrong);
            let row = fault.row();
            let exit = if row.harm.at_any_count() { Exit::Harmful } else { Exit::Verdicts };
            assert_eq!(
                (said.exit, row.class == Class::Counted),
                (exit, row.harm == Harm::Nothing),
                "{row:?}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn any_mixture_is_said_alike(
        replies in proptest::collection::vec((0..ReplyFault::COUNT, 1..REQUESTS), 0..5),
        forged in prop_oneof![Just(0_u64), 1..200_u64],
        unasked in prop_oneof![Just(0_u64), 1..200_u64],
        repeated_posts in prop_oneof![Just(0_u64), 1..50_u64],
        truncated in prop_oneof![Just(0_u64), 1..200_u64],
        place in prop_oneof![
            Just(Place::Measured), Just(Place::WarmUp), Just(Place::SecondPass), Just(Place::Fill)
        ],
        is_scaled: bool,
    ) {
        let replies = replies.into_iter().map(|(place, count)| (ReplyFault::ALL[place], count)).collect();
        agrees(&Wrong { replies, forged, unasked, repeated_posts, truncated, place, is_scaled });
    }
}
