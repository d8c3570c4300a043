//! Our client against our server, in pieces of any size.

use crate::support::{Seen, feed_client};
use bakeoff_wire::h2::{ClientConnection, SendGrant, ServerConnection, ServerStep, Settings, StreamId};
use proptest::prelude::*;

/// A server that answers each path `/N` with N bytes.
struct Origin {
    server: ServerConnection,
    /// Replies that are not all sent: stream, and bytes left.
    open: Vec<(StreamId, u64)>,
}

impl Origin {
    /// Takes bytes of the client; returns its own.
    fn serve(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut rest = bytes;
        loop {
            match self.server.step(rest).unwrap() {
                ServerStep::More => break,
                ServerStep::Request { used, stream, head, end } => {
                    assert!(end);
                    let length = std::str::from_utf8(&head.path[1..]).unwrap().to_owned();
                    let fields = [(&b"content-length"[..], length.as_bytes()), (b"server", b"origin")];
                    assert!(self.server.respond(stream, 200, fields, false));
                    self.open.push((stream, length.parse().unwrap()));
                    rest = &rest[used..];
                }
                other => panic!("{other:?}"),
            }
        }
        let mut sent = Vec::new();
        self.open.retain_mut(|(stream, left)| {
            loop {
                sent.append(self.server.output());
                let Some(SendGrant { head, len, end }) = self.server.data(*stream, *left, true) else {
                    return true;
                };
                sent.extend(head);
                sent.resize(sent.len() + len as usize, stream.number() as u8);
                *left -= u64::from(len);
                if end {
                    return false;
                }
            }
        });
        sent.append(self.server.output());
        sent
    }
}

/// Requests bodies of these lengths, at most `at_once` at a time; returns the bytes that came, by stream.
fn converse(settings: Settings, lengths: &[u32], at_once: usize, piece: usize) -> Vec<(u32, u64)> {
    let mut client = ClientConnection::new(settings);
    let mut origin = Origin { server: ServerConnection::new(Settings::default()), open: Vec::new() };
    let mut seen = Vec::new();
    let mut next = lengths.iter();
    let mut turns = 0;
    loop {
        while client.open_streams() < at_once && client.may_open() {
            let Some(length) = next.next() else { break };
            let path = format!("/{length}");
            client.request(b"GET", b"http", b"localhost", path.as_bytes(), [(&b"a"[..], &b"b"[..])]).unwrap();
        }
        if client.open_streams() == 0 {
            break;
        }
        turns += 1;
        assert!(turns < 100_000, "nothing moves any more");
        let asked = std::mem::take(client.output());
        let sent: Vec<u8> = asked.chunks(piece).flat_map(|piece| origin.serve(piece)).collect();
        for piece in sent.chunks(piece) {
            feed_client(&mut client, piece, &mut seen);
        }
    }
    let mut bodies = std::collections::BTreeMap::new();
    for event in seen {
        match event {
            Seen::Head(stream, head, _) => {
                assert_eq!(head.status, 200);
                assert!(bodies.insert(stream, 0).is_none());
            }
            Seen::Body(stream, bytes, _) => {
                assert!(bytes.iter().all(|&byte| byte == stream as u8));
                *bodies.get_mut(&stream).unwrap() += bytes.len() as u64;
            }
            other => panic!("{other:?}"),
        }
    }
    bodies.into_iter().collect()
}

fn expected(lengths: &[u32]) -> Vec<(u32, u64)> {
    lengths.iter().enumerate().map(|(index, &length)| (2 * index as u32 + 1, u64::from(length))).collect()
}

#[test]
fn bodies_larger_than_every_window_arrive() {
    let lengths = [0, 1, 200_000, 16_384, 16_385, 65_535, 65_536, 300_000];
    for piece in [usize::MAX, 1, 1_000] {
        assert_eq!(converse(Settings::default(), &lengths, 3, piece), expected(&lengths));
    }
    let wide = Settings { initial_window: 1 << 30, connection_window: 1 << 30, ..Settings::default() };
    assert_eq!(converse(wide, &lengths, 8, usize::MAX), expected(&lengths));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn whatever_the_windows_tables_and_pieces_are(
        lengths in prop::collection::vec(prop_oneof![0_u32..100, 0_u32..20_000], 1..40),
        at_once in 1_usize..200,
        piece in 1_usize..5_000,
        initial_window in 1_u32..30_000,
        header_table in 0_u32..10_000,
    ) {
        let settings = Settings { initial_window, header_table, ..Settings::default() };
        let lengths: Vec<u32> = lengths.into_iter().map(|length| length.min(initial_window.saturating_mul(200))).collect();
        prop_assert_eq!(converse(settings, &lengths, at_once, piece), expected(&lengths));
    }
}
