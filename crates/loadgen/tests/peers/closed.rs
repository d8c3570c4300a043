//! The closed loop: N robots, each asks again when it was answered.

use crate::support::{
    OK, OK_CLOSE, Peer, closed, errors, get, hooked, lists, one_robot, run, totals, within_patience,
};
use bakeoff_loadgen::{Pace, StationJob};
use bakeoff_units::Nanos;
use bakeoff_workload::{Method, Request};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

#[test]
fn every_request_is_made_once_in_each_robots_order() {
    within_patience(|| {
        for threads in [1, 2, 3] {
            let peer = Peer::new(|talk| talk.answer_all(OK));
            let mut station = crate::Station::new(peer.target(), threads, Vec::new()).unwrap();
            let slice = lists(7, 30);
            let recording = run(&mut station, closed(&slice, threads));
            assert_eq!(totals(&recording), (210, 210, 7));
            assert_eq!(recording.counters.bytes, 210 * OK.len() as u64);
            assert_eq!(recording.counters.statuses[&200], 210);
            assert!(recording.counters.wall_ns > 0 && !recording.gave_up);
            let log = peer.log.lock().unwrap();
            assert_eq!(log.len(), 210);
            for connection in 0..7 {
                let asked: Vec<_> = log.iter().filter(|(of, _)| *of == connection).map(|(_, t)| t).collect();
                let robot = asked[0].split('/').nth(1).unwrap();
                let order: Vec<_> = (0..30).map(|i| format!("/{robot}/{i}")).collect();
                assert_eq!(asked, order.iter().collect::<Vec<_>>());
            }
        }
    });
}

#[test]
fn connections_live_from_job_to_job() {
    within_patience(|| {
        let peer = Peer::new(|talk| talk.answer_all(OK));
        let mut station = crate::Station::new(peer.target(), 2, Vec::new()).unwrap();
        let slice = lists(5, 10);
        assert_eq!(totals(&run(&mut station, closed(&slice, 2))), (50, 50, 5));
        assert_eq!(totals(&run(&mut station, closed(&slice, 2))), (50, 50, 0));
        assert_eq!(peer.connections(), 5);
        station.disconnect();
        assert_eq!(totals(&run(&mut station, closed(&slice, 2))), (50, 50, 5));
        assert_eq!(peer.connections(), 10);
    });
}

#[test]
fn a_server_that_closed_between_jobs_is_not_blamed() {
    within_patience(|| {
        let (close, told) = channel::<()>();
        let told = Mutex::new(told);
        let (closed_all, all_closed) = channel();
        let peer = Peer::new(move |talk| {
            if talk.number >= 4 {
                return talk.answer_all(OK);
            }
            for _ in 0..10 {
                talk.request().unwrap();
                talk.say(OK);
            }
            told.lock().unwrap().recv().unwrap();
            talk.end_sending();
            closed_all.send(()).unwrap();
        });
        let mut station = peer.station();
        let slice = lists(4, 10);
        assert_eq!(totals(&run(&mut station, closed(&slice, 1))), (40, 40, 4));
        for _ in 0..4 {
            close.send(()).unwrap();
            all_closed.recv().unwrap();
        }
        assert_eq!(totals(&run(&mut station, closed(&slice, 1))), (40, 40, 4));
    });
}

/// The close is seen only when the next request is already under way.
#[test]
fn a_request_that_meets_a_close_is_sent_once_more() {
    within_patience(|| {
        let peer = Peer::new(|talk| {
            for _ in 0..3 {
                if talk.request().is_none() {
                    return;
                }
                talk.say(OK);
            }
            talk.request(); // and closes without a word
        });
        let slice = lists(1, 10);
        let recording = run(&mut peer.station(), closed(&slice, 1));
        // Three are answered on each connection, the fourth is sent there and again on the next.
        assert_eq!(totals(&recording), (10, 10, 4));
        assert_eq!(peer.log.lock().unwrap().len(), 13);
    });
}

