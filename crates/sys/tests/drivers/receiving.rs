//! Receiving: bytes, ends and breaks are reported for their own connection, once, in order.

use crate::stage::{
    PATIENCE, Story, Told, accept, bytes_of, count, expect, expect_end, has, listener, on_a_stage, pattern,
    say, short,
};
use bakeoff_sys::driver::{ConnectionOptions, Slot};
use std::io::{ErrorKind, Write};
use std::net::Shutdown;
use std::time::Instant;

fn ended(story: &Story, slot: Slot) -> bool {
    has(story, slot, |told| matches!(told, Told::Ended))
}

fn over(story: &Story, slot: Slot) -> bool {
    has(story, slot, |told| matches!(told, Told::Ended | Told::Broken(_) | Told::NotSent(_)))
}

#[test]
fn interleaved_replies_find_their_slots() {
    on_a_stage(|mut stage| {
        let mut peers: Vec<_> =
            (0..50).map(|slot| stage.pair(slot, ConnectionOptions::default()).0).collect();
        for round in 0..20_u8 {
            for slot in 0..50_u8 {
                stage.driver.send(Slot::from(slot), &[slot, round]).unwrap();
            }
            stage.hand_over();
            for (slot, peer) in peers.iter_mut().enumerate().rev() {
                expect(peer, &[slot as u8, round]);
                say(peer, &[slot as u8]);
            }
            for peer in &mut peers {
                say(peer, &[round]);
            }
            let all = |story: &Story| (0..50).all(|slot| bytes_of(story, slot).len() >= 2);
            let story = stage.until(all);
            (0..50).for_each(|slot| assert_eq!(bytes_of(&story, slot), [slot as u8, round]));
        }
    });
}

#[test]
fn nothing_of_an_old_connection_is_told_of_the_new_one() {
    on_a_stage(|mut stage| {
        let (mut first, _) = stage.pair(7, ConnectionOptions::default());
        say(&mut first, b"old");
        stage.driver.close(7);
        let (mut second, story) = stage.pair(7, ConnectionOptions::default());
        assert!(story.is_empty(), "{story:?}");
        let _ = first.write(b"older"); // reset by now, mostly
        drop(first);
        say(&mut second, b"old too");
        stage.driver.wait(short(50)).unwrap(); // the driver holds an event of it
        stage.driver.close(7);
        let (mut third, story) = stage.pair(7, ConnectionOptions::default());
        assert!(story.is_empty(), "{story:?}");
        say(&mut third, b"new");
        let story = stage.until(|story| bytes_of(story, 7).len() >= 3);
        assert_eq!(bytes_of(&story, 7), b"new");
        assert!(stage.quiet().is_empty());
    });
}

#[test]
fn the_end_is_told_once_and_the_other_half_goes_on() {
    on_a_stage(|mut stage| {
        let (mut peer, _) = stage.pair(0, ConnectionOptions::default());
        say(&mut peer, b"bye");
        stage.until(|story| bytes_of(story, 0) == b"bye");
        peer.shutdown(Shutdown::Write).unwrap();
        let story = stage.until(|story| ended(story, 0));
        assert_eq!(story.len(), 1, "{story:?}");
        stage.driver.send(0, b"still here").unwrap();
        stage.hand_over();
        expect(&mut peer, b"still here");
        stage.driver.end(0);
        expect_end(&mut peer);
        drop(peer);
        assert!(stage.quiet().is_empty());
    });
}

#[test]
fn bytes_that_come_together_with_the_end_come_before_it() {
    on_a_stage(|mut stage| {
        for slot in 0..20 {
            let (mut peer, _) = stage
                .pair(slot, ConnectionOptions { stamped: slot % 2 == 1, ..ConnectionOptions::default() });
            say(&mut peer, b"all I have");
            drop(peer);
            let story = stage.until(|story| ended(story, slot));
            assert_eq!(bytes_of(&story, slot), b"all I have");
            assert!(matches!(story.last(), Some((_, Told::Ended))));
            assert_eq!(count(&story, slot, |told| matches!(told, Told::Ended)), 1);
            stage.driver.close(slot);
        }
        assert!(stage.quiet().is_empty());
    });
}

#[test]
fn a_reset_is_told_as_such() {
    on_a_stage(|mut stage| {
        for stamped in [false, true] {
            let (listener, address) = listener();
            stage.connect(
                0,
                address,
                ConnectionOptions { stamped, ..ConnectionOptions::default() },
                b"never read",
            );
            drop(accept(&listener)); // closed with bytes unread: a reset
            let story = stage.until(|story| over(story, 0));
            assert!(
                has(&story, 0, |told| matches!(told, Told::Broken(ErrorKind::ConnectionReset))),
                "{story:?}"
            );
            assert!(stage.quiet().is_empty());
            stage.driver.close(0);
        }
    });
}

#[test]
fn a_peer_that_leaves_before_the_connection_is_used_is_noticed() {
    on_a_stage(|mut stage| {
        let (listener, address) = listener();
        stage.connect(0, address, ConnectionOptions::default(), b"");
        drop(accept(&listener));
        stage.until(|story| ended(story, 0));
        // The kernel takes the first bytes and learns by the answer that the peer is gone.
        let deadline = Instant::now() + PATIENCE;
        let mut story = Story::new();
        while !over(&story, 0) && stage.driver.send(0, b"anybody?").is_ok() {
            assert!(Instant::now() < deadline);
            story.extend(stage.wait(short(1)));
        }
        stage.driver.close(0);
        assert!(stage.quiet().is_empty());
    });
}

#[test]
fn a_large_reply_is_whole_and_others_get_their_turn() {
    on_a_stage(|mut stage| {
        for stamped in [false, true] {
            let wish = ConnectionOptions { stamped, ..ConnectionOptions::default() };
            let (mut large, _) = stage.pair(0, wish);
            let (mut small, _) = stage.pair(1, wish);
            let bytes = pattern(5_000_000);
            let sent = bytes.clone();
            let writer = std::thread::spawn(move || say(&mut large, &sent));
            let mut story = stage.until(|story| bytes_of(story, 0).len() >= 500_000);
            say(&mut small, b"me too");
            story.extend(stage.until(|story| bytes_of(story, 1) == b"me too"));
            let in_between = bytes_of(&story, 0).len();
            assert!(in_between < bytes.len(), "only after all of the large one");
            let rest = bytes.len() - in_between;
            story.extend(stage.until(|story| bytes_of(story, 0).len() >= rest));
            writer.join().unwrap();
            assert!(bytes_of(&story, 0) == bytes);
            stage.driver.close(0);
            stage.driver.close(1);
        }
    });
}

#[test]
fn large_replies_on_many_connections_are_whole() {
    on_a_stage(|mut stage| {
        let mut peers: Vec<_> =
            (0..20).map(|slot| stage.pair(slot, ConnectionOptions::default()).0).collect();
        let bytes = pattern(300_000);
        let sent = bytes.clone();
        let writer = std::thread::spawn(move || peers.iter_mut().for_each(|peer| say(peer, &sent)));
        let story = stage.until(|story| (0..20).all(|slot| bytes_of(story, slot).len() >= 300_000));
        writer.join().unwrap();
        (0..20).for_each(|slot| assert!(bytes_of(&story, slot) == bytes));
    });
}
