//! Requests with bodies.

use super::{PAGE, name, path, read_head, stamp, version, whole, world};
use crate::support::{ask, connect, ended, of_world, read_one, within_patience};
use bakeoff_wire::stamp::Upload;
use std::io::Write;

#[test]
fn a_body_that_is_sent_is_passed_over_and_answered_behind_its_end() {
    within_patience(|| {
        let origin = of_world(world(""), 2);
        let page = name(PAGE);
        let mut stream = connect(&origin);
        for (answered, (method, size)) in
            (0..).zip([("POST", 0), ("POST", 5), ("PUT", 3_000_000), ("POST", 100_000)])
        {
            let head = format!(
                "{method} {} HTTP/1.1\r\nX-Bakeoff: ask=0000000000000004\r\nIf-None-Match: *\r\nContent-Length: {size}\r\n\r\n",
                path(&page)
            );
            stream.write_all(head.as_bytes()).unwrap();
            for piece in vec![b'x'; size].chunks(50_000) {
                assert_eq!(origin.tally().requests, answered, "answered before its end");
                stream.write_all(piece).unwrap();
            }
            let reply = read_one(&mut stream);
            assert_eq!((reply.status, &reply.body), (200, &whole(&page, &reply)));
            let mut upload = Upload::default();
            upload.take(&vec![b'x'; size]);
            let posted = format!("; post={size}.{:016x}", upload.crc);
            let posted = if method == "POST" { posted.as_str() } else { "" };
            let stamp = stamp("made", 4, &page, &version(&page, &reply)) + posted;
            assert_eq!(reply.line("x-bakeoff"), Some(stamp.as_str()));
            assert_eq!(reply.line("cache-control"), Some("private, no-cache"));
        }
        // A client that sends `Expect: 100-continue` gets the interim reply.
        write!(stream, "POST {} HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n", path(&page))
            .unwrap();
        assert_eq!(read_head(&mut stream).status, 100);
        stream.write_all(b"bytes").unwrap();
        assert_eq!(read_one(&mut stream).status, 200);
        assert_eq!(origin.tally().posts, 4);
        drop(stream);
        // Half a body: nothing is answered.
        let half = format!("POST {} HTTP/1.1\r\nContent-Length: 10\r\n\r\nhalf", path(&page));
        assert_eq!(ask(&origin, half).len(), 0);
        assert_eq!((ended(&origin, "request cut off"), origin.tally().requests), (1, 5));
    });
}

#[test]
fn bodies_in_chunks_are_passed_over_too() {
    within_patience(|| {
        let origin = of_world(world(""), 2);
        let coded = format!("POST {} HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", path(&name(PAGE)));
        let chunks = format!("5\r\nabcde\r\nff;x=y\r\n{}\r\n0\r\nTrailer: t\r\n\r\n", "b".repeat(255));
        let request = format!("{coded}{chunks}");
        let mut stream = connect(&origin);
        for split in [1, coded.len(), coded.len() + 1, request.len() - 1] {
            stream.write_all(&request.as_bytes()[..split]).unwrap();
            std::thread::yield_now();
            stream.write_all(&request.as_bytes()[split..]).unwrap();
            let page = read_one(&mut stream);
            assert_eq!(page.body, whole(&name(PAGE), &page));
        }
        // Together with the bytes behind it.
        let both = ask(&origin, format!("{request}GET /bytes/7 HTTP/1.1\r\n\r\n"));
        assert_eq!(both.iter().map(|reply| reply.body.len()).collect::<Vec<_>>(), [1000, 7]);
        // Chunks that are none: what follows cannot be told from them.
        assert_eq!(ask(&origin, format!("{coded}5\r\nabcdefgh\r\n0\r\n\r\n")).len(), 0);
        assert_eq!(ended(&origin, "malformed request"), 1);
        let zipped = format!("POST {} HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", path(&name(PAGE)));
        assert_eq!(ask(&origin, zipped)[0].status, 501);
    });
}
