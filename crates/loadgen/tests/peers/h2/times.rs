//! When things happened: a stream's own times, and what waiting for one adds.

use super::frames::{Frames, OK, data, headers, reply, station};
use crate::support::{Peer, closed, errors, lists, run, totals, within_patience};
use bakeoff_units::Nanos;
use std::time::Duration;

const DELAY: Duration = Duration::from_millis(40);
const SLACK: Nanos = Nanos::from_millis(30);

fn about(time: Nanos, millis: u64) -> bool {
    let expected = Nanos::from_millis(millis);
    time >= expected.times(0.95) && time < expected + SLACK
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
        let times = &recording.times;
        let longest = times.service.quantile(1.0);
        assert!(about(times.service.quantile(0.0), 40) && about(longest, 40), "{longest}");
        let response = [0.0, 0.5, 1.0].map(|share| times.response.quantile(share));
        let expected = [40, 80, 120];
        assert!(response.iter().zip(expected).all(|(time, millis)| about(*time, millis)), "{response:?}");
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
                std::thread::sleep(DELAY);
                frames.say(data(stream, b"hello", true));
            }
            while frames.next().is_some() {}
        });
        let recording = run(&mut station(&peer, 3), closed(&lists(3, 1), 1));
        assert_eq!((errors(&recording), totals(&recording)), (vec![], (3, 3, 1)));
        let times = &recording.times;
        assert!(times.first_byte.quantile(1.0) < SLACK, "{}", times.first_byte.quantile(1.0));
        let service = [0.0, 0.5, 1.0].map(|share| times.service.quantile(share));
        assert!(service.iter().zip([40, 80, 120]).all(|(time, millis)| about(*time, millis)), "{service:?}");
    });
}
