//! Arrival times of bytes, as the kernel saw them.

use crate::stage::{PATIENCE, Stage, Story, Told, bytes_of, expect, on_a_stage, say};
use bakeoff_sys::driver::{ConnectionOptions, EventBatch, Wait};
use bakeoff_units::{Clock, Nanos};
use std::net::TcpStream;
use std::time::Instant;

/// Tolerance of the comparison of two clocks, as a machine may stand still between the looks.
const APART: Nanos = Nanos::from_millis(5);

fn stamp(story: &Story) -> Option<Nanos> {
    story.iter().rev().find_map(|(_, told)| match told {
        Told::Data { arrived, .. } => Some(*arrived),
        _ => None,
    })?
}

/// A connection whose bytes are stamped: the kernel begins with it a little after it is asked.
fn stamped(stage: &mut Stage) -> TcpStream {
    let (mut peer, _) = stage.pair(0, ConnectionOptions { stamped: true, ..ConnectionOptions::default() });
    let deadline = Instant::now() + PATIENCE;
    loop {
        say(&mut peer, b"?");
        if stamp(&stage.until(|story| bytes_of(story, 0) == b"?")).is_some() {
            return peer;
        }
        assert!(Instant::now() < deadline, "no stamps");
    }
}

#[test]
fn a_stamp_lies_between_the_sending_and_now() {
    on_a_stage(|mut stage| {
        let mut peer = stamped(&mut stage);
        for _ in 0..20 {
            let before = stage.clock.now();
            stage.driver.send(0, b"hello").unwrap();
            stage.hand_over();
            expect(&mut peer, b"hello");
            say(&mut peer, b"reply");
            let story = stage.until(|story| bytes_of(story, 0).len() >= 5);
            let arrived = stamp(&story).unwrap();
            assert!(
                before <= arrived + APART && arrived <= stage.clock.now() + APART,
                "{before:?} {arrived:?}"
            );
        }
    });
}

#[test]
fn a_long_wait_does_not_move_a_stamp() {
    on_a_stage(|mut stage| {
        let mut peer = stamped(&mut stage);
        say(&mut peer, b"here already");
        let there = stage.clock.now();
        let within = Nanos::from_millis(20);
        let story = stage.wait(Wait { at_most: None, batch: Some(EventBatch { events: 100, within }) });
        let now = stage.clock.now();
        assert_eq!(bytes_of(&story, 0), b"here already");
        let arrived = stamp(&story).unwrap();
        assert!(arrived <= there + APART, "{arrived:?} is after {there:?}");
        assert!(now.since(arrived) + APART >= within);
    });
}

#[test]
fn later_connections_are_stamped_from_their_first_bytes() {
    on_a_stage(|mut stage| {
        drop(stamped(&mut stage));
        for slot in 0..20 {
            stage.driver.close(slot);
            let (mut peer, _) =
                stage.pair(slot + 1, ConnectionOptions { stamped: true, ..ConnectionOptions::default() });
            say(&mut peer, b"x");
            let story = stage.until(|story| bytes_of(story, slot + 1) == b"x");
            assert!(stamp(&story).is_some(), "{slot}");
        }
    });
}

#[test]
fn bytes_of_others_have_no_stamp() {
    on_a_stage(|mut stage| {
        let (mut peer, _) = stage.pair(1, ConnectionOptions::default());
        let _stamped = stamped(&mut stage);
        say(&mut peer, b"x");
        let story = stage.until(|story| bytes_of(story, 1) == b"x");
        assert_eq!(stamp(&story), None);
    });
}
