//! The open loop: requests come due however late replies are.

use crate::support::{
    NEVER, Nobody, OK, Peer, any, closed, get, hooked, one_robot, run, totals, within_patience,
};
use bakeoff_loadgen::{
    BodyCheck, Constant, GIVE_UP_AFTER, Original, Pace, Pacer, Poisson, Pools, StationJob,
};
use bakeoff_meter::Histogram;
use bakeoff_units::{Nanos, PerSecond};
use bakeoff_workload::{Ask, ListSource, Slice, Source, Statuses};
use std::sync::{Arc, Barrier, Condvar, Mutex};
use std::time::Duration;

const RATE: f64 = 200.0;
const REQUESTS: usize = 120;
/// The request at which the server stalls, and how many it has heard when it goes on: the last of them is due 300 ms
/// later, and all that were sent meanwhile wait.
const STALLS_AT: usize = 20;
const GOES_ON_AT: usize = 80;
/// Length of a stall where that does not count.
const LONG_STALL: Duration = Duration::from_millis(300);
/// It waits a little longer, so that the last of them has waited, too.
const STALL: Duration = Duration::from_millis(120);

fn numbered(requests: usize) -> Slice {
    one_robot((0..requests).map(|i| get(&format!("/{i}"))).collect())
}

fn open(
    slice: &Slice,
    threads: usize,
    connections: usize,
    pacers: Vec<Box<dyn Pacer>>,
) -> StationJob<'static, ListSource> {
    let pace = Pace::Open { pacers, connections };
    StationJob { sources: slice.by_request(threads), robots: Vec::new(), pace, ..closed(slice, threads) }
}

fn constant(rate: f64, threads: usize) -> Vec<Box<dyn Pacer>> {
    let rate = PerSecond::new(rate).unwrap();
    (0..threads).map(|worker| Box::new(Constant::new(rate, worker, threads)) as Box<dyn Pacer>).collect()
}

fn longer_than(histogram: &Histogram, millis: u64) -> u64 {
    histogram.buckets().iter().filter(|(edge, _)| *edge > millis * 1_000_000).map(|(_, count)| count).sum()
}

/// The server answers nobody until it has got so many: a generator that waited for it would never send them.
#[test]
fn requests_go_on_while_the_server_stalls() {
    within_patience(|| {
        let heard = Arc::new((Mutex::new(0), Condvar::new()));
        let peer = Peer::new(move |talk| {
            let (heard, changed) = &*heard;
            while talk.request().is_some() {
                let mut count = heard.lock().unwrap();
                *count += 1;
                changed.notify_all();
                let stalls = *count > STALLS_AT && *count <= GOES_ON_AT;
                drop(changed.wait_while(count, |count| stalls && *count < GOES_ON_AT).unwrap());
                if stalls {
                    std::thread::sleep(STALL);
                }
                talk.say(OK);
            }
        });
        let slice = numbered(REQUESTS);
        let recording = run(&mut peer.station(), open(&slice, 1, REQUESTS, constant(RATE, 1)));
        assert_eq!(recording.counters.replies, REQUESTS as u64);
        assert_eq!(recording.counters.postponed, 0);
        // Requests that wait for a server are served for long, and were not sent late.
        let held = (GOES_ON_AT - STALLS_AT) as u64;
        let long = longer_than(&recording.times.service, 100);
        assert!(long >= held, "only {long} of {held} were served for over 100 ms");
        assert_eq!(recording.times.lateness.count(), REQUESTS as u64);
    });
}

#[test]
fn what_is_in_flight_is_seen_at_every_moment() {
    within_patience(|| {
        let all_asked = Arc::new(Barrier::new(REQUESTS + 1));
        let gate = all_asked.clone();
        let peer = Peer::new(move |talk| {
            if talk.request().is_some() {
                gate.wait();
                talk.say(OK);
                talk.answer_all(OK);
            }
        });
        // Nobody is answered before everybody has asked, which is at 600 ms, and has waited for a while.
        let slice = numbered(REQUESTS);
        let mut station = crate::Station::new(peer.target(), 2, Vec::new()).unwrap();
        let job = open(&slice, 2, REQUESTS, constant(RATE, 2));
        let opener = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_secs(2));
            all_asked.wait()
        });
        let recording = station.run_sampled(any(job), Nanos::from_millis(50)).unwrap();
        opener.join().unwrap();
        assert_eq!(totals(&recording), (REQUESTS as u64, REQUESTS as u64, REQUESTS as u64));
        // A sample each 50 ms, but for those that a machine that stands still misses; as nobody is answered they go up
        // to all that were asked, and none is asked before it is due.
        let seen = recording.in_flight;
        assert!(seen.len() as u64 <= recording.counters.wall_ns / 50_000_000 + 2, "{seen:?}");
        assert_eq!(seen[0], 0);
        let all = seen.iter().position(|count| *count as usize == REQUESTS).expect("all were in flight");
        assert!(all >= 11 && seen[..all].is_sorted(), "{seen:?}");
    });
}

