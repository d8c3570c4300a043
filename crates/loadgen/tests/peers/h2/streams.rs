//! Stream errors of HTTP/2: one request fails; the connection and its other streams are whole.

use super::frames::{Frames, OK, SHORT, data, field, frame, headers, peer, reply, reset, station, three};
use crate::support::{closed, errors, expecting, get, one_robot, run, totals, within_patience};
use bakeoff_content::{Body, ObjectId};
use bakeoff_loadgen::{Recording, StationJob};
use bakeoff_wire::h2::frame::FrameKind;
use bakeoff_workload::Expect;

/// The second of three streams gets these bytes, the others good replies, before it and behind it.
fn second_gets(bytes: impl Fn(u32) -> Vec<u8> + Send + Sync + 'static) -> Recording {
    let (recording, peer) = three(move |frames, [first, second, third]| {
        frames.say([reply(first), bytes(second), reply(third)].concat());
    });
    assert_eq!(totals(&recording), (6, 5, 1), "{:?}", errors(&recording));
    assert_eq!(peer.connections(), 1);
    recording
}

fn second_fails(class: &str, bytes: impl Fn(u32) -> Vec<u8> + Send + Sync + 'static) -> Recording {
    let recording = second_gets(bytes);
    assert_eq!(errors(&recording), [(class, 1)]);
    recording
}

/// A head of these fields, and the end.
fn second_is_malformed(fields: &[&[u8]]) {
    let block = fields.concat();
    let recording = second_fails("malformed", move |stream| headers(stream, &block, true));
    assert!(recording.violation.is_some(), "the server's fault is told in words");
}

#[test]
fn heads_that_are_none() {
    within_patience(|| {
        let long = &field(b"content-length", b"5");
        second_is_malformed(&[long]);
        second_is_malformed(&[OK, OK]);
        second_is_malformed(&[&field(b"x", b"y"), OK]);
        second_is_malformed(&[&field(b":status", b"20")]);
        second_is_malformed(&[OK, &field(b":path", b"/")]);
        second_is_malformed(&[OK, &field(b"X-Upper", b"y")]);
        second_is_malformed(&[OK, &field(b"x", b"a\r\nb: c")]);
        second_is_malformed(&[OK, &field(b"connection", b"close")]);
        second_is_malformed(&[OK, &field(b"transfer-encoding", b"chunked")]);
        second_is_malformed(&[OK, &field(b"content-length", b"x")]);
        second_is_malformed(&[OK, long, &field(b"content-length", b"6")]);
        second_is_malformed(&[OK, long]);
        second_is_malformed(&[&field(b":status", b"103")]);
        second_is_malformed(&[&field(b":status", b"101")]);
    });
}

#[test]
fn bodies_that_do_not_fit_their_head() {
    within_patience(|| {
        let head = |stream| headers(stream, &[OK, &field(b"content-length", b"5")].concat(), false);
        second_fails("malformed", |stream| data(stream, b"hello", true));
        second_fails("malformed", move |stream| [head(stream), data(stream, b"hell", true)].concat());
        second_fails("malformed", move |stream| [head(stream), data(stream, b"hello!", true)].concat());
        second_fails("malformed", move |stream| {
            [head(stream), data(stream, b"hel", false), data(stream, b"lo!", false), data(stream, b"", true)]
                .concat()
        });
        second_fails("malformed", move |stream| [head(stream), headers(stream, OK, true)].concat());
        second_fails("malformed", move |stream| {
            let trailers = field(b"x", b"y");
            [head(stream), data(stream, b"hello", false), headers(stream, &trailers, false)].concat()
        });
        second_fails("malformed", |stream| {
            let interim = headers(stream, &field(b":status", b"103"), false);
            interim.repeat(33)
        });
        second_fails("malformed", |stream| frame(FrameKind::WindowUpdate, 0, stream, &[0; 4]));
    });
}

#[test]
fn replies_in_every_shape_that_is_allowed() {
    within_patience(|| {
        let good = |bytes: fn(u32) -> Vec<u8>| {
            let (recording, _) = three(move |frames, [first, second, third]| {
                frames.say([reply(first), bytes(second), reply(third)].concat());
            });
            assert_eq!((totals(&recording), errors(&recording)), ((6, 6, 1), vec![]));
        };
        good(|stream| headers(stream, OK, true));
        good(|stream| [headers(stream, OK, false), data(stream, b"", true)].concat());
        good(|stream| {
            let trailers = headers(stream, &field(b"x", b"y"), true);
            [headers(stream, OK, false), data(stream, b"hello", false), trailers].concat()
        });
        good(|stream| [headers(stream, &field(b":status", b"103"), false), reply(stream)].concat());
        good(|stream| {
            [headers(stream, OK, false), frame(FrameKind::Data, 9, stream, b"\x02hello\0\0")].concat()
        });
        good(|stream| {
            let (start, rest) = (
                frame(FrameKind::Headers, 1, stream, &OK[..0]),
                frame(FrameKind::Continuation, 4, stream, OK),
            );
            [start, rest].concat()
        });
        good(|stream| [frame(FrameKind::Unknown(77), 255, stream, b"what?"), reply(stream)].concat());
        // A reply that was whole, and a reset behind it that changes nothing (RFC 9113 section 8.1).
        good(|stream| [reply(stream), reset(stream, 0)].concat());
    });
}

