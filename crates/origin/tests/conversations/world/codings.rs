//! Content coding of replies: an object as it is, or in gzip.

use super::{LARGE, PAGE, TEXT, name, path, read_head, version, whole, world};
use crate::support::{Reply, ask, connect, get, of_world, read_one, within_patience};
use flate2::read::GzDecoder;
use std::io::{Read, Write};

fn unpacked(reply: &Reply) -> Vec<u8> {
    let mut bytes = Vec::new();
    GzDecoder::new(&reply.body[..]).read_to_end(&mut bytes).unwrap();
    bytes
}

/// Coding, Vary and entity tag, of which the number is that of the object's version.
fn form(reply: &Reply) -> (Option<&str>, Option<&str>, String) {
    let number = format!("{:016x}", version(&name(TEXT), reply).etag);
    let tag = reply.line("etag").unwrap().replace(&number, "N");
    (reply.line("content-encoding"), reply.line("vary"), tag)
}

const GZIP: (Option<&str>, Option<&str>, &str) = (Some("gzip"), Some("Accept-Encoding"), "W/\"N\"");
const PLAIN: (Option<&str>, Option<&str>, &str) = (None, Some("Accept-Encoding"), "\"N\"");

#[track_caller]
fn assert_form(reply: &Reply, expected: (Option<&str>, Option<&str>, &str), what: &str) {
    let (coding, vary, tag) = form(reply);
    assert_eq!((coding, vary, tag.as_str()), expected, "{what}");
}

#[test]
fn who_asks_for_gzip_gets_it_and_nobody_else() {
    within_patience(|| {
        let origin = of_world(world(""), 1);
        for (lines, coded) in [
            ("", false),
            ("Accept-Encoding: gzip\r\n", true),
            ("accept-encoding: deflate, GZip;q=0.1\r\n", true),
            ("Accept-Encoding: br\r\nAccept-Encoding: x-gzip\r\n", true),
            ("Accept-Encoding: *\r\n", true),
            ("Accept-Encoding: gzip;q=0, *\r\n", false),
            ("Accept-Encoding: gzip; q=0.000\r\n", false),
            ("Accept-Encoding: *;q=0\r\n", false),
            ("Accept-Encoding: identity, br\r\n", false),
            ("Accept-Encoding:\r\n", false),
        ] {
            let reply = get(&origin, &path(&name(TEXT)), lines);
            assert_eq!(reply.status, 200);
            let whole = whole(&name(TEXT), &reply);
            assert_form(&reply, if coded { GZIP } else { PLAIN }, lines);
            assert_eq!(reply.line("content-length"), Some(reply.body.len().to_string().as_str()));
            if coded {
                assert!(reply.body.len() < whole.len() / 2, "{}", reply.body.len());
                assert!(unpacked(&reply) == whole, "{lines}");
            } else {
                assert!(reply.body == whole, "{lines}");
            }
        }
    });
}

#[test]
fn what_has_one_form_is_sent_as_it_is_and_does_not_vary() {
    let origin = of_world(world(""), 1);
    let page = get(&origin, &path(&name(PAGE)), "Accept-Encoding: gzip\r\n");
    assert!(page.body == whole(&name(PAGE), &page));
    // Too large to be packed while a client waits.
    let mut stream = connect(&origin);
    write!(stream, "HEAD {} HTTP/1.1\r\nAccept-Encoding: gzip\r\n\r\n", path(&name(LARGE))).unwrap();
    for reply in [page, read_head(&mut stream)] {
        assert_eq!((reply.line("content-encoding"), reply.line("vary")), (None, None));
        assert!(reply.line("etag").unwrap().starts_with('"'));
    }
}

#[test]
fn a_range_is_one_of_the_object_and_never_of_coded_bytes() {
    let origin = of_world(world(""), 1);
    let text = path(&name(TEXT));
    let part = get(&origin, &text, "Accept-Encoding: gzip\r\nRange: bytes=5-9\r\n");
    assert_eq!(part.status, 206);
    assert_form(&part, PLAIN, "a part");
    assert!(part.body == whole(&name(TEXT), &part)[5..10]);
    // A weak tag guards no range: the whole object is sent, and as a range was asked for, as it is.
    let weak =
        format!("If-Range: {}", get(&origin, &text, "Accept-Encoding: gzip\r\n").line("etag").unwrap());
    let reply = get(&origin, &text, &format!("Accept-Encoding: gzip\r\nRange: bytes=5-9\r\n{weak}\r\n"));
    assert_eq!(reply.status, 200);
    assert_form(&reply, PLAIN, "the whole");
}

#[test]
fn conditions_hold_for_either_form_by_the_tag_of_either() {
    let origin = of_world(world(""), 1);
    let text = path(&name(TEXT));
    let tags = ["", "Accept-Encoding: gzip\r\n"]
        .map(|accept| get(&origin, &text, accept).line("etag").unwrap().to_owned());
    for tag in tags {
        for (accept, expected) in [("", PLAIN), ("Accept-Encoding: gzip\r\n", GZIP)] {
            let reply = get(&origin, &text, &format!("{accept}If-None-Match: {tag}\r\n"));
            assert_eq!((reply.status, reply.body.len()), (304, 0), "{tag}");
            let (_, vary, weak) = expected;
            assert_form(&reply, (None, vary, weak), &tag);
        }
    }
    assert_eq!(origin.tally().not_modified, 4);
}

#[test]
fn head_and_post_say_and_get_what_get_does() {
    within_patience(|| {
        let origin = of_world(world(""), 1);
        let text = path(&name(TEXT));
        let got = get(&origin, &text, "Accept-Encoding: gzip\r\n");
        let mut stream = connect(&origin);
        write!(stream, "HEAD {text} HTTP/1.1\r\nAccept-Encoding: gzip\r\n\r\n").unwrap();
        let head = read_head(&mut stream);
        assert_form(&head, GZIP, "HEAD");
        assert_eq!(head.line("content-length"), got.line("content-length"));
        write!(stream, "POST {text} HTTP/1.1\r\nAccept-Encoding: gzip\r\nContent-Length: 2\r\n\r\nab")
            .unwrap();
        assert!(read_one(&mut stream).body == got.body);
        // Nothing is behind them, and the bytes are counted as they were sent.
        write!(stream, "GET {} HTTP/1.1\r\n\r\n", path(&name(PAGE))).unwrap();
        let page = read_one(&mut stream);
        assert!(page.body == whole(&name(PAGE), &page));
        let sent = 2 * got.body.len() as u64;
        assert!([sent, sent + 1000].contains(&origin.tally().body_bytes), "the last may not be counted yet");
    });
}

/// One request's form has no effect on the next, even where they come together.
#[test]
fn requests_that_come_together_get_each_its_own_form() {
    within_patience(|| {
        let origin = of_world(world("think = \"const:1ms\""), 1);
        let line = |accept: &str| format!("GET {} HTTP/1.1\r\n{accept}\r\n", path(&name(TEXT)));
        let (plain, coded) = (line(""), line("Accept-Encoding: gzip\r\n"));
        let replies = ask(&origin, [&*coded, &plain, &coded, &plain].concat());
        let forms: Vec<_> = replies.iter().map(|reply| reply.line("content-encoding")).collect();
        assert_eq!(forms, [Some("gzip"), None, Some("gzip"), None]);
        assert!(unpacked(&replies[2]) == replies[1].body && replies[3].body == replies[1].body);
    });
}
