//! Agreement of everything that a run says: sentence, table, JSON, page, exit code.
//!
//! Recorded runs whose slices are drawn anew: no other run makes results as odd as chance does. What is checked here holds
//! of every run, so it knows nothing of the figures that were drawn.

use super::{exit, print};
use crate::exit::Exit;
use bakeoff_analysis::analyse;
use bakeoff_meter::Histogram;
use bakeoff_results::directory::{self, StoredExperiment};
use bakeoff_results::{Comparison, Results, SliceRecord};
use bakeoff_stats::Verdict;
use bakeoff_units::Nanos;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::process::Command;
use std::sync::LazyLock;

/// Each case analyses a run and makes a page.
const CASES: u32 = 48;

/// How an arm differs from what was recorded; factors but for the shares.
#[derive(Clone, Debug)]
struct Drawn {
    cpu: f64,
    /// Of CPU and of times, from round to round.
    noise: f64,
    times: f64,
    bytes: f64,
    /// Share of replies that became 404.
    not_found: f64,
    /// Share of requests that failed.
    failed: f64,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let factor = prop_oneof![3 => Just(1.0), 2 => 0.98..1.03f64, 2 => 0.3..4.0f64, 1 => 10.0..60.0f64];
    let share = prop_oneof![8 => Just(0.0), 1 => 0.0..0.3f64, 1 => Just(1.0)];
    let failed = prop_oneof![10 => Just(0.0), 1 => 0.0..0.2f64];
    let noise = prop_oneof![Just(0.0), 0.0..0.02f64, 0.0..0.8f64];
    (factor.clone(), noise, factor.clone(), factor, share, failed).prop_map(
        |(cpu, noise, times, bytes, not_found, failed)| Drawn { cpu, noise, times, bytes, not_found, failed },
    )
}

fn recorded(name: &str) -> StoredExperiment {
    let archive = format!("{}/../../tests/recorded/{name}.tar.gz", env!("CARGO_MANIFEST_DIR"));
    let yard = tempfile::tempdir().unwrap();
    let done = Command::new("tar").args(["-xzf", &archive, "-C"]).arg(yard.path()).status().unwrap();
    assert!(done.success(), "tar {archive}: {done}");
    directory::load(&yard.path().join(name)).unwrap()
}

/// A duet with rounds in turn and at full speed, and pairs.
static RECORDED: LazyLock<[StoredExperiment; 2]> = LazyLock::new(|| ["quickstart", "pairs"].map(recorded));

/// Noise of a slice from its place: the same in every run of a test.
fn wobble(slice: &SliceRecord, noise: f64) -> f64 {
    let mixed = (u64::from(slice.round) * 31 + u64::from(slice.position) * 17 + slice.arm.len() as u64)
        .wrapping_mul(0x9E37_79B9_7F4A_7C15);
    1.0 + noise * ((mixed >> 40) as f64 / (1u64 << 24) as f64 - 0.5) * 2.0
}

fn scaled(count: u64, by: f64) -> u64 {
    (count as f64 * by).round() as u64
}

fn redraw(slice: &mut SliceRecord, drawn: &Drawn) {
    let by = wobble(slice, drawn.noise);
    let counters = &mut slice.counters;
    counters.subject_cpu_ns = counters.subject_cpu_ns.map(|ns| scaled(ns, drawn.cpu * by));
    counters.bytes = scaled(counters.bytes, drawn.bytes);
    let lost = scaled(counters.requests, drawn.failed).min(counters.replies);
    if lost > 0 {
        counters.replies -= lost;
        counters.errors.insert("timeout".to_owned(), lost);
    }
    if drawn.not_found > 0.0 {
        let moved = scaled(counters.replies, drawn.not_found);
        counters.statuses = BTreeMap::from([(200, counters.replies - moved), (404, moved)]);
        counters.statuses.retain(|_, n| *n > 0);
    }
    if drawn.times != 1.0 {
        let mut times = Histogram::new();
        for (ns, n) in Histogram::decode(&slice.times.response).unwrap().buckets() {
            (0..n).for_each(|_| times.record(Nanos::new(scaled(ns, drawn.times * by))));
        }
        slice.times.response = times.encode();
    }
}

