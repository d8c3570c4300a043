//! Two runs side by side.

use crate::fixture;
use crate::terminal::golden;
use bakeoff_analysis::between::{Between, RequestedComparison, between};
use bakeoff_report::{between as text, between_json};

/// The ordinary run, and the same with a tenth more CPU in every slice of `tls`, on another kernel.
fn two_runs(meters: &[&str]) -> Between {
    let old = fixture::stored();
    let mut new = old.clone();
    for slice in new.slices.iter_mut().filter(|slice| slice.arm == "tls") {
        slice.counters.subject_cpu_ns = slice.counters.subject_cpu_ns.map(|ns| ns + ns / 10);
    }
    new.setup.started = "2026-04-01T09:30:00Z".to_owned();
    let kernel = new.setup.environment.facts.iter_mut().find(|fact| fact.name == "kernel").unwrap();
    kernel.value = "6.18.2".to_owned();
    let meters = meters.iter().map(|&meter| meter.to_owned()).collect();
    between(&old, &new, &RequestedComparison { meters, ..RequestedComparison::default() }).unwrap()
}

#[test]
fn a_planted_tenth_is_found_in_points_and_in_percent() {
    let found = two_runs(&[]);
    let row = found.rows.iter().find(|row| row.arm == "tls").unwrap();
    let (cost, figure) = (row.cost.unwrap(), row.figure.unwrap());
    assert!((cost.change / ((1.0 + cost.old) * 0.1) - 1.0).abs() < 1e-3, "{cost:?}");
    assert!((figure.change - 0.1).abs() < 1e-3 && figure.is_clear(), "{figure:?}");
    let log = found.rows.iter().find(|row| row.arm == "log").unwrap();
    assert!(log.cost.unwrap().change == 0.0 && !log.cost.unwrap().is_clear());
    assert_eq!(found.differs.len(), 1);
    assert!(found.rows.iter().all(|row| row.arm != "plain'"));
    let limit = found.rows.iter().find(|row| row.arm == "limit").unwrap();
    assert!(limit.invalid.as_ref().unwrap().contains("failed"), "{limit:?}");
}

#[test]
fn quantiles_change_too() {
    let found = two_runs(&["response_p50", "response_p99", "errors"]);
    let row = |meter: &str| found.rows.iter().find(|row| row.arm == "tls" && row.meter == meter).unwrap();
    for meter in ["response_p50", "response_p99", "errors"] {
        let cost = row(meter).cost.unwrap();
        assert!(cost.change == 0.0 && cost.change_low <= 0.0 && cost.change_high >= 0.0, "{meter}: {cost:?}");
    }
    assert!(row("response_p99").figure.is_none());
}

#[test]
fn it_reads_well_and_no_line_is_too_long() {
    for width in [80, 40] {
        let said = text(&two_runs(&[]), width, false);
        assert!(said.lines().all(|line| line.chars().count() <= width), "{said}");
        golden(&format!("between.{width}.txt"), &said);
    }
    assert!(between_json(&two_runs(&[])).ends_with("}\n"));
}
