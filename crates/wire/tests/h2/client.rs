//! The client: replies, windows, and when it may open a stream.

use crate::support::*;
use bakeoff_wire::h2::{CannotOpen, ClientConnection, ErrorCode, Malformed, Settings};

const OK_5: &str = ":status: 200\ncontent-length: 5";

#[test]
fn the_first_bytes_are_preface_settings_and_window() {
    let mut client = ClientConnection::new(Settings {
        initial_window: 1 << 20,
        connection_window: 1 << 24,
        max_frame: 1 << 15,
        header_table: 0,
        max_header_list: 10_000,
    });
    let expected = [
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
        settings(&[(1, 0), (2, 0), (4, 1 << 20), (5, 1 << 15), (6, 10_000)]),
        window(0, (1 << 24) - 65_535),
    ];
    assert_eq!(*client.output(), expected.concat());
}

#[test]
fn a_request_is_one_frame_of_few_bytes_when_it_repeats() {
    let mut client = ClientConnection::new(Settings::default());
    client.output().clear();
    let fields = [(&b"user-agent"[..], &b"bakeoff"[..]), (b"x-own", b"1")];
    client.request(b"GET", b"http", b"localhost", b"/index.html", fields).unwrap();
    client.output().clear();
    let stream = client.request(b"GET", b"http", b"localhost", b"/index.html", fields).unwrap();
    assert_eq!(stream.number(), 3);
    assert_eq!(*client.output(), frame(HEADERS, ENDS, 3, &[0x82, 0x86, 0xc0, 0x85, 0xbf, 0xbe]));
    assert_eq!(client.open_streams(), 2);
}

#[test]
fn a_reply_with_a_body_in_two_frames() {
    let frames =
        [headers(END_HEADERS, 1, OK_5), frame(DATA, 0, 1, b"he"), frame(DATA, END_STREAM, 1, b"llo")];
    let (seen, output) = client_sees(&waiting(1), &frames);
    assert_eq!(seen, [head(1, 200, Some(5), frames[0].len() as u64, false), body(1, b"hello", true)]);
    assert_eq!(output, []);
}

#[test]
fn replies_of_two_streams_are_interleaved() {
    let frames = [
        headers(END_HEADERS, 3, OK_5),
        headers(END_HEADERS, 1, OK_5),
        frame(DATA, 0, 3, b"thr"),
        frame(DATA, END_STREAM, 1, b"first"),
        frame(DATA, END_STREAM, 3, b"ee"),
    ];
    let (seen, _) = client_sees(&waiting(2), &frames);
    let bytes = frames[0].len() as u64;
    assert_eq!(
        seen,
        [
            head(3, 200, Some(5), bytes, false),
            head(1, 200, Some(5), bytes, false),
            body(3, b"thr", false),
            body(1, b"first", true),
            body(3, b"ee", true),
        ]
    );
}

#[test]
fn padding_priority_and_continuations_change_nothing() {
    let lines = block(OK_5);
    let padded = [&[3, 0, 0, 0, 0, 9][..], &lines[..4], &[0; 3]].concat();
    let frames = [
        frame(HEADERS, PADDED | WITH_PRIORITY, 1, &padded),
        frame(CONTINUATION, 0, 1, &lines[4..9]),
        frame(CONTINUATION, 0, 1, b""),
        frame(CONTINUATION, END_HEADERS, 1, &lines[9..]),
        frame(DATA, PADDED, 1, b"\x02he\0\0"),
        frame(DATA, PADDED, 1, b"\x00ll"),
        frame(DATA, PADDED, 1, b"\x04\0\0\0\0"),
        frame(DATA, PADDED, 1, b"\0"),
        frame(DATA, PADDED | END_STREAM, 1, b"\x01o\0"),
    ];
    let (seen, _) = client_sees(&waiting(1), &frames);
    let bytes = frames[..4].concat().len() as u64;
    assert_eq!(seen, [head(1, 200, Some(5), bytes, false), body(1, b"hello", true)]);
}

#[test]
fn a_reply_may_end_with_its_head_an_empty_frame_or_trailers() {
    let empty = headers(ENDS, 1, ":status: 200\ncontent-length: 0");
    let (seen, _) = client_sees(&waiting(1), std::slice::from_ref(&empty));
    assert_eq!(seen, [head(1, 200, Some(0), empty.len() as u64, true)]);

    let open = headers(END_HEADERS, 1, ":status: 200");
    let (seen, _) = client_sees(&waiting(1), &[open.clone(), frame(DATA, END_STREAM, 1, b"")]);
    assert_eq!(seen, [head(1, 200, None, open.len() as u64, false), body(1, b"", true)]);

    let trailers = headers(ENDS, 1, "x-checksum: 1");
    let (seen, _) = client_sees(&waiting(1), &[open.clone(), frame(DATA, 0, 1, b"hi"), trailers]);
    assert_eq!(seen, [head(1, 200, None, open.len() as u64, false), body(1, b"hi", true)]);
}

