//! Connections that robots share, that carry a limited number of requests, or that come from given addresses: over
//! HTTP/1.1 and HTTP/2 alike.

use crate::h2::frames::{Frames, reply, target, tls_target};
use crate::support::{
    Authority, OK, OK_CLOSE, Peer, Talk, closed, errors, lists, run, totals, within_patience,
};
use bakeoff_loadgen::{LocalAddresses, Pace, Recording, Reuse, Station, StationJob, Target};
use bakeoff_units::Nanos;
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::time::Duration;

const DELAY: Duration = Duration::from_millis(30);

/// Answers all requests, so many at a time, each time after a while.
fn in_waves(talk: &mut Talk, streams: usize, wait: Duration) {
    if streams == 1 {
        while talk.request().is_some() {
            std::thread::sleep(wait);
            talk.say(OK);
        }
    } else if let Some(mut frames) = Frames::greet(talk, &[]) {
        loop {
            let wave: Vec<u32> = (0..streams).map_while(|_| frames.request()).collect();
            std::thread::sleep(wait);
            frames.say(wave.iter().copied().flat_map(reply).collect::<Vec<u8>>());
            if wave.len() < streams {
                return;
            }
        }
    }
}

/// HTTP/1.1 for one stream, HTTP/2 for more.
fn asks(peer: &Peer, streams: u16) -> Target {
    if streams == 1 { peer.target() } else { target(peer, streams) }
}

fn shared(station: &mut Station, robots: usize, each: usize, connections: usize) -> Recording {
    let pace = Pace::Closed { think: Nanos::ZERO, spread: Nanos::ZERO, connections: Some(connections) };
    run(station, StationJob { pace, ..closed(&lists(robots, each), 1) })
}

/// Twelve robots, two connections: they are served in waves, and a wait for a seat is counted.
#[test]
fn robots_that_share_connections_wait_in_line() {
    within_patience(|| {
        for streams in [1, 3] {
            let peer = Peer::new(move |talk| in_waves(talk, streams, DELAY));
            let mut station = Station::new(asks(&peer, streams as u16), 1, Vec::new()).unwrap();
            let recording = shared(&mut station, 12, 1, 2);
            assert_eq!((errors(&recording), totals(&recording)), (vec![], (12, 12, 2)));
            let seats = 2 * streams as u64;
            assert_eq!(recording.counters.postponed, 12 - seats);
            assert_eq!(recording.times.lateness.count(), seats);
            let (service, response) = (&recording.times.service, &recording.times.response);
            let (least, last) = (Nanos::from_millis(30).times(0.98), response.quantile(1.0));
            assert!(service.quantile(0.0) >= least && last >= least.times((12 / seats) as f64), "{last}");
            // One after the other on each seat: with the wait in them they would come to more.
            let together = service.mean_ns() * service.count() as f64;
            assert!(together <= 1.05 * (seats * last.get()) as f64, "{together} {last}");
        }
    });
}

#[test]
fn every_robot_is_served_to_its_last_request() {
    within_patience(|| {
        for (streams, connections, robots) in [(1, 1, 50), (1, 7, 50), (1, 60, 50), (4, 1, 50), (4, 3, 50)] {
            let peer = Peer::new(move |talk| {
                if streams == 1 {
                    talk.answer_all(OK);
                } else if let Some(mut frames) = Frames::greet(talk, &[]) {
                    frames.serve();
                }
            });
            let mut station = Station::new(asks(&peer, streams), 1, Vec::new()).unwrap();
            let recording = shared(&mut station, robots, 10, connections);
            let used = connections.min(robots.div_ceil(usize::from(streams))) as u64;
            assert_eq!((errors(&recording), totals(&recording)), (vec![], (500, 500, used)));
            let mut asked = peer.asked();
            asked.dedup();
            assert_eq!(asked.len(), 500, "each of them once");
        }
    });
}

