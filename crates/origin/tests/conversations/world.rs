//! Objects of a world: what is said about them, conditions, ranges, methods, and connections that end.

use crate::support::{Reply, ask, connect, ended, get, of_world, read_one, within_patience};
use bakeoff_content::world::{Name, Object, Version};
use bakeoff_origin::{Origin, World};
use bakeoff_wire::http1::{http_date, parse_http_date};
use std::io::{Read, Write};
use std::time::{Duration, Instant};

const CONTENT: &str = r#"
[[content]]
name = "page"
size = "const:1000B"
life = { length = "const:1day", expires = "nmt+0s" }
media_type = "text/html"
extensions = [".html"]

[[content]]
name = "private"
size = "const:10B"
cachable = "0%"
life = { length = "const:1day", expires = "nmt+0s" }

[[content]]
name = "large"
size = "const:5GB"

[[content]]
name = "empty"
size = "const:0B"
"#;
const PAGE: u8 = 0;
const PRIVATE: u8 = 1;
const LARGE: u8 = 2;
const EMPTY: u8 = 3;
/// As distributions have it: 5 * 1024^3.
const LARGE_BYTES: u64 = 5 << 30;

fn world(origin: &str) -> World {
    World::from_toml(&format!("{CONTENT}\n[origin]\n{origin}\n")).unwrap()
}

fn name(kind: u8) -> Name {
    Name { world: 0xfeed, server: 7, kind, number: 42 }
}

fn path(name: &Name) -> String {
    let mut path = Vec::new();
    name.write_path(&world("").model, &mut path);
    String::from_utf8(path).unwrap()
}

fn id(name: &Name) -> String {
    let mut id = Vec::new();
    name.write_id(&mut id);
    String::from_utf8(id).unwrap()
}

fn object(name: &Name) -> Object {
    world("").model.object(name).unwrap()
}

/// What the object was when the reply was made.
fn version(name: &Name, reply: &Reply) -> Version {
    object(name).at(parse_http_date(reply.line("date").unwrap().as_bytes()).unwrap())
}

fn whole(name: &Name) -> Vec<u8> {
    let mut bytes = Vec::new();
    object(name).body.write_to(&mut bytes).unwrap();
    bytes
}

fn stamp(told: &str, ask: u64, name: &Name, version: &Version) -> String {
    format!("{told}={ask:016x}; object={}; version={}", id(name), version.number)
}

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
            // As a forward proxy may send it on, and with a query that nobody reads.
            (format!("http://elsewhere:8080{}", path(&page)), "x-bakeoff: ask=0000000000000001\r\n", 1),
            (format!("{}?q", path(&page)), "", 0),
        ] {
            let reply = get(&origin, &target, line);
            let version = version(&page, &reply);
            let date = parse_http_date(reply.line("date").unwrap().as_bytes()).unwrap();
            assert_eq!((reply.status, &reply.body), (200, &whole(&page)));
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
            assert!(object(&large).body.matches(start, &reply.body), "{range}");
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
fn who_breaks_off_in_the_middle_of_a_large_object_does_no_harm() {
    within_patience(|| {
        let origin = of_world(world(""), 1);
        for _ in 0..10 {
            let mut stream = connect(&origin);
            write!(stream, "GET {} HTTP/1.1\r\n\r\n", path(&name(LARGE))).unwrap();
            stream.read_exact(&mut vec![0; 1_000_000]).unwrap();
        }
        assert_eq!(get(&origin, &path(&name(PAGE)), "").body, whole(&name(PAGE)));
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
            let length = object(&name(kind)).body.len().to_string();
            assert_eq!((reply.status, reply.line("content-length")), (200, Some(length.as_str())));
            let stamp = stamp("made", 3, &name(kind), &version(&name(kind), &reply));
            assert_eq!(reply.line("x-bakeoff"), Some(stamp.as_str()));
        }
        write!(stream, "GET {} HTTP/1.1\r\n\r\n", path(&name(PAGE))).unwrap();
        assert_eq!(read_one(&mut stream).body, whole(&name(PAGE)));
    });
}

fn read_head(stream: &mut impl Read) -> Reply {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    Reply::head(&head)
}

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
            assert_eq!((reply.status, &reply.body), (200, &whole(&page)));
            let stamp = stamp("made", 4, &page, &version(&page, &reply));
            assert_eq!(reply.line("x-bakeoff"), Some(stamp.as_str()));
            assert_eq!(reply.line("cache-control"), Some("private, no-cache"));
        }
        drop(stream);
        // Half a body: nothing is answered.
        let half = format!("POST {} HTTP/1.1\r\nContent-Length: 10\r\n\r\nhalf", path(&page));
        assert_eq!(ask(&origin, half).len(), 0);
        assert_eq!((ended(&origin, "request cut off"), origin.tally().requests), (1, 4));
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
        // What is no name of a world is looked for beside it.
        assert_eq!(get(&origin, "/bytes/5", "").body.len(), 5);
        assert_eq!(get(&origin, "/w00/x", "").status, 404);
        let coded =
            format!("POST {} HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", path(&name(PAGE)));
        assert_eq!(ask(&origin, coded)[0].status, 501);
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
        let origin: Origin = of_world(world("idle_timeout = \"200ms\"\nthink = \"const:500ms\""), 1);
        let mut silent = connect(&origin);
        let mut used = connect(&origin);
        let begin = Instant::now();
        // A reply may wait for longer than that.
        write!(used, "GET {} HTTP/1.1\r\n\r\n", path(&name(PAGE))).unwrap();
        assert_eq!(silent.read(&mut [0]).unwrap(), 0);
        assert!(begin.elapsed() >= Duration::from_millis(195), "{:?}", begin.elapsed());
        assert_eq!(read_one(&mut used).status, 200);
        let answered = Instant::now();
        assert_eq!(used.read(&mut [0]).unwrap(), 0);
        assert!(answered.elapsed() >= Duration::from_millis(150), "{:?}", answered.elapsed());
        assert_eq!(ended(&origin, "idle for too long"), 2);
    });
}
