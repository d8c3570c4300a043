//! Random replies in random pieces: the recording is always the same.

use crate::support::{Authority, Peer, Talk, closed, expecting, one_robot, run};
use bakeoff_content::{Body, ObjectId};
use bakeoff_workload::Expect;
use proptest::prelude::*;
use std::sync::LazyLock;

/// One reply of a script.
#[derive(Clone, Debug)]
struct Reply {
    size: usize,
    /// Chunk size of the chunked coding; `None`: with a length.
    chunk: Option<usize>,
    interim: bool,
    /// The server closes behind it and says so.
    last: bool,
    /// Sizes of the pieces in which it is sent, used in turn.
    pieces: Vec<usize>,
}

impl Reply {
    fn head(&self) -> String {
        let framing = match self.chunk {
            Some(_) => "Transfer-Encoding: chunked".to_owned(),
            None => format!("Content-Length: {}", self.size),
        };
        let close = if self.last { "Connection: close\r\n" } else { "" };
        format!("HTTP/1.1 200 OK\r\n{close}{framing}\r\n\r\n")
    }

    fn body(&self) -> Body {
        Body::new(ObjectId::of_name(b"/x"), self.size as u64)
    }

    fn bytes(&self) -> Vec<u8> {
        let mut body = Vec::new();
        self.body().write_to(&mut body).unwrap();
        let mut bytes = if self.interim { b"HTTP/1.1 103 Early Hints\r\n\r\n".to_vec() } else { Vec::new() };
        bytes.extend_from_slice(self.head().as_bytes());
        match self.chunk {
            None => bytes.extend_from_slice(&body),
            Some(size) => {
                for chunk in body.chunks(size) {
                    bytes.extend_from_slice(format!("{:X}\r\n", chunk.len()).as_bytes());
                    bytes.extend_from_slice(chunk);
                    bytes.extend_from_slice(b"\r\n");
                }
                bytes.extend_from_slice(b"0\r\n\r\n");
            }
        }
        bytes
    }

    fn say(&self, talk: &mut Talk) {
        let bytes = self.bytes();
        let mut rest = bytes.as_slice();
        for piece in self.pieces.iter().cycle() {
            let (now, later) = rest.split_at((*piece).min(rest.len()));
            talk.say(now);
            rest = later;
            if rest.is_empty() {
                return;
            }
        }
    }
}

fn reply() -> impl Strategy<Value = Reply> {
    let size = prop_oneof![0..2_000_usize, 60_000..140_000_usize];
    let chunk = proptest::option::of(1_000..50_000_usize);
    let pieces = proptest::collection::vec(prop_oneof![1..40_usize, 1_000..70_000_usize], 1..5);
    (size, chunk, any::<bool>(), proptest::bool::weighted(0.2), pieces).prop_map(
        |(size, chunk, interim, last, mut pieces)| {
            if pieces.iter().sum::<usize>() < size / 50 {
                pieces.push(size / 10); // not thousands of packets
            }
            Reply { size, chunk, interim, last, pieces }
        },
    )
}

fn check(replies: &[Reply], authority: Option<&Authority>) -> Result<(), TestCaseError> {
    let script = replies.to_vec();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let play = move |talk: &mut Talk| {
        while talk.request().is_some() {
            let reply = &script[next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)];
            reply.say(talk);
            if reply.last {
                return;
            }
        }
    };
    let (peer, mut station);
    match authority {
        None => {
            peer = Peer::new(play);
            station = peer.station();
        }
        Some(authority) => {
            peer = Peer::tls(authority, play);
            station = peer.tls_station(authority);
        }
    }
    let slice = one_robot(replies.iter().map(|reply| expecting("/x", Expect::Body(reply.body()))).collect());
    let counters = run(&mut station, closed(&slice, 1)).counters;
    let bytes: usize = replies.iter().map(|reply| reply.head().len() + reply.size).sum();
    let connections = 1 + replies[..replies.len() - 1].iter().filter(|reply| reply.last).count();
    prop_assert_eq!(&counters.errors, &Default::default());
    prop_assert_eq!((counters.replies, counters.bytes), (replies.len() as u64, bytes as u64));
    prop_assert_eq!(counters.connections, connections as u64);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_pieces_give_the_same_totals(replies in proptest::collection::vec(reply(), 1..6)) {
        check(&replies, None)?;
    }

    #[test]
    fn any_pieces_over_tls_give_the_same_totals(replies in proptest::collection::vec(reply(), 1..6)) {
        static AUTHORITY: LazyLock<Authority> = LazyLock::new(|| Authority::new("one"));
        check(&replies, Some(&AUTHORITY))?;
    }
}
