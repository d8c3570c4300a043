//! A server that closes its connection: with GOAWAY or without, at once, in the middle of a reply.

use super::frames::{
    Frames, OK, data, field, frame, goaway, headers, peer, reply, reset, station, target, three, tls_target,
};
use crate::support::{Authority, Peer, closed, errors, lists, run, totals, within_patience};
use bakeoff_loadgen::{GIVE_UP_AFTER, Reuse, Target};
use bakeoff_wire::h2::frame::{ACK, FrameKind};
use std::num::NonZeroU64;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

#[test]
fn streams_that_a_goaway_excludes_are_asked_again() {
    within_patience(|| {
        for code in [0, 11] {
            let (recording, peer) = three(move |frames, [first, second, _]| {
                frames.say([goaway(second, code), reply(first), reply(second)].concat());
                assert!(frames.next().is_none_or(|(head, _)| head.kind == FrameKind::Settings));
            });
            assert_eq!((errors(&recording), totals(&recording)), (vec![], (6, 6, 2)));
            let log = peer.log.lock().unwrap();
            let third: Vec<_> = log.iter().filter(|(_, path)| path == "/2/0").map(|(on, _)| *on).collect();
            assert_eq!(third, [0, 1]);
        }
    });
}

/// New requests wait until the last reply has come, and then go elsewhere.
#[test]
fn a_goaway_long_before_the_end() {
    within_patience(|| {
        let (recording, peer) = three(|frames, [first, second, third]| {
            frames.say([reply(first), goaway((1 << 31) - 1, 0), goaway(third, 0)].concat());
            frames.say([reply(second), reply(third)].concat());
            while frames.next().is_some() {}
        });
        assert_eq!((errors(&recording), totals(&recording)), (vec![], (6, 6, 2)));
        assert_eq!(peer.asked().len(), 6);
    });
}

/// However often it sends GOAWAY, as long as it answers something, nothing fails: not even a request that is turned
/// away many times.
#[test]
fn a_goaway_after_every_reply() {
    within_patience(|| {
        let peer = peer(|frames| {
            if let Some(stream) = frames.request() {
                frames.say([reply(stream), goaway(stream, 0)].concat());
                while frames.next().is_some() {}
            }
        });
        let recording = run(&mut station(&peer, 5), closed(&lists(5, 8), 1));
        assert_eq!((errors(&recording), totals(&recording)), (vec![], (40, 40, 40)));
    });
}

#[test]
fn a_goaway_at_once_on_every_connection_is_given_up() {
    within_patience(|| {
        for tls in [false, true] {
            let script = |talk: &mut crate::support::Talk| {
                let Some(mut frames) = Frames::greet(talk, &[]) else { return };
                frames.say(goaway(0, 0));
                while frames.next().is_some() {}
            };
            let authority = Authority::new("one");
            let (peer, target) = if tls {
                let peer = Peer::tls_speaking(&authority, &[b"h2"], script);
                let target = tls_target(&peer, &authority, 3);
                (peer, target)
            } else {
                let peer = Peer::new(script);
                let target = target(&peer, 3);
                (peer, target)
            };
            let mut station = crate::Station::new(target, 1, Vec::new()).unwrap();
            let recording = run(&mut station, closed(&lists(3, 1_000), 1));
            assert!(recording.gave_up);
            let requests = recording.counters.requests;
            let tried = u64::from(GIVE_UP_AFTER);
            assert!((tried..tried + 3).contains(&requests), "{:?}", errors(&recording));
            assert!(peer.connections() as u64 <= 2 * requests + 2);
        }
    });
}

#[test]
fn an_end_without_a_word() {
    within_patience(|| {
        // Before anything was answered: failures. In the middle of a reply: truncated.
        let (recording, _) = three(|frames, _| frames.talk.end_sending());
        assert_eq!((errors(&recording), totals(&recording)), (vec![("closed-early", 3)], (6, 3, 2)));
        let (recording, _) = three(|frames, [_, second, _]| {
            frames.say([headers(second, OK, false), data(second, b"hel", false)].concat());
            frames.talk.end_sending();
        });
        let expected = vec![("closed-early", 2), ("truncated", 1)];
        assert_eq!((errors(&recording), totals(&recording)), (expected, (6, 3, 2)));
        // After a whole reply, requests of which nothing has come are sent again, as over HTTP/1.1.
        let (recording, _) = three(|frames, [first, second, _]| {
            frames.say([reply(first), headers(second, OK, false)].concat());
            frames.talk.end_sending();
        });
        assert_eq!((errors(&recording), totals(&recording)), (vec![("truncated", 1)], (6, 5, 2)));
    });
}

