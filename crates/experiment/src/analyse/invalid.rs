//! What makes an arm's figures worthless, whatever they are.

use super::handshakes;
use super::series::{Column, Series};
use crate::results::{Setup, WRONG_BYTES, second};
use bakeoff_loadgen::GENERATOR_LIMIT;
use bakeoff_meter::ErrorClass;
use bakeoff_units::{Nanos, Ratio};
use std::collections::BTreeMap;

/// Why the arm is invalid; an invalid baseline makes every arm of its stratum so.
///
/// `off`: arms whose layer was not on at some start, and what their proof said.
pub(super) fn reason(
    setup: &Setup,
    series: &Series,
    off: &BTreeMap<String, String>,
    arm: &str,
) -> Option<String> {
    if let Some(said) = off.get(arm) {
        return Some(format!("its layer was not on at every start ({said}): a cost of what is off is none"));
    }
    let own = own_reason(setup, series, arm);
    let of_baseline = || {
        let baseline = setup.baseline_of(arm);
        [baseline.to_owned(), second(baseline)].into_iter().find_map(|name| {
            own_reason(setup, series, &name).map(|why| format!("the baseline {name}: {why}"))
        })
    };
    own.or_else(of_baseline)
}

fn own_reason(setup: &Setup, series: &Series, arm: &str) -> Option<String> {
    let column = series.column(arm);
    let requests: u64 = column.counters.iter().map(|c| c.requests).sum();
    if requests == 0 {
        return None;
    }
    let errors: u64 = column.counters.iter().map(|c| c.error_count()).sum();
    let of_class = |class: ErrorClass| -> u64 {
        column.counters.iter().filter_map(|c| c.errors.get(class.as_str())).sum()
    };
    let wrong = of_class(ErrorClass::WrongBody);
    if wrong > 0 {
        return Some(format!("{wrong} replies had bytes of something else (wrong-body)"));
    }
    let other = column.counters.iter().filter_map(|c| c.errors.get(WRONG_BYTES)).sum::<u64>();
    if other > 0 {
        return Some(format!("{other} files held other bytes than were written ({WRONG_BYTES})"));
    }
    let share = errors as f64 / requests as f64;
    if share > setup.max_errors {
        let (class, count) = most_frequent(column)?;
        let share = Ratio::new(share)?;
        let noun = if setup.workload.kind == "files" { "operations" } else { "requests" };
        return Some(format!("{share} of its {noun} failed, most by {class} ({count})"));
    }
    if let Some(why) = handshakes::off(setup, arm, &column.counters) {
        return Some(why);
    }
    let lateness = column.merged.lateness.quantile(0.99);
    let bound = Nanos::new(setup.max_lateness_ns?);
    (lateness > bound).then(|| format!("the generator was late: 1 % of the requests were sent {lateness} or more after they were due (bound {bound})"))
}

/// The class with most failures. By its label: commands fail in a class of their own.
fn most_frequent(column: &Column) -> Option<(&str, u64)> {
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for (class, count) in column.counters.iter().flat_map(|c| &c.errors) {
        *sums.entry(class).or_default() += count;
    }
    sums.into_iter().max_by_key(|(_, count)| *count)
}

/// Why throughput and times of the arm say nothing, though its cost per request may.
pub(super) fn generator_limited(setup: &Setup, series: &Series, arm: &str) -> Option<String> {
    if setup.max_lateness_ns.is_some() || matches!(setup.workload.kind.as_str(), "command" | "files") {
        return None;
    }
    let baseline = setup.baseline_of(arm);
    [arm.to_owned(), baseline.to_owned(), second(baseline)].into_iter().find_map(|name| {
        let counters = &series.column(&name).counters;
        let busy = counters.iter().map(|c| c.generator_busy).sum::<f64>() / counters.len().max(1) as f64;
        let share = Ratio::new(busy.min(1.0))?;
        (busy >= GENERATOR_LIMIT)
            .then(|| format!("the generator was the limit for {name}: its core was {share} busy"))
    })
}
