//! Tests that rows reach the disk, or are counted.

use super::*;
use bakeoff_content::world::ObjectName;
use bakeoff_meter::ErrorClass;
use bakeoff_robots::judge::{FaultSet, Hit, ReplyFault, RequestOutcome};
use bakeoff_workload::Method;
use std::collections::BTreeSet;
use std::thread;

fn row(done_ms: u64) -> Transaction {
    let done = Nanos::from_millis(done_ms);
    Transaction {
        due: done,
        sent: done,
        first_byte: done,
        done,
        request_bytes: 100,
        reply_bytes: 1_000,
        stamp: 7,
        object: ObjectName { world: u64::MAX, server: 1, kind: 1, number: 2 },
        robot: 3,
        faults: FaultSet::NONE,
        status: Some(200),
        phase: Some(1),
        due_phase: 0,
        kind: 0,
        method: Method::Get,
        outcome: RequestOutcome::Good,
        hit: Hit::Miss,
        repeat: false,
        embedded: false,
        cachable: true,
        offered: false,
        reused: true,
    }
}

fn of_run() -> RunContext {
    RunContext {
        run: 4,
        entrant: "squid".to_owned(),
        phases: vec!["warm".to_owned(), "meas".to_owned()],
        kinds: vec!["page".to_owned(), "image".to_owned()],
        began_unix: Nanos::from_secs(1_000),
    }
}

/// The run of the rows, and their number.
fn in_words(part: &TransactionFile<'_>) -> Result<Vec<u8>, String> {
    Ok(format!("{} {}", part.of.entrant, part.rows.len()).into_bytes())
}

fn refuse(_: &TransactionFile<'_>) -> Result<Vec<u8>, String> {
    Err("out of paper".to_owned())
}

/// Sends this many rows, with a writer at work or one that only begins when all are sent.
fn told(
    encode: Encode,
    rows: u64,
    waiting: Option<usize>,
) -> (tempfile::TempDir, Logged, Option<DirectoryError>) {
    let dir = tempfile::tempdir().unwrap();
    let log = Log::begin(dir.path(), encode).unwrap();
    let (mut batcher, writer) = log.open_for(of_run(), waiting.unwrap_or(WAITING));
    let fate = writer.fate();
    let (logged, failed) = thread::scope(|scope| {
        let (go, gone) = sync_channel(1);
        let writing = scope.spawn(move || {
            gone.recv().unwrap();
            writer.write()
        });
        if waiting.is_none() {
            go.send(()).unwrap();
        }
        (0..rows).for_each(|_| batcher.tell(row(0)));
        if waiting.is_some() {
            go.send(()).unwrap();
        }
        drop(batcher);
        writing.join().unwrap()
    });
    assert_eq!(fate.has_failed(), failed.is_some());
    (dir, logged, failed)
}

fn files(dir: &tempfile::TempDir) -> Vec<(String, String)> {
    let entries = fs::read_dir(dir.path().join(FOLDER)).unwrap().map(|entry| entry.unwrap());
    let name = |entry: &fs::DirEntry| entry.file_name().into_string().unwrap();
    let mut files: Vec<(String, String)> =
        entries.map(|entry| (name(&entry), fs::read_to_string(entry.path()).unwrap())).collect();
    files.sort();
    files
}

#[test]
fn every_row_is_in_one_of_the_parts() {
    let rows = PART_ROWS as u64 + 5_000;
    let (dir, logged, failed) = told(in_words, rows, None);
    assert!(failed.is_none());
    let files = files(&dir);
    assert_eq!(files[0].0, "run-004-part-00000.parquet");
    let rows_of = |text: &String| text.strip_prefix("squid ").unwrap().parse::<u64>().unwrap();
    assert_eq!(files.iter().map(|(_, text)| rows_of(text)).sum::<u64>(), rows);
    let bytes = files.iter().map(|(_, text)| text.len() as u64).sum();
    assert_eq!(logged, Logged { rows, dropped: 0, parts: files.len() as u64, bytes });
    assert!(files.len() >= 2, "{files:?}");
}

#[test]
fn a_run_without_a_request_leaves_no_file() {
    let (dir, logged, _) = told(in_words, 0, None);
    assert_eq!((files(&dir), logged), (Vec::new(), Logged::default()));
}

