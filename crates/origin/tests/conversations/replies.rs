//! Replies of the origin: exact bytes, conditions, ranges, and whether the connection goes on.

use crate::support::{ask, bytes, connect, get, object, origin, read_one, within_patience};
use bakeoff_content::LAST_MODIFIED;
use std::io::{Read, Write};

#[test]
fn bytes_of_any_size_are_exact() {
    within_patience(|| {
        let origin = origin();
        for size in [0, 1, 499, 16_383, 65_536, 65_537, 5_000_000] {
            let reply = get(&origin, &format!("/bytes/{size}"), "");
            assert_eq!(reply.line("content-length"), Some(size.to_string().as_str()));
            assert!(reply.status == 200 && reply.body == bytes(size), "{size}");
        }
    });
}

#[test]
fn conditions() {
    within_patience(|| {
        let origin = origin();
        let plain = get(&origin, "/", "");
        assert_eq!(plain.line("last-modified"), Some(LAST_MODIFIED));
        for (date, status) in [
            (LAST_MODIFIED, 304),
            ("Fri, 01 Jan 2100 00:00:00 GMT", 304),
            ("Sun, 17 May 2015 10:05:02 GMT", 200),
            ("yesterday", 200),
        ] {
            let reply = get(&origin, "/", &format!("If-Modified-Since: {date}\r\n"));
            assert_eq!(reply.status, status, "{date}");
            assert_eq!(reply.body.len(), if status == 304 { 0 } else { 100 });
        }
        // A 304 has no body and leaves the connection as it was.
        let twice = format!("GET / HTTP/1.1\r\nIf-Modified-Since: {LAST_MODIFIED}\r\n\r\n").repeat(2);
        assert_eq!(ask(&origin, twice).len(), 2);
    });
}

#[test]
fn ranges() {
    within_patience(|| {
        let origin = origin();
        let whole = object("/index.html", 100);
        for (range, expected) in [
            ("bytes=0-9", Some(0..10)),
            ("bytes=95-", Some(95..100)),
            ("bytes=-7", Some(93..100)),
            ("bytes=50-5000", Some(50..100)),
            ("bytes=0-1,5-6", None),
            ("lines=0-9", None),
        ] {
            let reply = get(&origin, "/", &format!("Range: {range}\r\n"));
            match expected {
                Some(part) => {
                    let said = format!("bytes {}-{}/100", part.start, part.end - 1);
                    assert_eq!((reply.status, reply.line("content-range")), (206, Some(said.as_str())));
                    assert_eq!(reply.body, whole[part]);
                }
                None => assert_eq!((reply.status, &reply.body), (200, &whole), "{range}"),
            }
        }
        let far = get(&origin, "/bytes/9000000", "Range: bytes=4194200-4194400\r\n");
        assert_eq!(far.body, bytes(9_000_000)[4_194_200..=4_194_400]);
    });
}

#[test]
fn who_asks_to_keep_the_connection_keeps_it() {
    within_patience(|| {
        let origin = origin();
        for (version, lines, kept, said) in [
            ("1.1", "", true, None),
            ("1.1", "Connection: keep-alive\r\n", true, None),
            ("1.1", "Connection: close\r\n", false, Some("close")),
            ("1.1", "Connection: TE, Close\r\n", false, Some("close")),
            ("1.0", "", false, Some("close")),
            // A client of HTTP/1.0 waits for the end unless it is told that there will be none.
            ("1.0", "Connection: Keep-Alive\r\n", true, Some("keep-alive")),
        ] {
            for (target, status) in [("/bytes/5", 200), ("/none", 404)] {
                let mut stream = connect(&origin);
                for _ in 0..2 {
                    write!(stream, "GET {target} HTTP/{version}\r\n{lines}\r\n").unwrap();
                    let reply = read_one(&mut stream);
                    assert_eq!((reply.status, reply.line("connection")), (status, said), "{version} {lines}");
                    if !kept {
                        assert_eq!(stream.read(&mut [0]).unwrap(), 0);
                        break;
                    }
                }
            }
        }
    });
}
