//! Real servers: their own count of served requests equals ours, whatever the load looks like.

use super::server::{Kind, Served, Server, has, object};
use crate::support::{Authority, NEVER, closed, errors, run, within_patience};
use bakeoff_loadgen::{
    Alpn, BodyCheck, Constant, Pace, Pacer, Protocol, Recording, StationJob, Target, TlsOptions, Trust,
};
use bakeoff_units::{Nanos, PerSecond};
use bakeoff_workload::{Expect, ListSource, Method, Request, RequestTable, Slice, Statuses};
use rustls::pki_types::ServerName;
use std::collections::BTreeSet;
use std::num::NonZeroU16;
use std::sync::Arc;

const THREADS: usize = 2;

fn target(server: &Server, authority: Option<&Authority>, streams: u16) -> Target {
    let tls = authority.map(|authority| {
        let trust = Trust::File(authority.file.path().to_owned());
        let options = TlsOptions { alpn: vec![Alpn::H2], ..TlsOptions::new(trust) };
        (options.load().unwrap(), ServerName::try_from("localhost").unwrap())
    });
    let protocol = Protocol::Http2 { streams: NonZeroU16::new(streams).unwrap() };
    Target { tls, protocol, ..Target::plain(server.address, "localhost".to_owned()) }
}

fn request(method: Method, target: &str, expect: Expect) -> Request {
    Request { method, target: target.as_bytes().into(), headers: Box::default(), expect }
}

/// Lists of robots, of small files of all sorts; `tag` tells this load from others in the log.
fn mixed(kind: Kind, robots: usize, each: usize, tag: &str) -> Slice {
    let get = |size| request(Method::Get, &format!("/{size}?{tag}"), Expect::Body(object(size)));
    let mut requests = vec![
        get(500),
        get(0),
        get(50_000),
        request(Method::Get, &format!("/missing?{tag}"), Expect::Status(404)),
        request(Method::Head, &format!("/50000?{tag}"), Expect::Body(object(50_000))),
        request(Method::Head, &format!("/missing?{tag}"), Expect::Status(404)),
    ];
    if kind == Kind::Nghttpd {
        requests.pop(); // it answers HEAD with a body there, for which its own client resets the stream, too
    }
    lists_of(requests, robots, each)
}

fn lists_of(requests: Vec<Request>, robots: usize, each: usize) -> Slice {
    let kinds = requests.len();
    let list = |robot| (0..each).map(|i| ((i * 5 + robot) % kinds) as u32).collect();
    Slice {
        table: Arc::new(RequestTable { requests }),
        lists: Arc::new((0..robots).map(list).collect()),
        at: Arc::default(),
    }
}

fn open(slice: &Slice, rate: f64, connections: usize) -> StationJob<'static, ListSource> {
    let rate = PerSecond::new(rate).unwrap();
    let pacer = |worker| Box::new(Constant::new(rate, worker, THREADS)) as Box<dyn Pacer>;
    let one = Slice { lists: Arc::new(vec![slice.lists.concat()]), ..slice.clone() };
    StationJob {
        sources: one.by_request(THREADS),
        robots: Vec::new(),
        pace: Pace::Open { pacers: (0..THREADS).map(pacer).collect(), connections },
        begins: None,
        timeout: Nanos::from_secs(60),
        until: None,
        check: BodyCheck::Full,
        refused: Statuses::default(),
        interrupted: &NEVER,
    }
}

/// The server's record of this load equals the recording.
fn agrees(recording: &Recording, record: &[Served], tag: &str) {
    let ending = format!("?{tag}");
    let ours: Vec<_> = record.iter().filter(|served| served.target.ends_with(&ending)).collect();
    let counters = &recording.counters;
    assert_eq!((errors(recording), counters.requests), (vec![], ours.len() as u64), "{tag}");
    for (status, count) in &counters.statuses {
        let theirs = ours.iter().filter(|served| served.status == *status).count() as u64;
        assert_eq!(theirs, *count, "{tag}: {status}");
    }
    let connections: BTreeSet<_> = ours.iter().map(|served| &served.connection).collect();
    assert_eq!(connections.len() as u64, counters.connections, "{tag}");
}

