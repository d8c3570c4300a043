//! The slices: which count, and the CSV with one row for each.

use crate::Bundle;
use bakeoff_experiment::results::SliceRecord;
use bakeoff_meter::{CATALOGUE, Meter};
use std::collections::{BTreeMap, BTreeSet};

/// Columns before those of the catalogue. Times are nanoseconds; `complete` is 1 when every arm
/// has a slice in that round, and only such rounds are used.
const COUNTERS: [&str; 14] = [
    "round",
    "position",
    "arm",
    "complete",
    "started_ns",
    "wall_ns",
    "requests",
    "replies",
    "failed",
    "failed_by_class",
    "statuses",
    "reply_bytes",
    "subject_cpu_ns",
    "generator_cpu_ns",
];

/// One row a slice, in the order in which they ran: round, position, arm, raw counters, then every
/// meter of the catalogue that has a figure per slice (in its unit; empty where it could not be
/// read).
pub fn csv(bundle: &Bundle) -> String {
    let complete = complete_rounds(bundle);
    let meters: Vec<&Meter> = CATALOGUE.iter().filter(|meter| meter.quantile.is_none()).collect();
    let mut writer = csv::Writer::from_writer(Vec::new());
    let head = COUNTERS.iter().copied().chain(meters.iter().map(|meter| meter.name));
    let rows = bundle.slices.iter().map(|slice| row(slice, complete.contains(&slice.round), &meters));
    let written = writer
        .write_record(head)
        .and_then(|()| rows.into_iter().try_for_each(|row| writer.write_record(row)));
    written.expect("writing into memory cannot fail, and all rows have one length");
    let bytes = writer.into_inner().expect("writing into memory cannot fail");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The rounds in which every arm has a slice.
pub(crate) fn complete_rounds(bundle: &Bundle) -> BTreeSet<u32> {
    let mut seen: BTreeMap<u32, BTreeSet<&str>> = BTreeMap::new();
    for slice in &bundle.slices {
        seen.entry(slice.round).or_default().insert(&slice.arm);
    }
    let whole = |arms: &BTreeSet<&str>| bundle.setup.arms.iter().all(|arm| arms.contains(arm.as_str()));
    seen.into_iter().filter(|(_, arms)| whole(arms)).map(|(round, _)| round).collect()
}

fn row(slice: &SliceRecord, complete: bool, meters: &[&Meter]) -> Vec<String> {
    let counters = &slice.counters;
    let mut cells = vec![
        slice.round.to_string(),
        slice.position.to_string(),
        slice.arm.clone(),
        u8::from(complete).to_string(),
        slice.started_ns.to_string(),
        counters.wall_ns.to_string(),
        counters.requests.to_string(),
        counters.replies.to_string(),
        counters.error_count().to_string(),
        pairs(&counters.errors),
        pairs(&counters.statuses),
        counters.bytes.to_string(),
        counters.subject_cpu_ns.map(|ns| ns.to_string()).unwrap_or_default(),
        counters.generator_cpu_ns.to_string(),
    ];
    let figures = meters.iter().map(|meter| (meter.of_slice)(counters));
    cells.extend(
        figures.map(|figure| figure.filter(|x| x.is_finite()).map(|x| x.to_string()).unwrap_or_default()),
    );
    cells
}

/// `timeout=2;reset=1`
fn pairs<K: std::fmt::Display>(counts: &BTreeMap<K, u64>) -> String {
    counts.iter().map(|(key, count)| format!("{key}={count}")).collect::<Vec<_>>().join(";")
}
