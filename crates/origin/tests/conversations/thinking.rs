//! Replies that wait for their time: never early, in the order of requests, and many at once.

use crate::support::{Reply, connect, ended, of_world, read_one, within_patience};
use bakeoff_origin::{Origin, World};
use bakeoff_sys::rlimit::raise_open_files;
use bakeoff_units::Nanos;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Far more than any reply is late on any machine, unless something is wrong.
const LATE_AT_MOST: Duration = Duration::from_secs(60);

fn world(think: &str) -> World {
    let text = format!("[[content]]\nname = \"any\"\nsize = \"const:100B\"\n[origin]\nthink = \"{think}\"\n");
    World::from_toml(&text).unwrap()
}

/// A request of this stamp for an object of its own.
fn request(ask: u64) -> String {
    format!("GET /w{:016x}/s0000/t00/_{ask:016x} HTTP/1.1\r\nX-Bakeoff: ask={ask:016x}\r\n\r\n", 1)
}

fn asks(stream: &mut TcpStream, ask: u64) {
    stream.write_all(request(ask).as_bytes()).unwrap();
}

/// The stamp of the request for which the reply was made.
fn made_for(reply: &Reply) -> u64 {
    let stamp = reply.line("x-bakeoff").unwrap();
    u64::from_str_radix(&stamp["made=".len()..][..16], 16).unwrap()
}

#[test]
fn a_reply_comes_when_its_think_time_is_over_and_not_before() {
    within_patience(|| {
        let world = world("unif:0ms,200ms");
        let origin = of_world(world.clone(), 2);
        let mut stream = connect(&origin);
        for ask in 1..=10 {
            let think = world.think_time(0, ask).as_duration();
            let begin = Instant::now();
            asks(&mut stream, ask);
            let reply = read_one(&mut stream);
            let took = begin.elapsed();
            assert_eq!((reply.status, made_for(&reply), reply.body.len()), (200, ask, 100));
            assert!(took >= think && took < think + LATE_AT_MOST, "{took:?} for {think:?}");
        }
        assert_eq!(origin.tally().waited_at_most, 1);
    });
}

#[test]
fn think_times_follow_from_stamps_and_those_below_zero_are_none() {
    let normal = world("norm:10ms,100ms");
    let times: Vec<Nanos> = (1..=1000).map(|ask| normal.think_time(0, ask)).collect();
    assert_eq!(times, (1..=1000).map(|ask| normal.think_time(0, ask)).collect::<Vec<_>>());
    let none = times.iter().filter(|time| **time == Nanos::ZERO).count();
    assert!((400..520).contains(&none), "46 % of the draws lie below 0: {none}");
    within_patience(|| {
        let world = world("norm:0s,1ms");
        let origin = of_world(world.clone(), 1);
        let mut stream = connect(&origin);
        for ask in 1..=50 {
            asks(&mut stream, ask);
            assert_eq!(made_for(&read_one(&mut stream)), ask);
        }
    });
}

#[test]
fn replies_to_requests_that_came_together_keep_their_order_and_think_together() {
    within_patience(|| {
        let world = world("unif:1s,3s");
        let origin = of_world(world.clone(), 2);
        let mut stream = connect(&origin);
        let begin = Instant::now();
        let many: String = (1..=20).map(request).collect();
        stream.write_all(many.as_bytes()).unwrap();
        let mut longest = Duration::ZERO;
        for ask in 1..=20 {
            assert_eq!(made_for(&read_one(&mut stream)), ask);
            longest = longest.max(world.think_time(0, ask).as_duration());
            assert!(begin.elapsed() >= longest, "{ask} came early");
        }
        // One behind the other they take the sum, some 40 s.
        let sum: Duration = (1..=20).map(|ask| world.think_time(0, ask).as_duration()).sum();
        assert!(begin.elapsed() < sum, "{:?} of {sum:?}", begin.elapsed());
    });
}

#[test]
fn two_thousand_replies_wait_at_once() {
    raise_open_files(10_000).unwrap();
    within_patience(|| {
        let world = world("unif:3s,4s");
        let origin = of_world(world.clone(), 1);
        let mut streams: Vec<_> = (1..=2000).map(|ask| (ask, connect(&origin))).collect();
        let sent: Vec<Instant> = streams
            .iter_mut()
            .map(|(ask, stream)| {
                let now = Instant::now();
                asks(stream, *ask);
                now
            })
            .collect();
        for ((ask, stream), sent) in streams.iter_mut().zip(sent) {
            assert_eq!(made_for(&read_one(stream)), *ask);
            assert!(sent.elapsed() >= world.think_time(0, *ask).as_duration(), "{ask} came early");
        }
        let tally = origin.tally();
        assert_eq!((tally.requests, tally.waited_at_most), (2000, 2000));
        assert!(tally.late_at_most < Nanos::from_duration(LATE_AT_MOST), "{}", tally.late_at_most);
    });
}

/// The place of a client that breaks off while its reply waits is taken by the next one, which must not get the alarm
/// of the first.
#[test]
fn who_breaks_off_while_its_reply_waits_leaves_nothing_to_the_next() {
    within_patience(|| {
        let world = world("unif:300ms,600ms");
        let origin = of_world(world.clone(), 1);
        let asked = [1_u64, 2];
        let [first, second] = asked.map(|ask| world.think_time(0, ask).as_duration());
        for turn in 0..3 {
            let mut gone = connect(&origin);
            gone.write_all(b"GET /bytes/10 HTTP/1.1\r\n\r\n").unwrap();
            asks(&mut gone, 1);
            wait_for_waiting(&origin, 2 * turn + 1);
            drop(gone); // with unread bytes: a reset
            wait_for_resets(&origin, turn + 1);
            let begin = Instant::now();
            let mut next = connect(&origin);
            asks(&mut next, 2);
            assert_eq!(made_for(&read_one(&mut next)), 2);
            assert!(begin.elapsed() >= second, "woken by another's alarm after {first:?}");
            assert_eq!(origin.tally().waited_at_most, 1, "who is gone does not wait");
        }
    });
}

/// Waits until so many requests without a think time are answered beside those that wait.
fn wait_for_waiting(origin: &Origin, answered: u64) {
    let begin = Instant::now();
    while origin.tally().replies < answered || origin.tally().waited_at_most == 0 {
        assert!(begin.elapsed() < LATE_AT_MOST, "{:?}", origin.tally());
        std::thread::yield_now();
    }
}

fn wait_for_resets(origin: &Origin, number: u64) {
    let begin = Instant::now();
    while ended(origin, "reset by the client") < number {
        assert!(begin.elapsed() < LATE_AT_MOST, "{:?}", origin.tally());
        std::thread::yield_now();
    }
}

/// A client that has ended its half still gets the reply it waits for.
#[test]
fn who_has_ended_its_half_gets_its_reply() {
    within_patience(|| {
        let origin = of_world(world("const:200ms"), 1);
        let mut stream = connect(&origin);
        asks(&mut stream, 1);
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(made_for(&read_one(&mut stream)), 1);
        assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    });
}