/// Every load, one after the other.
fn counts_what_we_count(kind: Kind, tls: bool, more: &str) {
    let authority = tls.then(|| Authority::new("one"));
    let server = Server::start(kind, authority.as_ref(), more);
    let mut seen = Vec::new();
    for (streams, connections) in [(1, 1), (1, 8), (10, 1), (10, 8), (100, 1), (100, 8)] {
        let robots = streams * connections;
        let each = (120 / robots).max(2);
        for is_open in [false, true] {
            let tag = format!("{streams}-{connections}-{is_open}");
            let slice = mixed(kind, robots, each, &tag);
            let threads = connections.min(THREADS);
            let target = target(&server, authority.as_ref(), streams as u16);
            let workers = if is_open { THREADS } else { threads };
            let mut station = crate::Station::new(target, workers, Vec::new()).unwrap();
            let job = if is_open { open(&slice, 4_000.0, connections) } else { closed(&slice, threads) };
            let recording = run(&mut station, job);
            assert_eq!(recording.counters.requests, (robots * each) as u64);
            if !is_open {
                assert_eq!(recording.counters.connections, connections as u64, "{tag}");
            }
            seen.push((tag, recording));
        }
    }
    let record = server.stop(seen.iter().map(|(_, recording)| recording.counters.requests as usize).sum());
    seen.iter().for_each(|(tag, recording)| agrees(recording, &record, tag));
}

fn check(test: &str, kind: Kind, tls: bool, more: &'static str) {
    if has(kind, test) {
        within_patience(move || counts_what_we_count(kind, tls, more));
    }
}

#[test]
fn nginx_counts_what_we_count_over_http2() {
    check("nginx_counts_what_we_count_over_http2", Kind::Nginx, false, "keepalive_requests 100000;");
}

#[test]
fn nginx_counts_what_we_count_over_http2_and_tls() {
    check("nginx_counts_what_we_count_over_http2_and_tls", Kind::Nginx, true, "keepalive_requests 100000;");
}

#[test]
fn apache_counts_what_we_count_over_http2() {
    check("apache_counts_what_we_count_over_http2", Kind::Apache, false, "MaxKeepAliveRequests 0");
}

#[test]
fn apache_counts_what_we_count_over_http2_and_tls() {
    check("apache_counts_what_we_count_over_http2_and_tls", Kind::Apache, true, "MaxKeepAliveRequests 0");
}

#[test]
fn nghttpd_counts_what_we_count_over_http2() {
    check("nghttpd_counts_what_we_count_over_http2", Kind::Nghttpd, false, "");
}

/// With padding in all frames.
#[test]
fn nghttpd_counts_what_we_count_over_http2_and_tls() {
    check("nghttpd_counts_what_we_count_over_http2_and_tls", Kind::Nghttpd, true, "--padding=200");
}

/// Bodies of 5 MB, several at a time on each connection.
#[test]
fn large_bodies_come_whole_over_http2() {
    for kind in [Kind::Nginx, Kind::Apache, Kind::Nghttpd] {
        if !has(kind, "large_bodies_come_whole_over_http2") {
            continue;
        }
        within_patience(move || {
            let server = Server::start(kind, None, "");
            let large = request(Method::Get, "/5000000?large", Expect::Body(object(5_000_000)));
            let slice = lists_of(vec![large], 6, 2);
            let mut station = crate::Station::new(target(&server, None, 3), 1, Vec::new()).unwrap();
            let recording = run(&mut station, closed(&slice, 1));
            assert!(recording.counters.bytes > 60_000_000 && recording.counters.connections == 2);
            agrees(&recording, &server.stop(12), "large");
        });
    }
}