/// It might be processed twice (RFC 9112 section 9.3.1).
#[test]
fn a_post_that_meets_a_close_has_failed() {
    within_patience(|| {
        let peer = Peer::new(|talk| {
            talk.request();
            talk.say(OK);
            talk.request(); // and closes without a word
        });
        for (method, expected, asked) in [(Method::Post, (3, 2, 2), 3), (Method::Get, (3, 3, 3), 5)] {
            peer.log.lock().unwrap().clear();
            let second = Request { method, ..get("/1") };
            let slice = one_robot(vec![get("/0"), second, get("/2")]);
            let recording = run(&mut peer.station(), closed(&slice, 1));
            assert_eq!((totals(&recording), peer.log.lock().unwrap().len()), (expected, asked), "{method:?}");
            let failed = if method == Method::Post { vec![("closed-early", 1)] } else { vec![] };
            assert_eq!(errors(&recording), failed, "{method:?}");
        }
    });
}

/// A reply that would allow another request, and the end of the server's half right behind it.
#[test]
fn a_half_closed_connection_is_not_used_again() {
    within_patience(|| {
        let (ended, end) = channel();
        let peer = Peer::new(move |talk| {
            talk.request();
            talk.say(OK);
            talk.end_sending();
            let _ = ended.send(());
            while talk.request().is_some() {}
        });
        let slice = lists(2, 3);
        let mut first = true;
        // Robot 1 is held back until reply and end of robot 0's connection lie there together.
        let wait = move |robot| {
            if robot == 1 && std::mem::take(&mut first) {
                end.recv().unwrap();
            }
        };
        let job = hooked(StationJob { timeout: Nanos::from_secs(20), ..closed(&slice, 1) }, wait);
        let recording = run(&mut peer.station(), job);
        assert_eq!(errors(&recording), []);
        assert_eq!(totals(&recording), (6, 6, 6));
    });
}

#[test]
fn think_time_is_kept() {
    within_patience(|| {
        let peer = Peer::new(|talk| talk.answer_all(OK));
        let slice = lists(3, 5);
        let think = Nanos::from_millis(20);
        let begin = Instant::now();
        let recording = run(
            &mut peer.station(),
            StationJob {
                pace: Pace::Closed { think, spread: Nanos::ZERO, connections: None },
                ..closed(&slice, 1)
            },
        );
        assert_eq!(totals(&recording), (15, 15, 3));
        assert!(begin.elapsed() >= Duration::from_millis(80) && recording.counters.wall_ns >= 80_000_000);
        // Thinking is not waiting for the server: the quickest reply took less than a thought.
        assert!(recording.times.response.quantile(0.0) < think);
    });
}

#[test]
fn a_server_that_closes_while_robots_think_costs_a_connection_and_no_error() {
    within_patience(|| {
        let peer = Peer::new(|talk| {
            talk.request();
            talk.say(OK);
        });
        let slice = lists(3, 4);
        let think = Nanos::from_millis(10);
        let recording = run(
            &mut peer.station(),
            StationJob {
                pace: Pace::Closed { think, spread: Nanos::ZERO, connections: None },
                ..closed(&slice, 1)
            },
        );
        assert_eq!(totals(&recording), (12, 12, 12));
    });
}

#[test]
fn a_server_that_says_close_is_given_a_new_connection() {
    within_patience(|| {
        let peer = Peer::new(|talk| {
            talk.request();
            talk.say(OK_CLOSE);
        });
        let recording = run(&mut peer.station(), closed(&lists(2, 6), 1));
        assert_eq!(totals(&recording), (12, 12, 12));
    });
}

