//! Replies about objects of a world: stamps, dates, conditions, ranges.

use super::{
    CONTENT, EMPTY, LARGE, LARGE_BYTES, PAGE, PRIVATE, name, object, path, read_head, stamp, version, whole,
    world,
};
use crate::support::{ask, connect, get, of_world, read_one, within_patience};
use bakeoff_origin::World;
use bakeoff_wire::http1::{http_date, parse_http_date};
use bakeoff_wire::tally::{self, Sent};
use std::io::Write;
use std::time::Duration;

#[test]
fn a_reply_says_for_whom_it_was_made_and_how_long_it_may_be_kept() {
    within_patience(|| {
        let origin = of_world(world(""), 2);
        let page = name(PAGE);
        assert!(path(&page).ends_with("_000000000000002a.html"), "{}", path(&page));
        for (target, line, ask) in [
            (path(&page), "X-Bakeoff: ask=00000000000000ff\r\n", 255),
            (path(&page), "", 0),
            (path(&page), "X-Bakeoff: nonsense\r\n", 0),
            // As a forward proxy may send it on, and with a query that the origin ignores.
            (format!("http://elsewhere:8080{}", path(&page)), "x-bakeoff: ask=0000000000000001\r\n", 1),
            (format!("{}?q", path(&page)), "", 0),
        ] {
            let reply = get(&origin, &target, line);
            let version = version(&page, &reply);
            let date = parse_http_date(reply.line("date").unwrap().as_bytes()).unwrap();
            assert_eq!((reply.status, &reply.body), (200, &whole(&page, &reply)));
            assert_eq!(reply.line("x-bakeoff"), Some(stamp("made", ask, &page, &version).as_str()));
            assert_eq!(reply.line("last-modified"), version.last_modified.map(http_date).as_deref());
            assert_eq!(reply.line("expires"), version.expires.map(http_date).as_deref());
            let age = format!("public, max-age={}", version.expires.unwrap() - date);
            assert_eq!(reply.line("cache-control"), Some(age.as_str()));
            assert_eq!(reply.line("etag"), Some(format!("\"{:016x}\"", version.etag).as_str()));
            assert_eq!(reply.line("content-type"), Some("text/html"));
            assert!(version.last_modified.unwrap() <= date && date < version.expires.unwrap());
        }
    });
}

#[test]
fn what_may_not_be_kept_says_so_and_what_never_changes_has_no_dates() {
    within_patience(|| {
        let origin = of_world(world(""), 2);
        let private = get(&origin, &path(&name(PRIVATE)), "");
        assert_eq!(private.line("cache-control"), Some("private, no-cache"));
        assert_eq!((private.line("last-modified"), private.line("expires")), (None, None));
        let empty = get(&origin, &path(&name(EMPTY)), "");
        assert_eq!((empty.status, empty.line("content-length")), (200, Some("0")));
        assert_eq!((empty.line("cache-control"), empty.line("last-modified")), (Some("public"), None));
    });
}

#[test]
fn conditions_are_judged_by_the_version_now() {
    within_patience(|| {
        let origin = of_world(world(""), 2);
        let page = name(PAGE);
        let plain = get(&origin, &path(&page), "");
        let modified = version(&page, &plain).last_modified.unwrap();
        let tag = plain.line("etag").unwrap().to_owned();
        for (condition, status) in [
            (format!("If-Modified-Since: {}", http_date(modified)), 304),
            (format!("If-Modified-Since: {}", http_date(modified + 1)), 304),
            (format!("If-Modified-Since: {}", http_date(modified - 1)), 200),
            (format!("If-None-Match: {tag}"), 304),
            (format!("If-None-Match: \"other\", W/{tag}"), 304),
            ("If-None-Match: \"other\"".to_owned(), 200),
        ] {
            let reply =
                get(&origin, &path(&page), &format!("{condition}\r\nX-Bakeoff: ask=0000000000000005\r\n"));
            let told = if status == 304 { "valid" } else { "made" };
            let stamp = stamp(told, 5, &page, &version(&page, &reply));
            assert_eq!(
                (reply.status, reply.line("x-bakeoff")),
                (status, Some(stamp.as_str())),
                "{condition}"
            );
            assert_eq!(reply.body.len(), if status == 304 { 0 } else { 1000 });
            for line in ["etag", "expires", "last-modified", "cache-control", "date"] {
                assert!(reply.line(line).is_some(), "{condition}: no {line}");
            }
        }
        assert_eq!(origin.tally().not_modified, 4);
    });
}

