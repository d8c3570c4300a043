//! Limits that a server may set: few streams, small windows, no table; and a server that sends nothing at all.

use super::frames::{Frames, SHORT, data, frame, headers, reply, settings, station, three};
use crate::support::{Peer, closed, errors, lists, run, totals, within_patience};
use bakeoff_loadgen::StationJob;
use bakeoff_wire::h2::frame::{ACK, FrameKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const STREAMS: u16 = 3;
const WINDOW: u16 = 4;
const TABLE: u16 = 1;

/// Waits until the generator has seen the greeting.
fn is_heard(frames: &mut Frames<'_>) -> bool {
    while let Some((head, _)) = frames.next() {
        if head.kind == FrameKind::Settings && head.has(ACK) {
            return true;
        }
    }
    false
}

/// The first request of a connection goes with the preface; all others wait for the limit to be lifted.
#[test]
fn no_streams_at_all() {
    within_patience(|| {
        let peer = Peer::new(|talk| {
            let Some(mut frames) = Frames::greet(talk, &[(STREAMS, 0)]) else { return };
            while frames.request().is_some() {} // and never answers
        });
        let recording = run(&mut station(&peer, 3), StationJob { timeout: SHORT, ..closed(&lists(3, 2), 1) });
        assert_eq!((errors(&recording), totals(&recording).1), (vec![("timeout", 6)], 0));
    });
}

#[test]
fn streams_that_are_allowed_later() {
    within_patience(|| {
        let peer = Peer::new(|talk| {
            let Some(mut frames) = Frames::greet(talk, &[]) else { return };
            let Some(first) = frames.request() else { return };
            frames.say([settings(&[(STREAMS, 0)]), reply(first)].concat());
            // The answer to the limit is behind all that was sent before it.
            let mut before = Vec::new();
            loop {
                let Some((head, _)) = frames.next() else { return };
                match head.kind {
                    FrameKind::Headers => before.push(head.stream),
                    FrameKind::Settings if head.has(ACK) => break,
                    _ => {}
                }
            }
            frames.say([before.into_iter().flat_map(reply).collect(), settings(&[(STREAMS, 2)])].concat());
            frames.serve_anything();
        });
        let recording = run(&mut station(&peer, 3), closed(&lists(3, 20), 1));
        assert_eq!((errors(&recording), totals(&recording)), (vec![], (60, 60, 1)));
    });
}

/// Ten are configured and fewer allowed: the server has as many open as it allows, and never more. Its ping is answered
/// behind all that the generator would send by itself.
#[test]
fn no_more_streams_than_allowed() {
    within_patience(|| {
        for allowed in [1, 3] {
            let most = Arc::new(AtomicUsize::new(0));
            let seen = most.clone();
            let peer = Peer::new(move |talk| {
                let Some(mut frames) = Frames::greet(talk, &[(STREAMS, allowed)]) else { return };
                let mut open = Vec::new();
                while let Some((head, _)) = frames.next() {
                    match head.kind {
                        FrameKind::Headers => {
                            open.push(head.stream);
                            if open.len() == 1 {
                                frames.say(frame(FrameKind::Ping, 0, 0, &[0; 8]));
                            }
                        }
                        FrameKind::Ping => {
                            seen.fetch_max(open.len(), Ordering::Relaxed);
                            frames.say(open.drain(..).flat_map(reply).collect::<Vec<u8>>());
                        }
                        _ => {}
                    }
                }
            });
            let mut station = station(&peer, 10);
            run(&mut station, closed(&lists(1, 1), 1)); // the limit is known from now on
            let recording = run(&mut station, closed(&lists(10, 30), 1));
            assert_eq!((errors(&recording), totals(&recording)), (vec![], (300, 300, 0)));
            assert_eq!(most.load(Ordering::Relaxed), allowed as usize);
        }
    });
}

/// Small or huge windows are for bodies of requests, of which there are none; tables are for fields.
#[test]
fn windows_and_tables_of_every_size() {
    within_patience(|| {
        for (name, value, table) in
            [(WINDOW, 0, None), (WINDOW, (1 << 31) - 1, None), (TABLE, 0, Some(0)), (TABLE, u32::MAX, None)]
        {
            let peer = Peer::new(move |talk| {
                let Some(mut frames) = Frames::greet(talk, &[(name, value)]) else { return };
                // The change counts from the answer on; the first request comes before it.
                let Some(first) = frames.request() else { return };
                frames.say(reply(first));
                if is_heard(&mut frames) {
                    frames.allow_table(table).serve();
                }
            });
            let recording = run(&mut station(&peer, 1), closed(&lists(1, 20), 1));
            assert_eq!((errors(&recording), totals(&recording)), (vec![], (20, 20, 1)), "{name} {value}");
        }
    });
}

#[test]
fn a_header_that_is_larger_than_the_server_takes() {
    within_patience(|| {
        let peer = Peer::new(|talk| {
            let Some(mut frames) = Frames::greet(talk, &[(6, 100)]) else { return };
            frames.serve();
        });
        let mut station = station(&peer, 1);
        let recording = run(&mut station, closed(&lists(1, 3), 1));
        // The first went before that was known.
        assert_eq!((errors(&recording), totals(&recording)), (vec![("send-failed", 2)], (3, 1, 1)));
    });
}

/// A server that reads nothing: all requests time out, and a new connection is tried.
#[test]
fn a_server_that_is_silent() {
    within_patience(|| {
        let (hold, held) = std::sync::mpsc::channel::<()>();
        let held = std::sync::Mutex::new(held);
        let peer = Peer::new(move |talk| {
            if talk.number == 0 {
                let _ = held.lock().unwrap().recv(); // and reads nothing
            } else if let Some(mut frames) = Frames::greet(talk, &[]) {
                frames.serve();
            }
        });
        let recording = run(&mut station(&peer, 3), StationJob { timeout: SHORT, ..closed(&lists(3, 3), 1) });
        drop(hold);
        assert_eq!((errors(&recording), totals(&recording)), (vec![("timeout", 3)], (9, 6, 2)));
    });
}

#[test]
fn pings_and_settings_between_frames_are_answered() {
    within_patience(|| {
        let (recording, _) = three(|frames, streams| {
            let mut streams = std::collections::VecDeque::from(streams);
            while let Some(stream) = streams.pop_front() {
                frames.say([frame(FrameKind::Ping, 0, 0, b"whatever"), settings(&[])].concat());
                frames.say(headers(stream, super::frames::OK, false));
                let mut answers = 0;
                while answers < 2 {
                    let Some((head, payload)) = frames.next() else { return };
                    match head.kind {
                        FrameKind::Headers => streams.push_back(head.stream),
                        FrameKind::Ping => assert!(head.has(ACK) && payload == b"whatever"),
                        _ => {}
                    }
                    answers += usize::from(head.kind != FrameKind::Headers && head.has(ACK));
                }
                frames.say(data(stream, b"hello", true));
            }
        });
        assert_eq!((errors(&recording), totals(&recording)), (vec![], (6, 6, 1)));
    });
}
