//! Price lists of made-up runs.

use crate::fixture;
use crate::terminal::golden;
use bakeoff_report::{NoPriceList, PriceList, ReportInput, prices, prices_json, prices_markdown};
use bakeoff_results::{Comparison, PriceResult, Warning};
use bakeoff_stats::Verdict;
use std::path::Path;

/// The ordinary run on a day of this month, with comments on its plan and words for an arm.
fn run(day: u32) -> ReportInput {
    let mut run = fixture::ordinary();
    run.results.started = format!("2026-03-{day:02}T09:30:00Z");
    run.results.name = "ours".to_owned();
    run.slices.iter_mut().for_each(|slice| slice.counters.host.steal = 0.0);
    run.plan = format!(
        "# What layers cost a server | of ours\n\n# Debian 12: apt install nginx-light\n# One request in 200 is an attack.\n# All are judged.\n\n{}",
        run.plan
    );
    run.setup.subjects.get_mut("tls").unwrap().says = Some("TLS | 1.3".to_owned());
    run
}

fn primary<'r>(run: &'r mut ReportInput, arm: &str) -> &'r mut Comparison {
    run.results.comparisons.iter_mut().find(|c| c.arm == arm && c.primary).unwrap()
}

fn list(runs: &[ReportInput]) -> PriceList {
    PriceList::of(runs).unwrap()
}

#[test]
fn runs_of_two_days_are_one_list_that_reads_well_everywhere() {
    let mut later = run(9);
    let tls = primary(&mut later, "tls");
    (tls.amount, tls.amount_low, tls.amount_high) = (Some(1000.0), Some(-500.0), Some(2500.0));
    (tls.effect, tls.low, tls.high) = (Some(0.03), Some(-0.015), Some(0.075));
    tls.verdict = Verdict::NotResolved;
    later.results.prices.push(PriceResult {
        factor: "calls".to_owned(),
        setting: String::new(),
        meter: "subject_cpu_per_request".to_owned(),
        unit: "ns".to_owned(),
        slope: 306.0,
        slope_share: None,
        slope_interval: (280.0, 332.0),
        intercept: 30_000.0,
        intercept_interval: (29_000.0, 31_000.0),
        points: Vec::new(),
        shape: "line".to_owned(),
        sentence: String::new(),
    });
    later.results.warnings.push(Warning {
        label: "left-out".to_owned(),
        sentence:
            "lua is left out: there is no program `lua` on this machine; `apt install lua`, and run anew"
                .to_owned(),
    });
    later.plan = fixture::ordinary().plan; // without a comment, as a run with `--set` stores it
    // Given the later one first: days are in order all the same.
    let list = list(&[later, run(2)]);
    for width in [80, 120] {
        let said = prices(&list, width, false);
        assert!(said.lines().all(|line| line.chars().count() <= width), "{said}");
        golden(&format!("prices.{width}.txt"), &said);
    }
    golden("prices.md", &prices_markdown(&list));
    golden("prices.json", &prices_json(&list));
    let again: PriceList = serde_json::from_str(&prices_json(&list)).unwrap();
    assert_eq!(again, list);
}

/// Each page of the tree is what its list gives; those in `docs` are there as soon as one is kept.
#[test]
fn a_page_is_what_the_list_beside_it_gives() {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        return; // another test is about to write one of them
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    for place in ["tests/report/golden/prices", "../../docs/prices", "../../docs/prices-epyc"] {
        let place = here.join(place);
        let [list, page] =
            ["json", "md"].map(|kind| std::fs::read_to_string(place.with_extension(kind)).ok());
        let list: Option<PriceList> = list.map(|text| serde_json::from_str(&text).unwrap());
        assert_eq!(list.map(|list| prices_markdown(&list)), page, "{}", place.display());
    }
}

#[test]
fn a_shipped_plan_is_told_in_its_newest_words_and_with_its_command() {
    let mut shipped = run(2);
    shipped.results.name = "waf".to_owned();
    let page = prices_markdown(&list(&[shipped]));
    assert!(
        page.contains("What a web application firewall costs nginx") && !page.contains("of ours"),
        "{page}"
    );
    assert!(page.contains("\n    bakeoff run waf\n"), "{page}");
    assert!(!prices_markdown(&list(&[run(2)])).contains("bakeoff run"));
}