#[test]
fn interim_replies_are_read_over() {
    let frames = [
        headers(END_HEADERS, 1, ":status: 100"),
        headers(END_HEADERS, 1, ":status: 103\nlink: </a>"),
        headers(ENDS, 1, ":status: 204"),
    ];
    let (seen, _) = client_sees(&waiting(1), &frames);
    assert_eq!(seen, [head(1, 204, None, frames[2].len() as u64, true)]);
}

#[test]
fn the_reply_to_head_and_a_304_may_have_a_length_and_no_body() {
    let to_head = headers(ENDS, 1, OK_5);
    let (seen, _) =
        client_sees(&waiting_with(Settings::default(), b"HEAD", 1), std::slice::from_ref(&to_head));
    assert_eq!(seen, [head(1, 200, Some(5), to_head.len() as u64, true)]);
    let unchanged = headers(ENDS, 1, ":status: 304\ncontent-length: 5");
    let (seen, _) = client_sees(&waiting(1), std::slice::from_ref(&unchanged));
    assert_eq!(seen, [head(1, 304, Some(5), unchanged.len() as u64, true)]);
}

/// The stream ends, the peer is told, and the connection goes on.
fn is_malformed(client: &ClientConnection, frames: &[Vec<u8>], why: Malformed) {
    let next = headers(ENDS, 3, ":status: 200");
    let mut all = frames.to_vec();
    all.push(next.clone());
    let (seen, output) = client_sees(client, &all);
    let heads = seen.len() - 2;
    assert!(
        seen[..heads].iter().all(|seen| matches!(seen, Seen::Head(..) | Seen::Body(_, _, false))),
        "{seen:?}"
    );
    assert_eq!(seen[heads..], [Seen::Malformed(1, why), head(3, 200, None, next.len() as u64, true)]);
    assert_eq!(output, reset(1, ErrorCode::ProtocolError), "{why:?}");
}

#[test]
fn what_is_no_reply_ends_its_stream_alone() {
    let client = waiting(2);
    let cases = [
        ("x: y", Malformed::Pseudo),
        (":status: 20", Malformed::Pseudo),
        (":status: 2000", Malformed::Pseudo),
        (":status: 099", Malformed::Pseudo),
        (":status: 200\n:status: 200", Malformed::Pseudo),
        (":status: 200\n:path: /", Malformed::Pseudo),
        ("x: y\n:status: 200", Malformed::Pseudo),
        (":status: 200\nX: y", Malformed::Field),
        (":status: 200\nx y: z", Malformed::Field),
        (":status: 200\nx: \u{0}", Malformed::Field),
        (":status: 200\nconnection: close", Malformed::ConnectionField),
        (":status: 200\ntransfer-encoding: chunked", Malformed::ConnectionField),
        (":status: 200\ncontent-length: x", Malformed::Length),
        (":status: 200\ncontent-length: 1\ncontent-length: 2", Malformed::Length),
        (":status: 200\ncontent-length: 1", Malformed::Length),
        (":status: 101", Malformed::Interim),
        (":status: 100", Malformed::Interim),
    ];
    for (lines, why) in cases {
        is_malformed(&client, &[headers(ENDS, 1, lines)], why);
    }
}

#[test]
fn a_body_of_another_length_is_malformed() {
    let client = waiting(2);
    let start = headers(END_HEADERS, 1, OK_5);
    is_malformed(&client, &[start.clone(), frame(DATA, END_STREAM, 1, b"1234")], Malformed::Length);
    is_malformed(&client, &[start.clone(), frame(DATA, 0, 1, b"123456")], Malformed::Length);
    is_malformed(&client, &[start.clone(), frame(DATA, PADDED, 1, b"\x01123456\0")], Malformed::Length);
    is_malformed(
        &client,
        &[start.clone(), frame(DATA, 0, 1, b"1234"), headers(ENDS, 1, "x: y")],
        Malformed::Length,
    );
    is_malformed(
        &client,
        &[start.clone(), frame(DATA, 0, 1, b"12345"), headers(END_HEADERS, 1, "x: y")],
        Malformed::Trailers,
    );
    is_malformed(&client, &[start.clone(), headers(ENDS, 1, ":status: 200")], Malformed::Trailers);
    is_malformed(&client, &[frame(DATA, 0, 1, b"1")], Malformed::NoHead);
    is_malformed(&client, &[start, window(1, 0)], Malformed::Window);
    let none = headers(END_HEADERS, 1, ":status: 204");
    is_malformed(&client, &[none, frame(DATA, END_STREAM, 1, b"1")], Malformed::Length);
    let interims = vec![headers(END_HEADERS, 1, ":status: 103"); 33];
    is_malformed(&client, &interims, Malformed::Interim);
}

