//! Waiting: waits last as long as they should.

use crate::stage::{Story, Told, bytes_of, on_a_stage, say, short};
use bakeoff_sys::driver::{ConnectionEvent, ConnectionOptions, EventBatch, Wait};
use bakeoff_units::Nanos;
use std::time::{Duration, Instant};

/// Far more than any wait here should take, and far less than those that must be cut short.
const LONG: Duration = Duration::from_secs(45);

fn batch(events: u32, within: Nanos) -> Option<EventBatch> {
    Some(EventBatch { events, within })
}

#[test]
fn a_wait_with_nothing_ends_in_time() {
    on_a_stage(|mut stage| {
        let (_peer, _) = stage.pair(0, ConnectionOptions::default());
        for (at_most, batch) in [
            (Nanos::ZERO, None),
            (Nanos::from_millis(20), None),
            (Nanos::from_millis(20), batch(4, Nanos::from_millis(5))),
            (Nanos::from_millis(20), batch(4, Nanos::from_secs(60))),
            (Nanos::ZERO, batch(4, Nanos::from_secs(60))),
        ] {
            let start = Instant::now();
            assert!(stage.wait(Wait { at_most: Some(at_most), batch }).is_empty());
            let took = start.elapsed();
            assert!(took >= at_most.as_duration() && took < LONG, "{took:?} for {at_most:?} {batch:?}");
        }
    });
}

#[test]
fn a_batch_gathers_for_its_time_and_brings_all() {
    on_a_stage(|mut stage| {
        let mut peers: Vec<_> = (0..3).map(|slot| stage.pair(slot, ConnectionOptions::default()).0).collect();
        let within = Nanos::from_millis(30);
        for at_most in [None, Some(Nanos::from_secs(60))] {
            peers.iter_mut().for_each(|peer| say(peer, b"x"));
            let start = Instant::now();
            let story = stage.wait(Wait { at_most, batch: batch(100, within) });
            let took = start.elapsed();
            assert!(took >= within.as_duration() && took < LONG, "{took:?}");
            (0..3).for_each(|slot| assert_eq!(bytes_of(&story, slot), b"x"));
        }
    });
}

#[test]
fn a_batch_ends_at_the_limit_of_the_wait() {
    on_a_stage(|mut stage| {
        let (mut peer, _) = stage.pair(0, ConnectionOptions::default());
        say(&mut peer, b"x");
        let start = Instant::now();
        let wait = Wait { at_most: Some(Nanos::from_millis(10)), batch: batch(100, Nanos::from_secs(60)) };
        assert_eq!(bytes_of(&stage.wait(wait), 0), b"x");
        assert!(start.elapsed() < LONG);
    });
}

#[test]
fn a_wait_without_limit_outlasts_its_batch() {
    on_a_stage(|mut stage| {
        let (mut peer, _) = stage.pair(0, ConnectionOptions::default());
        let late = Duration::from_millis(60);
        let start = Instant::now();
        let speaker = std::thread::spawn(move || {
            std::thread::sleep(late); // a peer that takes its time: nothing is hoped for
            say(&mut peer, b"x");
            peer
        });
        let wait = Wait { at_most: None, batch: batch(8, Nanos::from_millis(5)) };
        let story = stage.wait(wait);
        assert!(start.elapsed() >= late && start.elapsed() < LONG);
        assert_eq!(bytes_of(&story, 0), b"x");
        speaker.join().unwrap();
    });
}

#[test]
fn what_was_not_asked_for_is_there_after_the_next_wait() {
    on_a_stage(|mut stage| {
        let mut peers: Vec<_> = (0..3).map(|slot| stage.pair(slot, ConnectionOptions::default()).0).collect();
        peers.iter_mut().for_each(|peer| say(peer, b"x"));
        let all = Wait { at_most: None, batch: batch(3, Nanos::from_millis(10)) };
        stage.driver.wait(all).unwrap();
        assert!(stage.driver.next().is_some());
        let start = Instant::now();
        assert_eq!(stage.wait(short(60_000)).len(), 2);
        assert!(start.elapsed() < LONG);
    });
}

#[test]
fn each_data_says_how_many_events_are_behind_it() {
    on_a_stage(|mut stage| {
        let mut peers: Vec<_> = (0..3).map(|slot| stage.pair(slot, ConnectionOptions::default()).0).collect();
        peers.iter_mut().for_each(|peer| say(peer, b"x"));
        let all = Wait { at_most: None, batch: batch(3, Nanos::from_millis(10)) };
        stage.driver.wait(all).unwrap();
        for behind in [2, 1, 0] {
            assert_eq!(stage.driver.left(), behind + 1);
            let Some((_, ConnectionEvent::Data(data))) = stage.driver.next() else { panic!("no data") };
            assert_eq!(data.behind, behind);
        }
        assert!(stage.driver.next().is_none() && stage.driver.left() == 0);
    });
}

#[test]
fn a_wait_whose_events_are_known_does_not_sleep() {
    on_a_stage(|mut stage| {
        let (mut peer, _) = stage.pair(0, ConnectionOptions::default());
        let start = Instant::now();
        say(&mut peer, b"x");
        let story: Story = stage.wait(Wait::default());
        assert!(matches!(story[..], [(0, Told::Data { .. })]));
        say(&mut peer, b"y");
        assert_eq!(bytes_of(&stage.wait(short(60_000)), 0), b"y");
        assert!(start.elapsed() < LONG);
    });
}
