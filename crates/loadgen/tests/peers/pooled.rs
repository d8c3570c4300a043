//! Robots of an open loop that have connections of their own, and lines of their own.

use crate::listening::{MS, Planned, hear, hear_at, hear_one, heard};
use crate::support::{
    Nobody, OK, OK_CLOSE, Peer, Talk, any, closed, errors, get, lists, run, totals, within_patience,
};
use bakeoff_loadgen::{Continuation, LocalAddresses, Pace, Pools, Protocol, Reuse, StationJob, Target};
use bakeoff_meter::ErrorClass;
use bakeoff_units::Nanos;
use bakeoff_workload::{Request, Statuses};
use std::num::{NonZeroU16, NonZeroU64};
use std::sync::{Arc, Barrier, Mutex};

const ADDRESSES: &str = "127.0.1.1-127.0.1.9";

fn pooled(source: Planned, robots: usize, each: usize) -> StationJob<'static, Planned> {
    heard(source, Pace::Pooled(Pools { robots, each }))
}

/// `each` requests of every robot, all due at once; their targets name the robot.
fn at_once(robots: u32, each: usize) -> Vec<(Nanos, u32, Request)> {
    let request = |robot: u32| (Nanos::ZERO, robot, get(&format!("/{robot}")));
    (0..each).flat_map(|_| (0..robots).map(request)).collect()
}

fn with_addresses(target: Target) -> Target {
    Target { from: ADDRESSES.parse::<LocalAddresses>().unwrap(), ..target }
}

/// The last number of the address that a connection comes from.
fn caller(talk: &mut Talk) -> u8 {
    match talk.stream().unwrap().peer_addr().unwrap().ip() {
        std::net::IpAddr::V4(address) => address.octets()[3],
        std::net::IpAddr::V6(_) => 0,
    }
}

#[test]
fn each_robot_has_its_connections_and_its_address_and_no_more() {
    within_patience(|| {
        let together = Arc::new(Barrier::new(6));
        let strangers: Arc<Mutex<Vec<(u8, String)>>> = Arc::default();
        let seen = strangers.clone();
        let peer = Peer::new(move |talk| {
            let caller = caller(talk);
            let mut first = true;
            while let Some(head) = talk.request() {
                let robot = head.split([' ', '/']).nth(2).unwrap().to_owned();
                if robot.parse::<u8>().unwrap() + 1 != caller {
                    seen.lock().unwrap().push((caller, robot));
                }
                if std::mem::take(&mut first) {
                    together.wait(); // nobody is answered before all six are there
                }
                talk.say(OK);
            }
        });
        let target = with_addresses(peer.target());
        let (recording, source) = hear_at(target, pooled(Planned::of(at_once(3, 6)), 3, 2));
        assert_eq!(totals(&recording), (18, 18, 6));
        assert_eq!(peer.connections(), 6);
        assert_eq!(*strangers.lock().unwrap(), []);
        assert_eq!(recording.counters.postponed, 12);
        assert!((0..3).all(|robot| source.of_robot(robot).iter().filter(|told| told.reused).count() == 4));
    });
}

/// Its header lines on the time of sending are written then.
#[test]
fn what_has_waited_for_a_connection_has_its_header_lines_written_anew() {
    within_patience(|| {
        let heads: Arc<Mutex<Vec<bool>>> = Arc::default();
        let seen = heads.clone();
        let peer = Peer::new(move |talk| {
            while let Some(head) = talk.request() {
                seen.lock().unwrap().push(head.contains("\r\nSent: later\r\n"));
                talk.say(OK);
            }
        });
        let mut source = Planned::of(at_once(1, 3));
        source.anew = Some(b"Sent: later\r\n");
        let (recording, _) = hear_one(&peer, pooled(source, 1, 1));
        assert_eq!(totals(&recording), (3, 3, 1));
        assert_eq!(*heads.lock().unwrap(), [false, true, true]);
    });
}