#[test]
fn windows_are_opened_when_half_is_consumed() {
    let settings = Settings { initial_window: 100, ..Settings::default() };
    let client = waiting_with(settings, b"GET", 1);
    let mut frames = vec![headers(END_HEADERS, 1, ":status: 200")];
    frames.push(frame(DATA, 0, 1, &[b'a'; 49]));
    assert_eq!(client_sees(&client, &frames).1, []);
    frames.push(frame(DATA, 0, 1, b"a"));
    assert_eq!(client_sees(&client, &frames).1, window(1, 50));
    frames.push(frame(DATA, PADDED, 1, &[[9].as_slice(), &[0; 9], &[0; 90]].concat()));
    assert_eq!(client_sees(&client, &frames).1, [window(1, 50), window(1, 100)].concat(), "padding counts");
    frames.push(frame(DATA, END_STREAM, 1, &[b'a'; 100]));
    assert_eq!(client_sees(&client, &frames).1, [window(1, 50), window(1, 100)].concat(), "none at the end");

    let frames = [
        headers(END_HEADERS, 1, ":status: 200"),
        frame(DATA, 0, 1, &[b'a'; 16_384]),
        frame(DATA, END_STREAM, 1, &[b'a'; 16_384]),
    ];
    let (seen, output) = client_sees(&waiting(1), &frames);
    assert_eq!(output, window(0, 32_768), "65 535 are the connection's");
    assert_eq!(seen[1], body(1, &[b'a'; 32_768], true));
}

#[test]
fn the_peer_says_how_many_streams_may_be_open_and_may_change_it() {
    let mut client = waiting(100);
    let mut seen = Vec::new();
    assert!(!client.may_open(), "a hundred, before anything is said");
    feed_client(&mut client, &settings(&[]), &mut seen);
    assert!(!client.may_open());
    feed_client(&mut client, &settings(&[(3, 101)]), &mut seen);
    client.request(b"GET", b"http", b"localhost", b"/", []).unwrap();
    assert_eq!(client.request(b"GET", b"http", b"localhost", b"/", []), Err(CannotOpen::TooMany));

    let mut client = waiting(2);
    feed_client(&mut client, &settings(&[(3, 1)]), &mut seen);
    feed_client(&mut client, &headers(ENDS, 1, ":status: 200"), &mut seen);
    assert!(!client.may_open(), "one is open, as many as allowed");
    feed_client(&mut client, &headers(ENDS, 3, ":status: 200"), &mut seen);
    assert!(client.may_open());
    feed_client(&mut client, &settings(&[(3, 0)]), &mut seen);
    assert!(!client.may_open());
    assert_eq!(seen.len(), 2);
}

#[test]
fn settings_and_pings_are_answered_and_what_is_unknown_is_passed_over() {
    let frames = [
        frame(PING, 0, 0, b"12345678"),
        frame(0x42, 0xff, 0, &[7; 300]),
        frame(0x42, 0xff, 77, b""),
        frame(PRIORITY, 0, 99, &[0, 0, 0, 0, 9]),
        settings(&[(0x4242, 7), (1, u32::MAX), (5, 16_777_215), (4, 0)]),
        frame(PING, ACK, 0, b"12345678"),
        window(0, 1),
        window(1, 5),
    ];
    let (seen, output) = client_sees(&waiting(1), &frames);
    assert_eq!(seen, []);
    assert_eq!(output, [frame(PING, ACK, 0, b"12345678"), frame(SETTINGS, ACK, 0, b"")].concat());
}

#[test]
fn a_goaway_tells_which_requests_can_be_sent_elsewhere() {
    let mut client = waiting(4);
    let mut seen = Vec::new();
    feed_client(&mut client, &settings(&[]), &mut seen);
    assert!(!client.is_used_up());
    feed_client(&mut client, &goaway(3, ErrorCode::NoError), &mut seen);
    assert!(client.is_used_up());
    assert_eq!(client.refused_by_goaway().map(|stream| stream.number()).collect::<Vec<_>>(), [5, 7]);
    assert_eq!(client.refused_by_goaway().count(), 0, "told once");
    assert_eq!((client.open_streams(), client.may_open()), (2, false));
    assert_eq!(client.request(b"GET", b"http", b"localhost", b"/", []), Err(CannotOpen::GoingAway));
    let reply = headers(ENDS, 3, ":status: 200");
    feed_client(&mut client, &reply, &mut seen);
    assert_eq!(seen, [Seen::GoAway(3, ErrorCode::NoError), head(3, 200, None, reply.len() as u64, true)]);
}

