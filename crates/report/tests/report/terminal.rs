//! The terminal's report against golden files; `UPDATE_GOLDEN=1` writes them anew.

use crate::fixture;
use bakeoff_meter::HandshakeCounts;
use bakeoff_plan::study;
use bakeoff_report::{ReportInput, experiment};
use bakeoff_results::Standing;
use bakeoff_results::{ClientSetup, FrontSetup, FullResource, Resource};
use bakeoff_stats::Verdict;
use std::path::PathBuf;

fn text(bundle: &ReportInput, width: usize, colour: bool) -> String {
    experiment(bundle).text(width, colour)
}

/// Compares with a golden file.
pub(crate) fn golden(name: &str, found: &str) {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests/report/golden", name].iter().collect();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, found).unwrap();
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(wanted == found, "{name} differs (UPDATE_GOLDEN=1 accepts it). Found:\n{found}");
}

fn check(name: &str, bundle: &ReportInput) {
    for width in [80, 40] {
        let report = text(bundle, width, false);
        let longest = report.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        golden(&format!("{name}.{width}.txt"), &report);
        assert!(longest <= width, "{name}: a line of {longest} columns on {width}");
    }
}

#[test]
fn every_kind_of_verdict_reads_well() {
    check("ordinary", &fixture::ordinary());
    check("quickstart", &fixture::quickstart());
}

#[test]
fn servers_without_cpu_figures_are_judged_by_response_time() {
    check("no_cpu", &fixture::no_cpu());
}

#[test]
fn a_run_without_any_reply_says_so() {
    check("zero_replies", &fixture::zero_replies());
}

#[test]
fn a_run_without_a_complete_round_claims_nothing() {
    check("interrupted", &fixture::interrupted());
    assert!(text(&fixture::nothing_compared(), 80, false).contains("No verdict: no round was completed"));
}

#[test]
fn a_factor_with_an_order_is_a_table_in_that_order() {
    check("swept", &fixture::swept());
}

/// 80 full handshakes of 200 us and 120 resumed ones of 60 us, where the plan asks for 60 %.
#[test]
fn handshakes_are_told_where_an_arm_made_any() {
    let mut bundle = fixture::quickstart();
    assert!(!text(&bundle, 80, false).contains("TLS handshakes"));
    let arm = bundle.results.arms.get_mut("tls").unwrap();
    arm.handshakes = Some(HandshakeCounts {
        full: 80,
        resumed: 120,
        wanted: 125,
        offered: 125,
        full_cpu_ns: 16_000_000,
        resumed_cpu_ns: 7_200_000,
        ..HandshakeCounts::default()
    });
    let client = ClientSetup { resume: Some(0.6), words: "TLS 1.3 alone".to_owned(), ..Default::default() };
    arm.subject.client = Some(client);
    let row = ["tls", "200", "60 %", "62.5 %", "96 %", "60 %", "200 us", "60 us"];
    let report = text(&bundle, 100, false);
    let section = report.split_once("TLS handshakes\n").unwrap().1;
    let line = section.lines().find(|line| line.trim_start().starts_with("tls ")).unwrap();
    assert_eq!(line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect::<Vec<_>>(), row);
    let page = experiment(&bundle).html();
    assert!(page.contains("TLS handshakes") && page.contains("62.5"));
}

#[test]
fn commands_are_judged_by_elapsed_time() {
    check("command", &fixture::command());
}

#[test]
fn kinds_of_file_operations_stand_one_by_one() {
    let bundle = fixture::files();
    check("files", &bundle);
    let kinds = &bundle.results.operations;
    let effect = |kind: usize, arm: &str, meter: &str| {
        let found = kinds[kind].comparisons.iter().find(|c| c.arm == arm && c.meter == meter);
        found.unwrap().effect.unwrap()
    };
    for meter in ["operation_time", "subject_cpu_per_request"] {
        // What was put in: 29 against 2.6 us, 12.1 against 5.2 ms, 402 against 410 us.
        assert!((effect(0, "sealed", meter) - 10.13).abs() < 0.2);
        assert!((effect(1, "sealed", meter) - 1.33).abs() < 0.05);
        assert!((effect(2, "sealed", meter) + 0.02).abs() < 0.02);
        assert!(effect(1, "plain'", meter).abs() < 0.02);
    }
    let read = &kinds[0].arms["sealed"];
    assert_eq!((read.tried, read.bytes, read.time_ns.count), (7_000, 7_000, 7_000));
}

