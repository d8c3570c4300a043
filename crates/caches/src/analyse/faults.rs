//! Faults of a cache, and failed requests, over all runs against it.

use super::phases;
use crate::records::RunRecord;
use crate::results::FaultCount;
use bakeoff_meter::ErrorClass;
use bakeoff_robots::judge::{Class, Harm, LabelRow, ReplyFault, RunFault};
use std::collections::BTreeMap;

/// Faults of replies.
pub(super) fn of(runs: &[(usize, &RunRecord)]) -> Vec<FaultCount> {
    let mut counts = BTreeMap::new();
    let mut firsts = BTreeMap::new();
    for line in phases(runs) {
        for (fault, count) in &line.phase.sums.faults {
            *counts.entry(*fault).or_insert(0_u64) += count;
        }
        for example in &line.phase.sums.examples {
            let whole = format!("object {}\n\n{}\n{}", example.object, example.request, example.reply);
            firsts.entry(example.fault).or_insert(whole);
        }
    }
    let all = finished(runs);
    // Of the user's own configuration, which is the contract that RFC 9111 section 4.2.4 asks for.
    let is_agreed = runs.iter().any(|(_, run)| run.entrant.stale_by.is_some());
    let row = |fault: ReplyFault| match fault {
        ReplyFault::StaleHit if is_agreed => RunFault::StaleByConfiguration.row(),
        fault => fault.row(),
    };
    let fault = |(fault, count): (ReplyFault, u64)| FaultCount {
        first: firsts.get(&fault).cloned(),
        ..counted(row(fault), count, all)
    };
    counts.into_iter().map(fault).collect()
}

/// Requests that failed, most frequent first.
pub(super) fn errors(runs: &[(usize, &RunRecord)]) -> Vec<FaultCount> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut firsts: BTreeMap<&str, &str> = BTreeMap::new();
    for line in phases(runs) {
        for (class, count) in &line.phase.sums.errors {
            *counts.entry(class).or_default() += count;
        }
        for failure in &line.phase.sums.failures {
            firsts.entry(&failure.class).or_insert(&failure.reply);
        }
    }
    let all = finished(runs);
    let error = |(label, count): (&str, u64)| FaultCount {
        label: label.to_owned(),
        meaning: meaning(label),
        class: Class::Breach,
        rfc: String::new(),
        harm: Harm::WrongAnswer,
        only_counted: false,
        count,
        share: count as f64 / all,
        first: firsts.get(label).map(|reply| (*reply).to_owned()),
    };
    let mut errors: Vec<FaultCount> = counts.into_iter().map(error).collect();
    errors.sort_by_key(|error| std::cmp::Reverse(error.count));
    errors
}

/// A fault that no single reply shows, but both ends together do.
pub(super) fn of_both_ends(fault: RunFault, count: u64, runs: &[(usize, &RunRecord)]) -> FaultCount {
    counted(fault.row(), count, finished(runs))
}

fn counted(row: &LabelRow, count: u64, all: f64) -> FaultCount {
    FaultCount {
        label: row.name.to_owned(),
        meaning: row.meaning.to_owned(),
        class: row.class,
        rfc: row.text.to_owned(),
        harm: row.harm,
        only_counted: !row.class.accuses(),
        count,
        share: count as f64 / all,
        first: None,
    }
}

fn meaning(label: &str) -> String {
    let class = ErrorClass::ALL.into_iter().find(|class| class.as_str() == label);
    class.map_or_else(String::new, |class| class.hint().to_owned())
}

fn finished(runs: &[(usize, &RunRecord)]) -> f64 {
    phases(runs).map(|line| line.phase.sums.finished).sum::<u64>().max(1) as f64
}

/// The most harmful first, then the most frequent; what is only counted last.
pub(super) fn sorted(faults: impl Iterator<Item = FaultCount>) -> Vec<FaultCount> {
    let mut faults: Vec<FaultCount> = faults.collect();
    faults.sort_by_key(|fault| (fault.only_counted, fault.harm, std::cmp::Reverse(fault.count)));
    faults
}
