//! Connection errors of HTTP/2: all requests in flight on the connection fail, and no others.

use super::frames::{
    Frames, OK, data, field, frame, headers, peer, reply, settings, station, three, tls_target,
};
use crate::support::{Authority, Peer, closed, errors, lists, run, totals, within_patience};
use bakeoff_loadgen::{TlsOptions, Trust, Versions};
use bakeoff_wire::h2::frame::FrameKind;

/// One of three streams is answered, then these bytes come: the two others fail, and a new connection serves the
/// following requests.
fn breaks(bytes: impl AsRef<[u8]> + Send + Sync + 'static) {
    breaks_as("protocol-error", bytes);
}

fn breaks_as(class: &str, bytes: impl AsRef<[u8]> + Send + Sync + 'static) {
    let (recording, _) = three(move |frames, [first, ..]| {
        frames.say([&reply(first)[..], bytes.as_ref()].concat());
        frames.serve();
    });
    assert_eq!((errors(&recording), totals(&recording)), (vec![(class, 2)], (6, 4, 2)));
    assert!(recording.violation.is_some());
}

#[test]
fn frames_that_the_protocol_forbids() {
    within_patience(|| {
        breaks(data(0, b"x", false));
        breaks(headers(0, OK, true));
        breaks(headers(2, OK, true));
        breaks(headers(99, OK, true));
        breaks(frame(FrameKind::RstStream, 0, 99, &[0; 4]));
        breaks(frame(FrameKind::RstStream, 0, 3, &[0; 5]));
        breaks(frame(FrameKind::Ping, 0, 0, &[0; 7]));
        breaks(frame(FrameKind::Ping, 0, 3, &[0; 8]));
        breaks(frame(FrameKind::Settings, 0, 3, &[]));
        breaks(frame(FrameKind::Settings, 0, 0, &[0; 5]));
        breaks(frame(FrameKind::Settings, 1, 0, &[0; 6]));
        breaks(frame(FrameKind::WindowUpdate, 0, 0, &[0; 4]));
        breaks(frame(FrameKind::WindowUpdate, 0, 0, &[0x7f, 0xff, 0xff, 0xff]));
        breaks(frame(FrameKind::GoAway, 0, 0, &[0; 7]));
        breaks(frame(FrameKind::Data, 8, 3, &[9, 0]));
        breaks(frame(FrameKind::Unknown(0x42), 0, 0, &[0; 20_000]));
        breaks(frame(FrameKind::PushPromise, 4, 3, &[0, 0, 0, 2, 0x88]));
        breaks(frame(FrameKind::Continuation, 4, 3, OK));
        breaks([frame(FrameKind::Headers, 0, 3, OK), frame(FrameKind::Ping, 0, 0, &[0; 8])].concat());
        breaks([frame(FrameKind::Headers, 0, 3, OK), frame(FrameKind::Continuation, 4, 5, OK)].concat());
    });
}

#[test]
fn settings_that_are_out_of_range() {
    within_patience(|| {
        for (name, value) in [(2, 2), (4, 1 << 31), (5, 16_383), (5, 1 << 24)] {
            breaks(settings(&[(name, value)]));
        }
    });
}

#[test]
fn frames_on_a_stream_that_is_closed() {
    within_patience(|| {
        breaks(data(1, b"more", true));
        breaks(headers(1, OK, true));
    });
}

#[test]
fn header_blocks_that_cannot_be_read() {
    within_patience(|| {
        breaks(headers(3, &[0x80], true)); // index 0
        breaks(headers(3, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff], true));
        breaks(headers(3, &[0x88, 0xc0], true)); // the dynamic table is empty
        breaks(headers(3, &[0x3f, 0xff, 0xff, 0x7f], true)); // a larger table than we allow
        breaks(headers(3, &[0, 5, b'x'], true));
        let large = field(b"x", &[b'y'; 100]).repeat(700);
        let frames: Vec<_> =
            large.chunks(16_000).map(|part| frame(FrameKind::Continuation, 0, 3, part)).collect();
        let block = [frame(FrameKind::Headers, 0, 3, OK), frames.concat()].concat();
        // Too large to come at once: nothing is answered before.
        let (recording, _) = three(move |frames, _| frames.say(&block));
        let expected = vec![("protocol-error", 3)];
        assert_eq!((errors(&recording), totals(&recording)), (expected, (6, 3, 2)));
    });
}

#[test]
fn floods() {
    within_patience(|| {
        breaks(
            [frame(FrameKind::Headers, 0, 3, OK), frame(FrameKind::Continuation, 0, 3, b"").repeat(100)]
                .concat(),
        );
        breaks([headers(3, OK, false), data(3, b"", false).repeat(200)].concat());
        breaks(frame(FrameKind::RstStream, 0, 1, &[0; 4]).repeat(200));
    });
}

/// However fast they are answered, a peer that only sends these is not served for ever.
#[test]
fn floods_that_want_answers() {
    within_patience(|| {
        for flood in [frame(FrameKind::Ping, 0, 0, &[7; 8]), settings(&[])] {
            let peer = peer(move |frames: &mut Frames<'_>| {
                if frames.talk.number > 0 {
                    return frames.serve();
                }
                let _: Option<[u32; 3]> = frames.requests();
                // Without reading the answers, until the generator hangs up.
                let block = flood.repeat(4_000);
                while frames.talk.stream().is_some_and(|s| std::io::Write::write_all(s, &block).is_ok()) {}
            });
            let recording = run(&mut station(&peer, 3), closed(&lists(3, 2), 1));
            assert_eq!((errors(&recording), totals(&recording)), (vec![("protocol-error", 3)], (6, 3, 2)));
        }
    });
}

