//! What a request costs the generator before and behind the kernel: ns of this thread's CPU.
//!
//! `constant` and `poisson` are the pacers of the open loop, called as the loop calls them, through
//! their trait: when is the next one due. `render` takes a request from its source and writes its head.
//! `exchange-http1` and `exchange-http2` are all that the program does for a request but to wait, to send
//! and to receive: the request is made, the reply of 1000 bytes is read, judged and recorded. With
//! `-- --callgrind N constant` exactly N of them are done and nothing else, for `benches/instructions`.

#![allow(clippy::print_stdout, reason = "a benchmark talks to whoever runs it")]

use bakeoff_loadgen::{Constant, DryRun, Pacer, Poisson, Protocol, Target};
use bakeoff_sys::thread::cpu_time;
use bakeoff_units::{Nanos, PerSecond};
use bakeoff_workload::{CycleSource, GetUrl};
use std::hint::black_box;
use std::num::NonZeroU16;

const OPERATIONS: usize = 1 << 20;
const REPETITIONS: usize = 7;
const BODY_BYTES: usize = 1000;

/// Name, and what does so many.
type Work = (&'static str, fn(usize));

const ALL: [Work; 5] = [
    ("constant", |count| ask(&mut Constant::new(rate(), 0, 1), count)),
    ("poisson", |count| ask(&mut Poisson::new(rate(), 1, 0, 1), count)),
    ("render", render),
    ("exchange-http1", http1),
    ("exchange-http2", http2),
];

fn main() {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--callgrind").skip(1);
    if let Some(count) = arguments.next() {
        let count = count.parse().expect("--callgrind takes a number of operations");
        let name = arguments.next().unwrap_or_else(|| "constant".to_owned());
        let (_, work) = ALL.iter().find(|(known, _)| *known == name).expect("one of those in ALL");
        return work(count);
    }
    println!("{OPERATIONS} operations, {REPETITIONS} times; ns of CPU each, the median");
    for (name, work) in ALL {
        let mut costs: Vec<f64> = (0..REPETITIONS).map(|_| cost(work)).collect();
        costs.sort_by(f64::total_cmp);
        println!("{name:<15} {:>8.2}", costs[REPETITIONS / 2]);
    }
}

fn rate() -> PerSecond {
    PerSecond::new(50_000.0).expect("it is above zero")
}

fn ask(pacer: &mut dyn Pacer, count: usize) {
    let pacer = black_box(pacer);
    for _ in 0..count {
        black_box(pacer.due(black_box(Nanos::ZERO)));
    }
}

fn target(protocol: Protocol) -> Target {
    let address = ([127, 0, 0, 1], 8080).into();
    Target { protocol, ..Target::plain(address, "127.0.0.1:8080".to_owned()) }
}

fn source() -> CycleSource {
    let url = GetUrl { path: "/bytes/1000".to_owned(), weight: 1 };
    CycleSource::new(&[url], 1, 0).expect("it can be sent")
}

fn render(count: usize) {
    let target = target(Protocol::Http1);
    let mut run = DryRun::new(&target, source());
    for _ in 0..count {
        assert!(black_box(run.render()) > Some(BODY_BYTES / 100), "a request has some bytes");
    }
}

/// nginx' head.
const REPLY_HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Sun, 22 Nov 2026 11:00:00 GMT\r\n\
    Content-Type: application/octet-stream\r\nContent-Length: 1000\r\n\
    Last-Modified: Sun, 22 Nov 2026 10:00:00 GMT\r\nConnection: keep-alive\r\nETag: \"6921a1b2-3e8\"\r\n\
    Accept-Ranges: bytes\r\n\r\n";

fn http1(count: usize) {
    let reply = [REPLY_HEAD, &[b'x'; BODY_BYTES]].concat();
    let target = target(Protocol::Http1);
    let mut run = DryRun::new(&target, source());
    for _ in 0..count {
        black_box(run.ask());
        run.hear(black_box(&reply));
    }
    assert_eq!(run.replies(), count as u64, "all were good");
}

/// SETTINGS without a setting, and the answer to those of the client (RFC 9113 section 6.5).
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0];
/// `:status: 200` from the static table, then `content-length: 1000` as a literal that is not indexed.
const HEADERS: &[u8] = b"\x88\x0f\x0d\x041000";
/// Where the stream's number stands in the two frames of a reply, counted from their start.
const STREAM_AT: [usize; 2] = [5, 9 + HEADERS.len() + 5];

/// Types and flags: RFC 9113 section 6.1 and 6.2.
fn reply_frames() -> Vec<u8> {
    let mut frames = vec![0, 0, HEADERS.len() as u8, 1, 4, 0, 0, 0, 0];
    frames.extend_from_slice(HEADERS);
    frames.extend_from_slice(&[0, (BODY_BYTES >> 8) as u8, BODY_BYTES as u8, 0, 1, 0, 0, 0, 0]);
    frames.resize(frames.len() + BODY_BYTES, b'x');
    frames
}

fn http2(count: usize) {
    let mut reply = reply_frames();
    let target = target(Protocol::Http2 { streams: NonZeroU16::MIN });
    let mut run = DryRun::new(&target, source());
    for nth in 0..count as u32 {
        black_box(run.ask());
        if nth == 0 {
            run.hear(SETTINGS);
        }
        for at in STREAM_AT {
            reply[at..at + 4].copy_from_slice(&(2 * nth + 1).to_be_bytes());
        }
        run.hear(black_box(&reply));
    }
    assert_eq!(run.replies(), count as u64, "all were good");
}

fn cost(work: fn(usize)) -> f64 {
    let before = cpu_time();
    work(OPERATIONS);
    cpu_time().since(before).get() as f64 / OPERATIONS as f64
}