#[test]
fn resets_say_why() {
    let frames = [
        reset(1, ErrorCode::RefusedStream),
        headers(END_HEADERS, 3, ":status: 200"),
        reset(3, ErrorCode::Unknown(0x1234)),
        reset(3, ErrorCode::NoError),
    ];
    let (seen, output) = client_sees(&waiting(2), &frames);
    let head = head(3, 200, None, frames[1].len() as u64, false);
    assert_eq!(
        seen,
        [Seen::Reset(1, ErrorCode::RefusedStream), head, Seen::Reset(3, ErrorCode::Unknown(0x1234))]
    );
    assert_eq!(output, []);
}

#[test]
fn late_frames_of_a_cancelled_stream_are_ignored_but_counted() {
    let mut client = waiting(2);
    let stream = client.request(b"GET", b"http", b"localhost", b"/", []).unwrap();
    client.output().clear();
    assert!(client.cancel(stream, ErrorCode::Cancel));
    assert!(!client.cancel(stream, ErrorCode::Cancel));
    assert_eq!(*client.output(), reset(5, ErrorCode::Cancel));
    client.output().clear();
    // A field that enters the table in the late block is known in the next one.
    let late = [&[0x88, 0x40, 1, b'x', 1, b'y'][..]].concat();
    let frames = [
        frame(HEADERS, END_HEADERS, 5, &late),
        frame(DATA, 0, 5, &[0; 16_384]),
        frame(DATA, END_STREAM, 5, &[0; 16_384]),
        frame(HEADERS, ENDS, 1, &[0x88, 0xbe]),
        reset(5, ErrorCode::NoError),
    ];
    let (seen, output) = client_sees(&client, &frames);
    assert_eq!(seen, [head(1, 200, None, 11, true)]);
    assert_eq!(output, window(0, 32_768));
}

#[test]
fn a_stream_may_be_cancelled_inside_a_frame() {
    let mut client = waiting(2);
    let stream = client.request(b"GET", b"http", b"localhost", b"/", []).unwrap();
    let mut seen = Vec::new();
    feed_client(&mut client, &settings(&[]), &mut seen);
    feed_client(&mut client, &headers(END_HEADERS, 5, ":status: 200"), &mut seen);
    let data = frame(DATA, PADDED | END_STREAM, 5, b"\x03hello\0\0\0");
    feed_client(&mut client, &data[..12], &mut seen);
    assert_eq!(seen.last(), Some(&body(5, b"he", false)));
    client.cancel(stream, ErrorCode::Cancel);
    feed_client(&mut client, &data[12..], &mut seen);
    feed_client(&mut client, &headers(ENDS, 1, ":status: 204"), &mut seen);
    assert_eq!(seen[1..], [body(5, b"he", false), head(1, 204, None, 22, true)]);
}

#[test]
fn a_small_frame_limit_of_the_peer_splits_a_large_request() {
    let mut client = ClientConnection::new(Settings::default());
    client.output().clear();
    let value = vec![0xff; 20_000]; // 26 bits each in Huffman code, so it is sent as it is
    client.request(b"GET", b"http", b"localhost", b"/", [(&b"x-large"[..], value.as_slice())]).unwrap();
    let output = client.output().clone();
    assert_eq!(output[..9], [0, 0x40, 0, HEADERS, END_STREAM, 0, 0, 0, 1]);
    assert_eq!(output[16_393 + 3..16_393 + 9], [CONTINUATION, END_HEADERS, 0, 0, 0, 1]);
    let mut server = greeted(&[]);
    let mut seen = Vec::new();
    feed_server(&mut server, &output, &mut seen);
    assert_eq!(seen, [Seen::Request(1, bakeoff_wire::http1::ServerMethod::Get, "/".into(), true)]);
}

#[test]
fn a_request_larger_than_the_peer_takes_is_not_sent() {
    let mut client = waiting(0);
    feed_client(&mut client, &settings(&[(6, 180)]), &mut Vec::new());
    client.output().clear();
    // 42 + 43 + 51 + 38 bytes of pseudo-header fields: 174.
    assert!(client.request(b"GET", b"http", b"localhost", b"/", []).is_ok());
    client.output().clear();
    let fields = [(&b"a"[..], &b"b"[..])];
    assert_eq!(client.request(b"GET", b"http", b"localhost", b"/", fields), Err(CannotOpen::TooLarge));
    assert_eq!(*client.output(), []);
}

#[test]
fn a_peer_without_a_table_is_told_so_and_gets_literals() {
    let mut client = waiting(0);
    feed_client(&mut client, &settings(&[(1, 0)]), &mut Vec::new());
    for expected_first in [0x20, 0x82] {
        client.output().clear();
        client.request(b"GET", b"http", b"a", b"/", [(&b"x"[..], &b"y"[..])]).unwrap();
        assert_eq!(client.output()[9], expected_first);
        assert!(client.output().ends_with(&[0x84, 0x00, 1, b'x', 1, b'y']));
    }
}
