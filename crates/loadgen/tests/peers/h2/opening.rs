//! The beginning of a connection, while several requests wait for it: refused, never made, never secured, broken off;
//! and made.

use super::frames::{Frames, SHORT, peer, reply, station, tls_target};
use crate::failures::full_listener;
use crate::support::{
    Authority, Nobody, Peer, Talk, closed, errors, hooked, lists, run, totals, within_patience,
};
use bakeoff_loadgen::{Protocol, Station, StationJob, Target};
use bakeoff_units::Nanos;
use std::net::SocketAddr;
use std::num::NonZeroU16;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

fn station_to(address: SocketAddr, streams: u16) -> Station {
    let protocol = Protocol::Http2 { streams: NonZeroU16::new(streams).unwrap() };
    let target = Target { protocol, ..Target::plain(address, "localhost".to_owned()) };
    Station::new(target, 1, Vec::new()).unwrap()
}

#[test]
fn nobody_listens() {
    within_patience(|| {
        let nobody = Nobody::new();
        let took = || {
            let begin = Instant::now();
            let recording = run(&mut station_to(nobody.address, 4), closed(&lists(4, 5), 1));
            assert_eq!((errors(&recording), totals(&recording).2), (vec![("connect-refused", 20)], 0));
            begin.elapsed()
        };
        // They wait together: 2, 4, 8 ms ..., and not as if each had failed alone. The machine may take longer, and not
        // each time.
        while took() >= Duration::from_secs(2) {}
    });
}

#[test]
fn nobody_accepts() {
    within_patience(|| {
        for streams in [1, 3] {
            let (listener, _filler) = full_listener();
            let mut station = station_to(listener.local_addr().unwrap(), streams);
            let robots = usize::from(streams);
            let job = StationJob { timeout: Nanos::from_millis(100), ..closed(&lists(robots, 2), 1) };
            let recording = run(&mut station, job);
            let all = 2 * u64::from(streams);
            assert_eq!(
                (errors(&recording), totals(&recording)),
                (vec![("connect-timeout", all)], (all, 0, 0))
            );
        }
    });
}

/// All requests that came due while the connection was being made go when it stands, before the server has sent
/// anything.
#[test]
fn what_waited_for_the_connection_is_sent_when_it_stands() {
    within_patience(|| {
        let (listener, _filler) = full_listener();
        let address = listener.local_addr().unwrap();
        let (asked, go) = channel();
        let server = std::thread::spawn(move || {
            go.recv().unwrap();
            let _filler = listener.accept().unwrap();
            let mut talk = Talk::over(listener.accept().unwrap().0);
            let mut frames = Frames::begin(&mut talk).unwrap();
            let streams = frames.requests::<3>().unwrap();
            frames.say(super::frames::settings(&[]));
            frames.say(streams.into_iter().flat_map(reply).collect::<Vec<u8>>());
            while frames.next().is_some() {}
        });
        let mut left = 3;
        let all_asked = move |_| {
            left -= 1;
            if left == 0 {
                asked.send(()).unwrap();
            }
        };
        let mut station = station_to(address, 3);
        let job = hooked(StationJob { timeout: Nanos::from_secs(60), ..closed(&lists(3, 1), 1) }, all_asked);
        let recording = run(&mut station, job);
        assert_eq!((errors(&recording), totals(&recording)), (vec![], (3, 3, 1)));
        drop(station);
        server.join().unwrap();
    });
}

fn handshake_fails(class: &str, script: impl Fn(&mut Talk) + Send + Sync + 'static) {
    let authority = Authority::new("one");
    let peer = Peer::new(script);
    let mut station = Station::new(tls_target(&peer, &authority, 4), 1, Vec::new()).unwrap();
    let recording = run(&mut station, StationJob { timeout: SHORT, ..closed(&lists(4, 2), 1) });
    assert_eq!((errors(&recording), totals(&recording)), (vec![(class, 8)], (8, 0, 2)));
    assert_eq!(peer.connections(), 2, "those that wait for one connection fail with it");
}

#[test]
fn a_handshake_that_comes_to_nothing() {
    within_patience(|| {
        handshake_fails("timeout", |talk| while talk.read(&mut [0; 4096]).is_ok_and(|n| n > 0) {});
        handshake_fails("tls-failed", |talk| {
            let _ = talk.read(&mut [0; 4096]);
            talk.end_sending();
            while talk.read(&mut [0; 4096]).is_ok_and(|n| n > 0) {}
        });
        handshake_fails("tls-failed", |talk| {
            let _ = talk.read(&mut [0; 4096]);
            talk.say(b"HTTP/1.1 400 Bad Request\r\n\r\n");
            while talk.read(&mut [0; 4096]).is_ok_and(|n| n > 0) {}
        });
    });
}

#[test]
fn an_interrupt_ends_all_streams_at_once() {
    within_patience(|| {
        let stop = AtomicBool::new(false);
        let (asked, all_asked) = channel();
        let peer = peer(move |frames| {
            while frames.request().is_some() {
                let _ = asked.send(()); // and never answers
            }
        });
        let slice = lists(6, 10);
        std::thread::scope(|scope| {
            let job = StationJob { interrupted: &stop, timeout: Nanos::from_secs(60), ..closed(&slice, 1) };
            let mut station = station(&peer, 3);
            let running = scope.spawn(move || run(&mut station, job));
            for _ in 0..6 {
                all_asked.recv().unwrap();
            }
            stop.store(true, Ordering::Relaxed);
            let recording = running.join().unwrap();
            assert_eq!((errors(&recording), totals(&recording)), (vec![("cut-off", 6)], (6, 0, 2)));
        });
    });
}
