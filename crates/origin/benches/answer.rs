//! Cost of answering one request in the origin, without the kernel: ns of this thread's CPU.
//!
//! `http1` is a request as wrk sends it for 13 KB; `http2` is one as h2load sends it when the compression tables know
//! its fields; `world` is one for an object of a world that may be cached, as a proxy sends it on, and `valid` the same
//! with a condition that holds. `tls` is `http1` over TLS, with the library's work on the client's side. With `--
//! --callgrind N http1` exactly N of them are answered and nothing else happens but the start, for
//! `benches/instructions`.

#![allow(clippy::print_stdout, reason = "a benchmark talks to whoever runs it")]

use bakeoff_content::Catalogue;
use bakeoff_content::world::ObjectName;
use bakeoff_origin::{Conversation, World};
use bakeoff_sys::thread::cpu_time;
use rustls::pki_types::{PrivatePkcs8KeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig};
use std::hint::black_box;
use std::io::{Read, Write};
use std::sync::Arc;

const REQUEST: &[u8] = b"GET /bytes/13000 HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n";
const BODY_BYTES: usize = 13_000;
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const OPERATIONS: usize = 1 << 18;
const REPETITIONS: usize = 7;

/// Name, and the function that answers so many requests.
type Answering = (&'static str, fn(usize));

const ALL: [Answering; 5] =
    [("http1", http1), ("http2", http2), ("world", world), ("valid", valid), ("tls", tls)];

fn main() {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--callgrind").skip(1);
    if let Some(count) = arguments.next() {
        let count = count.parse().expect("--callgrind takes a number of requests");
        let name = arguments.next().unwrap_or_else(|| "http1".to_owned());
        let (_, answer) = ALL.iter().find(|(known, _)| *known == name).expect("one of those in ALL");
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

const WORLD: &str = "[[content]]\nname = \"any\"\nsize = \"exp:13KB\"\ncachable = \"80%\"\n\
    life = { length = \"const:2year\", expires = \"nmt+0s\" }\n";

fn world(count: usize) {
    of_world(count, "");
}

fn valid(count: usize) {
    of_world(count, "If-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT\r\nIf-None-Match: *\r\n");
}

fn of_world(count: usize, condition: &str) {
    let world = World::from_toml(WORLD).expect("a world");
    let mut path = Vec::new();
    ObjectName { world: 1, server: 1, kind: 0, number: 1 }.write_path(&world.model, &mut path);
    let path = String::from_utf8(path).expect("paths are ASCII");
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nX-Bakeoff: ask=00000000000000ff\r\n{condition}\
        Via: 1.1 proxy\r\nX-Forwarded-For: 127.0.0.1\r\nCache-Control: max-age=259200\r\nConnection: keep-alive\r\n\r\n"
    );
    let mut talk = Conversation::with_world(world);
    for _ in 0..count {
        let mut bytes = 0;
        let open =
            talk.receive(black_box(request.as_bytes()), &mut |head, body| bytes += head.len() + body.len());
        assert!(open && bytes > 100, "the whole reply was written");
    }
}

fn tls(count: usize) {
    let (config, mut client) = ends();
    let mut talk = Conversation::over_tls(Catalogue::default(), &config);
    let (mut flight, mut plain) = (Vec::new(), vec![0; 2 * BODY_BYTES]);
    let mut carry = |client: &mut ClientConnection| {
        flight.clear();
        while client.wants_write() {
            client.write_tls(&mut flight).expect("a vector takes all");
        }
        let open = talk.receive(black_box(&flight), &mut |mut records, _| {
            while !records.is_empty() {
                client.read_tls(&mut records).expect("a slice is read");
                client.process_new_packets().expect("they are records");
            }
        });
        assert!(open, "it goes on");
    };
    while client.is_handshaking() {
        carry(&mut client);
    }
    for _ in 0..count {
        client.writer().write_all(black_box(REQUEST)).expect("its buffer has room");
        carry(&mut client);
        let read = client.reader().read(&mut plain).expect("something came");
        assert!(read > BODY_BYTES, "the whole reply was written");
    }
}

/// The server's settings, and a client that trusts it.
fn ends() -> (Arc<ServerConfig>, ClientConnection) {
    let key = rcgen::KeyPair::generate().expect("there are random numbers");
    let names = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
    let certificate = names.self_signed(&key).expect("it signs itself");
    let key = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
    let chain = vec![certificate.der().clone()];
    let mut roots = RootCertStore::empty();
    roots.add(certificate.der().clone()).expect("a certificate");
    let server = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key);
    let client = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let name = ServerName::try_from("localhost").expect("a name");
    let client = ClientConnection::new(Arc::new(client), name).expect("there are random numbers");
    (Arc::new(server.expect("they go together")), client)
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
