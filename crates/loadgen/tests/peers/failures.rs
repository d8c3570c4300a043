//! Every kind of failure, and the class under which it is counted.

use crate::support::{
    Nobody, OK, Peer, Talk, closed, errors, expecting, get, hooked, lists, one_robot, run, station_to,
    totals, within_patience,
};
use bakeoff_content::{Body, ObjectId};
use bakeoff_loadgen::{GIVE_UP_AFTER, Recording, StationJob};
use bakeoff_units::Nanos;
use bakeoff_workload::{Expect, Request};
use nix::sys::socket::{Backlog, listen};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// Plays the script to the request, then a good answer to a second one: the robot has gone on.
fn one_failure(request: Request, script: impl Fn(&mut Talk) + Send + Sync + 'static) -> Recording {
    failure_within(LONG, request, script)
}

/// No machine takes so long for a reply that comes.
const LONG: Nanos = Nanos::from_secs(60);
/// The wait for a reply that does not come.
const SHORT: Nanos = Nanos::from_secs(2);

fn failure_within(
    timeout: Nanos,
    request: Request,
    script: impl Fn(&mut Talk) + Send + Sync + 'static,
) -> Recording {
    let peer = Peer::new(move |talk| {
        if talk.number == 0 {
            script(talk);
        }
        talk.answer_all(OK);
    });
    let slice = one_robot(vec![request, get("/next")]);
    let job = StationJob { timeout, ..closed(&slice, 1) };
    let recording = run(&mut peer.station(), job);
    assert_eq!((recording.counters.requests, recording.counters.replies), (2, 1), "{:?}", errors(&recording));
    assert!(!recording.gave_up);
    recording
}

fn fails(class: &str, request: Request, script: impl Fn(&mut Talk) + Send + Sync + 'static) {
    let timeout = if class == "timeout" { SHORT } else { LONG };
    let recording = failure_within(timeout, request, script);
    assert_eq!(errors(&recording), [(class, 1)]);
}

/// The peer answers the first request with these bytes, and nothing else happens.
fn reply_fails(class: &str, expect: Expect, reply: &'static [u8]) {
    fails(class, expecting("/", expect), move |talk| {
        talk.request();
        talk.say(reply);
    });
}

/// The same, and then it closes.
fn reply_and_close_fails(class: &str, reply: &'static [u8]) {
    fails(class, get("/"), move |talk| {
        talk.request();
        talk.say(reply);
        talk.end_sending();
    });
}

#[test]
fn bytes_that_are_no_reply() {
    within_patience(|| {
        reply_fails("malformed", Expect::Anything, b"SSH-2.0-OpenSSH_9.2\r\n");
        reply_fails("malformed", Expect::Anything, b"HTTP/1.1 abc\r\n\r\n");
        reply_fails("malformed", Expect::Anything, b"HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\n");
        reply_fails(
            "malformed",
            Expect::Anything,
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        );
        reply_fails("malformed", Expect::Anything, b"HTTP/1.1 101 Switching Protocols\r\n\r\n");
        reply_fails("malformed", Expect::Anything, b"\x15\x03\x01\x00\x02\x02\x16");
    });
}

#[test]
fn a_head_without_end() {
    within_patience(|| {
        fails("malformed", get("/"), |talk| {
            talk.request();
            talk.say(b"HTTP/1.1 200 OK\r\nX: ");
            talk.dribble(&[b'a'; 70_000], 1_013);
        });
        fails("malformed", get("/"), |talk| {
            talk.request();
            talk.say(b"HTTP/1.1 200 OK\r\n");
            talk.dribble("X: y\r\n".repeat(200).as_bytes(), 100);
            talk.say(b"\r\n");
        });
    });
}