#[test]
fn what_the_writer_has_no_room_for_is_counted_and_the_rest_is_there() {
    // Two batches wait, three have no room; ten rows are left when the robots are over, and wait their turn.
    let rows = 5 * BATCH_ROWS as u64 + 10;
    let (_dir, logged, failed) = told(in_words, rows, Some(2));
    assert!(failed.is_none());
    assert_eq!((logged.rows, logged.dropped), (2 * BATCH_ROWS as u64 + 10, 3 * BATCH_ROWS as u64));
}

#[test]
fn after_an_error_nothing_is_written_and_all_is_counted() {
    let rows = PART_ROWS as u64 + 5_000;
    let (dir, logged, failed) = told(refuse, rows, None);
    assert_eq!(logged, Logged { dropped: rows, ..Logged::default() });
    let why = failed.unwrap().to_string();
    assert!(why.contains("run-004-part-00000.parquet") && why.contains("out of paper"), "{why}");
    assert!(files(&dir).is_empty());
}

#[test]
fn at_a_low_rate_rows_do_not_wait_for_a_batch_to_fill() {
    let dir = tempfile::tempdir().unwrap();
    let (mut batcher, writer) = Log::begin(dir.path(), in_words).unwrap().open(of_run());
    [0, 500, 1_200, 1_300].into_iter().for_each(|done_ms| batcher.tell(row(done_ms)));
    assert_eq!(writer.from.try_recv().unwrap().len(), 3);
    assert!(writer.from.try_recv().is_err());
}

fn cell(name: &str, row: &Transaction) -> String {
    let of = of_run();
    let column = COLUMNS.iter().find(|column| column.name == name).unwrap();
    match column.cells {
        Cells::Moments(read) => read(&of, row).to_string(),
        Cells::Counts(read) => format!("{:?}", read(&of, row)),
        Cells::Bits(read) => read(row).to_string(),
        Cells::Yes(read) => read(row).to_string(),
        Cells::Words(read) => format!("{:?}", read(&of, row)),
        Cells::Lists(read) => format!("{:?}", read(row)),
    }
}

#[test]
fn columns_say_what_a_row_holds() {
    let good = row(1);
    let faults = [ReplyFault::FalseMiss, ReplyFault::WrongBytes].into_iter().collect();
    let wrong =
        Transaction { outcome: RequestOutcome::Wrong, hit: Hit::Unknown, faults, phase: None, ..good };
    let failed = Transaction { outcome: RequestOutcome::Failed(ErrorClass::Timeout), status: None, ..good };
    for (name, row, said) in [
        ("run", &good, "Some(4)"),
        ("entrant", &good, "Some(\"squid\")"),
        ("run_began_unix_ns", &good, "1000000000000"),
        ("phase", &good, "Some(\"meas\")"),
        ("phase", &wrong, "None"),
        ("due_phase", &good, "Some(\"warm\")"),
        ("done_ns", &good, "1000000"),
        ("kind", &good, "Some(\"basic\")"),
        ("method", &good, "Some(\"GET\")"),
        ("object_world", &good, "18446744073709551615"),
        ("object_kind", &good, "Some(\"image\")"),
        ("status", &failed, "None"),
        ("outcome", &good, "Some(\"good\")"),
        ("outcome", &wrong, "Some(\"failed\")"),
        ("error", &wrong, "None"),
        ("error", &failed, "Some(\"timeout\")"),
        ("hit", &good, "Some(\"miss\")"),
        ("hit", &wrong, "Some(\"none\")"),
        ("faults", &good, "[]"),
        ("faults", &wrong, "[\"wrong-bytes\", \"false-miss\"]"),
        ("connection_reused", &good, "true"),
    ] {
        assert_eq!(cell(name, row), said, "{name}");
    }
}

#[test]
fn columns_are_named_once_and_after_their_unit() {
    let names: BTreeSet<&str> = COLUMNS.iter().map(|column| column.name).collect();
    assert_eq!(names.len(), COLUMNS.len());
    for column in &COLUMNS {
        let ending = match column.unit {
            "ns" => "_ns",
            "B" => "_bytes",
            _ => "",
        };
        assert!(column.name.ends_with(ending) && !column.meaning.is_empty(), "{}", column.name);
        assert_eq!(column.unit.is_empty(), !column.name.ends_with("_ns") && !column.name.ends_with("_bytes"));
    }
}