/// The recorded run with every arm drawn anew, cut off after some rounds.
fn run(of: usize, arms: &[Drawn], rounds: u32) -> StoredExperiment {
    let mut stored = RECORDED[of].clone();
    stored.slices.retain(|slice| slice.round < rounds);
    let order = stored.setup.arms.clone();
    for slice in &mut stored.slices {
        let place = order.iter().position(|arm| *arm == slice.arm).unwrap();
        redraw(slice, &arms[place % arms.len()]);
    }
    stored
}

/// Claim of the sentence's beginning.
fn claimed(sentence: &str) -> Option<&'static str> {
    let all =
        ["costs no more than", "costs", "saves", "is not worse", "not resolved", "no verdict", "invalid"];
    all.into_iter().find(|claim| sentence.starts_with(claim))
}

/// Beginnings of sentences that a verdict may have.
fn claims(verdict: Verdict) -> &'static [&'static str] {
    match verdict {
        Verdict::Costs => &["costs"],
        Verdict::Saves => &["saves"],
        Verdict::NoCost => &["costs no more than"],
        Verdict::NotWorse => &["is not worse"],
        Verdict::NotResolved => &["not resolved", "costs", "saves"],
        Verdict::NoVerdict => &["no verdict"],
        Verdict::Invalid => &["invalid"],
    }
}

fn clear(low: Option<f64>, high: Option<f64>) -> Option<std::cmp::Ordering> {
    match (low?, high?) {
        (low, _) if low > 0.0 => Some(std::cmp::Ordering::Greater),
        (_, high) if high < 0.0 => Some(std::cmp::Ordering::Less),
        _ => None,
    }
}

/// A verdict and its own figures.
fn sentence_and_figures(c: &Comparison) {
    let said = &c.sentence;
    let claim = claimed(said).unwrap_or_else(|| panic!("an unknown beginning: {said}"));
    assert!(claims(c.verdict).contains(&claim), "{:?}: {said}", c.verdict);
    let (share, amount) = (clear(c.low, c.high), clear(c.amount_low, c.amount_high));
    let side = match c.verdict {
        Verdict::Costs => Some(std::cmp::Ordering::Greater),
        Verdict::Saves => Some(std::cmp::Ordering::Less),
        _ => None,
    };
    if side.is_some() {
        assert_eq!((share, amount), (side, side), "{said}: {c:?}");
        assert!(!said.contains("not resolved"), "{said}");
    }
    if said.contains("how much is not resolved") {
        let is_told = said.contains(" per request (");
        assert!(c.verdict == Verdict::NotResolved && share.is_some(), "{said}: {c:?}");
        assert!(!is_told || amount == share, "an amount that leaves the claim open: {said}: {c:?}");
    }
    assert!(!said.contains("not resolved") || !said.contains("too few rounds"), "{said}");
    for also in &c.also {
        assert!(said.contains(also.as_str()), "{also:?} is not in {said:?}");
    }
}

/// What stands beside it, held against other rows.
fn hints(results: &Results, c: &Comparison) {
    if c.beside.contains("in use?") {
        let (low, high) = (c.low.unwrap(), c.high.unwrap());
        assert!(low >= -results.margin && high <= results.margin, "{} at {low}..{high}", c.beside);
        let p50 =
            results.comparisons.iter().find(|row| row.arm == c.arm && row.meter == "response_p50").unwrap();
        let times = (p50.low.unwrap(), p50.high.unwrap());
        assert!(times.0 > -0.2 && times.1 < 0.2, "{} at times {times:?}", c.beside);
        assert!(c.also.is_empty(), "{}: {:?}", c.beside, c.also);
    }
}