/// A peer that does not speak HTTP/2 at all is named as such; nothing was ever good, and nothing goes round.
#[test]
fn servers_that_do_not_speak_it() {
    within_patience(|| {
        let html = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno";
        for greeting in
            [&html[..], b"SSH-2.0-OpenSSH_9.2\r\n", b"\x15\x03\x01\x00\x02\x02\x16\0\0\0\0", &reply(1)]
        {
            let greeting = greeting.to_vec();
            let said = greeting.clone();
            let peer = Peer::new(move |talk| {
                if let Some(mut frames) = Frames::begin(talk) {
                    frames.say(&said);
                    while frames.request().is_some() {}
                }
            });
            let recording = run(&mut station(&peer, 2), closed(&lists(2, 2), 1));
            assert_eq!(errors(&recording), [("no-http2", 4)], "{greeting:?}");
            assert_eq!(recording.violation.as_deref(), Some("the peer does not speak HTTP/2"));
        }
    });
}

fn tls_ends_in(class: &str, authority: &Authority, trusted: &Authority, protocols: &[&[u8]]) {
    let peer = Peer::tls_speaking(authority, protocols, |talk| {
        if let Some(mut frames) = Frames::greet(talk, &[]) {
            frames.serve();
        }
    });
    let mut station = crate::Station::new(tls_target(&peer, trusted, 4), 1, Vec::new()).unwrap();
    let recording = run(&mut station, closed(&lists(4, 3), 1));
    assert_eq!((errors(&recording), totals(&recording).1), (vec![(class, 12)], 0));
}

#[test]
fn tls_that_comes_to_something_else() {
    within_patience(|| {
        let (one, other) = (Authority::new("one"), Authority::new("other"));
        tls_ends_in("no-http2", &one, &one, &[]);
        tls_ends_in("no-http2", &one, &one, &[b"http/1.1"]);
        // All requests that waited for the handshake fail with it.
        tls_ends_in("tls-untrusted", &one, &other, &[b"h2"]);
    });
}

/// In TLS 1.2 the server's part of the handshake comes in two flights, of which the first opens nothing.
#[test]
fn a_handshake_in_several_flights() {
    within_patience(|| {
        for versions in [Versions::Tls12, Versions::Tls13] {
            let authority = Authority::new("one");
            let peer = Peer::tls_speaking(&authority, &[b"h2"], |talk| {
                if let Some(mut frames) = Frames::greet(talk, &[]) {
                    frames.serve();
                }
            });
            let mut target = tls_target(&peer, &authority, 4);
            let options = TlsOptions {
                versions,
                alpn: vec![bakeoff_loadgen::Alpn::H2],
                ..TlsOptions::new(Trust::File(authority.file.path().to_owned()))
            };
            target.tls.as_mut().unwrap().0 = options.load().unwrap();
            let mut station = crate::Station::new(target, 1, Vec::new()).unwrap();
            let recording = run(&mut station, closed(&lists(4, 3), 1));
            assert_eq!((errors(&recording), totals(&recording)), (vec![], (12, 12, 1)));
        }
    });
}

/// A good flight with one byte changed, for every byte: each run ends, and every request in it is a good
/// reply or an error.
#[test]
fn a_flight_with_a_wrong_byte() {
    within_patience(|| {
        let length = flight([1, 3, 5]).len();
        assert_eq!(one_wrong_byte(0, 0), 0, "the flight is good");
        let failures = std::sync::atomic::AtomicU64::new(0);
        std::thread::scope(|scope| {
            for worker in 0..4 {
                let failures = &failures;
                scope.spawn(move || {
                    for place in (worker..length).step_by(4) {
                        for change in [0x01, 0xff] {
                            let failed = one_wrong_byte(place, change) > 0;
                            failures.fetch_add(failed.into(), std::sync::atomic::Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        // Most bytes matter; those of the bodies, of which nothing is known here, do not.
        let failures = failures.into_inner();
        assert!(failures > length as u64, "{failures} of {}", 2 * length);
    });
}

fn flight(streams: [u32; 3]) -> Vec<u8> {
    let goodbye = frame(FrameKind::Ping, 0, 0, &[1; 8]);
    [settings(&[(3, 100), (4, 65_535)]), streams.map(reply).concat(), goodbye].concat()
}

fn one_wrong_byte(place: usize, change: u8) -> u64 {
    let peer = Peer::new(move |talk| {
        if talk.number > 0 {
            if let Some(mut frames) = Frames::greet(talk, &[]) {
                frames.serve();
            }
            return;
        }
        let Some(mut frames) = Frames::begin(talk) else { return };
        let Some(streams) = frames.requests() else { return };
        let mut bytes = flight(streams);
        bytes[place] ^= change;
        frames.say(bytes);
        frames.talk.end_sending();
        while frames.next().is_some() {}
    });
    let recording = run(&mut station(&peer, 3), closed(&lists(3, 2), 1));
    assert_eq!(recording.counters.requests, 6, "byte {place} ^ {change}: {:?}", errors(&recording));
    assert!(recording.counters.replies >= 2, "byte {place} ^ {change}: {:?}", errors(&recording));
    let known = [
        "protocol-error",
        "malformed",
        "truncated",
        "closed-early",
        "stream-reset",
        "no-http2",
        "server-error",
    ];
    for (class, _) in errors(&recording) {
        assert!(known.contains(&class), "byte {place} ^ {change}: {class}");
    }
    recording.counters.error_count()
}