#[test]
fn ranges_of_an_object_of_five_gigabytes() {
    within_patience(|| {
        let origin = of_world(world(""), 2);
        let (page, large) = (name(PAGE), name(LARGE));
        let last = LARGE_BYTES - 1;
        for (range, start, end) in [
            ("bytes=0-9".to_owned(), 0, 10),
            ("bytes=-100000".to_owned(), LARGE_BYTES - 100_000, LARGE_BYTES),
            (format!("bytes={}-", last), last, LARGE_BYTES),
            ("bytes=4294967290-4294967305".to_owned(), 4_294_967_290, 4_294_967_306),
            (format!("bytes={}-{}", last - 1, LARGE_BYTES + 5), last - 1, LARGE_BYTES),
        ] {
            let reply = get(
                &origin,
                &path(&large),
                &format!("Range: {range}\r\nX-Bakeoff: ask=0000000000000009\r\n"),
            );
            let said = format!("bytes {start}-{}/{LARGE_BYTES}", end - 1);
            assert_eq!((reply.status, reply.line("content-range")), (206, Some(said.as_str())));
            assert_eq!(reply.body.len() as u64, end - start);
            assert!(object(&large).body(0).matches(start, &reply.body), "{range}");
            assert!(reply.line("x-bakeoff").unwrap().starts_with("made=0000000000000009; "));
        }
        for (target, range, whole) in
            [(&large, format!("bytes={LARGE_BYTES}-"), LARGE_BYTES), (&name(EMPTY), "bytes=0-".to_owned(), 0)]
        {
            let reply = get(&origin, &path(target), &format!("Range: {range}\r\n"));
            assert_eq!((reply.status, reply.line("content-length")), (416, Some("0")));
            assert_eq!(reply.line("content-range"), Some(format!("bytes */{whole}").as_str()));
        }
        // Several ranges are answered with the whole, and so is one of an object that changed.
        for lines in ["Range: bytes=0-1,5-6\r\n", "Range: bytes=0-1\r\nIf-Range: \"other\"\r\n"] {
            assert_eq!(get(&origin, &path(&page), lines).status, 200, "{lines}");
        }
    });
}

#[test]
fn head_says_what_get_says_without_the_body() {
    within_patience(|| {
        let origin = of_world(world(""), 2);
        let mut stream = connect(&origin);
        for kind in [PAGE, LARGE] {
            let target = path(&name(kind));
            write!(
                stream,
                "HEAD {target} HTTP/1.1\r\nX-Bakeoff: ask=0000000000000003\r\nRange: bytes=0-1\r\n\r\n"
            )
            .unwrap();
            let reply = read_head(&mut stream);
            let length = object(&name(kind)).size.to_string();
            assert_eq!((reply.status, reply.line("content-length")), (200, Some(length.as_str())));
            let stamp = stamp("made", 3, &name(kind), &version(&name(kind), &reply));
            assert_eq!(reply.line("x-bakeoff"), Some(stamp.as_str()));
        }
        write!(stream, "GET {} HTTP/1.1\r\n\r\n", path(&name(PAGE))).unwrap();
        let page = read_one(&mut stream);
        assert_eq!(page.body, whole(&name(PAGE), &page));
    });
}