/// An unnoticed change of what users notice.
fn nothing_is_left_out(results: &Results, c: &Comparison) {
    let row =
        |arm: &str, meter: &str| results.comparisons.iter().find(|row| row.arm == arm && row.meter == meter);
    let Some(bytes) = row(&c.arm, "bytes_per_reply").filter(|row| row.verdict != Verdict::Invalid) else {
        return;
    };
    // Far more than any floor of these runs.
    let far = bytes.low.zip(bytes.high).is_some_and(|(low, high)| low > 5.0 || high < -0.9);
    let is_judged = !matches!(c.verdict, Verdict::Invalid | Verdict::NoVerdict);
    let twin = row(&format!("{}'", c.baseline), "bytes_per_reply");
    let twins_agree =
        twin.is_some_and(|row| row.low.zip(row.high).is_some_and(|(low, high)| low > -0.5 && high < 1.0));
    if far && is_judged && twins_agree {
        assert!(
            c.sentence.contains("a reply has"),
            "{}: bytes {:?}..{:?}",
            c.sentence,
            bytes.low,
            bytes.high
        );
    }
}

/// The arm's row of the first table: its last cell is the verdict's word.
fn table(text: &str, results: &Results, c: &Comparison) {
    let Some((_, table)) = text.split_once("\nCPU per request\n") else { return };
    let row = table
        .lines()
        .take_while(|line| !line.is_empty())
        .find(|line| line.trim_start().starts_with(&format!("{} ", c.arm)));
    let row = row.unwrap_or_else(|| panic!("no row of {}:\n{table}", c.arm));
    let word = match c.verdict {
        Verdict::Invalid => "INVALID",
        Verdict::Costs => "costs",
        Verdict::Saves => "saves",
        Verdict::NoCost => "no cost",
        Verdict::NotWorse => "not worse",
        Verdict::NotResolved => "not resolved",
        Verdict::NoVerdict => "no verdict",
    };
    let is_invalid = results.arms.get(&c.arm).is_some_and(|arm| arm.invalid.is_some());
    let word = if is_invalid { "INVALID" } else { word };
    assert!(row.ends_with(word), "{word}: {row:?} of {:?}", c.sentence);
    if c.verdict == Verdict::Costs {
        assert!(!row.contains("  -"), "an amount below zero under {word}: {row}");
    }
}

/// A word of the page's card.
fn page(html: &str, c: &Comparison) {
    let state = match c.verdict {
        Verdict::Costs => "is-costs",
        Verdict::Saves => "is-saves",
        Verdict::Invalid => "is-invalid",
        _ => return,
    };
    assert!(html.contains(state), "{state} is not on the page of {:?}", c.sentence);
}

fn agree(stored: StoredExperiment) {
    let results = analyse::analyse(&stored).unwrap();
    let seconds: Vec<String> = stored.setup.seconds().map(str::to_owned).collect();
    let outputs = print(stored, results.clone(), false);
    let (text, html) = (outputs.document.text(100, false), outputs.document.html());
    let is_invalid = results.comparisons.iter().any(|c| c.primary && c.verdict == Verdict::Invalid);
    let no_round = results.rounds == 0 && results.stopped_by == "budget";
    let expected = if is_invalid || no_round { Exit::Invalid } else { Exit::Verdicts };
    assert_eq!(exit(&results), expected, "{text}");
    for c in results.comparisons.iter().filter(|c| c.primary && !seconds.contains(&c.arm)) {
        sentence_and_figures(c);
        hints(&results, c);
        nothing_is_left_out(&results, c);
        table(&text, &results, c);
        page(&html, c);
    }
    for (name, arm) in &results.arms {
        let all: u64 = arm.statuses.values().sum();
        let bad: u64 = arm.statuses.iter().filter(|(status, _)| **status >= 400).map(|(_, n)| n).sum();
        assert!(bad == 0 || text.contains("404"), "{name}: {bad} of {all} replies are in no line\n{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn everything_that_a_run_says_agrees(
        of in 0..RECORDED.len(),
        arms in prop::collection::vec(drawn(), 3),
        same in any::<bool>(),
        rounds in prop_oneof![Just(100u32), 0..31u32],
    ) {
        // Mostly the baseline's two processes are alike.
        let twin = if same { arms[0].clone() } else { arms[1].clone() };
        agree(run(of, &[arms[0].clone(), twin, arms[2].clone()], rounds));
    }
}
