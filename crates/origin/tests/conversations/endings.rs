//! Counts of the origin: replies that left, bytes of bodies, and why connections ended.

use crate::support::{ask, connect, ended, origin, read_one, within_patience};
use crate::tls::Secure;
use std::io::{Read, Write};
use std::time::{Duration, Instant};

#[test]
fn replies_bodies_and_connections_are_counted() {
    within_patience(|| {
        let origin = origin();
        ask(
            &origin,
            "GET /bytes/10 HTTP/1.1\r\n\r\nPUT / HTTP/1.1\r\n\r\nGET /bytes/700000 HTTP/1.1\r\n\r\n",
        );
        ask(&origin, "GET /none HTTP/1.1\r\n\r\n");
        ask(&origin, "nonsense\r\n\r\n");
        let begin = Instant::now();
        // The last reply is counted a moment after it left.
        while origin.tally().replies < 5 {
            assert!(begin.elapsed() < Duration::from_secs(120), "{:?}", origin.tally());
        }
        let tally = origin.tally();
        assert_eq!((tally.requests, tally.replies, tally.body_bytes, tally.connections), (4, 5, 700_010, 3));
        assert_eq!(tally.endings, [("malformed request", 1)]);
    });
}

#[test]
fn endings_have_names() {
    within_patience(|| {
        let origin = origin();
        for (request, label) in [
            ("nonsense\r\n\r\n".to_owned(), "malformed request"),
            (format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(70_000)), "head too large"),
            ("PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned(), "body in a transfer coding"),
            ("GET /byt".to_owned(), "request cut off"),
            ("PUT / HTTP/1.1\r\nContent-Length: 5\r\n\r\nabc".to_owned(), "request cut off"),
        ] {
            ask(&origin, request);
            assert!(ended(&origin, label) > 0);
        }
    });
}

#[test]
fn a_client_that_goes_away_in_the_middle_of_a_reply_is_counted() {
    within_patience(|| {
        let origin = origin();
        let mut stream = connect(&origin);
        stream.write_all(b"GET /bytes/90000000 HTTP/1.1\r\n\r\n").unwrap();
        stream.read_exact(&mut [0; 100]).unwrap();
        drop(stream); // with bytes that were not read: a reset
        let begin = Instant::now();
        while origin.tally().endings.is_empty() {
            assert!(begin.elapsed() < Duration::from_secs(120));
        }
        let (label, number) = origin.tally().endings[0];
        assert!(["reset by the client", "broken while sending"].contains(&label) && number == 1, "{label}");
    });
}

#[test]
fn failures_of_tls_are_told_apart() {
    within_patience(|| {
        let secure = Secure::new();
        let mut plain = connect(&secure.origin);
        plain.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let _ = plain.read_to_end(&mut Vec::new());
        assert_eq!(ended(&secure.origin, "TLS failed"), 1);
        // A client that does not trust the certificate says so.
        let mut wary = secure.connect_without_trust();
        assert!(wary.write_all(b"GET / HTTP/1.1\r\n\r\n").is_err() || wary.read(&mut [0]).is_err());
        drop(wary);
        assert_eq!(ended(&secure.origin, "TLS refused by the client"), 1);
    });
}

#[test]
fn a_client_that_goes_on_sending_without_end_is_left() {
    within_patience(|| {
        let origin = origin();
        let mut stream = connect(&origin);
        stream.write_all(b"nonsense\r\n\r\n").unwrap();
        assert_eq!(read_one(&mut stream).status, 400);
        // It ends by an error: nothing reads it any more.
        while stream.write_all(&[b'a'; 100_000]).is_ok() {}
        assert_eq!(ended(&origin, "client went on sending"), 1);
    });
}
