//! Time per request: `cargo test --release -p bakeoff-wire --test h2 -- --ignored --nocapture`.

use crate::support::{DATA, END_HEADERS, END_STREAM, HEADERS, frame, settings};
use bakeoff_wire::h2::hpack::Encoder;
use bakeoff_wire::h2::{ClientConnection, ClientStep, Settings};
use std::hint::black_box;
use std::time::Instant;

const ROUNDS: u32 = 2_000_000;
const AT_ONCE: u32 = 32;

/// The head of a reply as servers send it.
const FIELDS: [(&[u8], &[u8]); 8] = [
    (b":status", b"200"),
    (b"server", b"nginx/1.26.3"),
    (b"date", b"Sun, 22 Nov 2026 11:25:01 GMT"),
    (b"content-type", b"text/html; charset=utf-8"),
    (b"content-length", b"612"),
    (b"last-modified", b"Mon, 03 Feb 2025 10:12:34 GMT"),
    (b"etag", b"\"67a09622-264\""),
    (b"accept-ranges", b"bytes"),
];

#[test]
#[ignore = "prints a speed; only a release build tells something"]
fn nanoseconds_of_a_request_and_its_reply() {
    // As nghttp2 and Apache send it: fields that repeat are in the table.
    measure("reply of indexed fields", &mut |encoder, block| {
        for (name, value) in FIELDS {
            encoder.field(name, value, block);
        }
    });
    // As nginx sends it: every value is a literal in Huffman code.
    measure("reply of literals in Huffman code", &mut |_, block| {
        let mut fresh = Encoder::default();
        fresh.limit_table(0);
        fresh.begin(block);
        block.clear();
        for (name, value) in FIELDS {
            fresh.field(name, value, block);
        }
    });
}

fn measure(what: &str, encode: &mut dyn FnMut(&mut Encoder, &mut Vec<u8>)) {
    let mut client = ClientConnection::new(Settings { initial_window: 1 << 30, ..Settings::default() });
    assert_eq!(client.step(&settings(&[])), Ok(ClientStep::More));
    let mut encoder = Encoder::default();
    let mut blocks = [Vec::new(), Vec::new()];
    for block in &mut blocks {
        encode(&mut encoder, block);
    }
    let body = vec![b'a'; 612];
    let [first, block] = blocks;
    let reply = |stream, block: &[u8]| {
        [frame(HEADERS, END_HEADERS, stream, block), frame(DATA, END_STREAM, stream, &body)].concat()
    };
    client.request(b"GET", b"http", b"localhost:8080", b"/", request_fields()).unwrap();
    run(&mut client, &reply(1, &first));
    let mut replies: Vec<u8> = (0..AT_ONCE).flat_map(|_| reply(0, &block)).collect();
    let reply_bytes = replies.len() / AT_ONCE as usize;
    let start = Instant::now();
    let mut next = 3_u32;
    for _ in 0..ROUNDS / AT_ONCE {
        for index in 0..AT_ONCE {
            let path = b"/assets/images/2026/some-picture-0123.jpg";
            black_box(client.request(b"GET", b"http", b"localhost:8080", path, request_fields())).unwrap();
            let at = index as usize * reply_bytes;
            let data = at + 9 + block.len();
            replies[at + 5..at + 9].copy_from_slice(&next.to_be_bytes());
            replies[data + 5..data + 9].copy_from_slice(&next.to_be_bytes());
            next += 2;
        }
        client.output().clear();
        run(&mut client, black_box(&replies));
    }
    let each = start.elapsed().as_nanos() / u128::from(ROUNDS);
    assert_eq!(client.open_streams(), 0);
    println!("{what} ({} bytes of header): {each} ns a request", block.len());
}

fn request_fields() -> [(&'static [u8], &'static [u8]); 3] {
    [(b"user-agent", b"bakeoff/0.1"), (b"accept", b"*/*"), (b"accept-encoding", b"identity")]
}

fn run(client: &mut ClientConnection, bytes: &[u8]) {
    let mut rest = bytes;
    loop {
        match client.step(rest).unwrap() {
            ClientStep::More => return,
            ClientStep::Head { used, .. } => rest = &rest[used..],
            ClientStep::Body { skip, len, .. } => rest = &rest[skip + len..],
            other => panic!("{other:?}"),
        }
    }
}
