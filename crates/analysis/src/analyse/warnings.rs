//! Warnings for the reader of a figure: observation, meaning, remedy.

use super::series::{Series, Table};
use super::{handshakes, link};
use bakeoff_results::{Comparison, Setup, Warning, WorkloadSetup};
use bakeoff_stats::{STARTS_FOR_LUCK, Verdict};
use std::collections::BTreeSet;

/// Share of a core that idle arms may use.
const IDLE_LIMIT: f64 = 0.005;
/// Highest correlation allowed between neighbouring rounds.
const LAG_LIMIT: f64 = 0.3;
/// Share of a log's lines that may be left out without a word beside the verdict.
const SKIPPED_LIMIT: f64 = 0.01;
/// Steal above which a slice is named.
pub(super) const STEAL_LIMIT: f64 = 0.05;
/// Difference that two processes of one program are known to show.
const PROCESS_LUCK: f64 = 0.02;

pub(super) fn all(setup: &Setup, table: &Table, comparisons: &[Comparison]) -> Vec<Warning> {
    let series = table.main();
    let mut found = setup.environment.warnings.clone();
    let mut add = |label: &str, sentence: String| found.push(Warning { label: label.to_owned(), sentence });
    let starts = series.starts().iter().collect::<BTreeSet<_>>().len();
    for row in comparisons.iter().filter(|row| row.primary) {
        primary_row(setup, starts, row, &mut add);
    }
    idle_arms(setup, table.timed(), &mut add);
    steal(setup, table, &mut add);
    statuses_differ(setup, series, &mut add);
    found.extend(not_replayed(&setup.workload));
    found.extend(handshakes::warnings(setup, series));
    found.extend(link::warnings(setup, series));
    found
}

fn primary_row(setup: &Setup, starts: usize, row: &Comparison, add: &mut impl FnMut(&str, String)) {
    let arm = &row.arm;
    if row.heavy_tails {
        add(
            "heavy-tails",
            format!(
                "{arm}: a few rounds lie far off; the Hodges-Lehmann estimate is used in place of the trimmed mean"
            ),
        );
    }
    if let (Some(sums), Some(low), Some(high)) = (row.ratio_of_sums, row.low, row.high)
        && !setup.is_second(arm)
        && !(low..=high).contains(&sums)
    {
        let change = sums * 100.0;
        add(
            "ratio-of-sums",
            format!(
                "{arm}: over all slices together the change is {change:+.1} %, outside the interval: some slices weigh more than the typical one"
            ),
        );
    }
    // Chance correlation of few rounds: two standard errors at no correlation.
    let limit = LAG_LIMIT.max(2.0 / (row.differences.len().max(1) as f64).sqrt());
    if let Some(lag) = lag_one(&row.differences).filter(|lag| *lag > limit) {
        add(
            "rounds-alike",
            format!(
                "{arm}: neighbouring rounds are alike (correlation {lag:.2}): the interval may be too narrow; longer slices help"
            ),
        );
    }
    let small = row.effect.is_some_and(|effect| effect.abs() < PROCESS_LUCK);
    let claims = matches!(row.verdict, Verdict::Costs | Verdict::Saves | Verdict::NoCost);
    let lucky = starts < STARTS_FOR_LUCK && setup.workload.kind != "command";
    if small && claims && lucky && !setup.is_second(arm) {
        let starts = if starts == 1 { "one start".to_owned() } else { format!("{starts} starts") };
        add(
            "process-luck",
            format!(
                "{arm}: {starts} of each server: differences below {:.0} % can be the luck of a process; {STARTS_FOR_LUCK} starts or more (restart_every in the plan) would tell",
                PROCESS_LUCK * 100.0
            ),
        );
    }
}

fn idle_arms(setup: &Setup, series: &Series, add: &mut impl FnMut(&str, String)) {
    let busiest = setup.arms.iter().flat_map(|arm| &series.column(arm).counters).map(|c| c.idle_arms_busy);
    let mut shares: Vec<f64> = busiest.collect();
    shares.sort_by(f64::total_cmp);
    let typical = shares.get(shares.len() / 2).copied().unwrap_or(0.0);
    if typical > IDLE_LIMIT {
        add(
            "idle-arms-busy",
            format!(
                "arms that should have been idle used {:.1} % of a core while others were measured",
                typical * 100.0
            ),
        );
    }
}

fn steal(setup: &Setup, table: &Table, add: &mut impl FnMut(&str, String)) {
    let columns = table.all().flat_map(|series| setup.arms.iter().map(|arm| series.column(arm)));
    let slices: Vec<f64> = columns.flat_map(|column| &column.counters).map(|c| c.host.steal).collect();
    if let Some(warning) = stolen(&slices, "slices") {
        add(&warning.label, warning.sentence);
    }
}

/// The part of a log that is not asked for.
pub(super) fn not_replayed(workload: &WorkloadSetup) -> Option<Warning> {
    let lines = workload.log_lines?;
    let count: u64 = workload.skipped.values().sum();
    let reasons: Vec<String> =
        workload.skipped.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
    let sentence = format!(
        "{count} of the log's {lines} lines are not replayed ({}): what these requests cost is in no figure",
        reasons.join(", ")
    );
    (count as f64 > SKIPPED_LIMIT * lines as f64)
        .then(|| Warning { label: "log-not-replayed".to_owned(), sentence })
}

/// CPU time that the hypervisor gave to others: its share in each of the `what`.
pub(super) fn stolen(shares: &[f64], what: &str) -> Option<Warning> {
    let stolen = shares.iter().filter(|share| **share > STEAL_LIMIT).count();
    let (all, limit) = (shares.len(), STEAL_LIMIT * 100.0);
    let sentence =
        format!("in {stolen} of {all} {what} the hypervisor took more than {limit:.0} % of the CPU time");
    (stolen > 0).then(|| Warning { label: "steal".to_owned(), sentence })
}

/// Servers with content of their own may answer differently without failing.
fn statuses_differ(setup: &Setup, series: &Series, add: &mut impl FnMut(&str, String)) {
    let good = |arm: &str| {
        let (mut good, mut all) = (0, 0);
        for (status, count) in series.column(arm).counters.iter().flat_map(|c| &c.statuses) {
            all += count;
            good += if (200..300).contains(status) { *count } else { 0 };
        }
        (all > 0).then(|| good as f64 / all as f64)
    };
    for arm in setup.judged() {
        let name = setup.baseline_of(arm);
        let Some(baseline) = good(name) else { continue };
        if let Some(share) = good(arm).filter(|share| (share - baseline).abs() > 0.01) {
            add(
                "statuses-differ",
                format!(
                    "{arm} answered {:.1} % of the requests with 2xx, {} {:.1} %: they do not do the same work",
                    share * 100.0,
                    name,
                    baseline * 100.0
                ),
            );
        }
    }
}

/// Correlation of neighbours; `None` with too few rounds to tell.
fn lag_one(values: &[f64]) -> Option<f64> {
    if values.len() < 10 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let total: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let pairs: f64 = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    (total > 0.0).then(|| pairs / total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_that_are_alike_are_noticed() {
        let slow: Vec<f64> = (0..40).map(|i| f64::from(i / 10)).collect();
        let quick: Vec<f64> = (0..40).map(|i| f64::from(i % 2)).collect();
        assert!(lag_one(&slow).unwrap() > 0.8);
        assert!(lag_one(&quick).unwrap() < -0.9);
        assert_eq!(lag_one(&slow[..9]), None);
    }
}