/// nginx ends each connection after so many requests; those that it does not look at any more are sent elsewhere, and
/// nothing is counted twice.
#[test]
fn a_limit_of_requests_for_a_connection_fails_nothing() {
    if !has(Kind::Nginx, "a_limit_of_requests_for_a_connection_fails_nothing") {
        return;
    }
    within_patience(|| {
        for tls in [false, true] {
            let authority = tls.then(|| Authority::new("one"));
            let server = Server::start(Kind::Nginx, authority.as_ref(), "keepalive_requests 100;");
            let mut seen = Vec::new();
            for (streams, connections) in [(1, 1), (10, 2), (100, 1), (150, 1)] {
                let tag = format!("{streams}-{connections}");
                let robots = streams * connections;
                let slice = mixed(Kind::Nginx, robots, (2_000_usize).div_ceil(robots), &tag);
                let target = target(&server, authority.as_ref(), streams as u16);
                let mut station = crate::Station::new(target, 1, Vec::new()).unwrap();
                let recording = run(&mut station, closed(&slice, 1));
                assert!(recording.counters.connections >= recording.counters.requests / 100, "{tag}");
                seen.push((tag, recording));
            }
            let all = seen.iter().map(|(_, recording)| recording.counters.requests as usize).sum();
            let record = server.stop(all);
            assert_eq!(record.len(), all);
            seen.iter().for_each(|(tag, recording)| agrees(recording, &record, tag));
        }
    });
}

/// Ten streams are configured, three allowed: those that nginx refuses before its settings are known are sent again,
/// and it has served each request once.
#[test]
fn fewer_streams_than_asked_for_fail_nothing() {
    if !has(Kind::Nginx, "fewer_streams_than_asked_for_fail_nothing") {
        return;
    }
    within_patience(|| {
        let server = Server::start(Kind::Nginx, None, "http2_max_concurrent_streams 3;");
        let mut station = crate::Station::new(target(&server, None, 10), 2, Vec::new()).unwrap();
        let slice = mixed(Kind::Nginx, 20, 30, "three");
        let recording = run(&mut station, closed(&slice, 2));
        agrees(&recording, &server.stop(600), "three");
    });
}

/// A new configuration: old processes finish what they have, new ones take over.
#[test]
fn a_reload_under_load_fails_nothing() {
    if !has(Kind::Nginx, "a_reload_under_load_fails_nothing") {
        return;
    }
    within_patience(|| {
        let server = Server::start(Kind::Nginx, None, "keepalive_requests 100000;");
        let slice = mixed(Kind::Nginx, 1, 1_200, "reload");
        let mut station = crate::Station::new(target(&server, None, 4), THREADS, Vec::new()).unwrap();
        let job = open(&slice, 2_000.0, 4);
        let recording = std::thread::scope(|scope| {
            let running = scope.spawn(move || run(&mut station, job));
            for _ in 0..3 {
                std::thread::sleep(std::time::Duration::from_millis(120));
                server.reload();
            }
            running.join().unwrap()
        });
        agrees(&recording, &server.stop(1_200), "reload");
    });
}

/// It is gone for a moment: failures are named, and good replies were served.
#[test]
fn a_restart_under_load_is_counted_to_the_last_request() {
    if !has(Kind::Nginx, "a_restart_under_load_is_counted_to_the_last_request") {
        return;
    }
    within_patience(|| {
        let mut server = Server::start(Kind::Nginx, None, "keepalive_requests 100000;");
        let slice = mixed(Kind::Nginx, 1, 1_600, "restart");
        let mut station = crate::Station::new(target(&server, None, 4), THREADS, Vec::new()).unwrap();
        let job = open(&slice, 2_000.0, 4);
        let recording = std::thread::scope(|scope| {
            let running = scope.spawn(move || run(&mut station, job));
            std::thread::sleep(std::time::Duration::from_millis(250));
            server.restart();
            running.join().unwrap()
        });
        let known =
            ["connect-refused", "connect-failed", "closed-early", "reset", "truncated", "send-failed"];
        assert!(
            errors(&recording).iter().all(|(class, _)| known.contains(class)),
            "{:?}",
            errors(&recording)
        );
        let (requests, replies) = (recording.counters.requests, recording.counters.replies);
        assert!(requests == 1_600 && replies >= 500, "{replies}");
        let record = server.stop(replies as usize);
        let unseen = record.len() as u64 - replies;
        // A reply that did not arrive may stand in the log: one for each stream at most.
        assert!(unseen <= 16, "{unseen}");
    });
}
