//! Planted costs: the number of turns for requests, events behind them and wake-ups.

use crate::support::{answered, connect, read_one, with_costs, within_patience};
use bakeoff_origin::{Costs, Origin};
use bakeoff_units::Nanos;
use std::io::Write;
use std::net::TcpStream;

/// Many turns on any machine, so that rounding them to whole ones is lost in it.
const EACH: Nanos = Nanos::from_micros(100);
const GET: &[u8] = b"GET /bytes/10 HTTP/1.1\r\n\r\n";

/// Number of times that `EACH` was burned.
fn times(origin: &Origin, kind: impl Fn(Costs<u64>) -> u64) -> u64 {
    let burned = origin.turn().unwrap().time(kind(origin.tally().turns)).get() as f64 / EACH.get() as f64;
    assert!((burned - burned.round()).abs() < 0.1, "{burned}");
    burned.round() as u64
}

fn ask(stream: &mut TcpStream) {
    stream.write_all(GET).unwrap();
    assert_eq!(read_one(stream).status, 200);
}

#[test]
fn each_request_is_burned_for_once_however_it_comes() {
    within_patience(|| {
        let origin = with_costs(Costs { request: Some(EACH), ..Costs::default() });
        let mut stream = connect(&origin);
        (0..5).for_each(|_| ask(&mut stream));
        stream.write_all(&GET.repeat(20)).unwrap();
        (0..20).for_each(|_| assert_eq!(read_one(&mut stream).status, 200));
        assert_eq!((answered(&origin), times(&origin, |turns| turns.request)), (25, 25));
        let others = Costs { request: 0, ..origin.tally().turns };
        assert_eq!(others, Costs::default());
    });
}

#[test]
fn a_request_alone_has_none_in_flight_and_many_at_once_have() {
    within_patience(|| {
        let origin = with_costs(Costs { in_flight: Some(EACH), ..Costs::default() });
        let mut streams: Vec<_> = (0..8).map(|_| connect(&origin)).collect();
        // All of them are taken now, so that no event is one of the listener.
        streams.iter_mut().for_each(ask);
        let before = times(&origin, |turns| turns.in_flight);
        streams.iter_mut().for_each(ask);
        assert_eq!(times(&origin, |turns| turns.in_flight), before);
        // The kernel decides whether one wait finds several: repeated until it does. Of n, the first has n - 1 behind
        // it.
        for round in 1.. {
            streams.iter_mut().for_each(|stream| stream.write_all(GET).unwrap());
            streams.iter_mut().for_each(|stream| assert_eq!(read_one(stream).status, 200));
            let burned = times(&origin, |turns| turns.in_flight) - before;
            assert!(burned <= round * (8 * 7 / 2), "{burned} in {round} rounds");
            if burned > 0 {
                break;
            }
        }
    });
}

#[test]
fn a_wake_up_is_burned_for_once_however_many_requests_it_brings() {
    within_patience(|| {
        let origin = with_costs(Costs { wakeup: Some(EACH), ..Costs::default() });
        let mut stream = connect(&origin);
        // A thread that always finds the next request does not sleep: repeated until it does.
        while times(&origin, |turns| turns.wakeup) == 0 {
            ask(&mut stream);
        }
        let before = (answered(&origin), times(&origin, |turns| turns.wakeup));
        // Some 26 KB, which come in one piece or a few.
        stream.write_all(&GET.repeat(1000)).unwrap();
        (0..1000).for_each(|_| assert_eq!(read_one(&mut stream).status, 200));
        let wakeups = times(&origin, |turns| turns.wakeup) - before.1;
        assert!(answered(&origin) - before.0 == 1000 && wakeups < 100, "{wakeups}");
    });
}
