//! Logs that cannot be used: each error names the fault, its place, and what to do.

#![allow(clippy::unwrap_used)] // a test's panic is its message

use bakeoff_wire::access_log::Format;
use bakeoff_workload::replay::{InOrder, LogIndex, LogReader, LogSource, ReplayOptions, SkipReason};
use bakeoff_workload::{Workload, WorkloadError};
use std::io::Write;

const GOOD: &str = "h - - [17/May/2015:10:05:03 +0000] \"GET /a HTTP/1.1\" 200 5\n";

fn embedded(text: impl Into<Vec<u8>>) -> LogSource {
    LogSource::Embedded { name: "test.log", bytes: Vec::leak(text.into()) }
}

fn read(text: impl Into<Vec<u8>>) -> Result<LogIndex, WorkloadError> {
    LogIndex::read(&embedded(text), &ReplayOptions::default())
}

fn message(text: impl Into<Vec<u8>>) -> String {
    read(text).unwrap_err().to_string()
}

#[test]
fn a_log_that_is_missing_a_directory_or_empty() {
    let source = LogSource::File("/nowhere/access.log".into());
    let error = LogIndex::read(&source, &ReplayOptions::default()).unwrap_err();
    assert!(matches!(error, WorkloadError::LogMissing { .. }), "{error}");
    assert!(error.to_string().contains("/nowhere/access.log") && error.to_string().contains("`log`"));
    let dir = tempfile::tempdir().unwrap();
    let error = LogReader::open(&LogSource::File(dir.path().into())).err().unwrap();
    assert!(matches!(error, WorkloadError::LogMissing { .. }), "{error}");
    for nothing in ["", "\n", " \r\n\n"] {
        assert!(matches!(read(nothing), Err(WorkloadError::LogEmpty { .. })), "{nothing:?}");
        let options = ReplayOptions { format: Some(Format::Combined), ..ReplayOptions::default() };
        let error = LogIndex::read(&embedded(nothing), &options).unwrap_err();
        assert!(matches!(error, WorkloadError::LogEmpty { .. }), "{error}");
    }
}

#[test]
fn a_file_that_is_no_log() {
    let text = message("hello\nworld\n");
    assert!(text.contains("test.log") && text.contains("none of the first 2 lines"), "{text}");
}

#[test]
fn too_many_lines_that_do_not_parse_shows_three_and_fewer_are_counted() {
    let bad = "what is this\n";
    let text = message(format!("{}{}", GOOD.repeat(80), bad.repeat(20)));
    assert!(
        text.contains("20 of 100 lines") && text.contains("10 %") && text.contains("`max_unparsable`"),
        "{text}"
    );
    assert_eq!(text.matches("what is this").count(), 3);
    assert!(text.contains("line 81 (no-time): what is this"), "{text}");
    let index = read(format!("{}{}\n\n", GOOD.repeat(90), bad.repeat(10))).unwrap();
    assert_eq!(index.summary().unwrap().skips.by_label()["no-time"], 10);
    assert_eq!(index.summary().unwrap().lines, 100, "blank lines are none");
}

#[test]
fn samples_are_cut_and_printable() {
    let junk =
        [b"\x1b[31m\xff".to_vec(), vec![b'x'; 5000], b"\n".to_vec(), GOOD.repeat(20).into_bytes()].concat();
    let index = read(junk).unwrap();
    let sample = &index.summary().unwrap().skips.samples()[0];
    assert!(sample.line == 1 && sample.text.chars().count() <= 200 && !sample.text.contains('\u{1b}'));
}

#[test]
fn a_log_of_only_skipped_lines_or_only_errors() {
    let text = message(GOOD.replace("GET", "POST").repeat(4));
    assert!(text.contains("method-not-replayed: 4") && text.contains("line 1"), "{text}");
    for status in [" 404 ", " 500 ", " 301 "] {
        let log = GOOD.replace(" 200 ", status);
        assert!(matches!(read(log.clone()), Err(WorkloadError::OnlyErrors { requests: 1, .. })));
        let error = InOrder::new(&embedded(log), &ReplayOptions::default(), false, 1).err().unwrap();
        assert!(matches!(error, WorkloadError::OnlyErrors { .. }));
    }
    let options = ReplayOptions { expect: false, ..ReplayOptions::default() };
    assert!(LogIndex::read(&embedded(GOOD.replace(" 200 ", " 301 ")), &options).unwrap().site().is_none());
    assert!(LogIndex::read(&embedded(GOOD.replace(" 200 ", " 403 ")), &options).is_err());
}