/// The first request's connection is closed by the generator, the peer sees its end, and the later one has another.
#[test]
fn a_connection_that_idles_too_long_is_closed() {
    within_patience(|| {
        let (ends, ended) = std::sync::mpsc::channel();
        let peer = Peer::new(move |talk| {
            while talk.request().is_some() {
                talk.say(OK);
            }
            let _ = ends.send(());
        });
        let target = Target { idle_timeout: Some(MS(50)), ..peer.target() };
        let asked = [(MS(0), 0, get("/0")), (MS(1500), 0, get("/0"))];
        let (recording, source) = hear_at(target, pooled(Planned::of(asked), 1, 1));
        assert_eq!(totals(&recording), (2, 2, 2));
        assert!(source.of_robot(0).iter().all(|told| !told.reused));
        ended.recv().unwrap();
    });
}

/// The slow robot is answered when all of the fast one's requests have come.
#[test]
fn a_robot_waits_in_its_own_line_and_its_response_time_holds_the_wait() {
    within_patience(|| {
        let peer = Peer::new(|talk| {
            while let Some(head) = talk.request() {
                let fast = |log: &[(usize, String)]| log.iter().filter(|(_, target)| target == "/1").count();
                while head.starts_with("GET /0 ") && fast(&talk.log.lock().unwrap()) < 20 {
                    std::thread::yield_now();
                }
                talk.say(OK);
            }
        });
        let slow = (0..3).map(|_| (MS(0), 0, get("/0")));
        let fast = (0..20).map(|i| (MS(4 * i), 1, get("/1")));
        let (recording, source) = hear_one(&peer, pooled(Planned::of(slow.chain(fast)), 2, 1));
        assert_eq!(totals(&recording), (23, 23, 2));
        let slow = source.of_robot(0);
        assert!(slow.iter().all(|told| told.due == Nanos::ZERO && told.done >= MS(76)), "{slow:?}");
        assert!(slow.windows(2).all(|two| two[1].sent >= two[0].done), "{slow:?}");
        assert!(recording.counters.postponed >= 2);
        let counted = recording.times.lateness.count() + recording.counters.postponed;
        assert_eq!(counted, 23);
        // The wait in line is in the response times and not in the service times.
        let over = |histogram: &bakeoff_meter::Histogram| {
            histogram.buckets().iter().filter(|(edge, _)| *edge >= 76_000_000).map(|(_, n)| n).sum::<u64>()
        };
        assert!(over(&recording.times.response) >= 3);
        assert!(over(&recording.times.service) < over(&recording.times.response));
    });
}

#[test]
fn who_waits_in_line_at_the_end_is_told_so() {
    within_patience(|| {
        let plan = || at_once(1, 4).into_iter().chain(at_once(2, 1));
        let peer = Peer::new(|talk| while talk.request().is_some() {});
        let job = StationJob { until: Some(MS(60)), timeout: MS(120), ..pooled(Planned::of(plan()), 2, 1) };
        let (recording, _) = hear_one(&peer, job);
        assert_eq!(errors(&recording), [("not-sent", 4), ("timeout", 2)]);
        for (course, ends) in [(Continuation::Stop, "cut-off"), (Continuation::Drain, "timeout")] {
            let mut source = Planned::of(plan());
            source.course =
                Some(Box::new(move |now| if now >= MS(60) { course } else { Continuation::GoOn }));
            let (recording, source) =
                hear_one(&peer, StationJob { timeout: MS(120), ..pooled(source, 2, 1) });
            let mut expected = vec![(ends, 2), ("not-sent", 4)];
            expected.sort_unstable();
            assert_eq!(errors(&recording), expected, "{course:?}");
            let unsent = source.told.iter().filter(|told| told.result == Err(ErrorClass::NotSent));
            assert!(
                unsent.clone().all(|told| told.robot == 0 && told.sent == told.due && told.done >= MS(60))
            );
        }
    });
}

