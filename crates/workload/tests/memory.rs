//! Memory of an index: a million lines take that of their distinct requests. Alone in its process, as it reads the
//! process's peak.

#![allow(clippy::unwrap_used)] // a test's panic is its message

use bakeoff_workload::Workload;
use bakeoff_workload::replay::{InOrder, LogIndex, LogSource, ReplayOptions};
use std::fmt::Write as _;
use std::io::Write as _;

const LINES: u64 = 1_000_000;
const DISTINCT: u64 = 1000;

#[test]
fn a_million_lines_take_less_than_8_bytes_each_beside_the_distinct_ones() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("access.log");
    write_log(&path);
    let source = LogSource::File(path);
    let options = ReplayOptions::default();
    let before = peak();
    let index = LogIndex::read(&source, &options).unwrap();
    let shuffled = peak() - before;
    assert_eq!((index.lines(), index.table().requests.len() as u64), (LINES, DISTINCT));
    let mut replay = InOrder::new(&source, &options, true, 7).unwrap();
    assert_eq!(replay.slice(50, 10_000).unwrap().len(), 10_000);
    let both = peak() - before;
    println!("peak above the start: shuffled {shuffled} bytes, with a replay in order {both} bytes");
    let fixed = 3 << 20; // the block and the distinct requests
    assert!(shuffled < LINES * 8 + fixed, "{shuffled}");
    assert!(both < LINES * 8 + 2 * fixed, "{both}");
}

fn write_log(path: &std::path::Path) {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path).unwrap());
    let mut block = String::new();
    for line in 0..LINES {
        block.clear();
        let (name, second) = (line * 7919 % DISTINCT, line % 60);
        writeln!(block, "h - - [17/May/2015:10:05:{second:02} +0000] \"GET /{name} HTTP/1.1\" 200 {name}")
            .unwrap();
        file.write_all(block.as_bytes()).unwrap();
    }
}

/// The largest resident size so far, in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}
