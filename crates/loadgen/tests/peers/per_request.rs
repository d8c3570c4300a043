//! A connection per request.

use crate::support::{Authority, OK, OK_CLOSE, Peer, closed, hooked, lists, run, totals, within_patience};
use bakeoff_loadgen::{Reuse, StationJob, Target};
use bakeoff_units::Nanos;
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

/// Long enough to see a peer that closes at once, shorter than the generator's patience.
const A_WHILE: Duration = Duration::from_millis(60);

#[test]
fn each_request_has_its_own_connection_and_says_so() {
    within_patience(|| {
        let (heads, said) = channel::<String>();
        let heads = Mutex::new(heads);
        let peer = Peer::new(move |talk| {
            let head = talk.request().unwrap();
            let heads: Sender<String> = heads.lock().unwrap().clone();
            talk.say(OK_CLOSE);
            heads.send(head).unwrap();
        });
        let recording = run(&mut peer.station_per_request(), closed(&lists(3, 10), 1));
        assert_eq!(totals(&recording), (30, 30, 30));
        assert_eq!(recording.times.connect.count(), 30);
        for _ in 0..30 {
            assert!(said.recv().unwrap().contains("\r\nConnection: close\r\n"));
        }
        assert_eq!(peer.connections(), 30);
    });
}

/// The side that closes first keeps the port busy for a minute (TIME_WAIT): that is the server's part.
fn lets_the_server_close_first(authority: Option<Authority>, size: usize) {
    let (first, who) = channel();
    let head = format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {size}\r\n\r\n");
    let reply = [head.into_bytes(), vec![b'x'; size]].concat();
    let script = move |talk: &mut crate::support::Talk| {
        talk.request();
        let before = Instant::now();
        talk.say(&reply);
        // The generator waits from when it has the reply: of a large one that is after it was sent.
        let began = if size > 1 << 20 { Instant::now() } else { before };
        talk.notify_close();
        let heard_nothing = talk.hears_nothing_for(A_WHILE);
        // The generator waits 200 ms. A peer that did not get its core for longer cannot tell.
        let knows = began.elapsed() < Duration::from_millis(150);
        first.send(knows.then_some(heard_nothing)).unwrap();
    };
    let (peer, tls) = match &authority {
        None => (Peer::new(script), None),
        Some(authority) => {
            let peer = Peer::tls(authority, script);
            let tls = peer.tls_target(authority, "localhost").tls;
            (peer, tls)
        }
    };
    let target = Target { reuse: Reuse::Never, tls, ..peer.target() };
    let mut station = crate::Station::new(target, 1, Vec::new()).unwrap();
    let known = loop {
        let recording = run(&mut station, closed(&lists(2, 5), 1));
        assert_eq!(totals(&recording), (10, 10, 10));
        let known: Vec<bool> = (0..10).filter_map(|_| who.recv().unwrap()).collect();
        // Or no peer was quick enough to tell.
        if !known.is_empty() {
            break known;
        }
    };
    assert!(known.iter().all(|server_first| *server_first), "the generator has closed first");
}

#[test]
fn the_server_closes_first() {
    within_patience(|| lets_the_server_close_first(None, 5));
}

#[test]
fn the_server_closes_first_after_a_large_reply() {
    within_patience(|| lets_the_server_close_first(None, 24 << 20));
}

#[test]
fn the_server_closes_first_over_tls() {
    within_patience(|| lets_the_server_close_first(Some(Authority::new("one")), 5));
}

#[test]
fn a_server_that_never_closes_is_closed_after_a_while() {
    within_patience(|| {
        let (ended, end) = channel();
        let peer = Peer::new(move |talk| {
            talk.request();
            let begin = Instant::now();
            talk.say(OK);
            assert!(talk.sees_the_end());
            ended.send(begin.elapsed()).unwrap();
        });
        let recording = run(&mut peer.station_per_request(), closed(&lists(2, 3), 1));
        assert_eq!(totals(&recording), (6, 6, 6));
        for _ in 0..6 {
            assert!(end.recv().unwrap() >= Duration::from_millis(150));
        }
        // Waiting for the server to close is not its service.
        assert!(recording.times.service.quantile(0.0) < Nanos::from_millis(150));
        assert!(recording.times.response.quantile(0.0) < Nanos::from_millis(150));
    });
}

#[test]
fn a_connection_left_over_from_a_job_carries_no_second_request() {
    within_patience(|| {
        let peer = Peer::new(|talk| talk.answer_all(OK)); // deaf to `Connection: close`
        let mut station = peer.station_per_request();
        let slice = lists(2, 1_000);
        let first =
            run(&mut station, StationJob { until: Some(Nanos::from_millis(30)), ..closed(&slice, 1) });
        assert_eq!(totals(&first), (2, 2, 2));
        let second = run(&mut station, closed(&lists(2, 1), 1));
        assert_eq!(totals(&second), (2, 2, 2));
        let log = peer.log.lock().unwrap();
        let mut used: Vec<_> = log.iter().map(|(connection, _)| *connection).collect();
        used.sort_unstable();
        assert_eq!(used, [0, 1, 2, 3]);
    });
}

/// Reply and end of a connection in one event, before the generator has looked.
#[test]
fn a_reply_and_its_end_at_once_are_both_seen() {
    within_patience(|| {
        let (ended, end) = channel();
        let peer = Peer::new(move |talk| {
            talk.request();
            talk.say(b"HTTP/1.0 200 OK\r\n\r\nas long as it lasts");
            talk.end_sending();
            let _ = ended.send(());
            assert!(talk.sees_the_end());
        });
        let mut first = true;
        let wait = move |robot| {
            if robot == 1 && std::mem::take(&mut first) {
                end.recv().unwrap();
            }
        };
        let recording = run(&mut peer.station_per_request(), hooked(closed(&lists(2, 3), 1), wait));
        assert_eq!(totals(&recording), (6, 6, 6));
    });
}
