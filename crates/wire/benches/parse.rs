//! Cost of reading one HTTP/1.1 message: ns of this thread's CPU.
//!
//! `reply` is the generator's work for each reply: nginx' head and 1000 bytes of body, come in one piece. `request` is
//! the origin's work for each request, as wrk sends it. With `-- --callgrind N reply` exactly N of them are read and
//! nothing else happens, for `benches/instructions`.

#![allow(clippy::print_stdout, reason = "a benchmark talks to whoever runs it")]

use bakeoff_wire::http1::{ReplyReader, ReplyStep, RequestReader};
use std::hint::black_box;

const REPLY_HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Sun, 22 Nov 2026 11:00:00 GMT\r\n\
    Content-Type: application/octet-stream\r\nContent-Length: 1000\r\n\
    Last-Modified: Sun, 22 Nov 2026 10:00:00 GMT\r\nConnection: keep-alive\r\nETag: \"6921a1b2-3e8\"\r\n\
    Accept-Ranges: bytes\r\n\r\n";
const BODY_BYTES: usize = 1000;
const REQUEST: &[u8] = b"GET /bytes/1000 HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n";

const OPERATIONS: usize = 1 << 20;
const REPETITIONS: usize = 7;

/// Name, and the function that reads so many messages.
type Reading = (&'static str, fn(usize));

const ALL: [Reading; 2] = [("reply", replies), ("request", requests)];

fn main() {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--callgrind").skip(1);
    if let Some(count) = arguments.next() {
        let count = count.parse().expect("--callgrind takes a number of messages");
        let name = arguments.next().unwrap_or_else(|| "reply".to_owned());
        let (_, read) = ALL.iter().find(|(known, _)| *known == name).expect("reply or request");
        return read(count);
    }
    println!("{OPERATIONS} messages, {REPETITIONS} times; ns of CPU each, the median");
    for (name, read) in ALL {
        let mut costs: Vec<f64> = (0..REPETITIONS).map(|_| cost(read)).collect();
        costs.sort_by(f64::total_cmp);
        println!("{name:<8} {:>7.1}", costs[REPETITIONS / 2]);
    }
}

fn replies(count: usize) {
    let mut input = REPLY_HEAD.to_vec();
    input.resize(REPLY_HEAD.len() + BODY_BYTES, b'x');
    let mut reader = ReplyReader::default();
    for _ in 0..count {
        let body = reply(&mut reader, black_box(&input));
        assert_eq!(body, BODY_BYTES, "the whole body was seen");
    }
}

/// The body's bytes, counted step by step.
fn reply(reader: &mut ReplyReader, input: &[u8]) -> usize {
    reader.begin(false);
    let (mut at, mut body) = (0, 0);
    loop {
        match reader.step(&input[at..]).expect("it is a good reply") {
            ReplyStep::Head(used, head) => {
                black_box(head);
                at += used;
            }
            ReplyStep::Body { skip, len } => {
                at += skip + len;
                body += len;
            }
            ReplyStep::More | ReplyStep::End(_) => return body,
        }
    }
}

fn requests(count: usize) {
    for _ in 0..count {
        let head = RequestReader::head(black_box(REQUEST)).expect("it is a good request");
        assert!(black_box(head).is_some_and(|head| head.keep_alive), "the whole head was seen");
    }
}

fn cost(read: fn(usize)) -> f64 {
    let before = cpu_ns();
    read(OPERATIONS);
    (cpu_ns() - before) / OPERATIONS as f64
}

/// CPU time of this thread: the first field of its `schedstat`, in ns.
fn cpu_ns() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("this is Linux");
    text.split(' ').next().and_then(|field| field.parse().ok()).expect("a number of ns")
}
