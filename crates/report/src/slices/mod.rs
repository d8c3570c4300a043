//! The slices: which count, and the table with one row for each, as CSV and as Parquet.

#[cfg(feature = "parquet")]
mod parquet;

#[cfg(feature = "parquet")]
pub use self::parquet::parquet;

use crate::ReportInput;
use bakeoff_meter::{Buckets, CATALOGUE, HistogramDecoder, Meter};
use bakeoff_results::SliceRecord;
use std::collections::{BTreeMap, BTreeSet};

/// What stands in one place of the table; `None` where it could not be read.
type Cell = Option<Value>;

#[derive(Clone, Debug, PartialEq)]
enum Value {
    Count(u64),
    Figure(f64),
    Word(String),
    Yes(bool),
}

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Count,
    Figure,
    Word,
    Yes,
}

/// A column. A CSV file has no room for what its values are, and for their unit.
#[cfg_attr(not(feature = "parquet"), allow(dead_code))]
#[derive(Clone, Copy)]
struct Column {
    name: &'static str,
    kind: Kind,
    /// As in `results.json`; empty for words.
    unit: &'static str,
    source: Source,
}

#[derive(Clone, Copy)]
enum Source {
    /// The slice, and whether its round is complete.
    Slice(fn(&SliceRecord, bool) -> Cell),
    /// A quantile of the slice's own times.
    Quantile(&'static Meter, f64),
    Meter(&'static Meter),
}

/// Columns before those of the catalogue. `complete` is 1 when every arm has a slice in that round,
/// and only such rounds are used.
static OF_SLICES: [Column; 17] = [
    column("round", Kind::Count, "count", |slice, _| count(slice.round)),
    column("position", Kind::Count, "count", |slice, _| count(slice.position)),
    column("arm", Kind::Word, "", |slice, _| Some(Value::Word(slice.arm.clone()))),
    column("design", Kind::Word, "", |slice, _| Some(Value::Word(slice.design.as_str().to_owned()))),
    column("load", Kind::Count, "count", |slice, _| slice.load.and_then(count)),
    column("block", Kind::Count, "count", |slice, _| count(slice.block)),
    column("complete", Kind::Yes, "", |_, complete| Some(Value::Yes(complete))),
    column("started_ns", Kind::Count, "ns", |slice, _| count(slice.started_ns)),
    column("wall_ns", Kind::Count, "ns", |slice, _| count(slice.counters.wall_ns)),
    column("requests", Kind::Count, "count", |slice, _| count(slice.counters.requests)),
    column("replies", Kind::Count, "count", |slice, _| count(slice.counters.replies)),
    column("failed", Kind::Count, "count", |slice, _| count(slice.counters.error_count())),
    column("failed_by_class", Kind::Word, "", |slice, _| pairs(&slice.counters.errors)),
    column("statuses", Kind::Word, "", |slice, _| pairs(&slice.counters.statuses)),
    column("reply_bytes", Kind::Count, "B", |slice, _| count(slice.counters.bytes)),
    column("subject_cpu_ns", Kind::Count, "ns", |slice, _| slice.counters.subject_cpu_ns.and_then(count)),
    column("generator_cpu_ns", Kind::Count, "ns", |slice, _| count(slice.counters.generator_cpu_ns)),
];

const fn column(
    name: &'static str,
    kind: Kind,
    unit: &'static str,
    cell: fn(&SliceRecord, bool) -> Cell,
) -> Column {
    Column { name, kind, unit, source: Source::Slice(cell) }
}

fn count(n: impl Into<u64>) -> Cell {
    Some(Value::Count(n.into()))
}

/// `timeout=2;reset=1`
fn pairs<K: std::fmt::Display>(counts: &BTreeMap<K, u64>) -> Cell {
    let pairs: Vec<String> = counts.iter().map(|(key, count)| format!("{key}={count}")).collect();
    Some(Value::Word(pairs.join(";")))
}

impl Column {
    fn of(&self, row: &Row<'_>) -> Cell {
        let slice = row.slice;
        match self.source {
            Source::Slice(cell) => cell(slice, row.complete),
            Source::Quantile(meter, q) => {
                let times = if meter.is_of_service() { &row.service } else { &row.response };
                times
                    .as_ref()
                    .filter(|times| times.count() > 0)
                    .and_then(|times| count(times.quantile(q).get()))
            }
            Source::Meter(meter) => {
                (meter.of_slice)(&slice.counters).filter(|x| x.is_finite()).map(Value::Figure)
            }
        }
    }
}

/// A slice, with the times that quantiles are taken of read once for all of them.
struct Row<'a> {
    slice: &'a SliceRecord,
    /// Whether every arm has a slice in its round.
    complete: bool,
    response: Option<Buckets>,
    service: Option<Buckets>,
}

/// In the order in which they ran.
fn rows(bundle: &ReportInput) -> Vec<Row<'_>> {
    let complete = complete_rounds(bundle, &bundle.slices);
    let mut decoder = HistogramDecoder::default();
    let row = |slice| {
        let SliceRecord { round, times, .. }: &SliceRecord = slice;
        let mut read = |times: &str| decoder.read(times).ok();
        let (response, service) = (read(&times.response), read(&times.service));
        Row { slice, complete: complete.contains(round), response, service }
    };
    bundle.slices.iter().map(row).collect()
}

