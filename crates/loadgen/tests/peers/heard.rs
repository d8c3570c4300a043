//! Tests of sources that listen: each is told how its requests ended, once, as it is recorded.

use crate::listening::{MS, Planned, hear, hear_at, hear_one, heard};
use crate::support::{Authority, Nobody, OK, Peer, Talk, errors, expecting, get, totals, within_patience};
use bakeoff_content::{Body, ObjectId};
use bakeoff_loadgen::{ConnectionLimits, Continuation, Pace, Protocol, Reuse, StationJob, Target};
use bakeoff_meter::ErrorClass;
use bakeoff_units::Nanos;
use bakeoff_workload::{Expect, Request};
use std::num::NonZeroU16;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// All at once, over at most so many connections.
fn sourced(source: Planned, connections: usize) -> StationJob<'static, Planned> {
    heard(source, Pace::Sourced { connections })
}

/// A server that does to each request what its name says.
fn misbehave(talk: &mut Talk) {
    while let Some(head) = talk.request() {
        let target = head.split(' ').nth(1).unwrap();
        match target.trim_matches(|c: char| c == '/' || c.is_ascii_digit()) {
            "busy" => talk.say(b"HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\nno"),
            "cut" => return talk.say(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello"),
            "noise" => return talk.say(b"nonsense\r\n\r\n"),
            "more" => return talk.say(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok!"),
            "reset" => return talk.reset(),
            "gone" => return,
            "still" => {
                talk.sees_the_end();
                return;
            }
            "pieces" => talk.dribble(
                b"HTTP/1.1 103 Wait\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
                3,
            ),
            _ => talk.say(OK),
        }
    }
}

/// The requests that [`misbehave`] knows, and how often each.
fn everything(each: u32) -> Vec<Request> {
    let names = ["busy", "cut", "noise", "more", "reset", "gone", "still", "pieces", "good"];
    let mut requests = Vec::new();
    for i in 0..each {
        requests.extend(names.iter().map(|name| get(&format!("/{name}/{i}"))));
        let hello = Body::new(ObjectId::of_name(b"/"), 5);
        requests.push(expecting("/body", Expect::Body(hello)));
        requests.push(expecting("/status", Expect::Status(404)));
    }
    requests
}

/// The version of an object is known when the head of its reply has come, and then its bytes are.
#[test]
fn a_head_says_which_bytes_must_follow() {
    const LONG: u64 = 200;
    let of = |name: &str| Body::new(ObjectId::of_name(name.as_bytes()), LONG);
    within_patience(move || {
        // The target's words: the object that the head names, and the one whose bytes follow.
        let peer = Peer::new(move |talk| {
            while let Some(head) = talk.request() {
                let [said, sent] =
                    [1, 2].map(|word| head.split(['/', ' ']).nth(word + 1).unwrap().to_owned());
                let said = if said == "none" { String::new() } else { format!("Of: {said}\r\n") };
                let head = format!("HTTP/1.1 200 OK\r\n{said}Content-Length: {LONG}\r\n\r\n");
                talk.dribble(&[head.as_bytes(), of(&sent).from(0)].concat(), 7);
            }
        });
        let cases = [
            ("/old/old", true),
            ("/new/new", true),
            ("/new/old", false),
            ("/none/new", true),
            ("/none/old", false),
        ];
        let requests = cases.map(|(target, _)| (Nanos::ZERO, 0, expecting(target, Expect::Body(of("new")))));
        let headed = |head: &str| {
            let name = head.split("Of: ").nth(1)?.split('\r').next()?;
            Some(ObjectId::of_name(name.as_bytes()))
        };
        let mut source = Planned::of(requests);
        source.headed = Some(headed);
        let (_, source) = hear_one(&peer, sourced(source, 1));
        for (told, (target, right)) in source.of_robot(0).iter().zip(cases) {
            let expected = if right { Ok((200, LONG)) } else { Err(ErrorClass::WrongBody) };
            assert_eq!(told.result, expected, "{target}");
        }
        assert_eq!(source.told.len(), cases.len());
    });
}

#[test]
fn every_ending_is_told_once_and_as_it_is_recorded() {
    within_patience(|| {
        let peer = Peer::new(misbehave);
        let each = 4;
        let open = || Planned::of(everything(each).into_iter().map(|request| (Nanos::ZERO, 0, request)));
        let robots = everything(each).into_iter().zip(0..);
        let by_robot = Planned::of(robots.map(|(request, robot)| (Nanos::ZERO, robot % 5, request)));
        let closed = Pace::Closed { think: Nanos::ZERO, spread: Nanos::ZERO, connections: Some(3) };
        for job in [
            sourced(open(), 1),
            sourced(open(), 50),
            StationJob { robots: vec![5], ..heard(by_robot, closed) },
        ] {
            let (recording, source) = hear_one(&peer, StationJob { timeout: MS(1_000), ..job });
            let each = u64::from(each);
            let (counters, seen) = (&recording.counters, errors(&recording));
            assert_eq!((counters.requests, counters.replies), (11 * each, 2 * each), "{seen:?}");
            for class in ["malformed", "surplus", "truncated", "server-error", "wrong-body", "wrong-status"] {
                assert_eq!(counters.errors[class], each, "{seen:?}");
            }
            assert_eq!(counters.errors["timeout"], each, "{seen:?}");
            for told in &source.told {
                let has_head = told.head.starts_with("HTTP/1.1 ") && told.head.ends_with("\r\n\r\n");
                let none = told.head.is_empty();
                match told.result {
                    Ok(result) => assert_eq!((result, has_head), ((200, 5), true), "{told:?}"),
                    Err(ErrorClass::ServerError) => assert!(told.head.starts_with("HTTP/1.1 503 No\r\n")),
                    Err(ErrorClass::Malformed | ErrorClass::Reset | ErrorClass::Timeout) => assert!(none),
                    Err(ErrorClass::Truncated | ErrorClass::Surplus) => assert!(has_head, "{told:?}"),
                    Err(_) => {}
                }
            }
        }
    });
}

#[test]
fn heads_are_kept_whole_whatever_their_pieces() {
    within_patience(|| {
        let reply =
            b"HTTP/1.1 100 Go on\r\n\r\nHTTP/1.1 200 Fine\r\nX-One: 1\r\nContent-Length: 5\r\n\r\nhello";
        let kept = "HTTP/1.1 200 Fine\r\nX-One: 1\r\nContent-Length: 5\r\n\r\n";
        let script = move |talk: &mut Talk| {
            let mut piece = reply.len();
            while talk.request().is_some() {
                talk.dribble(reply, piece);
                piece = (piece / 2).max(1);
            }
        };
        let authority = Authority::new("one");
        let (plain, tls) = (Peer::new(script), Peer::tls(&authority, script));
        for target in [plain.target(), tls.tls_target(&authority, "localhost")] {
            let source = Planned::of((0..9).map(|i| (MS(i), 0, get("/"))));
            let (recording, source) = hear_at(target, sourced(source, 1));
            assert_eq!(totals(&recording), (9, 9, 1));
            assert!(source.told.iter().all(|told| told.head == kept && told.result == Ok((200, 5))));
            let reused: Vec<bool> = source.told.iter().map(|told| told.reused).collect();
            assert_eq!(reused, [false, true, true, true, true, true, true, true, true]);
        }
    });
}

#[test]
fn what_was_never_sent_is_told_too() {
    within_patience(|| {
        let peer = Peer::new(|talk| {
            while talk.request().is_some() {
                std::thread::sleep(Duration::from_millis(20));
                talk.say(OK);
            }
        });
        let source = Planned::of((0..1000).map(|i| (MS(2 * i), 0, get("/"))));
        let (recording, source) = hear_one(&peer, StationJob { until: Some(MS(200)), ..sourced(source, 1) });
        let (unsent, all) = (recording.counters.errors["not-sent"], recording.counters.requests);
        assert!(unsent >= 80 && all == 100, "{unsent} of {all}");
        let due: Vec<Nanos> = source.of_robot(0).iter().map(|told| told.due).collect();
        assert_eq!(due, (0..100).map(|i| MS(2 * i)).collect::<Vec<_>>());
    });
}

#[test]
fn robots_in_line_at_the_end_are_told_what_they_would_have_asked() {
    within_patience(|| {
        let peer = Peer::new(|talk| while talk.request().is_some() {});
        let source = Planned::of((0..4).map(|robot| (Nanos::ZERO, robot, get("/"))));
        let pace = Pace::Closed { think: Nanos::ZERO, spread: Nanos::ZERO, connections: Some(1) };
        let job =
            StationJob { robots: vec![4], until: Some(MS(50)), timeout: MS(100), ..heard(source, pace) };
        let (recording, source) = hear_one(&peer, job);
        assert_eq!(errors(&recording), [("not-sent", 3), ("timeout", 1)]);
        let mut robots: Vec<u32> = source.told.iter().map(|told| told.robot).collect();
        robots.sort_unstable();
        assert_eq!(robots, [0, 1, 2, 3]);
    });
}

#[test]
fn nobody_there_is_told_request_by_request() {
    within_patience(|| {
        let nobody = Nobody::new();
        let source = Planned::of((0..5_000).map(|_| (Nanos::ZERO, 3, get("/"))));
        let target = Target::plain(nobody.address, "localhost".to_owned());
        let (recording, source) = hear_at(target, sourced(source, 10));
        assert!(recording.gave_up);
        assert!(source.told.iter().all(|told| told.robot == 3 && !told.reused && told.head.is_empty()));
    });
}

#[test]
fn an_interrupted_run_cuts_off_what_is_in_flight() {
    within_patience(|| {
        static NOW: AtomicBool = AtomicBool::new(false);
        let peer = Peer::new(|talk| {
            for _ in 0..3 {
                talk.request();
            }
        });
        let source = Planned::of((0..3).map(|_| (Nanos::ZERO, 0, get("/"))));
        let log = peer.log.clone();
        let waker = std::thread::spawn(move || {
            while log.lock().unwrap().len() < 3 {
                std::thread::yield_now();
            }
            NOW.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        let (recording, _) = hear_one(&peer, StationJob { interrupted: &NOW, ..sourced(source, 3) });
        waker.join().unwrap();
        assert_eq!(errors(&recording), [("cut-off", 3)]);
    });
}

/// Both ways of a source to say that it is over, with one request in flight that takes 150 ms and others
/// that wait for its connection.
#[test]
fn a_source_may_say_that_it_is_over() {
    within_patience(|| {
        for (course, ends) in
            [(Continuation::Drain, Ok((200, 5))), (Continuation::Stop, Err(ErrorClass::CutOff))]
        {
            let peer = Peer::new(|talk| {
                while talk.request().is_some() {
                    std::thread::sleep(Duration::from_millis(150));
                    talk.say(OK);
                }
            });
            let mut source = Planned::of((0..100).map(|i| (MS(10 * i), 0, get("/"))));
            source.course =
                Some(Box::new(move |now| if now >= MS(50) { course } else { Continuation::GoOn }));
            let (recording, source) = hear_one(&peer, sourced(source, 1));
            assert_eq!(recording.counters.requests, 1, "{course:?}");
            assert_eq!(source.told[0].result, ends);
            assert!(source.told[0].done >= MS(if course == Continuation::Drain { 150 } else { 50 }));
        }
    });
}

#[test]
fn what_a_reply_calls_for_is_asked_at_once() {
    within_patience(|| {
        let peer = Peer::new(|talk| talk.answer_all(OK));
        let mut source = Planned::of([(Nanos::ZERO, 0, get("/0"))]);
        let mut left = 100;
        source.answer = Some(Box::new(move |told| {
            left -= 1;
            if left > 0 { vec![(told.done, 0, get("/"))] } else { Vec::new() }
        }));
        let (recording, source) = hear_one(&peer, sourced(source, 4));
        assert_eq!(totals(&recording), (100, 100, 1));
        let told = source.of_robot(0);
        assert!(told.windows(2).all(|two| two[1].due == two[0].done), "each follows from the one before");
        // A loop that looked only when its time limits are due would take 20 ms for each. At 100 requests that is two
        // seconds, whatever the machine: the quickest ten tell, as it may stand still for some.
        let mut took: Vec<u64> = told.iter().map(|told| told.done.since(told.due).get()).collect();
        took.sort_unstable();
        assert!(took[9] < 15_000_000, "{took:?}");
    });
}

#[test]
fn a_page_and_what_it_embeds_before_the_next_page() {
    within_patience(|| {
        let peer = Peer::new(|talk| talk.answer_all(OK));
        let pages = (0..5).map(|page| (MS(40 * page), 0, get(&format!("/page{page}"))));
        let mut source = Planned::of(pages);
        source.answer = Some(Box::new(move |told| {
            let embedded = |_| (told.done + MS(1), 1, get("/image"));
            if told.robot == 0 { (0..3).map(embedded).collect() } else { Vec::new() }
        }));
        let (recording, source) = hear_one(&peer, sourced(source, 8));
        assert_eq!((recording.counters.requests, recording.counters.replies), (20, 20));
        // Pages that a busy machine sends late may be answered in another order.
        let mut due: Vec<Nanos> = source.of_robot(1).iter().map(|image| image.due).collect();
        let mut expected: Vec<Nanos> =
            source.of_robot(0).iter().flat_map(|page| [page.done + MS(1); 3]).collect();
        due.sort_unstable();
        expected.sort_unstable();
        assert_eq!(due, expected);
    });
}

#[test]
fn two_threads_have_a_source_each_and_give_them_back_in_order() {
    within_patience(|| {
        let peer = Peer::new(|talk| talk.answer_all(OK));
        let mut station = crate::Station::new(peer.target(), 2, Vec::new()).unwrap();
        let source = |worker: u64| Planned::of((0..20 + worker).map(|i| (MS(i), worker as u32, get("/"))));
        let pace = Pace::Sourced { connections: 2 };
        let job = StationJob { sources: vec![source(0), source(1)], ..heard(Planned::default(), pace) };
        let (recording, sources) = hear(&mut station, job);
        assert_eq!(recording.counters.replies, 41);
        assert_eq!(sources.iter().map(|source| source.told.len()).collect::<Vec<_>>(), [20, 21]);
        assert!((0..2).all(|worker| sources[worker].told.iter().all(|told| told.robot == worker as u32)));
    });
}

#[test]
fn http2_is_refused() {
    let streams = NonZeroU16::new(4).unwrap();
    let target = Target { protocol: Protocol::Http2 { streams }, ..Nobody::new().station().target().clone() };
    let mut station = crate::Station::new(target, 1, Vec::new()).unwrap();
    let refused = station.run_heard(sourced(Planned::default(), 1)).err().unwrap();
    assert_eq!(refused.kind(), std::io::ErrorKind::Unsupported);
}

#[test]
fn connections_carry_what_was_drawn_for_them() {
    within_patience(|| {
        let peer = Peer::new(|talk| talk.answer_all(OK));
        let limits = ConnectionLimits::new([1, 3, 2]).unwrap();
        let target = Target { reuse: Reuse::Drawn(limits), ..peer.target() };
        let source = Planned::of((0..12).map(|i| (MS(i), 0, get("/"))));
        let (recording, source) = hear_at(target, sourced(source, 1));
        assert_eq!(totals(&recording), (12, 12, 6));
        let log = peer.log.lock().unwrap();
        let carried = (0..6).map(|number| log.iter().filter(|(of, _)| *of == number).count());
        assert_eq!(carried.collect::<Vec<_>>(), [1, 3, 2, 1, 3, 2]);
        let fresh: Vec<bool> = source.told.iter().map(|told| !told.reused).collect();
        assert_eq!(fresh[..6], [true, true, false, false, true, false]);
    });
}
