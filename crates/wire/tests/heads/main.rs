//! Heads of replies: our reader and `httparse` give the same result, whatever the bytes and the pieces.

mod oracle;

use bakeoff_wire::http1::{MAX_HEAD_BYTES, MAX_HEADERS, ReplyError};
use proptest::collection::vec;
use proptest::prelude::*;

/// As servers send them, and a few that are odd but right.
const HEADS: [&[u8]; 11] = [
    b"HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Sun, 22 Nov 2026 11:00:00 GMT\r\n\
      Content-Type: application/octet-stream\r\nContent-Length: 1000\r\n\
      Last-Modified: Sun, 22 Nov 2026 10:00:00 GMT\r\nConnection: keep-alive\r\n\
      ETag: \"6921a1b2-3e8\"\r\nAccept-Ranges: bytes\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nDate: Sun, 22 Nov 2026 11:00:00 GMT\r\nServer: Apache/2.4.62 (Debian)\r\n\
      ETag: W/\"3e8-5f\"\r\nContent-Length: 1000\r\nKeep-Alive: timeout=5, max=100\r\n\
      Connection: Keep-Alive\r\nContent-Type: text/html; charset=utf-8\r\n\r\n",
    b"HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\
      Strict-Transport-Security: max-age=63072000; includeSubDomains; preload\r\n\
      X-Amz-Id-2: aGVsbG8_+/=\r\nP3P: CP=\"NOI\"\r\nx_under.score~: \t\xc3\xa9t\xc3\xa9\t \r\n\r\n",
    b"HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\ncontent-length:7\r\n\r\n",
    b"HTTP/1.0 200 OK\r\nCONNECTION: foo, keep-alive\r\nCONTENT-LENGTH: 5, 5\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
    b"\r\n\n\r\nHTTP/1.1 200\nContent-Length: 2\nX:\nY: \t\n\n",
    b"HTTP/1.1 204 \r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nVary: Accept-Encoding\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: x\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n",
];

fn check(pieces: &[&[u8]]) {
    for to_head in [false, true] {
        let (ours, theirs) = (oracle::ours(pieces, to_head), oracle::httparse(pieces, to_head));
        assert_eq!(
            ours,
            theirs,
            "{:?}",
            pieces.iter().map(|piece| piece.escape_ascii().to_string()).collect::<Vec<_>>()
        );
    }
}

/// At once, and byte by byte.
fn check_both_ways(bytes: &[u8]) {
    check(&[bytes]);
    check(&bytes.chunks(1).collect::<Vec<_>>());
}

#[test]
fn heads_of_servers_are_read() {
    for head in &HEADS[..9] {
        assert!(matches!(oracle::ours(&[head], false), Ok(Some(_))), "{}", head.escape_ascii());
    }
    assert_eq!(oracle::ours(&[HEADS[9]], false), Err(ReplyError::Upgrade));
    assert_eq!(oracle::ours(&[HEADS[10]], false), Err(ReplyError::Length), "the first that is wrong");
}

#[test]
fn every_prefix_comes_to_the_same() {
    for head in HEADS {
        for end in 1..=head.len() {
            check_both_ways(&head[..end]);
            check(&[&head[..end], &head[end..]]);
            check(&[&[&head[..end], b"and a body that is longer than a block"].concat()]);
        }
    }
}

#[test]
fn every_byte_at_every_place_comes_to_the_same() {
    for head in HEADS {
        for place in 0..head.len() {
            for byte in 0..=255 {
                let mut bytes = head.to_vec();
                bytes[place] = byte;
                check(&[&bytes]);
                bytes.insert(place, head[place]);
                check(&[&bytes]);
            }
        }
    }
}

#[test]
fn limits_are_where_they_were() {
    for lines in [MAX_HEADERS - 1, MAX_HEADERS, MAX_HEADERS + 1, MAX_HEADERS + 2] {
        for end in ["\r\n", "", "\0\r\n", "\n", " folded\r\n\r\n"] {
            let bytes = format!("HTTP/1.1 200 OK\r\n{}{end}", "a: b\r\n".repeat(lines)).into_bytes();
            check_both_ways(&bytes);
            check(&[&bytes[..bytes.len() - end.len()], end.as_bytes()]);
        }
    }
    for more in MAX_HEAD_BYTES - 30..MAX_HEAD_BYTES + 3 {
        let bytes = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "a".repeat(more)).into_bytes();
        check(&[&bytes]);
        check(&[&bytes[..100], &bytes[100..]]);
        check(&[&bytes[..100], &bytes[100..more], &bytes[more..]]);
    }
}

/// A head that dribbles in by empty lines costs no more attempts than it has lines, and each goes on
/// where the last one ended: begun anew each time, this is some billion bytes to look at.
#[test]
fn a_head_that_dribbles_in_is_read_once() {
    let bytes = vec![b'\n'; MAX_HEAD_BYTES];
    assert_eq!(oracle::ours(&bytes.chunks(1).collect::<Vec<_>>(), false), Ok(None));
}

/// Parts of heads, in an order that need not make sense.
fn parts() -> impl Strategy<Value = Vec<u8>> {
    let part = prop::sample::select(vec![
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.0 ",
        "HTTP/1.",
        "304",
        "\r\n",
        "\n",
        "\r",
        "\r\n\r\n",
        ":",
        ": ",
        " ",
        "\t",
        "Content-Length",
        "content-length: 12\r\n",
        "Transfer-Encoding: chunked\r\n",
        "transfer-encoding",
        "Connection",
        "connection: close",
        "keep-alive",
        "close",
        ",",
        "7",
        "007",
        "18446744073709551616",
        "\0",
        "\x7f",
        "é",
        "abcdefghijklmnop",
        "Content-Encoding: gzip\r\n",
        "content-encoding: x-GZIP, identity\r\n",
        "CONTENT-ENCODING: br\n",
        "X-Y_z.0",
        "HTTP/1.1 100 Continue\r\n\r\n",
    ]);
    let start = prop::sample::select(vec!["", "HTTP/1.1 200 OK\r\n", "HTTP/1.0 200\n"]);
    (start, vec(part, 0..24)).prop_map(|(start, parts)| (start.to_owned() + &parts.concat()).into_bytes())
}

/// A head with some bytes replaced, put in or taken out.
fn mutation() -> impl Strategy<Value = Vec<u8>> {
    let change = (any::<prop::sample::Index>(), 0..3_u8, any::<u8>());
    (prop::sample::select(HEADS.to_vec()), vec(change, 0..6)).prop_map(|(head, changes)| {
        let mut bytes = head.to_vec();
        for (place, kind, byte) in changes {
            let place = place.index(bytes.len());
            match kind {
                0 => bytes[place] = byte,
                1 => bytes.insert(place, byte),
                _ => drop(bytes.remove(place)),
            }
        }
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn arbitrary_bytes_come_to_the_same(bytes in vec(any::<u8>(), 1..300)) {
        check_both_ways(&bytes);
    }

    #[test]
    fn parts_of_heads_come_to_the_same(bytes in parts(), cut in any::<prop::sample::Index>()) {
        if !bytes.is_empty() {
            check_both_ways(&bytes);
            let (start, end) = bytes.split_at(cut.index(bytes.len()));
            if !start.is_empty() {
                check(&[start, end]);
            }
        }
    }

    #[test]
    fn mutated_heads_come_to_the_same(bytes in mutation(), cuts in vec(any::<prop::sample::Index>(), 0..4)) {
        check_both_ways(&bytes);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        cuts.dedup();
        check(&cuts.windows(2).map(|ends| &bytes[ends[0]..ends[1]]).collect::<Vec<_>>());
    }
}
