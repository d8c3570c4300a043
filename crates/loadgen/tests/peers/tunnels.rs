//! Tunnels through a proxy: replies to CONNECT, and the traffic in the tunnel.

use crate::listening::{Planned, hear_at, heard};
use crate::support::{
    Authority, Nobody, OK, OK_CLOSE, Peer, Talk, any, closed, errors, get, lists, one_robot, run, totals,
    within_patience,
};
use bakeoff_loadgen::{Pace, Protocol, Recording, Reuse, StationJob, Target};
use bakeoff_meter::ErrorClass;
use bakeoff_units::Nanos;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::num::NonZeroU16;
use std::time::Duration;

const STANDS: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";

/// Reads the CONNECT request; returns its destination.
fn asked(talk: &mut Talk) -> Option<SocketAddr> {
    let head = talk.request()?;
    let authority = head.split(' ').nth(1).unwrap();
    assert_eq!(head, format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n"));
    Some(authority.parse().unwrap())
}

/// Carries bytes both ways until both ends have closed.
fn carry(talk: &mut Talk, to: SocketAddr) {
    let server = TcpStream::connect(to).unwrap();
    server.set_nodelay(true).unwrap();
    let client = talk.stream().unwrap().try_clone().unwrap();
    let (back, out) = (server.try_clone().unwrap(), client.try_clone().unwrap());
    let there = std::thread::spawn(move || pass_on(client, server));
    pass_on(back, out);
    there.join().unwrap();
}

fn pass_on(mut from: TcpStream, mut to: TcpStream) {
    // An end that breaks off is seen by the other end.
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}

/// A proxy that opens every tunnel.
fn proxy() -> Peer {
    Peer::new(|talk| {
        if let Some(to) = asked(talk) {
            talk.say(STANDS);
            carry(talk, to);
        }
    })
}

fn through(proxy: &Peer, target: Target) -> Target {
    Target { via: Some(proxy.address), ..target }
}

#[test]
fn a_tunnel_carries_tls_and_is_kept() {
    within_patience(|| {
        let authority = Authority::new("one");
        let server = Peer::tls(&authority, |talk| talk.answer_all(OK));
        let proxy = proxy();
        let target = through(&proxy, server.tls_target(&authority, "localhost"));
        let mut station = crate::Station::new(target, 2, Vec::new()).unwrap();
        let slice = lists(4, 10);
        let recording = run(&mut station, closed(&slice, 2));
        assert_eq!((errors(&recording), totals(&recording)), (vec![], (40, 40, 4)));
        assert_eq!(recording.counters.bytes, 40 * OK.len() as u64, "no byte of the tunnel's own reply");
        assert_eq!((recording.times.connect.count(), recording.times.handshake.count()), (4, 4));
        assert_eq!(recording.handshakes.completed(), 4);
        assert_eq!(proxy.asked(), vec![server.address.to_string(); 4]);
        let again = run(&mut station, closed(&slice, 2));
        assert_eq!(totals(&again), (40, 40, 0));
    });
}

#[test]
fn a_tunnel_for_each_request() {
    within_patience(|| {
        let authority = Authority::new("one");
        let server = Peer::tls(&authority, |talk| {
            talk.request();
            talk.say(OK_CLOSE);
            talk.notify_close();
        });
        let proxy = proxy();
        let target = through(&proxy, server.tls_target(&authority, "localhost"));
        let target = Target { reuse: Reuse::Never, ..target };
        let mut station = crate::Station::new(target, 1, Vec::new()).unwrap();
        let recording = run(&mut station, closed(&lists(2, 5), 1));
        assert_eq!((errors(&recording), totals(&recording)), (vec![], (10, 10, 10)));
        assert_eq!((proxy.connections(), server.connections()), (10, 10));
        assert_eq!(recording.handshakes.completed(), 10);
    });
}

#[test]
fn what_is_in_the_tunnel_need_not_be_tls() {
    within_patience(|| {
        let (server, proxy) = (Peer::new(|talk| talk.answer_all(OK)), proxy());
        let mut station = crate::Station::new(through(&proxy, server.target()), 1, Vec::new()).unwrap();
        let recording = run(&mut station, closed(&lists(3, 4), 1));
        assert_eq!((errors(&recording), totals(&recording)), (vec![], (12, 12, 3)));
        assert_eq!((recording.times.connect.count(), recording.times.handshake.count()), (3, 0));
    });
}

#[test]
fn the_proxys_yes_split_at_every_byte() {
    const YES: &[u8] =
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 Fine\r\nProxy-Agent: x\r\nContent-Length: 5\r\n\r\n";
    within_patience(|| {
        let server = Peer::new(|talk| {
            talk.request();
            talk.say(OK_CLOSE);
        });
        let proxy = Peer::new(|talk| {
            let Some(to) = asked(talk) else { return };
            let split = talk.number % YES.len();
            talk.say(&YES[..split]);
            std::thread::yield_now();
            talk.say(&YES[split..]);
            carry(talk, to);
        });
        let target = Target { reuse: Reuse::Never, ..through(&proxy, server.target()) };
        let mut station = crate::Station::new(target, 1, Vec::new()).unwrap();
        let all = YES.len() as u64;
        let recording = run(&mut station, closed(&one_robot(vec![get("/"); YES.len()]), 1));
        assert_eq!((errors(&recording), totals(&recording)), (vec![], (all, all, all)));
    });
}

/// The proxy does this to the first tunnel, and opens the second one.
fn one_failure(script: impl Fn(&mut Talk) + Send + Sync + 'static) -> Recording {
    let authority = Authority::new("one");
    let server = Peer::tls(&authority, |talk| talk.answer_all(OK));
    let proxy = Peer::new(move |talk| {
        let Some(to) = asked(talk) else { return };
        if talk.number == 0 {
            return script(talk);
        }
        talk.say(STANDS);
        carry(talk, to);
    });
    let target = through(&proxy, server.tls_target(&authority, "localhost"));
    let mut station = crate::Station::new(target, 1, Vec::new()).unwrap();
    let job = StationJob { timeout: Nanos::from_secs(3), ..closed(&lists(1, 2), 1) };
    let recording = run(&mut station, job);
    assert_eq!(totals(&recording), (2, 1, 2), "{:?}", errors(&recording));
    // A handshake that was not tried is no failed one.
    assert_eq!((recording.handshakes.completed(), recording.handshakes.failed.count), (1, 0));
    assert_eq!(recording.times.connect.count(), 1);
    recording
}

#[track_caller]
fn fails(class: &str, script: impl Fn(&mut Talk) + Send + Sync + 'static) {
    assert_eq!(errors(&one_failure(script)), [(class, 1)]);
}

fn answer_fails(class: &str, answer: &'static [u8]) {
    fails(class, move |talk| talk.say(answer));
}

#[test]
fn a_proxy_that_refuses() {
    within_patience(|| {
        answer_fails("tunnel-refused", b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
        answer_fails("tunnel-refused", b"HTTP/1.1 502 Bad Gateway\r\n\r\n<html>");
        answer_fails("tunnel-refused", b"HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic\r\n\r\n");
        answer_fails("tunnel-refused", b"HTTP/1.1 302 There\r\nLocation: /\r\nContent-Length: 0\r\n\r\n");
    });
}

#[test]
fn a_proxy_that_makes_no_sense() {
    within_patience(|| {
        answer_fails("tunnel-broken", b"SSH-2.0-OpenSSH_9.2\r\n");
        answer_fails("tunnel-broken", b"\x15\x03\x01\x00\x02\x02\x16");
        answer_fails("tunnel-broken", b"HTTP/1.1 101 Switching Protocols\r\n\r\n");
        // It closes before its reply is complete.
        answer_fails("tunnel-broken", b"");
        answer_fails("tunnel-broken", b"HTTP/1.1 200 Connection est");
        // Nobody in a tunnel speaks before its client.
        answer_fails("surplus", b"HTTP/1.1 200 OK\r\n\r\nhello");
        fails("reset", |talk| talk.reset());
    });
}

#[test]
fn a_proxy_that_talks_without_end() {
    within_patience(|| {
        fails("tunnel-broken", |talk| {
            talk.say(b"HTTP/1.1 200 OK\r\nX: ");
            talk.dribble(&[b'a'; 70_000], 1_013);
        });
        fails("tunnel-broken", |talk| {
            talk.dribble(&b"HTTP/1.1 100 Continue\r\n\r\n".repeat(3_000), 1_000);
        });
    });
}

#[test]
fn a_proxy_that_says_nothing_is_one_that_was_not_connected_with_in_time() {
    within_patience(|| {
        fails("connect-timeout", |talk| {
            talk.sees_the_end();
        });
        fails("connect-timeout", |talk| {
            talk.say(b"HTTP/1.1 200 OK\r\n");
            talk.sees_the_end();
        });
    });
}

#[test]
fn a_proxy_that_is_not_there() {
    within_patience(|| {
        let server = Peer::new(|talk| talk.answer_all(OK));
        let nobody = Nobody::new();
        let target = Target { via: Some(nobody.address), ..server.target() };
        let recording =
            run(&mut crate::Station::new(target, 1, Vec::new()).unwrap(), closed(&lists(1, 3), 1));
        assert_eq!((errors(&recording), totals(&recording)), (vec![("connect-refused", 3)], (3, 0, 0)));
        assert_eq!(server.connections(), 0);
    });
}

#[test]
fn who_listens_is_told_the_refusal_whole() {
    const NO: &str =
        "HTTP/1.1 403 Forbidden\r\nX-Squid-Error: ERR_ACCESS_DENIED 0\r\nContent-Length: 2\r\n\r\n";
    within_patience(|| {
        let proxy = Peer::new(|talk| {
            if asked(talk).is_some() {
                talk.say("HTTP/1.1 100 Continue\r\n\r\n");
                talk.dribble(NO.as_bytes(), 7);
                talk.say("no");
            }
        });
        let source = Planned::of([(Nanos::ZERO, 0, get("/"))]);
        let target = through(&proxy, Nobody::new().station().target().clone());
        let (_, source) = hear_at(target, heard(source, Pace::Sourced { connections: 1 }));
        let told = &source.told[0];
        assert_eq!((told.result, told.head.as_str()), (Err(ErrorClass::TunnelRefused), NO));
    });
}

#[test]
fn a_tunnel_that_was_closed_while_idle_is_replaced() {
    within_patience(|| {
        let authority = Authority::new("one");
        let server = Peer::tls(&authority, |talk| {
            talk.request();
            talk.say(OK);
            talk.notify_close();
        });
        let proxy = proxy();
        let target = through(&proxy, server.tls_target(&authority, "localhost"));
        let mut station = crate::Station::new(target, 1, Vec::new()).unwrap();
        let recording = run(&mut station, closed(&lists(2, 5), 1));
        assert_eq!((errors(&recording), recording.counters.replies), (vec![], 10));
    });
}

#[test]
fn the_tunnels_set_up_is_in_the_response_time() {
    const SLOW: Nanos = Nanos::from_millis(80);
    within_patience(|| {
        let server = Peer::new(|talk| talk.answer_all(OK));
        let proxy = Peer::new(|talk| {
            if let Some(to) = asked(talk) {
                std::thread::sleep(Duration::from_millis(80));
                talk.say(STANDS);
                carry(talk, to);
            }
        });
        let mut station = crate::Station::new(through(&proxy, server.target()), 1, Vec::new()).unwrap();
        let times = run(&mut station, closed(&lists(1, 1), 1)).times;
        // A histogram's steps are finer than a twentieth.
        let least = SLOW.times(0.95);
        assert!(times.response.quantile(1.0) >= least && times.connect.quantile(1.0) >= least);
    });
}

#[test]
fn http2_is_refused() {
    let protocol = Protocol::Http2 { streams: NonZeroU16::new(4).unwrap() };
    let nobody = Nobody::new();
    let target = Target {
        via: Some(nobody.address),
        protocol,
        ..Target::plain(nobody.address, "localhost".to_owned())
    };
    let mut station = crate::Station::new(target, 1, Vec::new()).unwrap();
    let refused = station.run(any(closed(&lists(1, 1), 1))).err().unwrap();
    assert_eq!(refused.kind(), io::ErrorKind::Unsupported);
}
