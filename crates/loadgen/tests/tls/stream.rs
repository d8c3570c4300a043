//! Bytes after the handshake: in any pieces, to the end and beyond it.

use crate::support::{Holder, Pair, client, shake};
use bakeoff_loadgen::Versions;
use bakeoff_meter::ErrorClass;
use std::sync::Arc;

const VERSIONS: [Versions; 2] = [Versions::Tls12, Versions::Tls13];

fn pair(versions: Versions) -> Pair {
    let holder = Holder::new();
    shake(&mut client(&holder.options().versions(versions), 1), &Arc::new(holder.server())).unwrap()
}

fn numbered(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 7 + i / 251) as u8).collect()
}

#[test]
fn one_byte_at_a_time_from_the_first_on() {
    let holder = Holder::new();
    let server = Arc::new(holder.server());
    for versions in VERSIONS {
        let session = client(&holder.options().versions(versions), 1).session().unwrap();
        let mut pair = Pair::new(session, &server);
        pair.carry_in(1).unwrap();
        assert!(pair.progress.established);
        let body = numbered(40_000);
        pair.say(&body, 1).unwrap();
        assert!(pair.heard == body);
    }
}

#[test]
fn replies_of_any_size_in_pieces_of_any_size() {
    for versions in VERSIONS {
        let mut pair = pair(versions);
        for (size, piece) in [
            (0, 1),
            (1, 5),
            (13_312, 4096),
            (16_384, 16_389),
            (16_385, 21),
            (300_000, 65_536),
            (70_000, 16_406),
        ] {
            pair.heard.clear();
            let body = numbered(size);
            pair.say(&body, piece).unwrap();
            assert!(pair.heard == body, "{size} in pieces of {piece}");
        }
    }
}

#[test]
fn requests_of_any_size_reach_the_server() {
    for versions in VERSIONS {
        let mut pair = pair(versions);
        for size in [0, 1, 200, 16_384, 16_385, 1_000_000] {
            pair.asked.clear();
            let body = numbered(size);
            pair.ask(&body);
            assert!(pair.asked == body && pair.server_error.is_none(), "{size}");
        }
    }
}

#[test]
fn nothing_can_be_asked_before_the_handshake_is_over() {
    let holder = Holder::new();
    let mut session = client(&holder.options(), 1).session().unwrap();
    let mut out = Vec::new();
    assert_eq!(session.write(b"early", &mut out), Err(ErrorClass::SendFailed));
    assert!(session.is_handshaking() && session.kind().is_none() && session.description().is_none());
}

#[test]
fn the_end_is_told_with_the_last_bytes_and_nothing_counts_after_it() {
    for versions in VERSIONS {
        let mut pair = pair(versions);
        pair.server.send_close_notify();
        let notify = pair.server_output();
        let mut pair = self::pair(versions);
        assert!(!pair.progress.ended);
        std::io::Write::write_all(&mut pair.server.writer(), b"last").unwrap();
        pair.server.send_close_notify();
        pair.carry().unwrap();
        assert_eq!(
            (&pair.heard[..], pair.progress.ended, pair.client.has_ended()),
            (&b"last"[..], true, true)
        );
        pair.give_client(&notify).unwrap();
        pair.give_client(b"no record at all").unwrap();
        assert_eq!(pair.heard, b"last");
        // Its own half is still open.
        pair.ask(b"one more");
        assert_eq!(pair.asked, b"one more");
    }
}

#[test]
fn who_takes_the_bytes_can_refuse_them() {
    let mut pair = pair(Versions::Tls13);
    std::io::Write::write_all(&mut pair.server.writer(), b"surplus").unwrap();
    let bytes = pair.server_output();
    let refused = pair.client.receive(&bytes, &mut |_| Err(ErrorClass::Surplus));
    assert_eq!(refused, Err(ErrorClass::Surplus));
}

#[test]
fn tickets_are_no_reply() {
    let holder = Holder::new();
    let server = Arc::new(holder.server());
    let mut pair = Pair::new(client(&holder.options(), 1).session().unwrap(), &server);
    let mut pieces = 0;
    loop {
        let mut out = Vec::new();
        pair.client.take_output(&mut out);
        pair.give_server(&out);
        let back = pair.server_output();
        if out.is_empty() && back.is_empty() {
            break;
        }
        pair.client
            .receive(&back, &mut |_| {
                pieces += 1;
                Ok(())
            })
            .unwrap();
    }
    assert!(!pair.client.is_handshaking());
    assert_eq!(pieces, 0);
}

#[test]
fn new_keys_in_the_middle_are_taken_up_and_answered() {
    let mut pair = pair(Versions::Tls13);
    for _ in 0..3 {
        pair.server.refresh_traffic_keys().unwrap();
        pair.say(b"behind new keys ", usize::MAX).unwrap();
        pair.ask(b"mine too ");
    }
    assert_eq!(pair.heard, b"behind new keys behind new keys behind new keys ");
    assert_eq!((&pair.asked[..], pair.server_error), (&b"mine too mine too mine too "[..], None));
}

#[test]
fn clients_and_sessions_may_move_with_their_worker() {
    fn moves<T: Send>() {}
    moves::<bakeoff_loadgen::TlsClient>();
    moves::<bakeoff_loadgen::TlsSession>();
}
