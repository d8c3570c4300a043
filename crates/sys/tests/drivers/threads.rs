//! Threads: a driver may go on on another thread, as a worker does from slice to slice.

use crate::stage::{Crowd, Stage, Told, accept, bytes_of, expect, has, on_a_stage, pattern, say};
use bakeoff_sys::driver::{ConnectionOptions, LISTENER};
use bakeoff_sys::net;
use std::io::Read;
use std::net::TcpStream;

/// Runs on a thread that ends.
fn elsewhere<T: Send>(stage: Stage, work: impl FnOnce(&mut Stage) -> T + Send) -> (Stage, T) {
    std::thread::scope(|scope| {
        let thread = scope.spawn(move || {
            let mut stage = stage;
            let result = work(&mut stage);
            (stage, result)
        });
        thread.join().unwrap()
    })
}

#[test]
fn what_waits_for_its_reader_or_for_a_peer_goes_on_elsewhere() {
    on_a_stage(|stage| {
        let crowd = Crowd::gather();
        let listening = net::listen("127.0.0.1:0".parse().unwrap(), false).unwrap();
        let address = listening.local_addr().unwrap();
        let body: &'static [u8] = pattern(20_000_000).leak();
        let (stage, mut peer) = elsewhere(stage, |stage| {
            let (peer, _) = stage.pair(0, ConnectionOptions::default());
            stage.driver.send_body(0, b"", body).unwrap();
            stage.driver.connect(1, crowd.address, ConnectionOptions::default(), b"at last").unwrap();
            stage.driver.listen(listening).unwrap();
            assert!(stage.quiet().is_empty());
            peer
        });
        let listener = crowd.disperse();
        let _client = TcpStream::connect(address).unwrap();
        let reader = std::thread::spawn(move || {
            let mut got = vec![0; body.len()];
            peer.read_exact(&mut got).unwrap();
            (peer, got)
        });
        let (_stage, story) = elsewhere(stage, |stage| stage.until(|story| story.len() >= 3));
        assert!(has(&story, 0, |told| matches!(told, Told::Sent)));
        assert!(has(&story, 1, |told| matches!(told, Told::Connected)), "{story:?}");
        assert!(has(&story, LISTENER, |told| matches!(told, Told::Accepted(_))));
        let (_peer, got) = reader.join().unwrap();
        assert!(got == body);
        expect(&mut accept(&listener), b"at last");
    });
}

#[test]
fn connections_outlive_the_thread_that_used_them() {
    on_a_stage(|stage| {
        let (mut stage, mut peer) = elsewhere(stage, |stage| stage.pair(0, ConnectionOptions::default()).0);
        for round in 0..5_u8 {
            if round % 2 == 0 {
                say(&mut peer, &[round, 1]); // while no thread waits
            }
            (stage, ()) = elsewhere(stage, |stage| {
                if round % 2 == 1 {
                    say(&mut peer, &[round, 1]);
                }
                stage.driver.send(0, &[round]).unwrap();
                let story = stage.until(|story| bytes_of(story, 0).len() == 2);
                assert_eq!(bytes_of(&story, 0), [round, 1]);
                stage.driver.send(0, &[round]).unwrap(); // for the next thread to hand over
            });
            stage.hand_over();
            expect(&mut peer, &[round, round]);
        }
    });
}