#[test]
fn connections_that_end_make_room_for_others_of_their_robot() {
    within_patience(|| {
        let closing = Peer::new(|talk| {
            talk.request();
            talk.say(OK_CLOSE);
        });
        let rude = Peer::new(|talk| {
            talk.request();
        });
        let keeping = Peer::new(|talk| talk.answer_all(OK));
        let plan = || pooled(Planned::of(at_once(4, 5)), 4, 2);
        let (recording, _) = hear_one(&closing, plan());
        assert_eq!(totals(&recording), (20, 20, 20));
        let (recording, _) = hear_one(&rude, plan());
        assert_eq!(errors(&recording), [("closed-early", 20)]);
        let single = Target { reuse: Reuse::Never, ..closing.target() };
        assert_eq!(totals(&hear_at(single, plan()).0), (20, 20, 20));
        let most = Reuse::UpTo(NonZeroU64::new(2).unwrap());
        let (recording, source) = hear_at(Target { reuse: most, ..keeping.target() }, plan());
        assert_eq!((recording.counters.requests, recording.counters.replies), (20, 20));
        // Five requests in twos over at most two connections at a time.
        assert!((12..=16).contains(&recording.counters.connections), "{:?}", recording.counters);
        assert!(source.told.iter().any(|told| told.reused));
    });
}

#[test]
fn nobody_there_ends_the_requests_of_all_robots() {
    within_patience(|| {
        let nobody = Nobody::new();
        let target = Target::plain(nobody.address, "localhost".to_owned());
        let (recording, _) = hear_at(target, pooled(Planned::of(at_once(7, 5)), 7, 2));
        assert_eq!(recording.counters.requests, 35);
        assert_eq!(errors(&recording), [("connect-refused", 35)]);
    });
}

#[test]
fn robots_are_dealt_to_threads_with_their_addresses() {
    within_patience(|| {
        let peer = Peer::new(|talk| {
            let caller = caller(talk);
            while talk.request().is_some() {
                talk.say(format!("HTTP/1.1 200 OK\r\nX-Caller: {caller}\r\nContent-Length: 0\r\n\r\n"));
            }
        });
        let mut station = crate::Station::new(with_addresses(peer.target()), 2, Vec::new()).unwrap();
        let pace = Pace::Pooled(Pools { robots: 5, each: 1 });
        let sources = vec![Planned::of(at_once(3, 4)), Planned::of(at_once(2, 4))];
        let (recording, sources) =
            hear(&mut station, StationJob { sources, ..heard(Planned::default(), pace) });
        assert_eq!(totals(&recording), (20, 20, 5));
        for (thread, source) in sources.iter().enumerate() {
            for told in &source.told {
                let address = told.robot as usize * 2 + thread + 1;
                assert!(told.head.contains(&format!("X-Caller: {address}\r\n")), "{told:?}");
            }
        }
    });
}

#[test]
fn pools_begin_anew_with_each_job_and_need_nobody_to_listen() {
    within_patience(|| {
        let peer = Peer::new(|talk| talk.answer_all(OK));
        let mut station = peer.station();
        for _ in 0..2 {
            let slice = lists(1, 30);
            let pace = Pace::Pooled(Pools { robots: 1, each: 1 });
            let job = StationJob { sources: slice.by_request(1), pace, ..closed(&slice, 1) };
            assert_eq!(totals(&run(&mut station, job)), (30, 30, 1));
        }
        let slice = lists(2, 3);
        assert_eq!(run(&mut station, closed(&slice, 1)).counters.replies, 6);
    });
}

#[test]
fn pools_over_http2_are_refused() {
    let streams = NonZeroU16::new(4).unwrap();
    let target = Target { protocol: Protocol::Http2 { streams }, ..Nobody::new().station().target().clone() };
    let mut station = crate::Station::new(target, 1, Vec::new()).unwrap();
    let slice = lists(1, 1);
    let pace = Pace::Pooled(Pools { robots: 1, each: 1 });
    let job =
        StationJob { sources: slice.by_request(1), pace, refused: Statuses::default(), ..closed(&slice, 1) };
    assert_eq!(station.run(any(job)).unwrap_err().kind(), std::io::ErrorKind::Unsupported);
}