#[test]
fn a_run_stands_beside_a_study() {
    let bundle = fixture::studied();
    check("studied", &bundle);
    let section = bundle.results.study.unwrap();
    let row = |arm: &str| section.rows.iter().find(|row| row.arm == arm).unwrap();
    // The fixture's servers lose 39.4 % and 8.5 % of their throughput to the store.
    assert_eq!(row("apache.store.unchecked.http").standing, Standing::Inside);
    assert_eq!(row("apache.store.unchecked.https").standing, Standing::Higher);
    assert_eq!(row("apache.store.checked.http").standing, Standing::NotComparable);
}

/// A study without runs.
fn alone(name: &str) -> bakeoff_report::KeptStudy {
    bakeoff_report::KeptStudy { study: study::find(name).unwrap().unwrap(), runs: Vec::new() }
}

#[test]
fn a_study_reads_well_on_any_terminal() {
    for name in study::names() {
        let kept = alone(name);
        for width in [100, 80, 40] {
            let text = bakeoff_report::study(&kept, width, false);
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
            for table in &kept.study.tables {
                assert!(text.contains(table.rows[0].name.split(' ').next().unwrap()), "{}: {text}", table.id);
            }
        }
    }
    golden("study.80.txt", &bakeoff_report::study(&alone("afpa"), 80, false));
}

#[test]
fn peaks_are_told_with_their_curves() {
    check("peaks", &fixture::peaks());
    check("peaks_interrupted", &fixture::peaks_interrupted());
}

#[test]
fn what_the_analysis_writes_fits_the_terminal() {
    let bundle = fixture::analysed();
    for width in [80, 40] {
        let report = text(&bundle, width, false);
        assert!(report.lines().all(|line| line.chars().count() <= width), "{report}");
        assert!(report.contains("tls    costs 2") && report.contains("INVALID"), "{report}");
    }
}

#[test]
fn what_was_full_stands_with_its_arm() {
    let mut bundle = fixture::quickstart();
    let words = "CPU of its cores 97 % busy";
    let arm = bundle.results.arms.get_mut("tls").unwrap();
    arm.full = vec![FullResource { resource: Resource::Cpu, share: Some(0.97), words: words.to_owned() }];
    let report = text(&bundle, 80, false);
    let line = report.lines().find(|line| line.contains(words)).unwrap();
    assert!(line.split_whitespace().take(2).eq(["full", "tls:"]), "{line}");
    assert_eq!(experiment(&bundle).html().matches(words).count(), 1);
}

#[test]
fn colour_only_adds_to_the_words() {
    let bundle = fixture::ordinary();
    let (plain, coloured) = (text(&bundle, 80, false), text(&bundle, 80, true));
    assert!(coloured.contains("\u{1b}[1;33mcosts 15"));
    let mut stripped = String::new();
    for part in coloured.split('\u{1b}') {
        let shown = if part.starts_with('[') { part.split_once('m').unwrap().1 } else { part };
        stripped.push_str(shown);
    }
    assert_eq!(stripped, plain);
}

#[test]
fn the_terminal_obeys_nobody_but_us() {
    let report = text(&fixture::hostile(), 80, false);
    assert!(!report.contains('\u{1b}') && !report.contains('\u{202e}'));
    assert!(report.contains("\u{fffd}[2J"));
}

#[test]
fn why_hits_are_not_told_is_said() {
    let said = |rounds: u32| {
        let mut bundle = fixture::quickstart();
        bundle.results.rounds = rounds;
        let front = FrontSetup { front: "varnish".to_owned(), ..FrontSetup::default() };
        bundle.results.arms.get_mut("tls").unwrap().subject.fronts.push(front);
        let text = text(&bundle, 80, false);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let unnumbered = said(28);
    assert!(unnumbered.contains("gives its replies no numbers. The built-in origin does"), "{unnumbered}");
    let unmeasured = said(0);
    assert!(unmeasured.contains("Hits are not told: no round was completed."), "{unmeasured}");
}

#[test]
fn a_clear_figure_of_few_rounds_is_not_called_unresolved() {
    let said = |rounds: u32| {
        let mut bundle = fixture::quickstart();
        let rows = bundle.results.comparisons.iter_mut();
        let row = rows.into_iter().find(|c| c.arm == "tls" && c.meter == "replies_per_second").unwrap();
        (row.rounds, row.verdict) = (rounds, Verdict::NotResolved);
        (row.effect, row.low, row.high) = (Some(-0.817), Some(-0.839), Some(-0.791));
        let page = experiment(&bundle).html();
        page.matches("too few rounds").count()
    };
    assert_eq!((said(6), said(28)), (1, 0));
}
