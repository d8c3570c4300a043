//! Cost of reading a Combined log: CPU seconds (user and system) per GB.
//!
//! The bundled log, repeated to 200 MB in memory, walked five times: once taken apart only, once
//! all the way to an index of requests. Target for the first: at most 3.

#![allow(clippy::print_stdout, reason = "a benchmark talks to whoever runs it")]

use bakeoff_wire::access_log::{Format, parse};
use bakeoff_workload::replay::{LogIndex, LogReader, LogSource, ReplayOptions};
use std::hint::black_box;
use std::io::Read;

const MEGABYTES: usize = 200;
const WALKS: usize = 5;

fn main() {
    let log: &'static [u8] = Vec::leak(log());
    let gigabytes = (log.len() * WALKS) as f64 / 1e9;
    let lines = log.iter().filter(|&&b| b == b'\n').count();
    println!("{} MB, {lines} lines of {} bytes", log.len() / 1_000_000, log.len() / lines);
    let parse = cpu_of(|| walk(log)) / gigabytes;
    println!("lines and fields: {parse:.2} CPU s/GB ({:.0} MB/s; target 3)", 1e3 / parse);
    let index = cpu_of(|| index(log)) / gigabytes;
    println!("to an index:      {index:.2} CPU s/GB ({:.0} MB/s)", 1e3 / index);
}

fn log() -> Vec<u8> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../plans/weblog.log.gz");
    let packed = std::fs::read(path).expect("the bundled log is in the repository");
    let mut one = Vec::new();
    flate2::read::MultiGzDecoder::new(&packed[..]).read_to_end(&mut one).expect("it is a gzip file");
    if one.last() != Some(&b'\n') {
        one.push(b'\n');
    }
    one.repeat(MEGABYTES * 1_000_000 / one.len() + 1)
}

fn walk(log: &'static [u8]) {
    for _ in 0..WALKS {
        let mut reader = LogReader::new("memory".to_owned(), log).expect("memory can be read");
        let mut good = 0;
        while let Some(line) = reader.next_line().expect("memory can be read") {
            good += u64::from(black_box(parse(Format::Combined, line.text)).is_ok());
        }
        assert!(good > 0);
    }
}

fn index(log: &'static [u8]) {
    let source = LogSource::Embedded { name: "memory", bytes: log };
    for _ in 0..WALKS {
        black_box(LogIndex::read(&source, &ReplayOptions::default()).expect("it is a good log").lines());
    }
}

fn cpu_of(work: impl Fn()) -> f64 {
    let before = cpu_seconds();
    work();
    cpu_seconds() - before
}

/// User and system time of this process, to 10 ms: fields 14 and 15 of its `stat`, in ticks of
/// 1/100 s on every Linux.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("this is Linux");
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |at: usize| fields[at].parse::<f64>().expect("a number of ticks");
    (ticks(11) + ticks(12)) / 100.0
}