#[test]
fn an_end_inside_a_frame() {
    within_patience(|| {
        for cut in [1, 9, 12] {
            let (recording, _) = three(move |frames, [first, ..]| {
                let head = [OK, &field(b"content-length", b"5")].concat();
                frames.say(&headers(first, &head, false)[..cut]);
                frames.talk.end_sending();
            });
            assert_eq!((errors(&recording), totals(&recording)), (vec![("closed-early", 3)], (6, 3, 2)));
        }
    });
}

#[test]
fn a_reset_of_the_connection() {
    within_patience(|| {
        let (recording, _) = three(|frames, [_, second, _]| {
            frames.say(headers(second, OK, false));
            frames.talk.reset();
        });
        assert_eq!((errors(&recording), totals(&recording)), (vec![("reset", 3)], (6, 3, 2)));
    });
}

#[test]
fn an_end_by_tls_inside_a_reply() {
    within_patience(|| {
        let authority = Authority::new("one");
        let peer = Peer::tls_speaking(&authority, &[b"h2"], |talk| {
            let Some(mut frames) = Frames::greet(talk, &[]) else { return };
            if frames.talk.number == 0 {
                let Some([first, ..]) = frames.requests::<3>() else { return };
                frames.say([headers(first, OK, false), data(first, b"hel", false)].concat());
                frames.talk.notify_close();
                while frames.next().is_some() {}
            }
            frames.serve();
        });
        let mut station = crate::Station::new(tls_target(&peer, &authority, 3), 1, Vec::new()).unwrap();
        let recording = run(&mut station, closed(&lists(3, 2), 1));
        let expected = vec![("closed-early", 2), ("truncated", 1)];
        assert_eq!((errors(&recording), totals(&recording)), (expected, (6, 3, 2)));
    });
}

/// A server's frame between two jobs is answered: with TLS, a lost answer would be the end.
#[test]
fn a_ping_between_jobs_is_answered() {
    within_patience(|| {
        let authority = Authority::new("one");
        let (said, pinged) = channel();
        let (asks, ask) = channel::<()>();
        let ask = Mutex::new(ask);
        let answered = Arc::new(Mutex::new(false));
        let seen = answered.clone();
        let peer = Peer::tls_speaking(&authority, &[b"h2"], move |talk| {
            let Some(mut frames) = Frames::greet(talk, &[]) else { return };
            let Some(first) = frames.request() else { return };
            frames.say(reply(first));
            ask.lock().unwrap().recv().unwrap();
            frames.say(frame(FrameKind::Ping, 0, 0, &[3; 8]));
            said.send(()).unwrap();
            while let Some((head, _)) = frames.next() {
                match head.kind {
                    FrameKind::Ping if head.has(ACK) => *seen.lock().unwrap() = true,
                    FrameKind::Headers => frames.say(reply(head.stream)),
                    _ => {}
                }
            }
        });
        let mut station = crate::Station::new(tls_target(&peer, &authority, 1), 1, Vec::new()).unwrap();
        assert_eq!(totals(&run(&mut station, closed(&lists(1, 1), 1))), (1, 1, 1));
        asks.send(()).unwrap();
        pinged.recv().unwrap();
        assert_eq!(totals(&run(&mut station, closed(&lists(1, 3), 1))), (3, 3, 0));
        assert!(*answered.lock().unwrap());
    });
}

/// A limit of requests for a connection counts streams that failed, too, and leaves nothing waiting.
#[test]
fn a_connection_that_has_carried_all_it_should_is_replaced() {
    within_patience(|| {
        for fails in [false, true] {
            let peer = peer(move |frames| {
                let mut count = 0;
                while let Some(stream) = frames.request() {
                    count += 1;
                    frames.say(if fails && count == 4 { reset(stream, 2) } else { reply(stream) });
                }
            });
            let reuse = Reuse::UpTo(NonZeroU64::new(4).unwrap());
            let mut station =
                crate::Station::new(Target { reuse, ..target(&peer, 3) }, 1, Vec::new()).unwrap();
            let recording = run(&mut station, closed(&lists(3, 10), 1));
            // 30 requests in fours: seven whole connections, and one with two.
            let failed = if fails { 7 } else { 0 };
            assert_eq!(totals(&recording), (30, 30 - failed, 8), "{:?}", errors(&recording));
            let log = peer.log.lock().unwrap();
            for connection in 0..8 {
                let carried = log.iter().filter(|(number, _)| *number == connection).count();
                assert_eq!(carried, if connection < 7 { 4 } else { 2 });
            }
        }
        let peer = peer(|frames| frames.serve());
        let single = Target { reuse: Reuse::Never, ..target(&peer, 3) };
        let mut station = crate::Station::new(single, 1, Vec::new()).unwrap();
        assert_eq!(totals(&run(&mut station, closed(&lists(3, 5), 1))), (15, 15, 15));
    });
}
