//! Replies in every shape and in every piece.

use crate::support::{OK, Peer, Talk, closed, expecting, get, one_robot, run, totals, within_patience};
use bakeoff_content::{Body, ObjectId};
use bakeoff_loadgen::{BodyCheck, StationJob};
use bakeoff_workload::{Expect, Method, Request};
use std::sync::Arc;

/// The bytes of an object.
fn bytes_of(body: Body) -> Vec<u8> {
    let mut bytes = Vec::new();
    body.write_to(&mut bytes).unwrap();
    bytes
}

fn object(name: &str, size: u64) -> Body {
    Body::new(ObjectId::of_name(name.as_bytes()), size)
}

/// Asks three times for the same and is given `reply` each time, on the same connection.
fn good(request: &Request, reply: &[u8], body: usize, dribble: usize) {
    let reply: Arc<[u8]> = reply.into();
    let said = reply.clone();
    let peer = Peer::new(move |talk| {
        while talk.request().is_some() {
            talk.dribble(&said, dribble);
        }
    });
    let slice = one_robot(vec![request.clone(); 3]);
    let recording = run(&mut peer.station(), StationJob { check: BodyCheck::Full, ..closed(&slice, 1) });
    assert_eq!(totals(&recording), (3, 3, 1), "{}", String::from_utf8_lossy(&reply));
    assert!(recording.counters.bytes >= 3 * body as u64);
    assert!(recording.counters.bytes <= 3 * reply.len() as u64);
}

#[test]
fn framings_that_keep_the_connection() {
    within_patience(|| {
        let head = Request { method: Method::Head, ..get("/") };
        let status = |status| expecting("/", Expect::Status(status));
        let abc = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\nT: x\r\n\r\n";
        let cases: [(Request, &[u8], usize); 9] = [
            (get("/"), OK, 5),
            (get("/"), b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 0),
            (get("/"), abc, 13),
            (status(204), b"HTTP/1.1 204 No Content\r\n\r\n", 0),
            (status(304), b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5000\r\n\r\n", 0),
            (head, b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n", 0),
            (get("/"), b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 2),
            (get("/"), b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok", 2),
            (status(404), b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone", 4),
        ];
        for (request, reply, body) in &cases {
            for piece in [usize::MAX, 7, 1] {
                good(request, reply, *body, piece);
            }
        }
    });
}

#[test]
fn a_head_split_at_every_byte() {
    within_patience(|| {
        let reply = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        let peer = Peer::new(move |talk| {
            let mut split = 0;
            while talk.request().is_some() {
                talk.say(&reply[..split]);
                std::thread::yield_now();
                talk.say(&reply[split..]);
                split += 1;
            }
        });
        let slice = one_robot(vec![get("/"); reply.len()]);
        let recording = run(&mut peer.station(), closed(&slice, 1));
        let all = reply.len() as u64;
        assert_eq!(totals(&recording), (all, all, 1));
        assert_eq!(recording.counters.bytes, all * OK.len() as u64, "interim replies are no good bytes");
    });
}

#[test]
fn until_the_connection_closes() {
    within_patience(|| {
        let body = object("/until", 300_000);
        let bytes = bytes_of(body);
        let peer = Peer::new(move |talk| {
            talk.request();
            talk.say(b"HTTP/1.1 200 OK\r\n\r\n");
            talk.dribble(&bytes, 9_973);
        });
        let slice = one_robot(vec![expecting("/until", Expect::Body(body)); 4]);
        let recording = run(&mut peer.station(), closed(&slice, 1));
        assert_eq!(totals(&recording), (4, 4, 4));
        assert_eq!(recording.counters.bytes, 4 * (300_000 + 19));
    });
}

#[test]
fn large_bodies_in_odd_pieces_are_compared_byte_by_byte() {
    within_patience(|| {
        let size = 3_000_001;
        let body = object("/large", size);
        let bytes = bytes_of(body);
        let chunked = |talk: &mut Talk, bytes: &[u8]| {
            talk.say(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
            for chunk in bytes.chunks(70_001) {
                talk.say(format!("{:x}\r\n", chunk.len()));
                talk.say(chunk);
                talk.say(b"\r\n");
            }
            talk.say(b"0\r\n\r\n");
        };
        let peer = Peer::new(move |talk| {
            for turn in 0.. {
                if talk.request().is_none() {
                    return;
                }
                match turn % 3 {
                    0 => {
                        talk.say(format!("HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n"));
                        talk.dribble(&bytes, 33_333);
                    }
                    1 => chunked(talk, &bytes),
                    _ => {
                        talk.say(format!("HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n"));
                        talk.say(&bytes);
                    }
                }
            }
        });
        let slice = one_robot(vec![expecting("/large", Expect::Body(body)); 9]);
        let recording = run(&mut peer.station(), closed(&slice, 1));
        assert_eq!(totals(&recording), (9, 9, 1));
        assert!(recording.counters.bytes >= 9 * size && recording.counters.bytes < 9 * (size + 100));
    });
}

/// Twenty robots with a body of more than one turn each: nobody starves and none is mixed up.
#[test]
fn large_bodies_on_many_connections_at_once() {
    within_patience(|| {
        let body = object("/many", 2_500_000);
        let bytes = bytes_of(body);
        let peer = Peer::new(move |talk| {
            while talk.request().is_some() {
                talk.say(b"HTTP/1.1 200 OK\r\nContent-Length: 2500000\r\n\r\n");
                talk.say(&bytes);
            }
        });
        let mut slice = one_robot(vec![expecting("/many", Expect::Body(body))]);
        slice.lists = Arc::new(vec![vec![0, 0]; 20]);
        let recording = run(&mut peer.station(), closed(&slice, 1));
        assert_eq!(totals(&recording), (40, 40, 20));
    });
}

#[test]
fn a_slow_first_byte_is_told_apart_from_a_slow_body() {
    within_patience(|| {
        let pause = std::time::Duration::from_millis(300);
        let peer = Peer::new(move |talk| {
            while talk.request().is_some() {
                std::thread::sleep(pause);
                talk.say(&OK[..20]);
                std::thread::sleep(pause);
                talk.say(&OK[20..]);
            }
        });
        let recording = run(&mut peer.station(), closed(&one_robot(vec![get("/"); 3]), 1));
        let (first, whole) = (recording.times.first_byte.quantiles(), recording.times.service.quantiles());
        assert!(first.p50 >= 300_000_000 && first.p50 < 590_000_000, "{first:?}");
        assert!(whole.p50 >= 600_000_000, "{whole:?}");
    });
}