/// Round, position, arm, raw counters, then every meter of the catalogue in its unit: what has a figure per slice, and
/// quantiles of the slice's times, however few replies stand behind them.
fn columns() -> Vec<Column> {
    let of_meter = |meter: &'static Meter| {
        let (kind, source) = match meter.quantile {
            Some(q) => (Kind::Count, Source::Quantile(meter, q)),
            None => (Kind::Figure, Source::Meter(meter)),
        };
        Column { name: meter.name, kind, unit: meter.unit.as_str(), source }
    };
    OF_SLICES.iter().copied().chain(CATALOGUE.iter().map(of_meter)).collect()
}

/// One row a slice, in the order in which they ran; empty where a figure could not be read.
pub fn csv(bundle: &ReportInput) -> String {
    let (columns, rows) = (columns(), rows(bundle));
    let cells = |row| columns.iter().map(move |column| column.of(row).map(text).unwrap_or_default());
    written(columns.iter().map(|column| column.name), rows.iter().map(cells))
}

/// A head and rows of its length as CSV.
pub(crate) fn written<R: IntoIterator<Item = String>>(
    head: impl IntoIterator<Item = &'static str>,
    mut rows: impl Iterator<Item = R>,
) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let written = writer.write_record(head).and_then(|()| rows.try_for_each(|row| writer.write_record(row)));
    written.expect("writing into memory cannot fail, and all rows have one length");
    let bytes = writer.into_inner().expect("writing into memory cannot fail");
    String::from_utf8_lossy(&bytes).into_owned()
}

fn text(value: Value) -> String {
    match value {
        Value::Count(n) => n.to_string(),
        Value::Figure(x) => x.to_string(),
        Value::Word(word) => word,
        Value::Yes(yes) => u8::from(yes).to_string(),
    }
}

/// The rounds in which every arm has one of these slices.
pub(crate) fn complete_rounds<'s>(
    bundle: &ReportInput,
    slices: impl IntoIterator<Item = &'s SliceRecord>,
) -> BTreeSet<u32> {
    let mut seen: BTreeMap<u32, BTreeSet<&str>> = BTreeMap::new();
    for slice in slices {
        seen.entry(slice.round).or_default().insert(&slice.arm);
    }
    let whole = |arms: &BTreeSet<&str>| bundle.setup.arms.iter().all(|arm| arms.contains(arm.as_str()));
    seen.into_iter().filter(|(_, arms)| whole(arms)).map(|(round, _)| round).collect()
}