/// 20 000 robots in line for one connection, which after the first cannot even be begun: the line moves on,
/// and does not pile up on the stack.
#[test]
fn a_line_of_robots_whose_connections_fail() {
    within_patience(|| {
        let peer = Peer::new(|talk| {
            talk.request();
            talk.say(OK_CLOSE);
        });
        let mut from: LocalAddresses = "127.0.0.1".parse().unwrap();
        // Addresses of networks under test: not this machine's (RFC 2544).
        from.add(&"198.18.0.0/15".parse().unwrap());
        let single = Target { reuse: Reuse::Never, from, ..peer.target() };
        let mut station = Station::new(single, 1, Vec::new()).unwrap();
        let recording = shared(&mut station, 20_000, 1, 1);
        assert_eq!(
            (errors(&recording), totals(&recording)),
            (vec![("connect-failed", 19_999)], (20_000, 1, 1))
        );
    });
}

#[test]
fn a_connection_carries_as_many_requests_as_it_should() {
    within_patience(|| {
        let reuse = Reuse::UpTo(NonZeroU64::new(4).unwrap());
        let authority = Authority::new("one");
        for (streams, tls) in [(1, false), (1, true), (3, false), (3, true)] {
            let script = move |talk: &mut Talk| {
                if streams == 1 {
                    talk.answer_all(OK);
                } else if let Some(mut frames) = Frames::greet(talk, &[]) {
                    frames.serve();
                }
            };
            let peer = match tls {
                true => Peer::tls_speaking(&authority, &[b"h2", b"http/1.1"], script),
                false => Peer::new(script),
            };
            let target = match (streams, tls) {
                (1, true) => peer.tls_target(&authority, "localhost"),
                (_, true) => tls_target(&peer, &authority, streams),
                (_, false) => asks(&peer, streams),
            };
            let mut station = Station::new(Target { reuse: reuse.clone(), ..target }, 1, Vec::new()).unwrap();
            let recording = run(&mut station, closed(&lists(3, 10), 1));
            // Each robot's ten in fours, or all thirty.
            let connections = if streams == 1 { 9 } else { 8 };
            assert_eq!((errors(&recording), totals(&recording)), (vec![], (30, 30, connections)));
            assert_eq!(peer.connections() as u64, connections);
            let mut carried = BTreeMap::new();
            peer.log.lock().unwrap().iter().for_each(|(on, _)| *carried.entry(*on).or_insert(0) += 1);
            assert!(carried.values().all(|count| *count <= 4), "{carried:?}");
        }
    });
}

#[test]
fn connections_come_from_the_given_addresses_in_turn() {
    within_patience(|| {
        for (streams, threads, reuse) in
            [(1, 1, Reuse::Always), (1, 2, Reuse::Always), (1, 1, Reuse::Never), (2, 1, Reuse::Always)]
        {
            let peer = Peer::new(move |talk| {
                let from = talk.stream().unwrap().peer_addr().unwrap().ip().to_string();
                talk.log.lock().unwrap().push((talk.number, from));
                if streams == 1 {
                    talk.answer_all(OK);
                } else if let Some(mut frames) = Frames::greet(talk, &[]) {
                    frames.serve();
                }
            });
            let from = "127.0.0.2-127.0.0.4".parse().unwrap();
            let target = Target { from, reuse: reuse.clone(), ..asks(&peer, streams) };
            let mut station = Station::new(target, threads, Vec::new()).unwrap();
            let each = if reuse == Reuse::Never { 1 } else { 3 };
            let recording = run(&mut station, closed(&lists(6, each), threads));
            let connections = 6 / usize::from(streams);
            assert_eq!(totals(&recording), (6 * each as u64, 6 * each as u64, connections as u64));
            for place in 2..=4 {
                let address = format!("127.0.0.{place}");
                let came = peer.asked().iter().filter(|what| **what == address).count();
                assert_eq!(came, connections / 3, "{address}");
            }
        }
    });
}