#[test]
fn one_connection_postpones_and_the_response_time_holds_the_wait() {
    within_patience(|| {
        let peer = Peer::new(move |talk| {
            while let Some(head) = talk.request() {
                if head.starts_with(&format!("GET /{STALLS_AT} ")) {
                    std::thread::sleep(LONG_STALL);
                }
                talk.say(OK);
            }
        });
        let slice = numbered(REQUESTS);
        let recording = run(&mut peer.station(), open(&slice, 1, 1, constant(RATE, 1)));
        assert_eq!(totals(&recording), (REQUESTS as u64, REQUESTS as u64, 1));
        let times = &recording.times;
        // Those that came due in the first 200 ms of the stall waited 100 ms or longer; the server was slow for one of
        // them.
        let (response, service) = (longer_than(&times.response, 100), longer_than(&times.service, 100));
        assert!(response >= 30, "only {response} responses took over 100 ms");
        assert!(
            service >= 1 && response >= service + 30,
            "{service} of {response}: the server was slow once"
        );
        // The server held them up, and not this machine: none of them counts as the generator's lateness.
        let postponed = recording.counters.postponed;
        assert!(postponed >= 50, "only {postponed} postponed");
        assert_eq!(times.lateness.count() + postponed, REQUESTS as u64);
    });
}

#[test]
fn a_generator_that_is_late_says_so() {
    within_patience(|| {
        let peer = Peer::new(|talk| talk.answer_all(OK));
        let slice = numbered(40);
        let mut asked = 0;
        let oversleeps = move |_| {
            asked += 1;
            if asked == 10 {
                std::thread::sleep(Duration::from_millis(100));
            }
        };
        let job = hooked(open(&slice, 1, 40, constant(200.0, 1)), oversleeps);
        let recording = run(&mut peer.station(), job);
        assert_eq!((recording.counters.replies, recording.counters.postponed), (40, 0));
        assert_eq!(recording.times.lateness.count(), 40);
        let late = longer_than(&recording.times.lateness, 20);
        assert!(late >= 14, "only {late} were more than 20 ms late");
        assert!(recording.times.lateness.quantile(1.0) >= Nanos::from_millis(100));
    });
}

#[test]
fn every_request_is_made_once_at_its_time() {
    within_patience(|| {
        let rate = PerSecond::new(1000.0).unwrap();
        let poisson = |worker| Box::new(Poisson::new(rate, 7, worker, 2)) as Box<dyn Pacer>;
        let original = |_| Box::new(Original::new(2.0)) as Box<dyn Pacer>;
        let mut stamped = numbered(200);
        stamped.at = Arc::new((0..200).map(|i| Nanos::from_millis(i * 2)).collect());
        // The third column: when the last request is due, in milliseconds.
        for (slice, pacers, last) in [
            (numbered(200), constant(1000.0, 2), 199),
            (numbered(200), (0..2).map(poisson).collect(), 120),
            (stamped, (0..2).map(original).collect(), 199),
        ] {
            let peer = Peer::new(|talk| talk.answer_all(OK));
            let mut station = crate::Station::new(peer.target(), 2, Vec::new()).unwrap();
            let recording = run(&mut station, open(&slice, 2, 32, pacers));
            assert_eq!((recording.counters.requests, recording.counters.replies), (200, 200));
            let mut expected: Vec<_> = (0..200).map(|i| format!("/{i}")).collect();
            expected.sort();
            assert_eq!(peer.asked(), expected);
            assert!(recording.counters.wall_ns >= last * 1_000_000, "{}", recording.counters.wall_ns);
        }
    });
}

#[test]
fn no_more_connections_than_allowed() {
    within_patience(|| {
        // Nobody is answered before three are there, all there may be.
        let together = Arc::new(Barrier::new(3));
        let peer = Peer::new(move |talk| {
            talk.request();
            together.wait();
            talk.say(OK);
            talk.answer_all(OK);
        });
        let slice = numbered(100);
        let mut station = crate::Station::new(peer.target(), 2, Vec::new()).unwrap();
        let recording = run(&mut station, open(&slice, 2, 3, constant(5000.0, 2)));
        assert_eq!(totals(&recording), (100, 100, 3));
        assert_eq!(peer.connections(), 3);
    });
}

