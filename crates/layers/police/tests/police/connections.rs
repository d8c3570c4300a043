//! Whole connections: a corpus of evasions, and streams cut anywhere against a server's own reading of them.

use crate::heads::slow;
use crate::{flow, police, segment, syn};
use bakeoff_layers_police::reference::{
    PacketDecision, PacketKind, PacketOutcome, Police, Reason, TcpSegment,
};
use bakeoff_layers_police::rules::table::{Refuse, RuleId};
use proptest::prelude::*;

const RULES: &str = "[[request]]\npath = \"/noaccess\"\nrefuse = \"reset\"\n";
const R: &str = " HTTP/1.1\r\nHost: x\r\n\r\n";

/// Decisions on the segments of a connection, which follow each other.
fn told(police: &mut Police, mut sequence: u32, parts: &[&[u8]]) -> Vec<PacketDecision> {
    let mut one = |part: &&[u8]| {
        let decision = police.segment(0, &segment(sequence, part));
        sequence = sequence.wrapping_add(part.len() as u32);
        decision
    };
    parts.iter().map(&mut one).collect()
}

/// Kinds of these segments, for sequence numbers that begin anywhere, and wrap.
fn seen(parts: &[&str]) -> Vec<PacketKind> {
    let parts: Vec<&[u8]> = parts.iter().map(|part| part.as_bytes()).collect();
    let from = |sequence| told(&mut police(RULES), sequence, &parts).iter().map(|told| told.seen).collect();
    let all: Vec<Vec<PacketKind>> =
        [0, 20, 60, 80, 110].map(|before| from(0_u32.wrapping_sub(before))).to_vec();
    assert!(all.windows(2).all(|two| two[0] == two[1]), "{all:?}");
    all[0].clone()
}

