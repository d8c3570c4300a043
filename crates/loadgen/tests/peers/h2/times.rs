//! Times of HTTP/2 streams: each stream's own, and the wait for a stream.

use super::frames::{Frames, OK, data, headers, reply, station};
use crate::support::{Peer, closed, errors, lists, run, totals, within_patience};
use bakeoff_meter::Histogram;
use bakeoff_units::Nanos;
use std::time::Duration;

const DELAY: Duration = Duration::from_millis(40);
/// A delay so long that a stalled machine does not see a head and the bytes after it together.
const LONG_DELAY: Duration = Duration::from_millis(300);

/// The times of three requests, shortest first. Of times that are slept only the least is known: a busy
/// machine adds what it likes.
fn three_of(times: &Histogram) -> [Nanos; 3] {
    assert_eq!(times.count(), 3);
    [0.0, 0.5, 1.0].map(|share| times.quantile(share))
}

fn at_least(times: [Nanos; 3], millis: [u64; 3]) {
    // A little less, as a histogram keeps three digits.
    let long = |(time, millis): (&Nanos, u64)| *time >= Nanos::from_millis(millis).times(0.98);
    assert!(times.iter().zip(millis).all(long), "{times:?}");
}

/// One stream at a time: the requests wait for one another, and only the response time shows it.
#[test]
fn service_counts_from_the_stream_and_response_from_when_it_was_due() {
    within_patience(|| {
        let peer = Peer::new(|talk| {
            let Some(mut frames) = Frames::greet(talk, &[(3, 1)]) else { return };
            let Some(first) = frames.request() else { return };
            frames.say(reply(first));
            while let Some(stream) = frames.request() {
                std::thread::sleep(DELAY);
                frames.say(reply(stream));
            }
        });
        let mut station = station(&peer, 3);
        run(&mut station, closed(&lists(1, 1), 1)); // the limit is known from now on
        let recording = run(&mut station, closed(&lists(3, 1), 1));
        assert_eq!((errors(&recording), totals(&recording)), (vec![], (3, 3, 0)));
        let (service, response) = (three_of(&recording.times.service), three_of(&recording.times.response));
        at_least(service, [40, 40, 40]);
        at_least(response, [40, 80, 120]);
        // One after the other: if the wait were in them, they would come to 240 of 120 ms.
        let together = service.iter().fold(Nanos::ZERO, |sum, time| sum + *time);
        assert!(together <= response[2].times(1.05), "{service:?} {response:?}");
    });
}

/// The head at once, the body later, of each stream at its own time.
#[test]
fn a_first_byte_comes_before_the_end_on_every_stream() {
    within_patience(|| {
        let peer = Peer::new(|talk| {
            let Some(mut frames) = Frames::greet(talk, &[]) else { return };
            let Some(streams) = frames.requests::<3>() else { return };
            frames.say(streams.iter().flat_map(|&stream| headers(stream, OK, false)).collect::<Vec<u8>>());
            for stream in streams {
                std::thread::sleep(LONG_DELAY);
                frames.say(data(stream, b"hello", true));
            }
            while frames.next().is_some() {}
        });
        let recording = run(&mut station(&peer, 3), closed(&lists(3, 1), 1));
        assert_eq!((errors(&recording), totals(&recording)), (vec![], (3, 3, 1)));
        let (service, first) = (three_of(&recording.times.service), three_of(&recording.times.first_byte));
        at_least(service, [300, 600, 900]);
        assert!(first.iter().zip(service).all(|(first, done)| *first <= done), "{first:?} {service:?}");
        assert!(first[2] + Nanos::from_millis(300) <= service[2], "{first:?} {service:?}");
    });
}
