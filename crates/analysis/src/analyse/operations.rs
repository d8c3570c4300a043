//! Results by kind of operation, each as if it had been measured alone.

use super::compare::{self, Of, per_slice};
use super::median::median;
use super::series::Table;
use bakeoff_meter::catalogue::{self, OPERATION_TIME, SUBJECT_CPU};
use bakeoff_meter::{Meter, SliceCounters};
use bakeoff_results::{ArmResult, OperationFigures, OperationResult, OperationSetup, Setup};
use std::collections::BTreeMap;

/// Meters compared for each kind.
const COMPARED: [&str; 2] = [OPERATION_TIME, SUBJECT_CPU];
/// Meters shown for each arm.
const SHOWN: [&str; 5] =
    [OPERATION_TIME, SUBJECT_CPU, "front_cpu_per_request", "server_cpu_per_request", "bytes_per_second"];

/// In the order of the plan.
pub(super) fn all(setup: &Setup, table: &Table, arms: &BTreeMap<String, ArmResult>) -> Vec<OperationResult> {
    let result = |known: &OperationSetup| {
        let alone = table.main().alone(&known.operation);
        result(&Of { setup, table, series: &alone, arms }, known)
    };
    setup.workload.operations.iter().map(result).collect()
}

fn result(of: &Of<'_>, known: &OperationSetup) -> OperationResult {
    let setup = of.setup;
    let arms: Vec<&str> = setup.judged().chain(setup.seconds()).collect();
    let rows = COMPARED
        .into_iter()
        .filter_map(catalogue::find)
        .flat_map(|meter| arms.iter().filter_map(|arm| per_slice(of, arm, meter)).collect::<Vec<_>>());
    OperationResult {
        operation: known.operation.clone(),
        count: known.count,
        comparisons: rows.collect(),
        arms: setup.arms.iter().map(|arm| (arm.clone(), figures(of, arm, known))).collect(),
    }
}

fn figures(of: &Of<'_>, arm: &str, known: &OperationSetup) -> OperationFigures {
    let series = of.series;
    let column = series.column(arm);
    let all = SliceCounters::sum(&column.counters);
    let of = |meter: &Meter| median(column.counters.iter().filter_map(meter.of_slice).collect());
    let shown = || SHOWN.into_iter().filter_map(catalogue::find);
    let steps_ns = steps(&column.counters, &known.operation);
    let step = |name: &String| {
        let each = column.counters.iter().map(|slice| steps(std::slice::from_ref(slice), &known.operation));
        let figures: Option<Vec<f64>> = each.map(|steps| steps.get(name).copied()).collect();
        Some((name.clone(), compare::over_rounds(series, &figures?)?))
    };
    OperationFigures {
        tried: all.requests,
        errors: all.errors,
        bytes: all.bytes,
        refused: known.refused.get(arm).cloned(),
        time_ns: column.merged.response.quantiles(),
        step_estimates: steps_ns.keys().filter_map(step).collect(),
        steps_ns,
        meters: shown().filter_map(|meter| Some((meter.name.to_owned(), of(meter)?))).collect(),
        estimates: compare::alone(series, arm, shown()),
    }
}

/// The mean of each step over all operations.
fn steps(slices: &[SliceCounters], operation: &str) -> BTreeMap<String, f64> {
    let mut sums: BTreeMap<String, f64> = BTreeMap::new();
    let mut tried = 0;
    for counts in slices.iter().filter_map(|slice| slice.operations.get(operation)) {
        tried += counts.tried;
        for (step, ns) in &counts.steps_ns {
            *sums.entry(step.clone()).or_default() += *ns as f64;
        }
    }
    sums.values_mut().for_each(|sum| *sum /= tried.max(1) as f64);
    sums
}