#[test]
fn an_interrupt_ends_the_job_at_once() {
    within_patience(|| {
        let stop = AtomicBool::new(false);
        let (asked, all_asked) = channel();
        let peer = Peer::new(move |talk| {
            while talk.request().is_some() {
                let _ = asked.send(()); // and never answers
            }
        });
        let slice = lists(3, 10);
        let job = closed(&slice, 1);
        let ended = std::thread::scope(|scope| {
            let job = StationJob { interrupted: &stop, timeout: Nanos::from_secs(60), ..job };
            let mut station = peer.station();
            let running = scope.spawn(move || (run(&mut station, job), Instant::now()));
            for _ in 0..3 {
                all_asked.recv().unwrap();
            }
            let told = Instant::now();
            stop.store(true, Ordering::Relaxed);
            let (recording, ended) = running.join().unwrap();
            assert_eq!((errors(&recording), totals(&recording)), (vec![("cut-off", 3)], (3, 0, 3)));
            ended - told
        });
        // Not by the time limit of its requests.
        assert!(ended < Duration::from_secs(50), "{ended:?}");
    });
}

#[test]
fn until_stops_new_requests_and_waits_for_those_under_way() {
    within_patience(|| {
        let answered = AtomicUsize::new(0);
        let until = Nanos::from_millis(500);
        let late = Duration::from_millis(600);
        let peer = Peer::new(move |talk| {
            while talk.request().is_some() {
                if answered.fetch_add(1, Ordering::Relaxed) >= 10 {
                    std::thread::sleep(late); // a slow server: the time is over before it answers
                }
                talk.say(OK);
            }
        });
        let slice = lists(2, 100_000);
        let mut station = peer.station();
        let recording = run(&mut station, StationJob { until: Some(until), ..closed(&slice, 1) });
        assert_eq!(totals(&recording), (12, 12, 2));
        // The connections are as good as new.
        let more = run(&mut station, closed(&lists(2, 1), 1));
        assert_eq!(totals(&more), (2, 2, 0));
    });
}

/// A generator that is held up reports so for each request, and not for all alike.
#[test]
fn each_request_carries_the_time_it_was_really_sent() {
    within_patience(|| {
        let peer = Peer::new(|talk| talk.answer_all(OK));
        let mut station = peer.station();
        let slice = lists(4, 1);
        run(&mut station, closed(&slice, 1));
        let mut asked = 0;
        let slow = move |_| {
            asked += 1;
            if asked <= 4 {
                std::thread::sleep(Duration::from_millis(30));
            }
        };
        let job = hooked(closed(&slice, 1), slow);
        let recording = run(&mut station, job);
        assert_eq!(totals(&recording), (4, 4, 0));
        // The first is sent after 30 ms and the last after 120 ms; only then are replies read.
        let (first, last) = (recording.times.lateness.quantile(0.0), recording.times.lateness.quantile(1.0));
        assert!(first >= Nanos::from_millis(29) && last >= Nanos::from_millis(119), "{first} {last}");
        let shortest = recording.times.service.quantile(0.0);
        assert!(shortest < Nanos::from_millis(60), "{shortest}");
    });
}

#[test]
fn a_station_in_another_network_connects_there() {
    let test = "a_station_in_another_network_connects_there";
    let network = match bakeoff_sys::namespace::Namespace::create() {
        Ok(network) => network,
        Err(why) => {
            assert!(std::env::var_os("BAKEOFF_ALLOW_SKIPS").is_some(), "{test}: {why}");
            println!("SKIP {test}: cannot make a network namespace ({why}); run as root");
            return;
        }
    };
    within_patience(move || {
        // Its port must be nobody's outside, where other tests have their servers.
        let is_free = |peer: &Peer| std::net::TcpListener::bind(peer.target().address).is_ok();
        let mut peers = (0..50).map(|_| network.run(|| Peer::new(|talk| talk.answer_all(OK))).unwrap());
        let peer = peers.find(is_free).unwrap();
        let slice = lists(3, 10);
        let outside = run(&mut crate::Station::new(peer.target(), 2, Vec::new()).unwrap(), closed(&slice, 2));
        assert_eq!(errors(&outside), [("connect-refused", 30)]);
        let mut station = crate::Station::new(peer.target(), 2, Vec::new()).unwrap().inside(Some(network));
        assert_eq!(totals(&run(&mut station, closed(&slice, 2))), (30, 30, 3));
    });
}