#[test]
fn an_open_cost_is_told_by_its_upper_end_and_what_it_needs() {
    let mut open = run(2);
    let tls = primary(&mut open, "tls");
    (tls.amount, tls.amount_low, tls.amount_high) = (Some(1000.0), Some(-500.0), Some(2500.0));
    (tls.effect, tls.low, tls.high) = (Some(0.03), Some(-0.015), Some(0.075));
    tls.verdict = Verdict::NotResolved;
    let said = prices_markdown(&list(&[open.clone()]));
    let row = said.lines().find(|line| line.contains("TLS")).unwrap();
    assert!(row.contains("| up to 2.5 us | -0.5..+2.5 us |") && row.contains("not resolved"), "{row}");
    assert!(!row.trim_end_matches(" |").ends_with("2026-03-02 |"), "it says what it needs: {row}");
    // Four times the rounds halve the interval: time is that of the run, and more of it for a longer round.
    let needs = |run: ReportInput| -> f64 {
        let json: serde_json::Value = serde_json::from_str(&prices_json(&list(&[run]))).unwrap();
        let rows = json["families"][0]["rows"].as_array().unwrap().clone();
        rows.iter().find(|row| row["layer"] == "TLS | 1.3").unwrap()["needs_s"][0].as_f64().unwrap()
    };
    let mut slower = open.clone();
    slower.results.duration_ns *= 10;
    assert!((needs(slower) / needs(open) - 10.0).abs() < 1e-6);
}

#[test]
fn what_may_not_be_used_has_no_figure() {
    for verdict in [Verdict::Invalid, Verdict::NoVerdict] {
        let mut bad = run(2);
        primary(&mut bad, "tls").verdict = verdict;
        bad.results.arms.get_mut("tls").unwrap().invalid =
            (verdict == Verdict::Invalid).then(|| "4 % of its requests failed".to_owned());
        let said = prices_markdown(&list(&[bad]));
        let row = said.lines().find(|line| line.starts_with("| TLS")).unwrap();
        assert!(row.starts_with("| TLS \\| 1.3 | - | - |  |"), "{row}");
        assert_eq!(said.contains("- 2026-03-02: tls is invalid: 4 %"), verdict == Verdict::Invalid, "{said}");
    }
}

#[test]
fn runs_that_are_no_list_are_refused_by_their_reason() {
    assert_eq!(PriceList::of(&[]), Err(NoPriceList::NoRun));
    let mut elsewhere = run(2);
    let kernel = elsewhere.results.environment.facts.iter_mut().find(|fact| fact.name == "kernel").unwrap();
    kernel.value = "6.99".to_owned();
    let why = PriceList::of(&[run(2), elsewhere]).unwrap_err();
    assert!(matches!(&why, NoPriceList::Machines([_, other]) if other.contains("6.99")), "{why}");
    assert!(matches!(PriceList::of(&[fixture::peaks()]), Err(NoPriceList::Peaks(_))));
}

#[test]
fn a_busy_machine_is_told_of_each_of_its_runs() {
    let quiet = |mut run: ReportInput| {
        run.results.warnings.clear();
        run
    };
    assert!(list(&[quiet(run(2))]).busy().is_empty());
    let mut stolen = quiet(run(2));
    stolen.slices.iter_mut().for_each(|slice| slice.counters.host.steal = 0.02);
    assert_eq!(
        list(&[stolen]).busy(),
        ["ours, 2026-03-02: the hypervisor gave 2.0 % of the CPU time to others"]
    );
    let mut busy = quiet(run(3));
    for label in ["other-run", "other-run", "few-rounds"] {
        busy.results.warnings.push(Warning {
            label: label.to_owned(),
            sentence: "Another one runs: each takes time from the other".to_owned(),
        });
    }
    let found = list(&[quiet(run(2)), busy]);
    assert_eq!(found.busy(), ["ours, 2026-03-03: Another one runs"]);
    assert!(prices_markdown(&found).contains("**BUSY**: ours, 2026-03-03"));
}
