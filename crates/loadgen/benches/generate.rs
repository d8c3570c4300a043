//! Cost of a request in the generator, without the kernel: ns of this thread's CPU.
//!
//! `constant` and `poisson` are the pacers of the open loop, called as the loop calls them, through their trait: when
//! is the next one due. `render` takes a request from its source and writes its head. `exchange-http1` and
//! `exchange-http2` are all that the program does for a request but to wait, to send and to receive: the request is
//! made, the reply of 1000 bytes is read, judged and recorded. `tls` encrypts a request and decrypts a reply, and
//! includes the library's work on the server's side in between. With `-- --callgrind N constant` exactly N of them are
//! done and nothing else, for `benches/instructions`.

#![allow(clippy::print_stdout, reason = "a benchmark talks to whoever runs it")]

use bakeoff_loadgen::{Constant, DryRun, Pacer, Poisson, Protocol, Target, TlsOptions, TlsSession, Trust};
use bakeoff_sys::thread::cpu_time;
use bakeoff_units::{Nanos, PerSecond};
use bakeoff_workload::{CycleSource, GetUrl};
use rustls::pki_types::{PrivatePkcs8KeyDer, ServerName};
use rustls::{ServerConfig, ServerConnection};
use std::hint::black_box;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::sync::Arc;

const OPERATIONS: usize = 1 << 20;
const REPETITIONS: usize = 7;
const BODY_BYTES: usize = 1000;

/// Name, and the function that does so many.
type Work = (&'static str, fn(usize));

const ALL: [Work; 6] = [
    ("constant", |count| ask(&mut Constant::new(rate(), 0, 1), count)),
    ("poisson", |count| ask(&mut Poisson::new(rate(), 1, 0, 1), count)),
    ("render", render),
    ("exchange-http1", http1),
    ("exchange-http2", http2),
    ("tls", tls),
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
    let url = GetUrl::of("/bytes/1000");
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

const REQUEST: &[u8] = b"GET /bytes/1000 HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n";

fn tls(count: usize) {
    let (mut client, mut server) = (tls_client(), tls_server());
    let (mut flight, mut heard) = (Vec::new(), 0);
    while client.is_handshaking() || server.is_handshaking() {
        flight.clear();
        client.take_output(&mut flight);
        take(&mut server, &flight);
        tell(&mut server, &mut client, &mut flight, &mut heard);
    }
    let (reply, mut asked) = ([REPLY_HEAD, &[b'x'; BODY_BYTES]].concat(), Vec::new());
    heard = 0;
    for _ in 0..count {
        flight.clear();
        client.write(black_box(REQUEST), &mut flight).expect("the session stands");
        take(&mut server, &flight);
        asked.resize(REQUEST.len(), 0);
        server.reader().read_exact(&mut asked).expect("the whole request came");
        server.writer().write_all(&reply).expect("its buffer has room");
        tell(&mut server, &mut client, &mut flight, &mut heard);
    }
    assert_eq!(heard, count * reply.len(), "every byte came");
}

/// Lets the server read the client's bytes.
fn take(server: &mut ServerConnection, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        server.read_tls(&mut bytes).expect("a slice is read");
        server.process_new_packets().expect("they are records");
    }
}

/// Carries the server's bytes to the client, and counts the plain bytes in them.
fn tell(server: &mut ServerConnection, client: &mut TlsSession, flight: &mut Vec<u8>, heard: &mut usize) {
    flight.clear();
    while server.wants_write() {
        server.write_tls(flight).expect("a vector takes all");
    }
    let plain = &mut |plain: &[u8]| {
        *heard += black_box(plain).len();
        Ok(())
    };
    client.receive(black_box(flight), plain).expect("they are records");
}

fn tls_client() -> TlsSession {
    let settings = TlsOptions::new(Trust::Anyone).load().expect("nothing is read");
    let name = ServerName::try_from("localhost").expect("a name");
    settings.client(name, 1).session().expect("there are random numbers")
}

fn tls_server() -> ServerConnection {
    let key = rcgen::KeyPair::generate().expect("there are random numbers");
    let names = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
    let certificate = names.self_signed(&key).expect("it signs itself");
    let key = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
    let chain = vec![certificate.der().clone()];
    let builder = ServerConfig::builder().with_no_client_auth();
    let config = builder.with_single_cert(chain, key).expect("they go together");
    ServerConnection::new(Arc::new(config)).expect("there are random numbers")
}

fn cost(work: fn(usize)) -> f64 {
    let before = cpu_time();
    work(OPERATIONS);
    cpu_time().since(before).get() as f64 / OPERATIONS as f64
}
