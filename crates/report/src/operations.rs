//! The kinds of file operations, one by one: time and CPU of each arm, and what it costs more.
//!
//! Cold, pure: parts of the report like those of `sections`.

use crate::figures::{self, Change, NONE};
use crate::reading::Reading;
use crate::sections::{Section, Table};
use bakeoff_experiment::results::OperationResult;

/// Time of an operation; `None` in other workloads.
pub(crate) fn times(reading: &Reading<'_>) -> Option<Section> {
    let head = vec!["operation", "arm", "mean", "p50", "p99", "change", "interval"];
    let note = "Each kind as if it had been measured alone: means over a slice, medians of those over rounds; \
                quantiles of all operations. A change of twice as much or more is a factor. \
                Exploratory, as all that the verdict does not stand on.";
    section(reading, "Time per operation, kind by kind", note, "operation_time", head)
}

/// CPU of an operation.
pub(crate) fn cpu(reading: &Reading<'_>) -> Option<Section> {
    let head = vec!["operation", "arm", "CPU", "change", "interval"];
    section(reading, "CPU per operation, kind by kind", "", "subject_cpu_per_request", head)
}

fn section(
    reading: &Reading<'_>,
    title: &'static str,
    note: &str,
    meter: &str,
    head: Vec<&'static str>,
) -> Option<Section> {
    let all = &reading.bundle.results.operations;
    let rows: Vec<Vec<String>> = all.iter().flat_map(|kind| rows(reading, kind, meter)).collect();
    let figures = head.len() - 1;
    let table = Table { head, rows, figures };
    (!table.rows.is_empty()).then(|| Section {
        title,
        note: note.to_owned(),
        table: Some(table),
        entries: Vec::new(),
    })
}

/// A row an arm; the kind stands in the first.
fn rows(reading: &Reading<'_>, kind: &OperationResult, meter: &str) -> Vec<Vec<String>> {
    let mut rows: Vec<Vec<String>> =
        reading.arms().filter_map(|arm| row(reading, kind, arm, meter)).collect();
    rows.iter_mut().skip(1).for_each(|row| row[0].clear());
    rows
}

fn row(reading: &Reading<'_>, kind: &OperationResult, arm: &str, meter: &str) -> Option<Vec<String>> {
    let of_arm = kind.arms.get(arm)?;
    let time = |ns: u64| match of_arm.time_ns.count {
        0 => NONE.to_owned(),
        _ => figures::value("ns", ns as f64),
    };
    let mut cells = vec![figures::value("ns", *of_arm.meters.get(meter)?)];
    if meter == "operation_time" {
        cells.extend([time(of_arm.time_ns.p50), time(of_arm.time_ns.p99)]);
    }
    let compared = kind.comparisons.iter().find(|c| c.arm == arm && c.meter == meter);
    let change = compared.map(Change::of);
    cells.extend(change.map_or([String::new(), String::new()], |change| [change.effect, change.interval]));
    if reading.invalid(arm).is_some() {
        // What must not be used, as everywhere in the terminal.
        cells.iter_mut().filter(|cell| !cell.is_empty()).for_each(|cell| *cell = format!("({cell})"));
    }
    Some([kind.operation.clone(), arm.to_owned()].into_iter().chain(cells).collect())
}