#[test]
fn names_without_an_object_and_methods_without_a_meaning() {
    within_patience(|| {
        let origin = of_world(world(""), 2);
        let none = get(&origin, &path(&name(9)), "X-Bakeoff: ask=0000000000000001\r\n");
        assert_eq!(
            (none.status, none.line("x-bakeoff"), none.line("content-length")),
            (404, None, Some("0"))
        );
        assert!(none.line("date").is_some());
        let other = ask(&origin, format!("DELETE {} HTTP/1.1\r\n\r\n", path(&name(PAGE))));
        assert_eq!((other[0].status, other[0].line("allow")), (405, Some("GET, HEAD, POST, PUT")));
        // A path that is no name of a world is looked up beside it.
        assert_eq!(get(&origin, "/bytes/5", "").body.len(), 5);
        assert_eq!(get(&origin, "/w00/x", "").status, 404);
    });
}

#[test]
fn what_was_sent_so_far_is_told_and_kinds_may_think_for_themselves() {
    let text = CONTENT.replace("size = \"const:1000B\"", "size = \"const:1000B\"\nthink = \"const:0s\"");
    let world = World::from_toml(&format!("{text}\n[origin]\nthink = \"const:1min\"\n")).unwrap();
    assert_eq!(world.think_time(PAGE, 1).as_duration(), Duration::ZERO);
    assert_eq!(world.think_time(EMPTY, 1).as_duration(), Duration::from_secs(60));
    let origin = of_world(world, 2);
    let page = path(&name(PAGE));
    get(&origin, &page, "");
    get(&origin, &page, "If-None-Match: *\r\n");
    let told = get(&origin, "/bakeoff/tally", "");
    let lines = String::from_utf8(told.body.clone()).unwrap();
    assert!(
        lines.starts_with("requests 2\nreplies 2\nnot_modified 1\nposts 0\nbody_bytes 1000\n"),
        "{lines}"
    );
    assert_eq!(told.line("cache-control"), Some("no-store"));
    let sent = Sent::parse(&told.body).unwrap();
    assert_eq!((sent.replies, sent.validations, sent.body_bytes, sent.connections), (2, 1, 1000, 3));
}

/// RFC 9110 sections 7.6.1 and 7.6.3, RFC 9112 section 3.2.2.
#[test]
fn requests_are_counted_by_the_way_that_they_came() {
    let origin = of_world(world(""), 1);
    let page = path(&name(PAGE));
    let way = || {
        let tally = origin.tally();
        (tally.without_via, tally.hop_passed, tally.other_host)
    };
    ask(&origin, format!("GET {page} HTTP/1.1\r\nHost: other\r\nVia: 1.1 a\r\n\r\n"));
    get(&origin, tally::PATH, "");
    get(&origin, &page, "Via: 1.1 a\r\n");
    assert_eq!(way(), (0, 0, 0), "nobody has said which host it is");
    get(&origin, tally::PATH, "X-Bakeoff: robots\r\n");
    get(&origin, &page, "Connection: X-Bakeoff-Hop\r\nX-Bakeoff-Hop: 1\r\n");
    ask(&origin, format!("GET {page} HTTP/1.1\r\nHost: other\r\nVia: 1.1 a\r\n\r\n"));
    ask(&origin, format!("GET {page} HTTP/1.1\r\nVia: 1.1 a\r\n\r\n"));
    assert_eq!(way(), (1, 1, 2));
}

/// A reply to HEAD has no body: one that had would be taken for the next reply.
#[test]
fn what_was_sent_so_far_is_told_to_get_alone() {
    within_patience(|| {
        let origin = of_world(world(""), 1);
        let mut stream = connect(&origin);
        for (method, status) in [("HEAD", 404), ("OPTIONS", 405)] {
            write!(stream, "{method} {} HTTP/1.1\r\n\r\n", tally::PATH).unwrap();
            assert_eq!(read_head(&mut stream).status, status, "{method}");
        }
        write!(stream, "GET {} HTTP/1.1\r\n\r\n", tally::PATH).unwrap();
        let told = read_one(&mut stream);
        assert_eq!((told.status, Sent::parse(&told.body).map(|sent| sent.requests)), (200, Some(2)));
    });
}
