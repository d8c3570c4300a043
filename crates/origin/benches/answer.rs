//! What it costs the origin to answer one request, kernel apart: ns of this thread's CPU.
//!
//! `http1` is a request as wrk sends it for 13 KB; `http2` is one as h2load sends it when the
//! compression tables know its fields. With `-- --callgrind N http1` exactly N of them are answered and
//! nothing else happens but the start, for `benches/instructions`.

#![allow(clippy::print_stdout, reason = "a benchmark talks to whoever runs it")]

use bakeoff_content::Catalogue;
use bakeoff_origin::Conversation;
use bakeoff_sys::thread::cpu_time;
use std::hint::black_box;

const REQUEST: &[u8] = b"GET /bytes/13000 HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n";
const BODY_BYTES: usize = 13_000;
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const OPERATIONS: usize = 1 << 18;
const REPETITIONS: usize = 7;

/// Name, and what answers so many requests.
type Answering = (&'static str, fn(usize));

const ALL: [Answering; 2] = [("http1", http1), ("http2", http2)];

fn main() {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--callgrind").skip(1);
    if let Some(count) = arguments.next() {
        let count = count.parse().expect("--callgrind takes a number of requests");
        let name = arguments.next().unwrap_or_else(|| "http1".to_owned());
        let (_, answer) = ALL.iter().find(|(known, _)| *known == name).expect("http1 or http2");
        return answer(count);
    }
    println!("{OPERATIONS} requests, {REPETITIONS} times; ns of CPU each, the median");
    for (name, answer) in ALL {
        let mut costs: Vec<f64> = (0..REPETITIONS).map(|_| cost(answer)).collect();
        costs.sort_by(f64::total_cmp);
        println!("{name:<8} {:>7.1}", costs[REPETITIONS / 2]);
    }
}

fn http1(count: usize) {
    let mut talk = Conversation::new(Catalogue::default());
    for _ in 0..count {
        let mut bytes = 0;
        let open = talk.receive(black_box(REQUEST), &mut |head, body| {
            black_box(head);
            bytes += body.len();
        });
        assert!(open && bytes == BODY_BYTES, "the whole reply was written");
    }
}

fn http2(count: usize) {
    let mut talk = Conversation::new(Catalogue::default());
    let settings = frame(4, 0, 0, &[0, 4, 0x7f, 0xff, 0xff, 0xff]); // a window without an end
    let window = frame(8, 0, 0, &[0x7f, 0, 0, 0]);
    // :method GET, :scheme http, :authority and :path with a place in the table.
    let mut first = vec![0x82, 0x86, 0x41, 9];
    first.extend_from_slice(b"127.0.0.1");
    first.extend_from_slice(&[0x44, 12]);
    first.extend_from_slice(b"/bytes/13000");
    let opening = [PREFACE, &settings, &window, &frame(1, 5, 1, &first)].concat();
    talk.receive(&opening, &mut |_, _| {});
    // The fields from the tables; now and then the window of the connection.
    let mut request = frame(1, 5, 0, &[0x82, 0x86, 0xbf, 0xbe]);
    let window = frame(8, 0, 0, &((1024 * BODY_BYTES) as u32).to_be_bytes());
    for number in 1..=count as u32 {
        request[5..9].copy_from_slice(&(2 * number + 1).to_be_bytes());
        let mut bytes = 0;
        let open = talk.receive(black_box(&request), &mut |head, body| bytes += head.len() + body.len());
        assert!(open && bytes > BODY_BYTES, "the whole reply was written");
        if number.is_multiple_of(1024) {
            talk.receive(&window, &mut |_, _| {});
        }
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    let mut frame = vec![length[1], length[2], length[3], kind, flags];
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

fn cost(answer: fn(usize)) -> f64 {
    let before = cpu_time();
    answer(OPERATIONS);
    cpu_time().since(before).get() as f64 / OPERATIONS as f64
}
