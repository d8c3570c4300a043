//! The server: requests, replies under both windows, and its bounds.

use crate::support::*;
use bakeoff_wire::h2::{
    ConnectionError, ErrorCode, MAX_STREAMS, Malformed, ServerConnection, ServerStep, Settings, StreamId,
};
use bakeoff_wire::http1::ServerMethod;

const GET: &str = ":method: GET\n:scheme: http\n:authority: localhost\n:path: /a";

fn get(stream: u32) -> Vec<u8> {
    headers(ENDS, stream, GET)
}

fn asked(stream: u32) -> Seen {
    Seen::Request(stream, ServerMethod::Get, "/a".into(), true)
}

/// The stream of a request that this server is sent.
fn ask(server: &mut ServerConnection, stream: u32) -> StreamId {
    let bytes = get(stream);
    match server.step(&bytes) {
        Ok(ServerStep::Request { used, stream, .. }) if used == bytes.len() => stream,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_first_bytes_are_settings() {
    let mut server = ServerConnection::new(Settings::default());
    assert_eq!(*server.output(), settings(&[(1, 4096), (3, 128), (4, 65_535), (5, 16_384), (6, 65_536)]));
}

#[test]
fn a_client_without_preface_or_settings_is_refused() {
    let fresh = ServerConnection::new(Settings::default());
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    for frames in [
        vec![b"GET / HTTP/1.1\r\n".to_vec()],
        vec![preface.clone(), get(1)],
        vec![b"PRI * HTTP/2.1".to_vec()],
    ] {
        assert_eq!(server_sees(&fresh, &frames).0, [Seen::Error(ConnectionError::NoPreface)]);
    }
    assert_eq!(server_sees(&fresh, &[preface, settings(&[]), get(1)]).0, [asked(1)]);
}

#[test]
fn a_request_says_what_the_origin_needs() {
    let mut server = greeted(&[]);
    let fields = "if-modified-since: yesterday\nrange: bytes=0-9\nuser-agent: x";
    let bytes = headers(ENDS, 1, &format!("{GET}\n{fields}"));
    let Ok(ServerStep::Request { used, stream, head, end }) = server.step(&bytes) else { panic!() };
    assert_eq!((used, stream.number(), end), (bytes.len(), 1, true));
    assert_eq!((head.method, head.path), (ServerMethod::Get, &b"/a"[..]));
    assert_eq!(head.if_modified_since, Some(&b"yesterday"[..]));
    assert_eq!((head.range, head.head_bytes), (Some(&b"bytes=0-9"[..]), bytes.len() as u64));
}

#[test]
fn a_reply_is_a_head_and_grants() {
    let mut server = greeted(&[]);
    let stream = ask(&mut server, 1);
    assert!(server.respond(stream, 200, [(&b"content-length"[..], &b"5"[..])], false));
    assert_eq!(*server.output(), frame(HEADERS, END_HEADERS, 1, &[0x88, 0x0f, 0x0d, 1, b'5']));
    let grant = server.data(stream, 5, true).unwrap();
    assert_eq!(
        (grant.head.as_slice(), grant.len, grant.end),
        (&frame(DATA, END_STREAM, 1, b"hello")[..9], 5, true)
    );
    assert_eq!(server.open_streams(), 0);
    assert_eq!(server.data(stream, 5, true), None);
    assert!(!server.respond(stream, 200, [], true));
}

#[test]
fn grants_keep_to_the_peers_frames_and_to_both_windows() {
    let mut server = greeted(&[(4, 40_000), (5, 20_000)]);
    let (first, second) = (ask(&mut server, 1), ask(&mut server, 3));
    let grants = [20_000, 20_000].map(|_| server.data(first, 1_000_000, true).unwrap());
    assert!(grants.iter().all(|grant| grant.len == 20_000 && !grant.end));
    assert_eq!(server.data(first, 960_000, true), None, "the stream's window is closed");
    assert_eq!(server.data(second, 40_000, true).unwrap().len, 20_000);
    assert_eq!(server.data(second, 20_000, true).unwrap().len, 5_535, "65 535 are the connection's");
    assert_eq!(server.data(second, 14_465, true), None);
    let mut seen = Vec::new();
    let mut woken = |server: &mut ServerConnection, bytes: &[u8]| {
        feed_server(server, bytes, &mut seen);
        server.unblocked().map(StreamId::number).collect::<Vec<_>>()
    };
    assert_eq!(woken(&mut server, &window(1, 7)), [], "the connection's is closed");
    assert_eq!(woken(&mut server, &window(0, 14_470)), [1, 3]);
    assert_eq!(server.data(second, 14_465, true).unwrap().len, 14_465);
    assert_eq!(server.data(first, 960_000, true).unwrap().len, 5);
    assert_eq!(server.data(first, 960_000, true), None);
    assert_eq!(woken(&mut server, &window(0, 100_000)), [1]);
    assert_eq!(server.data(first, 959_995, true).unwrap().len, 2);
}

#[test]
fn an_initial_window_of_nothing_and_one_that_shrinks_below_what_was_sent() {
    let mut server = greeted(&[(4, 0)]);
    let stream = ask(&mut server, 1);
    assert_eq!(server.data(stream, 10, true), None);
    let mut seen = Vec::new();
    feed_server(&mut server, &settings(&[(4, 8)]), &mut seen);
    assert_eq!(server.unblocked().count(), 1);
    assert_eq!(server.data(stream, 10, true).unwrap().len, 8);
    feed_server(&mut server, &settings(&[(4, 0)]), &mut seen);
    assert_eq!(server.data(stream, 2, true), None);
    feed_server(&mut server, &window(1, 8), &mut seen);
    assert_eq!(server.data(stream, 2, true), None, "from -8 to 0");
    feed_server(&mut server, &window(1, 1), &mut seen);
    assert_eq!(server.data(stream, 2, true).unwrap().len, 1);
    let empty = ask(&mut server, 3);
    assert!(server.data(empty, 0, true).unwrap().end, "an empty frame needs no window");
    assert_eq!(seen, []);
}

#[test]
fn request_bodies_are_handed_on_and_windows_opened() {
    let post = ":method: POST\n:scheme: http\n:path: /a\ncontent-length: 40000";
    let mut frames = vec![headers(END_HEADERS, 1, post)];
    frames.extend([16_384, 16_384].map(|len| frame(DATA, 0, 1, &vec![b'b'; len])));
    frames.push(frame(DATA, 0, 1, &[b'b'; 7_232]));
    frames.push(headers(ENDS, 1, "x-trailer: 1"));
    let (seen, output) = server_sees(&greeted(&[]), &frames);
    let request = Seen::Request(1, ServerMethod::Other, "/a".into(), false);
    assert_eq!(seen, [request, body(1, &[b'b'; 40_000], true)]);
    assert_eq!(output, [window(0, 32_768), window(1, 32_768)].concat());
}

#[test]
fn what_is_no_request_is_reset() {
    let cases = [
        (":method: GET\n:path: /", Malformed::Pseudo),
        (":method: GET\n:scheme: http", Malformed::Pseudo),
        (":scheme: http\n:path: /", Malformed::Pseudo),
        (":method: GET\n:scheme: http\n:path: ", Malformed::Pseudo),
        (":method: GET\n:method: GET\n:scheme: http\n:path: /", Malformed::Pseudo),
        (":method: GET\n:scheme: http\n:path: /\n:status: 200", Malformed::Pseudo),
        (":method: GET\n:scheme: http\nx: y\n:path: /", Malformed::Pseudo),
        (":method: GET\n:scheme: http\n:path: /\nA: b", Malformed::Field),
        (":method: GET\n:scheme: http\n:path: /\nte: gzip", Malformed::ConnectionField),
        (":method: GET\n:scheme: http\n:path: /\ncontent-length: 1", Malformed::Length),
    ];
    for (lines, why) in cases {
        let frames = [headers(ENDS, 1, lines), frame(DATA, 0, 1, b"late"), get(3)];
        let (seen, output) = server_sees(&greeted(&[]), &frames);
        assert_eq!(seen, [Seen::Malformed(1, why), asked(3)], "{lines}");
        assert_eq!(output, reset(1, ErrorCode::ProtocolError));
    }
}

#[test]
fn more_streams_than_were_offered_are_refused() {
    let mut frames: Vec<_> = (0..MAX_STREAMS + 2).map(|number| get(2 * number + 1)).collect();
    let refused = [2 * MAX_STREAMS + 1, 2 * MAX_STREAMS + 3];
    frames.push(frame(DATA, 0, refused[0], b"late"));
    let (seen, output) = server_sees(&greeted(&[]), &frames);
    assert_eq!(seen.len(), MAX_STREAMS as usize);
    assert_eq!(output, refused.map(|stream| reset(stream, ErrorCode::RefusedStream)).concat());
}

#[test]
fn rapid_resets_are_answered_with_calm() {
    let mut server = greeted(&[]);
    let mut seen = Vec::new();
    for number in 0..1_000 {
        server.output().clear();
        let stream = 2 * number + 1;
        feed_server(&mut server, &[get(stream), reset(stream, ErrorCode::Cancel)].concat(), &mut seen);
    }
    let resets = seen.iter().filter(|seen| matches!(seen, Seen::Reset(..))).count();
    assert_eq!(resets, 256);
    assert_eq!(seen.last(), Some(&Seen::Error(ConnectionError::ResetFlood)));
    assert_eq!(ConnectionError::ResetFlood.code(), ErrorCode::EnhanceYourCalm);

    // A client that takes as much as it gives up is no attacker.
    let mut server = greeted(&[]);
    for number in 0..2_000 {
        let stream = ask(&mut server, 4 * number + 1);
        assert!(server.respond(stream, 204, [], true));
        let mut seen = Vec::new();
        let frames = [get(4 * number + 3), reset(4 * number + 3, ErrorCode::Cancel)];
        feed_server(&mut server, &frames.concat(), &mut seen);
        assert_eq!(seen.len(), 2);
        server.output().clear();
    }
}

#[test]
fn violations_by_a_client() {
    let open = headers(END_HEADERS, 1, GET);
    let cases = [
        (vec![get(2)], ConnectionError::UnexpectedStream),
        (vec![frame(DATA, 0, 1, b"x")], ConnectionError::UnexpectedStream),
        (vec![window(1, 1)], ConnectionError::UnexpectedStream),
        (vec![reset(1, ErrorCode::Cancel)], ConnectionError::UnexpectedStream),
        (vec![get(1), get(1)], ConnectionError::StreamClosed),
        (vec![get(3), get(1)], ConnectionError::StreamClosed),
        (vec![get(1), frame(DATA, 0, 1, b"x")], ConnectionError::StreamClosed),
        (vec![get(1), reset(1, ErrorCode::Cancel), frame(DATA, 0, 1, b"x")], ConnectionError::StreamClosed),
        (vec![open.clone(), headers(0, 1, "x: y"), get(3)], ConnectionError::Interleaved),
        (vec![open.clone(), settings(&[(4, 1 << 31)])], ConnectionError::WindowSetting),
        (vec![window(0, (1 << 31) - 1)], ConnectionError::WindowTooLarge),
        (vec![get(1), window(1, 1), settings(&[(4, (1 << 31) - 1)])], ConnectionError::WindowTooLarge),
        (vec![frame(PUSH_PROMISE, 0, 1, b"")], ConnectionError::PushPromise),
    ];
    for (frames, error) in cases {
        let (seen, output) = server_sees(&greeted(&[]), &frames);
        let errors: Vec<_> = seen.iter().filter(|seen| matches!(seen, Seen::Error(_))).collect();
        assert_eq!(errors, [&Seen::Error(error)], "{frames:?}");
        assert_eq!(output[output.len() - 17..output.len() - 8], goaway(0, error.code())[..9]);
        assert_eq!(output[output.len() - 4..], error.code().number().to_be_bytes());
    }
}

#[test]
fn a_window_of_a_stream_that_overflows_ends_the_stream_alone() {
    let frames = [get(1), window(1, (1 << 31) - 1), get(3), window(3, 0), get(5)];
    let (seen, _) = server_sees(&greeted(&[]), &frames);
    let wrong = |stream| Seen::Malformed(stream, Malformed::Window);
    assert_eq!(seen, [asked(1), wrong(1), asked(3), wrong(3), asked(5)]);
}

#[test]
fn going_away_serves_what_came_and_refuses_the_rest() {
    let mut server = greeted(&[]);
    let stream = ask(&mut server, 1);
    server.go_away();
    server.go_away();
    assert_eq!(*server.output(), goaway(1, ErrorCode::NoError));
    server.output().clear();
    let mut seen = Vec::new();
    feed_server(&mut server, &get(3), &mut seen);
    assert_eq!(*server.output(), reset(3, ErrorCode::RefusedStream));
    assert!(server.respond(stream, 304, [], true));
    feed_server(&mut server, &goaway(0, ErrorCode::NoError), &mut seen);
    assert_eq!(seen, [Seen::GoAway(0, ErrorCode::NoError)]);
}
