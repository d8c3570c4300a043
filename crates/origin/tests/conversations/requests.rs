//! Requests in every shape and in every piece, and malformed bytes.

use crate::support::{
    answered, ask, bytes, connect, get, object, origin, read_all, read_one, within_patience,
};
use std::io::Write;
use std::net::Shutdown;

#[test]
fn a_request_split_at_every_byte() {
    within_patience(|| {
        let origin = origin();
        let request = b"GET /bytes/11 HTTP/1.1\r\nHost: localhost\r\nX-Y: z\r\n\r\n";
        let mut stream = connect(&origin);
        for split in 0..request.len() {
            stream.write_all(&request[..split]).unwrap();
            std::thread::yield_now();
            stream.write_all(&request[split..]).unwrap();
            let reply = read_one(&mut stream);
            assert_eq!((reply.status, reply.body), (200, bytes(11)), "split at {split}");
        }
        for byte in request {
            stream.write_all(&[*byte]).unwrap();
        }
        assert_eq!(read_one(&mut stream).body, bytes(11));
        assert_eq!(answered(&origin), request.len() as u64 + 1);
    });
}

#[test]
fn requests_in_one_packet_are_answered_in_order() {
    within_patience(|| {
        let origin = origin();
        let mut many = String::new();
        for size in 0..200 {
            many.push_str(&format!("GET /bytes/{size} HTTP/1.1\r\nHost: x\r\n\r\n"));
        }
        let replies = ask(&origin, many);
        assert_eq!(replies.len(), 200);
        for (size, reply) in replies.iter().enumerate() {
            assert_eq!((reply.status, &reply.body), (200, &bytes(size as u64)));
        }
    });
}

#[test]
fn one_and_a_half_requests_in_a_packet() {
    within_patience(|| {
        let origin = origin();
        let mut stream = connect(&origin);
        stream.write_all(b"GET /bytes/1 HTTP/1.1\r\n\r\nGET /byt").unwrap();
        assert_eq!(read_one(&mut stream).body, bytes(1));
        stream.write_all(b"es/2 HTTP/1.1\r\n\r\n").unwrap();
        assert_eq!(read_one(&mut stream).body, bytes(2));
    });
}

#[test]
fn a_head_request_is_answered_without_a_body() {
    within_patience(|| {
        let origin = origin();
        let mut stream = connect(&origin);
        stream.write_all(b"HEAD /bytes/5000 HTTP/1.1\r\n\r\nGET /bytes/3 HTTP/1.1\r\n\r\n").unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let replies = read_all(&mut stream, &[0]);
        assert_eq!((replies[0].status, replies[0].line("content-length")), (200, Some("5000")));
        assert_eq!((replies[1].status, &replies[1].body), (200, &bytes(3)));
    });
}

#[test]
fn paths_of_the_catalogue() {
    within_patience(|| {
        let origin = origin();
        for (target, expected) in [
            ("/", Some(("/index.html", 100))),
            ("/index.html?query=%zz", Some(("/index.html", 100))),
            ("/blog", Some(("/blog/index.html", 200))),
            ("/blog/", Some(("/blog/index.html", 200))),
            ("//blog/./index.html", Some(("/blog/index.html", 200))),
            ("/a%20b", Some(("/a b", 300))),
            ("/%61%20%62", Some(("/a b", 300))),
            ("http://elsewhere/blog/", Some(("/blog/index.html", 200))),
            ("http://elsewhere", Some(("/index.html", 100))),
            ("https://elsewhere?q", Some(("/index.html", 100))),
            ("http://elsewhere/bytes/300", Some(("/bytes/300", 300))),
            ("/blog/../index.html", None),
            ("/a%2", None),
            ("/a%zz", None),
            ("/none", None),
            ("*", None),
            ("/bytes/", None),
            ("/bytes/x", None),
            ("/bytes/+5", None),
            ("/bytes/-1", None),
            ("/bytes/18446744073709551616", None),
        ] {
            let reply = get(&origin, target, "");
            match expected {
                Some((path, size)) => {
                    assert_eq!((reply.status, reply.body), (200, object(path, size)), "{target}");
                }
                None => {
                    assert_eq!((reply.status, reply.line("content-length")), (404, Some("0")), "{target}")
                }
            }
        }
    });
}

#[test]
fn other_methods_are_refused_and_their_bodies_passed_over() {
    within_patience(|| {
        let origin = origin();
        let body = "GET /bytes/9 HTTP/1.1\r\n\r\n".repeat(3_000);
        let post = format!("POST / HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        let replies = ask(&origin, format!("{post}DELETE / HTTP/1.1\r\n\r\nGET /bytes/4 HTTP/1.1\r\n\r\n"));
        let statuses: Vec<_> = replies.iter().map(|reply| reply.status).collect();
        assert_eq!(statuses, [405, 405, 200]);
        assert_eq!(replies[0].line("allow"), Some("GET, HEAD"));
        assert_eq!(replies[2].body, bytes(4));
    });
}

#[test]
fn bytes_that_are_no_request_are_refused_and_the_connection_closed() {
    within_patience(|| {
        let origin = origin();
        let long = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(70_000));
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "X: y\r\n".repeat(200));
        for (request, status) in [
            ("hello there\r\n\r\n", 400),
            ("\u{16}\u{3}\u{1}\u{2}", 400),
            ("GET / HTTP/2.0\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nno colon\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", 501),
            (&long, 431),
            (&many, 431),
        ] {
            let replies = ask(&origin, format!("{request}GET /bytes/1 HTTP/1.1\r\n\r\n"));
            assert_eq!(replies.len(), 1, "{status}");
            assert_eq!((replies[0].status, replies[0].line("connection")), (status, Some("close")));
        }
        assert_eq!(answered(&origin), 0);
        assert_eq!(get(&origin, "/bytes/1", "").status, 200);
    });
}

/// The refusal reaches a client that is still sending; only then does the connection end.
#[test]
fn a_refusal_is_not_lost_on_a_client_that_goes_on_sending() {
    within_patience(|| {
        let origin = origin();
        for (start, status) in [
            (&b"GET /"[..], 431),
            (b"nonsense\r\n", 400),
            (b"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 501),
            (b"PUT / HTTP/1.0\r\nContent-Length: 3000000\r\n\r\n", 405),
        ] {
            let mut stream = connect(&origin);
            stream.write_all(start).unwrap();
            for _ in 0..30 {
                stream.write_all(&[b'a'; 100_000]).unwrap();
            }
            stream.shutdown(Shutdown::Write).unwrap();
            let replies = read_all(&mut stream, &[]);
            assert_eq!(replies.len(), 1);
            assert_eq!((replies[0].status, replies[0].line("connection")), (status, Some("close")));
        }
    });
}
