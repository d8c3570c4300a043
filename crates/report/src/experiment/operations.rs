//! The kinds of operations, one by one: time and CPU of each arm, and what it costs more.
//!
//! Cold, pure: parts of the report like those of `sections`.

use crate::document::{Section, Table};
use crate::figures::{self, Change};
use crate::reading::Reading;
use bakeoff_results::OperationResult;

/// Columns of the quantiles.
const QUANTILES: [&str; 2] = ["p50", "p99"];

/// Time of an operation; nothing in other workloads.
pub(super) fn times(reading: &Reading<'_>) -> Section {
    // Where a batch is timed as a whole there are no quantiles.
    let all = reading.bundle.results.operations.iter().flat_map(|kind| kind.arms.values());
    let (more, said) = match all.map(|arm| arm.time_ns.count).max() {
        None | Some(0) => (&[][..], ""),
        Some(_) => (QUANTILES.as_slice(), "; quantiles of all operations"),
    };
    let head = [&["operation", "arm", "mean"], more, &["change", "interval"]].concat();
    let note = format!(
        "Each kind as if it had been measured alone: means over a slice, medians of those over rounds{said}. \
         A change of twice as much or more is a factor. Exploratory, as all that the verdict does not stand on."
    );
    section(reading, "Time per operation, kind by kind", &note, "operation_time", head)
}

/// CPU of an operation.
pub(super) fn cpu(reading: &Reading<'_>) -> Section {
    let head = vec!["operation", "arm", "CPU", "change", "interval"];
    section(reading, "CPU per operation, kind by kind", "", "subject_cpu_per_request", head)
}

/// The same at the two ends of a link; nothing where nothing serves a directory.
pub(super) fn sides(reading: &Reading<'_>) -> Section {
    let meters = ["front_cpu_per_request", "server_cpu_per_request"];
    let rows_of_kind = |kind: &OperationResult| {
        reading.rows_of(&kind.operation, |arm| {
            let found = &kind.arms.get(arm)?.meters;
            meters.iter().map(|meter| Some(figures::value("ns", *found.get(*meter)?))).collect()
        })
    };
    let rows = reading.bundle.results.operations.iter().flat_map(rows_of_kind);
    let head = ["operation", "arm", "client's side", "server's side"];
    Section::new("CPU per operation by side").detail().table(Table::new(head, rows)).note(
        "Of the CPU above: the operations and what `setup` has left running, and what `serve` has started.",
    )
}

/// What first contacts consisted of; nothing where no layer tells it.
pub(super) fn steps(reading: &Reading<'_>) -> Section {
    let names = ["connect", "handshake", "verify"];
    let rows_of_kind = |kind: &OperationResult| {
        reading.rows_of(&kind.operation, |arm| {
            let found = &kind.arms.get(arm).filter(|of_arm| !of_arm.steps_ns.is_empty())?.steps_ns;
            let cell =
                |name: &str| found.get(name).map_or(figures::NONE.to_owned(), |ns| figures::value("ns", *ns));
            Some(names.map(cell).to_vec())
        })
    };
    let rows = reading.bundle.results.operations.iter().flat_map(rows_of_kind);
    let head = [&["operation", "arm"], names.as_slice()].concat();
    Section::new("First contact, step by step")
        .detail()
        .table(Table::new(head, rows))
        .note("Means by the layer's own account, which nobody here has checked.")
}

fn section(reading: &Reading<'_>, title: &str, note: &str, meter: &str, head: Vec<&'static str>) -> Section {
    let all = &reading.bundle.results.operations;
    let quantiles = head.contains(&QUANTILES[0]);
    let rows_of_kind =
        |kind: &OperationResult| reading.rows_of(&kind.operation, |arm| cells(kind, arm, meter, quantiles));
    let rows = all.iter().flat_map(rows_of_kind);
    Section::new(title).table(Table::new(head, rows)).note(note)
}

fn cells(kind: &OperationResult, arm: &str, meter: &str, quantiles: bool) -> Option<Vec<String>> {
    let of_arm = kind.arms.get(arm)?;
    let times = &of_arm.time_ns;
    let quantiles = quantiles.then_some([times.p50, times.p99]).into_iter().flatten();
    if let Some(word) = &of_arm.refused {
        let nothing = quantiles.map(|_| String::new()).chain([String::new(), String::new()]);
        return Some([format!("refused: {word}")].into_iter().chain(nothing).collect());
    }
    let mut cells = vec![figures::value("ns", *of_arm.meters.get(meter)?)];
    cells.extend(quantiles.map(|ns| figures::time_of(times.count, ns)));
    cells.extend(Change::cells(&kind.comparisons, arm, meter));
    Some(cells)
}