#[test]
fn a_site_over_the_limit_and_a_clock_without_stamps() {
    let error = read(GOOD.replace(" 5\n", " 18446744073709551615\n")).unwrap_err();
    assert!(matches!(error, WorkloadError::SiteTooLarge { .. }), "{error}");
    let log = embedded(GOOD.replace("17/May", "17/Mai"));
    let options = ReplayOptions { format: Some(Format::Common), ..ReplayOptions::default() };
    assert!(InOrder::new(&log, &options, false, 1).is_ok());
    assert!(matches!(InOrder::new(&log, &options, true, 1), Err(WorkloadError::NoStamps { .. })));
}

#[test]
fn a_line_of_megabytes_costs_one_line() {
    for len in [1 << 20, (1 << 20) + 1, 3 << 20] {
        let log = [GOOD.repeat(20), "x".repeat(len), "\n".to_owned(), GOOD.repeat(20)].concat();
        let index = read(log).unwrap();
        assert_eq!((index.summary().unwrap().lines, index.lines()), (41, 40), "{len}");
        assert_eq!(index.summary().unwrap().skips.count(SkipReason::LineTooLong), 1);
    }
    let index = read([GOOD.repeat(20), "x".repeat(2 << 20)].concat()).unwrap();
    assert_eq!(index.summary().unwrap().skips.count(SkipReason::LineTooLong), 1, "also at the end");
}

#[test]
fn packed_logs_are_told_by_their_bytes_and_damage_is_named() {
    let half = |part: &str| {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(part.as_bytes()).unwrap();
        packer.finish().unwrap()
    };
    let members = [half(&GOOD.repeat(10)[..300]), half(&GOOD.repeat(10)[300..])].concat();
    let frames = [
        zstd::encode_all(&GOOD.as_bytes()[..20], 1).unwrap(),
        zstd::encode_all(&GOOD.as_bytes()[20..], 1).unwrap(),
    ];
    assert_eq!(read(members.clone()).unwrap().lines(), 10);
    assert_eq!(read(frames.concat()).unwrap().lines(), 1);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("named.zst");
    std::fs::write(&path, &members).unwrap();
    let index = LogIndex::read(&LogSource::File(path), &ReplayOptions::default()).unwrap();
    assert_eq!(index.lines(), 10);
    let cut = &members[..members.len() - 12];
    assert!(matches!(read(cut), Err(WorkloadError::LogUnreadable { .. })));
}

#[test]
fn a_log_that_shrinks_while_it_is_replayed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("access.log");
    std::fs::write(&path, GOOD.repeat(100)).unwrap();
    let mut replay =
        InOrder::new(&LogSource::File(path.clone()), &ReplayOptions::default(), true, 1).unwrap();
    assert_eq!(replay.slice(0, 60).unwrap().len(), 60);
    std::fs::write(&path, GOOD.repeat(50)).unwrap();
    assert_eq!(replay.slice(1, 60).unwrap().len(), 60, "what was read ahead, and 20 from the new file");
    assert!(matches!(replay.slice(2, 60), Err(WorkloadError::LogChanged { expected: 100, .. })));
}

#[test]
fn untrusted_names_are_refused_by_name_and_nothing_else_is_lost() {
    let targets = [
        ("/../etc/passwd", "parent-directory"),
        ("/%2e%2e/etc/passwd", "parent-directory"),
        ("/a%2fb", "encoded-slash"),
        ("/a%00b", "nul-in-target"),
        ("/%ff", "not-utf8"),
        ("*", "asterisk-target"),
        ("etc/passwd", "not-a-path"),
    ];
    let mut log = GOOD.to_owned();
    targets.iter().for_each(|(target, _)| log += &GOOD.replace("/a ", &format!("{target} ")));
    log += &GOOD.replace("/a ", &format!("/{} ", "x".repeat(256)));
    log += &GOOD.replace("/a ", &format!("{} ", "/x".repeat(2500)));
    log += &GOOD.replace("/a ", "http://example.org/absolute ");
    let index = read(log).unwrap();
    let skipped = index.summary().unwrap().skips.by_label();
    for label in targets.iter().map(|(_, label)| *label).chain(["name-too-long", "path-too-long"]) {
        assert!(skipped.get(label).is_some_and(|count| *count >= 1), "{label}: {skipped:?}");
    }
    let text = index.site().unwrap().catalogue().to_text();
    assert_eq!(text, "5\t/a\n5\t/absolute\n");
}
