//! Faults of a cache, and failed requests, over all runs against it.

use crate::records::RunRecord;
use crate::results::FaultCount;
use bakeoff_meter::ErrorClass;
use bakeoff_robots::judge::Weight;
use std::collections::BTreeMap;

/// Faults of replies, most frequent first.
pub(super) fn of(runs: &[(usize, &RunRecord)]) -> Vec<FaultCount> {
    let mut counts = BTreeMap::new();
    let mut firsts = BTreeMap::new();
    for line in runs.iter().flat_map(|(_, run)| &run.phases) {
        for (fault, count) in &line.phase.sums.faults {
            *counts.entry(*fault).or_insert(0_u64) += count;
        }
        for example in &line.phase.sums.examples {
            let whole = format!("object {}\n\n{}\n{}", example.object, example.request, example.reply);
            firsts.entry(example.fault).or_insert(whole);
        }
    }
    let all = finished(runs);
    let fault = |(fault, count): (bakeoff_robots::judge::ReplyFault, u64)| FaultCount {
        label: fault.label().to_owned(),
        meaning: fault.meaning().to_owned(),
        only_counted: fault.weight() == Weight::Counted,
        count,
        share: count as f64 / all,
        first: firsts.get(&fault).cloned(),
    };
    sorted(counts.into_iter().map(fault).collect())
}

/// Requests that failed, most frequent first.
pub(super) fn errors(runs: &[(usize, &RunRecord)]) -> Vec<FaultCount> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut firsts: BTreeMap<&str, &str> = BTreeMap::new();
    for line in runs.iter().flat_map(|(_, run)| &run.phases) {
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
        only_counted: false,
        count,
        share: count as f64 / all,
        first: firsts.get(label).map(|reply| (*reply).to_owned()),
    };
    sorted(counts.into_iter().map(error).collect())
}

/// A fault that no single reply shows, but both ends together do.
pub(super) fn of_both_ends(
    label: &str,
    meaning: &str,
    count: u64,
    runs: &[(usize, &RunRecord)],
) -> FaultCount {
    FaultCount {
        label: label.to_owned(),
        meaning: meaning.to_owned(),
        only_counted: false,
        count,
        share: count as f64 / finished(runs),
        first: None,
    }
}

fn meaning(label: &str) -> String {
    let class = ErrorClass::ALL.into_iter().find(|class| class.as_str() == label);
    class.map_or_else(String::new, |class| class.hint().to_owned())
}

fn finished(runs: &[(usize, &RunRecord)]) -> f64 {
    let lines = runs.iter().flat_map(|(_, run)| &run.phases);
    lines.map(|line| line.phase.sums.finished).sum::<u64>().max(1) as f64
}

fn sorted(mut faults: Vec<FaultCount>) -> Vec<FaultCount> {
    faults.sort_by_key(|fault| std::cmp::Reverse(fault.count));
    faults
}