#[test]
fn bytes_behind_the_reply() {
    within_patience(|| {
        reply_fails("surplus", Expect::Anything, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok!");
        reply_fails("surplus", Expect::Anything, b"HTTP/1.1 204 No Content\r\n\r\nbody");
        reply_fails(
            "surplus",
            Expect::Anything,
            b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        );
        reply_fails(
            "surplus",
            Expect::Anything,
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nx",
        );
    });
}

#[test]
fn replies_that_are_cut_off() {
    within_patience(|| {
        reply_and_close_fails("truncated", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nnot all of it");
        reply_and_close_fails(
            "truncated",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        );
        reply_and_close_fails("truncated", b"HTTP/1.1 200 OK\r\nContent-Le");
        reply_and_close_fails("truncated", b"H");
        reply_and_close_fails("closed-early", b"");
    });
}

#[test]
fn connections_that_break() {
    within_patience(|| {
        fails("reset", get("/"), |talk| {
            talk.request();
            talk.say(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nnot all of it");
            talk.reset();
        });
        fails("reset", get("/"), |talk| {
            talk.request();
            talk.reset();
        });
    });
}

#[test]
fn wrong_replies() {
    within_patience(|| {
        let hello = Body::new(ObjectId::of_name(b"/"), 5);
        reply_fails("server-error", Expect::Anything, b"HTTP/1.1 503 Busy\r\nContent-Length: 2\r\n\r\nno");
        reply_fails("wrong-status", Expect::Status(404), OK);
        reply_fails("wrong-body", Expect::Body(hello), OK);
        reply_fails("wrong-length", Expect::Body(hello), b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhell");
        reply_fails("wrong-status", Expect::Body(hello), b"HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nno");
        let recording = one_failure(get("/"), |talk| {
            talk.request();
            talk.say(b"HTTP/1.1 500 Oh\r\nContent-Length: 2\r\n\r\nno");
        });
        assert_eq!(recording.counters.statuses.clone().into_iter().collect::<Vec<_>>(), [(200, 1), (500, 1)]);
        assert_eq!(recording.counters.connections, 1, "a wrong reply leaves the connection whole");
    });
}

#[test]
fn a_peer_that_never_answers() {
    within_patience(|| {
        let peer = Peer::new(|talk| while talk.request().is_some() {});
        let begin = Instant::now();
        let job = StationJob { timeout: Nanos::from_millis(100), ..closed(&lists(2, 3), 1) };
        let recording = run(&mut peer.station(), job);
        assert_eq!((errors(&recording), totals(&recording)), (vec![("timeout", 6)], (6, 0, 6)));
        let took = begin.elapsed();
        assert!(took >= Duration::from_millis(300) && took < Duration::from_secs(60), "{took:?}");
    });
}

#[test]
fn a_peer_that_answers_too_slowly() {
    within_patience(|| {
        fails("timeout", get("/"), |talk| {
            talk.request();
            talk.say(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel");
            assert!(talk.sees_the_end(), "the generator hangs up");
        });
    });
}

#[test]
fn the_second_close_in_a_row_is_a_failure() {
    within_patience(|| {
        let peer = Peer::new(|talk| {
            if talk.number == 0 {
                talk.request();
                talk.say(OK);
            }
            talk.request();
        });
        let recording = run(&mut peer.station(), closed(&lists(1, 2), 1));
        assert_eq!((errors(&recording), totals(&recording)), (vec![("closed-early", 1)], (2, 1, 2)));
        assert_eq!(peer.asked(), ["/0/0", "/0/1", "/0/1"]);
    });
}

#[test]
fn a_port_where_nobody_listens() {
    within_patience(|| {
        let nobody = Nobody::new();
        let mut station = nobody.station();
        let recording = run(&mut station, closed(&lists(1, 5), 1));
        assert_eq!((errors(&recording), totals(&recording)), (vec![("connect-refused", 5)], (5, 0, 0)));
        assert!(!recording.gave_up);
        // A robot that fails waits: 2, 4, 8, 16 ms between its attempts.
        let begin = Instant::now();
        run(&mut station, closed(&lists(1, 5), 1));
        assert!(begin.elapsed() >= Duration::from_millis(30), "{:?}", begin.elapsed());
        // Robots that get no connection give up together.
        let recording = run(&mut station, closed(&lists(50, 100), 1));
        assert!(recording.gave_up);
        let tried = u64::from(GIVE_UP_AFTER);
        let requests = recording.counters.requests;
        assert!((tried..tried + 50).contains(&requests), "{requests}");
    });
}

#[test]
fn a_server_that_only_fails_is_given_up() {
    within_patience(|| {
        let peer = Peer::new(|talk| talk.answer_all(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"));
        let recording = run(&mut peer.station(), closed(&lists(4, 1_000), 1));
        assert!(recording.gave_up);
        let requests = recording.counters.requests;
        assert!((u64::from(GIVE_UP_AFTER)..u64::from(GIVE_UP_AFTER) + 4).contains(&requests), "{requests}");
        // One good reply, so the run goes on to the end.
        let peer = Peer::new(|talk| {
            talk.request();
            talk.say(OK);
            talk.answer_all(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n");
        });
        let recording = run(&mut peer.station(), closed(&lists(1, 500), 1));
        assert!(!recording.gave_up);
        assert_eq!((errors(&recording), totals(&recording)), (vec![("server-error", 499)], (500, 1, 1)));
    });
}

#[test]
fn a_server_that_closes_every_connection_is_given_up() {
    within_patience(|| {
        let peer = Peer::new(|talk| {
            talk.request();
        });
        let recording = run(&mut peer.station(), closed(&lists(4, 1_000), 1));
        assert!(recording.gave_up);
        // Requests in flight then are no failures of the server's, but they are counted.
        let failures = recording.counters.errors["closed-early"];
        let cut_off = recording.counters.errors.get("cut-off").copied().unwrap_or(0);
        assert_eq!(recording.counters.requests, failures + cut_off);
        let at_most = u64::from(GIVE_UP_AFTER) + 4;
        assert!(failures >= u64::from(GIVE_UP_AFTER) && failures + cut_off < at_most, "{failures} {cut_off}");
    });
}

/// A listener whose queue is full, and the connection that fills it.
pub(crate) fn full_listener() -> (TcpListener, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listen(&listener, Backlog::new(0).unwrap()).unwrap();
    let filler = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (listener, filler)
}

#[test]
fn a_server_that_does_not_accept() {
    within_patience(|| {
        let (listener, _filler) = full_listener();
        let mut station = station_to(listener.local_addr().unwrap());
        let job = StationJob { timeout: Nanos::from_millis(100), ..closed(&lists(2, 2), 1) };
        let recording = run(&mut station, job);
        assert_eq!((errors(&recording), totals(&recording)), (vec![("connect-timeout", 4)], (4, 0, 0)));
    });
}

/// A server in a hurry: its answer and its end are there before the generator has seen that the
/// connection stands.
#[test]
fn an_answer_that_comes_with_the_connection() {
    within_patience(|| {
        let (listener, _filler) = full_listener();
        let address = listener.local_addr().unwrap();
        let (connecting, go) = channel();
        let (answered, answer) = channel();
        std::thread::spawn(move || {
            go.recv().unwrap();
            let _filler = listener.accept().unwrap();
            let (mut stream, _) = listener.accept().unwrap();
            std::io::Write::write_all(&mut stream, OK).unwrap();
            stream.shutdown(std::net::Shutdown::Write).unwrap();
            answered.send(()).unwrap();
            let _ = std::io::copy(&mut stream, &mut std::io::sink());
        });
        let mut station = station_to(address);
        let mut slice = lists(2, 1);
        slice.lists = std::sync::Arc::new(vec![vec![0], vec![]]);
        let wait = move |robot| {
            if robot == 1 {
                connecting.send(()).unwrap();
                answer.recv().unwrap();
            }
        };
        let job = hooked(StationJob { timeout: LONG, ..closed(&slice, 1) }, wait);
        let recording = run(&mut station, job);
        assert_eq!((errors(&recording), totals(&recording)), (vec![], (1, 1, 1)));
    });
}

#[test]
fn failures_of_some_leave_the_others_alone() {
    within_patience(|| {
        let peer = Peer::new(|talk| {
            while let Some(head) = talk.request() {
                match head.split(' ').nth(1).unwrap() {
                    "/0/3" => talk.say(b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"),
                    "/1/3" => return talk.say(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello"),
                    "/2/3" => talk.say(b"nonsense\r\n\r\n"),
                    "/3/3" => return talk.reset(),
                    _ => talk.say(OK),
                }
            }
        });
        let recording = run(&mut peer.station(), closed(&lists(5, 6), 1));
        // The reset met a connection that had served: it was asked again, and reset again.
        let expected = vec![("malformed", 1), ("reset", 1), ("server-error", 1), ("truncated", 1)];
        assert_eq!(errors(&recording), expected);
        assert_eq!((recording.counters.requests, recording.counters.replies), (30, 26));
    });
}