#[test]
fn open_connections_are_used_before_new_ones_are_made() {
    within_patience(|| {
        let peer = Peer::new(|talk| talk.answer_all(OK));
        let mut station = peer.station();
        let slice = numbered(30);
        let first = run(&mut station, open(&slice, 1, 50, constant(300.0, 1)));
        let second = run(&mut station, open(&slice, 1, 50, constant(300.0, 1)));
        // The number needed at once depends on the machine: each is used again before a further one is made.
        let (before, after) = (first.counters.connections, second.counters.connections);
        assert_eq!(peer.connections() as u64, before + after);
        assert!(before < 30 && after < 30, "{before} {after}");
        assert_eq!((first.counters.replies, second.counters.replies), (30, 30));
    });
}

#[test]
fn an_empty_list_ends_at_once_and_a_worker_without_work_too() {
    within_patience(|| {
        let peer = Peer::new(|talk| talk.answer_all(OK));
        let mut station = crate::Station::new(peer.target(), 2, Vec::new()).unwrap();
        for requests in [0, 1] {
            let slice = numbered(requests);
            let recording = run(&mut station, open(&slice, 2, 4, constant(1000.0, 2)));
            assert_eq!(recording.counters.replies, requests as u64);
        }
    });
}

#[test]
fn an_open_loop_gives_up_too() {
    within_patience(|| {
        let nobody = Nobody::new();
        let recording = run(&mut nobody.station(), open(&numbered(5_000), 1, 10, constant(5_000.0, 1)));
        assert!(recording.gave_up);
        let refused = recording.counters.errors["connect-refused"];
        assert_eq!(totals(&recording), (refused, 0, 0));
        assert!(refused >= u64::from(GIVE_UP_AFTER) && refused < 5_000, "{refused}");
    });
}

#[test]
fn until_ends_an_open_loop() {
    within_patience(|| {
        let peer = Peer::new(|talk| talk.answer_all(OK));
        let slice = numbered(100_000);
        let job =
            StationJob { until: Some(Nanos::from_millis(200)), ..open(&slice, 1, 20, constant(500.0, 1)) };
        let recording = run(&mut peer.station(), job);
        // One each 2 ms; requests that a stalled machine does not send are counted, too.
        assert_eq!(recording.counters.requests, 100);
        assert!((1..=100).contains(&recording.counters.replies), "{:?}", recording.counters);
    });
}

/// 100 requests come due in 200 ms; one connection and a server that takes 20 ms for each leave
/// most of them unsent, and none of them forgotten.
#[test]
fn what_was_due_and_never_sent_is_counted() {
    within_patience(|| {
        let peer = Peer::new(|talk| {
            while talk.request().is_some() {
                std::thread::sleep(Duration::from_millis(20));
                talk.say(OK);
            }
        });
        let slice = numbered(100_000);
        let job =
            StationJob { until: Some(Nanos::from_millis(200)), ..open(&slice, 1, 1, constant(500.0, 1)) };
        let recording = run(&mut peer.station(), job);
        let counters = &recording.counters;
        assert_eq!(counters.requests, 100);
        // 20 ms each leave room for eleven at most.
        let unsent = counters.errors["not-sent"];
        assert!(unsent >= 85, "{unsent}");
        assert_eq!(counters.replies + unsent, 100);
    });
}

/// Gives so many requests, and names a time of the next one even when it has no more.
struct Forgetful(u32);

impl Source for Forgetful {
    fn next(&mut self, _robot: usize) -> Option<Ask<'_>> {
        self.0 = self.0.checked_sub(1)?;
        Some(Ask { target: b"/", ..Ask::default() })
    }

    fn upcoming(&self, _robot: usize) -> Option<Nanos> {
        Some(Nanos::ZERO)
    }
}

#[test]
fn a_source_that_has_no_more_is_not_asked_for_ever_whatever_time_it_names() {
    within_patience(|| {
        let peer = Peer::new(|talk| talk.answer_all(OK));
        let paces = || {
            let pacers = vec![Box::new(Original::new(1.0)) as Box<dyn Pacer>];
            let pools = Pools { robots: 1, each: 2 };
            [Pace::Open { pacers, connections: 2 }, Pace::Sourced { connections: 2 }, Pace::Pooled(pools)]
        };
        for until in [None, Some(Nanos::from_millis(50))] {
            for pace in paces() {
                let job = StationJob {
                    sources: vec![Forgetful(7)],
                    robots: Vec::new(),
                    pace,
                    begins: None,
                    timeout: Nanos::from_secs(10),
                    until,
                    check: BodyCheck::Full,
                    refused: Statuses::default(),
                    interrupted: &NEVER,
                };
                let recording = run(&mut peer.station(), job);
                assert_eq!(recording.counters.requests, 7);
                // Requests due before the end and not sent in time are counted too.
                assert!(recording.counters.replies == 7 || until.is_some());
            }
        }
    });
}
