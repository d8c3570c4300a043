//! Connections: many of them, slow ones, and those that break.

use crate::support::{address, answered, bytes, connect, get, origin, read_one, within_patience};
use std::io::{Read, Write};
use std::time::{Duration, Instant};

#[test]
fn two_hundred_connections_at_once() {
    within_patience(|| {
        let origin = origin();
        let mut streams: Vec<_> = (0..200).map(|_| connect(&origin)).collect();
        for round in 0..3 {
            for (number, stream) in streams.iter_mut().enumerate() {
                write!(stream, "GET /bytes/{} HTTP/1.1\r\n\r\n", number * 100 + round).unwrap();
            }
            for (number, stream) in streams.iter_mut().enumerate() {
                let reply = read_one(stream);
                assert!(reply.status == 200 && reply.body == bytes((number * 100 + round) as u64));
            }
        }
        assert_eq!(answered(&origin), 600);
    });
}

#[test]
fn a_reader_who_comes_late_gets_everything() {
    within_patience(|| {
        let origin = origin();
        let mut late = connect(&origin);
        // Three replies, more than any socket buffer holds.
        for _ in 0..3 {
            late.write_all(b"GET /bytes/20000000 HTTP/1.1\r\n\r\n").unwrap();
        }
        // Meanwhile others are served.
        for _ in 0..50 {
            assert_eq!(get(&origin, "/bytes/1000", "").body, bytes(1000));
        }
        let expected = bytes(20_000_000);
        for _ in 0..3 {
            assert!(read_one(&mut late).body == expected);
        }
    });
}

#[test]
fn a_reader_of_small_sips_gets_everything() {
    within_patience(|| {
        let origin = origin();
        let mut stream = connect(&origin);
        stream.write_all(b"GET /bytes/6000000 HTTP/1.1\r\nConnection: close\r\n\r\n").unwrap();
        let (mut all, mut sip) = (Vec::new(), [0; 997]);
        loop {
            match stream.read(&mut sip).unwrap() {
                0 => break,
                n => all.extend_from_slice(&sip[..n]),
            }
        }
        assert!(all.ends_with(&bytes(6_000_000)));
    });
}

#[test]
fn clients_that_break_off_do_no_harm() {
    within_patience(|| {
        let origin = origin();
        for turn in 0..40 {
            let mut stream = connect(&origin);
            match turn % 4 {
                // With unread bytes a close is a reset.
                0 => {
                    stream.write_all(b"GET /bytes/50000000 HTTP/1.1\r\n\r\n").unwrap();
                    stream.read_exact(&mut [0; 100]).unwrap();
                }
                1 => stream.write_all(b"GET /bytes/50000000 HTTP/1.1\r\n\r\n").unwrap(),
                2 => stream.write_all(b"GET /byt").unwrap(),
                _ => {}
            }
        }
        assert_eq!(get(&origin, "/bytes/1000", "").body, bytes(1000));
        // The origin keeps none of them.
        let begin = Instant::now();
        while open_sockets(address(&origin).port()) > 0 {
            assert!(begin.elapsed() < Duration::from_secs(120), "connections are left");
            std::thread::sleep(Duration::from_millis(5));
        }
    });
}

/// Sockets with this local port that are in use: all but the listening ones and TIME_WAIT.
fn open_sockets(port: u16) -> usize {
    const LISTEN: &str = "0A";
    const TIME_WAIT: &str = "06";
    let table = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
    let of_port = |line: &&str| {
        let fields: Vec<_> = line.split_whitespace().collect();
        fields[1].ends_with(&format!(":{port:04X}")) && ![LISTEN, TIME_WAIT].contains(&fields[3])
    };
    table.lines().skip(1).filter(of_port).count()
}

#[test]
fn a_taken_port_is_an_error_that_says_so() {
    let first = origin();
    let options = bakeoff_origin::OriginOptions {
        for_caches: None,
        address: address(&first),
        threads: 1,
        catalogue: bakeoff_content::Catalogue::default(),
        tls: None,
        http2: true,
        world: None,
        burn: bakeoff_origin::Costs::default(),
    };
    let error = bakeoff_origin::Origin::start(options).unwrap_err().to_string();
    assert!(error.contains("cannot listen on 127.0.0.1:"), "{error}");
}
