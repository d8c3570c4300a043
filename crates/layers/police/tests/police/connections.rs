//! Whole connections: a corpus of evasions, and streams cut anywhere against a server's own reading of them.

use crate::heads::slow;
use crate::{flow, police, segment, syn};
use bakeoff_layers_police::reference::{PacketDecision, PacketKind, PacketOutcome, Police};
use bakeoff_layers_police::rules::table::RuleId;
use proptest::prelude::*;

const RULES: &str = "[[request]]\npath = \"/noaccess\"\nrefuse = \"reset\"\n";
const R: &str = " HTTP/1.1\r\nHost: x\r\n\r\n";

/// Decisions on the segments of a connection, which follow each other.
fn told(police: &mut Police, mut sequence: u32, first: bool, parts: &[&[u8]]) -> Vec<PacketDecision> {
    parts
        .iter()
        .enumerate()
        .map(|(index, part)| {
            let mut segment = segment(sequence, part);
            segment.first = first && index == 0;
            sequence = sequence.wrapping_add(part.len() as u32);
            police.segment(0, &segment)
        })
        .collect()
}

/// Kinds of these segments, for sequence numbers that begin anywhere, and wrap.
fn seen(first: bool, parts: &[&str]) -> Vec<PacketKind> {
    let parts: Vec<&[u8]> = parts.iter().map(|part| part.as_bytes()).collect();
    let from =
        |sequence| told(&mut police(RULES), sequence, first, &parts).iter().map(|told| told.seen).collect();
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
        assert_eq!(seen(true, &[&format!("GET {target}{R}")]), [Odd], "{target}");
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
        (&["get /noaccess HTTP/1.1\r\n\r\n"], &[Odd]),
        (&["GET\t/noaccess HTTP/1.1\r\n\r\n"], &[Odd]),
        (&["GET /noaccess\r\n"], &[Odd]),
        (&["GET /a HTTP/1.1\nHost: x\n\nGET /noaccess HTTP/1.1\n\n"], &[Odd]),
        (&["PRI * HTTP/2.0\r\n\r\n", "frames"], &[Odd, Odd]),
        (&["GET /a HTTP/1.1\r\nContent-Length: 5\r\n\r\n", &format!("12345{whole}")], &[Odd, Odd]),
        // A body is no head, whatever it looks like; data behind it is one.
        (&[&post(60), &format!("{whole:.<60}"), &whole], &[Plain, Body, Plain]),
        (&[&post(30), &whole[..20], &whole[..10], &ok], &[Plain, Body, Body, Plain]),
        (&[&post(3), &format!("123{whole}"), "x"], &[Plain, Odd, Odd]),
        (&[&format!("{}123{whole}", post(3))], &[Odd]),
        (&[&format!("{}123", post(3)), &whole], &[Plain, Plain]),
        // Without a known end: data that looks like a head may be one.
        (&[chunked, "5\r\nabcde\r\n", &whole, "x"], &[Plain, Rest, Odd, Rest]),
        // A body that claims to begin another one is not believed.
        (&[chunked, &post(999_999), &whole], &[Plain, Odd, Odd]),
        (&["POST /ok HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 0\r\n\r\n", &whole], &[Plain, Odd]),
        (&["POST /ok HTTP/1.1\r\nContent-Length: 1234567890\r\n\r\n", &whole], &[Plain, Odd]),
    ];
    for (parts, expected) in cases {
        assert_eq!(seen(true, parts), *expected, "{parts:#?}");
    }
    assert_eq!(seen(false, &["", "what comes when nothing is known", &whole]), [Rest, Rest, Plain]);
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
fn a_connection_becomes_unseen_once() {
    let chunked: &[u8] = b"POST /ok HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    let unseen: Vec<bool> = told(&mut police(RULES), u32::MAX - 20, true, &[chunked, chunked, b"G", chunked])
        .iter()
        .map(|told| told.unseen)
        .collect();
    assert_eq!(unseen, [true, false, false, false]);
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
    /// connection was reported as unseen; and no part of a body is judged as a plain head.
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
        let told = told(&mut police(RULES), u32::MAX - 20, true, &parts);
        let unseen = told.iter().position(|told| told.unseen).unwrap_or(parts.len());
        for (index, (told, part)) in told.iter().zip(&parts).enumerate() {
            let range = ends[index]..ends[index + 1];
            let own = begins.iter().position(|begin| *begin == range.start);
            let inside = begins.iter().filter(|begin| range.contains(begin)).count();
            if told.seen == PacketKind::Plain {
                prop_assert!(own.is_some() && (inside == 1 || told.unseen), "judged as a head: {:?}", String::from_utf8_lossy(part));
                let (path, ..) = slow(part).unwrap_or_else(|| ("/c".to_owned(), 0, 0));
                prop_assert_eq!(told.rule, (path == "/noaccess").then_some(RuleId(0)));
            } else if inside > 0 && index <= unseen {
                prop_assert_eq!(told.seen, PacketKind::Odd, "slipped through: {:?}", String::from_utf8_lossy(part));
            }
        }
    }
}
