//! Sending: bytes handed over go out, all of them, in order, however slowly they are read.

use crate::stage::{
    Stage, Story, Told, accept, count, expect, has, listener, on_a_stage, pattern, say, short,
};
use bakeoff_sys::driver::{ConnectionEvent, ConnectionOptions, Sending};
use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::thread::JoinHandle;

fn sent(story: &Story) -> usize {
    count(story, 0, |told| matches!(told, Told::Sent))
}

/// Reads to the end on another thread.
fn read_all(mut peer: TcpStream) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut all = Vec::new();
        peer.read_to_end(&mut all).unwrap();
        all
    })
}

#[test]
fn a_large_body_waits_for_its_reader_and_the_end_waits_for_the_body() {
    on_a_stage(|mut stage| {
        let (peer, _) = stage.pair(0, ConnectionOptions::default());
        let body: &'static [u8] = pattern(20_000_000).leak();
        assert_eq!(stage.driver.send_body(0, b"head:", body).unwrap(), Sending::Pending);
        stage.driver.end(0);
        assert_eq!(sent(&stage.quiet()), 0); // nobody reads, and no kernel keeps so much
        let reader = read_all(peer);
        assert_eq!(sent(&stage.until(|story| sent(story) > 0)), 1);
        let all = reader.join().unwrap();
        assert!(all.starts_with(b"head:") && all[5..] == *body);
    });
}

#[test]
fn small_bodies_are_with_the_kernel_at_once_or_told_of() {
    on_a_stage(|mut stage| {
        let (mut peer, _) = stage.pair(0, ConnectionOptions::default());
        for _ in 0..5 {
            if stage.driver.send_body(0, b"head:", b"body").unwrap() == Sending::Pending {
                stage.until(|story| sent(story) == 1);
            }
            expect(&mut peer, b"head:body");
        }
        assert!(stage.quiet().is_empty());
    });
}

#[test]
fn bytes_behind_blocked_ones_keep_their_order() {
    on_a_stage(|mut stage| {
        let (mut peer, _) = stage.pair(0, ConnectionOptions::default());
        let all = pattern(20_000_000);
        for (number, piece) in all.chunks(100_003).enumerate() {
            stage.driver.send(0, piece).unwrap();
            if number % 7 == 0 {
                stage.hand_over();
            }
        }
        let reader = std::thread::spawn(move || {
            let mut got = vec![0; 20_000_000];
            peer.read_exact(&mut got).unwrap();
            (peer, got)
        });
        while !reader.is_finished() {
            let story = stage.hand_over();
            assert!(story.is_empty(), "{story:?}"); // nobody asked to be told
        }
        let (mut peer, got) = reader.join().unwrap();
        assert!(got == all);
        stage.driver.send(0, b"and on").unwrap();
        stage.hand_over();
        expect(&mut peer, b"and on");
    });
}

#[test]
fn a_mixture_of_sends_and_bodies_keeps_its_order() {
    on_a_stage(|mut stage| {
        let (peer, _) = stage.pair(0, ConnectionOptions::default());
        stage.driver.send(0, b"1").unwrap();
        stage.driver.send_body(0, b"2", b"3").unwrap();
        stage.driver.send(0, b"4").unwrap();
        stage.driver.send(0, b"5").unwrap();
        stage.hand_over();
        stage.driver.send_body(0, b"6", b"").unwrap();
        stage.driver.end(0);
        stage.hand_over();
        assert_eq!(read_all(peer).join().unwrap(), b"123456");
    });
}

#[test]
fn a_body_given_while_a_send_is_cut_short_comes_after_it() {
    on_a_stage(|mut stage| {
        let (mut peer, _) = stage.pair(0, ConnectionOptions::default());
        let piece = pattern(700_001);
        let mut expected = Vec::new();
        let mut reader = None;
        for number in 0..60_u8 {
            if number == 20 {
                let peer = peer.try_clone().unwrap();
                reader = Some(read_all(peer)); // until now nobody read
            }
            say(&mut peer, b"x");
            stage.driver.send(0, &piece).unwrap();
            expected.extend_from_slice(&piece);
            stage.driver.wait(short(0)).unwrap();
            while let Some((slot, event)) = stage.driver.next() {
                assert_eq!(slot, 0);
                if matches!(event, ConnectionEvent::Data(_)) {
                    stage.driver.send_body(0, &[number], b"!").unwrap();
                    expected.extend_from_slice(&[number, b'!']);
                }
            }
        }
        stage.driver.end(0);
        let reader = reader.unwrap();
        while !reader.is_finished() {
            stage.hand_over();
        }
        assert!(reader.join().unwrap() == expected);
    });
}

#[test]
fn what_was_sent_goes_out_though_the_connection_is_closed_at_once() {
    on_a_stage(|mut stage| {
        let (peer, _) = stage.pair(0, ConnectionOptions::default());
        stage.driver.send(0, b"last words").unwrap();
        stage.driver.close(0);
        assert_eq!(read_all(peer).join().unwrap(), b"last words");
    });
}

#[test]
fn a_closed_slot_takes_nothing() {
    on_a_stage(|mut stage| {
        stage.pair(0, ConnectionOptions::default());
        stage.driver.close(0);
        stage.driver.close(0);
        stage.driver.end(0);
        for slot in [0, 5] {
            assert_eq!(stage.driver.send(slot, b"x").unwrap_err().kind(), ErrorKind::NotConnected);
            assert_eq!(stage.driver.send_body(slot, b"x", b"").unwrap_err().kind(), ErrorKind::NotConnected);
        }
        assert!(stage.quiet().is_empty());
    });
}

#[test]
fn a_reader_that_goes_away_under_a_large_body_is_told() {
    on_a_stage(|mut stage| {
        let (peer, _) = stage.pair(0, ConnectionOptions::default());
        let body: &'static [u8] = pattern(20_000_000).leak();
        stage.driver.send_body(0, b"", body).unwrap();
        stage.hand_over();
        drop(peer);
        let story =
            stage.until(|story| has(story, 0, |told| matches!(told, Told::NotSent(_) | Told::Broken(_))));
        assert_eq!(sent(&story), 0);
        no_more_of(&mut stage);
    });
}

fn no_more_of(stage: &mut Stage) {
    stage.driver.close(0);
    assert!(stage.quiet().is_empty());
}

#[test]
fn small_writes_are_not_held_back_when_wished_so() {
    on_a_stage(|mut stage| {
        let (listener, address) = listener();
        let wish = ConnectionOptions { no_delay: true, ..ConnectionOptions::default() };
        stage.connect(0, address, wish, b"a");
        let mut peer = accept(&listener);
        for _ in 0..50 {
            stage.driver.send(0, b"b").unwrap();
            stage.hand_over();
        }
        expect(&mut peer, b"a");
        expect(&mut peer, &[b'b'; 50]);
    });
}
