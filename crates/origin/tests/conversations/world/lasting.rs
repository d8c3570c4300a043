//! Lifetime of connections: as many requests as the world says, until the idle limit, or until the client breaks off.

use super::{LARGE, PAGE, name, path, whole, world};
use crate::support::{ask, connect, ended, get, of_world, read_one, within_patience};
use bakeoff_origin::Origin;
use std::io::{Read, Write};
use std::time::{Duration, Instant};

#[test]
fn who_breaks_off_in_the_middle_of_a_large_object_does_no_harm() {
    within_patience(|| {
        let origin = of_world(world(""), 1);
        for _ in 0..10 {
            let mut stream = connect(&origin);
            write!(stream, "GET {} HTTP/1.1\r\n\r\n", path(&name(LARGE))).unwrap();
            stream.read_exact(&mut vec![0; 1_000_000]).unwrap();
        }
        let page = get(&origin, &path(&name(PAGE)), "");
        assert_eq!(page.body, whole(&name(PAGE), &page));
    });
}

#[test]
fn a_connection_serves_as_many_requests_as_the_world_says() {
    within_patience(|| {
        for (origin, requests) in [
            ("requests_per_connection = 3", 3),
            ("requests_per_connection = 0", 1),
            ("requests_per_connection = \"const:2\"", 2),
            ("keep_alive = false", 1),
        ] {
            let origin = of_world(world(origin), 2);
            // More than are served come at once, some of them not about the world.
            let many =
                format!("GET {} HTTP/1.1\r\n\r\nGET /bytes/7 HTTP/1.1\r\n\r\n", path(&name(PAGE))).repeat(4);
            let replies = ask(&origin, many);
            assert_eq!(replies.len(), requests);
            let (last, others) = replies.split_last().unwrap();
            assert_eq!(last.line("connection"), Some("close"));
            assert!(others.iter().all(|reply| reply.line("connection").is_none()));
            assert_eq!(ended(&origin, "all its requests served"), 1);
        }
    });
}

#[test]
fn a_connection_on_which_nothing_happens_is_closed_and_one_in_use_is_not() {
    within_patience(|| {
        let origin: Origin = of_world(world("idle_timeout = \"1s\"\nthink = \"const:1500ms\""), 1);
        let mut silent = connect(&origin);
        let mut used = connect(&origin);
        let begin = Instant::now();
        silent.write_all(b"GET /half-a-requ").unwrap();
        // A reply may wait for longer than that.
        write!(used, "GET {} HTTP/1.1\r\n\r\n", path(&name(PAGE))).unwrap();
        assert_eq!(silent.read(&mut [0]).unwrap(), 0);
        assert!(begin.elapsed() >= Duration::from_millis(990), "{:?}", begin.elapsed());
        assert_eq!(read_one(&mut used).status, 200);
        assert_eq!(used.read(&mut [0]).unwrap(), 0);
        // As long without anything as the other, behind its thinking: from the beginning, as this end may see the reply
        // late.
        assert!(begin.elapsed() >= Duration::from_millis(2_490), "{:?}", begin.elapsed());
        assert_eq!(ended(&origin, "idle for too long"), 2);
    });
}

/// Unread bytes at the time of the last reply are read first. A client that then neither sends nor closes is not waited
/// for any longer than any other.
#[test]
fn who_stays_after_the_last_reply_is_closed_when_nothing_happens() {
    within_patience(|| {
        let origin = of_world(world("idle_timeout = \"1s\""), 1);
        let mut stream = connect(&origin);
        let told = Instant::now();
        stream.write_all(b"no request\r\n\r\nand more").unwrap();
        assert_eq!(read_one(&mut stream).status, 400);
        assert_eq!(stream.read(&mut [0]).unwrap(), 0);
        assert_eq!(ended(&origin, "malformed request"), 1);
        assert_eq!(ended(&origin, "not closed by the client after the last reply"), 1);
        assert!(told.elapsed() >= Duration::from_millis(950), "{:?}", told.elapsed());
        assert_eq!(get(&origin, &path(&name(PAGE)), "").status, 200);
    });
}