#[test]
fn no_way_around_is_anything_but_odd() {
    use PacketKind::{Body, Odd, Plain, Rest};
    let whole = format!("GET /noaccess{R}");
    let ok = format!("GET /ok{R}");
    let post = |length: usize| format!("POST /ok HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n");
    let long = |method: &str| format!("{method} /ok HTTP/1.1\r\nCookie: {}\r\n", "c".repeat(300));
    let chunked = "POST /ok HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    let odd = [
        "/%6eoaccess",
        "//noaccess",
        "/./noaccess",
        "/x/../noaccess",
        "http://x/noaccess",
        "/noaccess#x",
        "/noaccess;x",
        "/x\\..\\noaccess",
        "*",
        "",
    ];
    for target in odd {
        assert_eq!(seen(&[&format!("GET {target}{R}")]), [Odd], "{target}");
    }
    let cases: &[(&[&str], &[PacketKind])] = &[
        (&[&whole], &[Plain]),
        (&["G", &whole[1..]], &[Odd, Odd]),
        (&["GET /noac", &whole[9..]], &[Odd, Odd]),
        (&["GET /noaccess HTTP/1.1\r\n", "Host: x\r\n\r\n"], &[Odd, Odd]),
        (&[&ok, &whole], &[Plain, Plain]),
        (&[&format!("{ok}{whole}")], &[Odd]),
        (&[&ok, "\r\n", &whole], &[Plain, Odd, Odd]),
        (&[&ok, &format!("\n{whole}")], &[Plain, Odd]),
        // Any token is a method.
        (&["get /noaccess HTTP/1.1\r\n\r\n"], &[Plain]),
        (&[&ok, "G-T /noaccess HTTP/1.1\r\n\r\n"], &[Plain, Plain]),
        (&[&ok, " GET /noaccess HTTP/1.1\r\n\r\n"], &[Plain, Odd]),
        (&[&ok, "ABCDEFGHIJKLMNOP /noaccess HTTP/1.1\r\n\r\n"], &[Plain, Odd]),
        (&["GET\t/noaccess HTTP/1.1\r\n\r\n"], &[Odd]),
        (&["GET /noaccess\r\n"], &[Odd]),
        (&["GET /a HTTP/1.1\nHost: x\n\nGET /noaccess HTTP/1.1\n\n"], &[Odd]),
        // What cannot be read is not read from then on.
        (&["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "frames"], &[Rest, Rest]),
        // Go serves what comes behind this.
        (&["PRI * HTTP/2.0\r\nHost: x\r\n\r\n", &whole], &[Odd, Odd]),
        (&["\x16\x03\x01", &whole], &[Rest, Rest]),
        (&["GET /a HTTP/1.1\r\nUpgrade: websocket\r\n\r\n", &whole], &[Plain, Rest]),
        (&["GET /a HTTP/1.1\r\nContent-Length: 5\r\n\r\n", &format!("12345{whole}")], &[Odd, Odd]),
        // A body is no head, whatever it looks like; data behind it is one.
        (&[&post(60), &format!("{whole:.<60}"), &whole], &[Plain, Body, Plain]),
        (&[&post(30), &whole[..20], &whole[..10], &ok], &[Plain, Body, Body, Plain]),
        (&[&post(3), &format!("123{whole}"), "x"], &[Plain, Odd, Odd]),
        (&[&format!("{}123{whole}", post(3))], &[Odd]),
        (&[&format!("{}123", post(3)), &whole], &[Plain, Plain]),
        (&[chunked, "5\r\nabcde\r\n", &whole, "x"], &[Plain, Rest, Rest, Rest]),
        (&["POST /ok HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 0\r\n\r\n", &whole], &[Plain, Rest]),
        (&["POST /ok HTTP/1.1\r\nContent-Length: 1234567890\r\n\r\n", &whole], &[Plain, Rest]),
        // A long head, its length behind what is read at once, and one that its segment breaks off.
        (&[&format!("{long}Content-Length: 5\r\n\r\n12345", long = long("POST")), &whole], &[Plain, Plain]),
        (&[&format!("{}\r\n{whole}", long("GET"))], &[Odd]),
        (&[&long("GET"), "X: y\r\n\r\n", &whole], &[Plain, Rest, Plain]),
        (&[&long("GET"), &format!("X: y\r\n\r\n{whole}"), "x"], &[Plain, Odd, Odd]),
        (&[&long("GET"), "Content-Length: 5\r\n\r\n", "x"], &[Plain, Odd, Odd]),
    ];
    for (parts, expected) in cases {
        assert_eq!(seen(parts), *expected, "{parts:#?}");
    }
    assert_eq!(seen(&["", "what comes when nothing is known", &whole]), [Rest, Odd, Odd]);
}

#[test]
fn what_was_known_of_a_connection_is_forgotten_with_the_next() {
    let post = b"POST /ok HTTP/1.1\r\nContent-Length: 999999\r\n\r\n";
    let whole = format!("GET /noaccess{R}");
    let mut police = police(RULES);
    let refused = |police: &mut Police| {
        police.segment(0, &segment(100, whole.as_bytes())).outcome != PacketOutcome::Pass
    };
    police.segment(0, &segment(50, post));
    assert!(!refused(&mut police), "it is of the body");
    let mut again = syn("198.51.100.7");
    assert_eq!(again.flow, flow("198.51.100.7"));
    again.flow.source_port += 1;
    police.syn(0, &again);
    assert!(!refused(&mut police), "another connection begins");
    police.syn(0, &syn("198.51.100.7"));
    assert!(refused(&mut police));
}

#[test]
fn a_connection_becomes_unread_once() {
    let chunked: &[u8] = b"POST /ok HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    let unread = told(&mut police(RULES), u32::MAX - 20, &[chunked, chunked, b"G", chunked]);
    let unread: Vec<bool> = unread.iter().map(|told| told.unread.is_some()).collect();
    assert_eq!(unread, [true, false, false, false]);
}

#[test]
fn each_connection_that_becomes_unread_takes_a_token_and_is_reset_without_one() {
    let mut police = police("[unread]\nrate = \"1/h\"\n");
    let mut ask = |port, payload: &[u8]| {
        let mut segment = segment(0, payload);
        segment.flow.source_port = port;
        police.segment(0, &segment).refusal()
    };
    let upgrade = b"GET /a HTTP/1.1\r\nUpgrade: x\r\n\r\n";
    assert_eq!(ask(1, upgrade), None);
    assert_eq!(ask(2, b"\x16\x03\x01"), Some((Reason::Rate, Refuse::Reset)));
}

/// A segment of a server that waits for `next`, as it is seen.
fn seen_by(police: &mut Police, next: u32, sequence: u32, payload: &str) -> PacketKind {
    police.segment(0, &TcpSegment { next: Some(next), ..segment(sequence, payload.as_bytes()) }).seen
}

#[test]
fn a_segment_is_read_as_the_server_will_read_it() {
    let hidden = format!("GET /noaccess{R}");
    let of = |steps: &[(u32, u32, &str)]| {
        let mut police = police(RULES);
        let one =
            |(next, sequence, payload): &(u32, u32, &str)| seen_by(&mut police, *next, *sequence, payload);
        steps.iter().map(one).collect::<Vec<_>>()
    };
    use PacketKind::{Body, Odd, Plain, Rest};
    assert_eq!(of(&[(100, 99, &format!("x{hidden}"))]), [Plain], "the overlap is cut off");
    assert_eq!(of(&[(100, 90, "0123456789")]), [Rest], "sent again");
    assert_eq!(of(&[(100, 101, &hidden)]), [Odd], "what comes before it is not known");
    let post = "POST /ok HTTP/1.1\r\nContent-Length: 900\r\n\r\n";
    let from = 100 + post.len() as u32;
    assert_eq!(of(&[(100, 100, post), (100, from, &hidden)]), [Plain, Body], "both wait to be taken");
    assert_eq!(of(&[(100, 100, post), (100, 100, &hidden)]), [Plain, Plain], "the first was not taken");
    let other = format!("GET /ok{}{R}", "k".repeat(post.len() - 7 - R.len()));
    assert_eq!(of(&[(100, 100, post), (100, from, &hidden), (100, 100, &other)]), [Plain, Body, Odd]);
    assert_eq!(
        of(&[(100, 100, post), (100, from, &hidden), (100, 100, post)]),
        [Plain, Body, Plain],
        "the same"
    );
}

#[test]
fn what_is_of_no_connection_takes_nothing() {
    let mut police = police("[[request]]\npath = \"/a\"\nrate = \"1/h\"\n");
    let asked = format!("GET /a{R}");
    let stray = TcpSegment { next: None, ..segment(0, asked.as_bytes()) };
    assert!((0..9).all(|_| police.segment(0, &stray).seen == PacketKind::Rest));
    assert_eq!(police.segment(0, &segment(0, asked.as_bytes())).outcome, PacketOutcome::Pass);
}

/// Requests with their bytes, as a client within the rules of HTTP writes them, also chunked and pipelined.
fn requests() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let looks = || {
        prop::sample::select(
            &["", "x", "GET /noaccess HTTP/1.1\r\n\r\n", "POST /y HTTP/1.1\r\nContent-Length: 99\r\n\r\n"][..],
        )
    };
    let get = prop::sample::select(&["/ok", "/noaccess", "/a/b?c=%20", "/%6eoaccess", "//x"][..])
        .prop_map(|target| format!("GET {target}{R}"));
    let post =
        looks().prop_map(|body| format!("POST /p HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}", body.len()));
    let chunked = looks().prop_map(|body| {
        let chunk = if body.is_empty() { String::new() } else { format!("{:x}\r\n{body}\r\n", body.len()) };
        format!("POST /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}0\r\n\r\n")
    });
    let one = prop_oneof![4 => get, 2 => post, 1 => chunked].prop_map(String::into_bytes);
    prop::collection::vec(one, 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Wherever a stream is cut, the segment in which a request begins is judged by its own path, or is odd, or the
    /// connection was reported as unread; and no part of a body is judged as a plain head.
    #[test]
    fn no_request_slips_through_and_no_body_is_one(requests in requests(), cuts in prop::collection::vec(0.0_f64..1.0, 0..4), whole in any::<bool>()) {
        let mut begins = Vec::new();
        let stream: Vec<u8> = requests.iter().fold(Vec::new(), |mut all, request| { begins.push(all.len()); all.extend(request); all });
        let mut ends: Vec<usize> = cuts.iter().map(|cut| (cut * stream.len() as f64) as usize).collect();
        if whole {
            // Mostly as clients do: a request a segment.
            ends.truncate(1);
            ends.extend(&begins);
        }
        ends.extend([0, stream.len()]);
        ends.sort_unstable();
        ends.dedup();
        let parts: Vec<&[u8]> = ends.windows(2).map(|ends| &stream[ends[0]..ends[1]]).collect();
        let told = told(&mut police(RULES), u32::MAX - 20, &parts);
        let unread = told.iter().position(|told| told.unread.is_some()).unwrap_or(parts.len());
        for (index, (told, part)) in told.iter().zip(&parts).enumerate() {
            let range = ends[index]..ends[index + 1];
            let own = begins.iter().position(|begin| *begin == range.start);
            let inside = begins.iter().filter(|begin| range.contains(begin)).count();
            if told.seen == PacketKind::Plain {
                prop_assert!(own.is_some() && (inside == 1 || told.unread.is_some()), "judged as a head: {:?}", String::from_utf8_lossy(part));
                let (path, ..) = slow(part).unwrap_or_else(|| ("/c".to_owned(), 0, 0));
                prop_assert_eq!(told.rule, (path == "/noaccess").then_some(RuleId(0)));
            } else if inside > 0 && index <= unread {
                prop_assert_eq!(told.seen, PacketKind::Odd, "slipped through: {:?}", String::from_utf8_lossy(part));
            }
        }
    }
}