#[test]
fn frames_of_all_streams_interleaved_byte_by_byte() {
    within_patience(|| {
        let (recording, _) = three(|frames, streams| {
            let each =
                |make: &dyn Fn(u32) -> Vec<u8>| streams.iter().flat_map(|&s| make(s)).collect::<Vec<u8>>();
            let mut bytes = each(&|stream| headers(stream, OK, false));
            for letter in b"hello" {
                bytes.extend(each(&|stream| data(stream, &[*letter], false)));
            }
            bytes.extend(each(&|stream| data(stream, b"", true)));
            frames.talk.dribble(&bytes, 1);
        });
        assert_eq!((totals(&recording), errors(&recording)), ((6, 6, 1), vec![]));
    });
}

#[test]
fn replies_that_are_whole_and_wrong() {
    within_patience(|| {
        let hello = Body::new(ObjectId::of_name(b"/"), 5);
        let fails = |class: &str, expect, bytes: fn(u32) -> Vec<u8>| {
            let peer = peer(move |frames| {
                let Some(stream) = frames.request() else { return };
                frames.say(bytes(stream));
                frames.serve();
            });
            let slice = one_robot(vec![expecting("/", expect), get("/next")]);
            let recording = run(&mut station(&peer, 1), closed(&slice, 1));
            assert_eq!((errors(&recording), totals(&recording)), (vec![(class, 1)], (2, 1, 1)));
        };
        let busy = |stream| headers(stream, &field(b":status", b"503"), true);
        fails("server-error", Expect::Anything, busy);
        fails("wrong-status", Expect::Status(404), reply);
        fails("wrong-body", Expect::Body(hello), reply);
        fails("wrong-length", Expect::Body(hello), |stream| headers(stream, OK, true));
        fails("wrong-length", Expect::Body(hello), |stream| {
            [headers(stream, OK, false), data(stream, b"hello there", true)].concat()
        });
    });
}

#[test]
fn a_stream_that_is_reset() {
    within_patience(|| {
        // PROTOCOL_ERROR, INTERNAL_ERROR, CANCEL, HTTP_1_1_REQUIRED, one that nobody knows
        for code in [1, 2, 8, 13, 0x1234_5678] {
            second_fails("stream-reset", move |stream| reset(stream, code));
        }
        second_fails("stream-reset", |stream| [headers(stream, OK, false), reset(stream, 2)].concat());
    });
}

#[test]
fn a_refused_stream_is_asked_again_once() {
    within_patience(|| {
        let recording = three(|frames, [first, second, third]| {
            frames.say([reply(first), reset(second, 7), reply(third)].concat());
        });
        assert_eq!((totals(&recording.0), errors(&recording.0)), ((6, 6, 1), vec![]));
        assert_eq!(recording.1.asked(), ["/0/0", "/0/1", "/1/0", "/1/0", "/1/1", "/2/0", "/2/1"]);

        let peer = peer(|frames: &mut Frames<'_>| {
            while let Some(stream) = frames.request() {
                frames.say(reset(stream, 7));
            }
        });
        let slice = one_robot(vec![get("/a"), get("/b")]);
        let recording = run(&mut station(&peer, 1), closed(&slice, 1));
        assert_eq!((errors(&recording), totals(&recording)), (vec![("stream-reset", 2)], (2, 0, 1)));
        assert_eq!(peer.asked(), ["/a", "/a", "/b", "/b"]);
    });
}

/// One never answers; the others go on meanwhile, and the server is told that the request is cancelled.
#[test]
fn a_stream_that_stalls_holds_up_nobody() {
    within_patience(|| {
        let peer = peer(|frames| {
            let mut stalled = None;
            while let Some(stream) = frames.request() {
                if stalled.is_some() {
                    frames.say(reply(stream));
                } else {
                    stalled = Some(stream);
                    frames.say([headers(stream, OK, false), data(stream, b"hel", false)].concat());
                }
            }
        });
        let mut slice = crate::support::lists(3, 30);
        let mut short = (*slice.lists).clone();
        short[0].truncate(2);
        slice.lists = std::sync::Arc::new(short);
        let recording = run(&mut station(&peer, 3), StationJob { timeout: SHORT, ..closed(&slice, 1) });
        assert_eq!((errors(&recording), totals(&recording)), (vec![("timeout", 1)], (62, 61, 1)));
        assert!(peer.asked().contains(&"RST 1 8".to_owned()), "the stream is cancelled: {:?}", peer.asked());
    });
}
