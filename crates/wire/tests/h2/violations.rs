//! Connection errors: each rule with its name, its code, and its GOAWAY.

use crate::support::*;
use bakeoff_wire::h2::hpack::HpackError;
use bakeoff_wire::h2::{ClientConnection, ConnectionError, ErrorCode, Settings};

/// The last thing the client sees is this error; its last words are GOAWAY.
fn fails(client: &ClientConnection, frames: &[Vec<u8>], error: ConnectionError) {
    let (seen, output) = client_sees(client, frames);
    assert_eq!(seen.last(), Some(&Seen::Error(error)));
    assert!(output.ends_with(&goaway(0, error.code())), "{error:?}: {output:?}");
    assert_eq!(output.windows(9).filter(|head| head[..5] == [0, 0, 8, GOAWAY, 0]).count(), 1, "said once");
}

#[test]
fn a_server_that_speaks_something_else() {
    for bytes in
        [&b"HTTP/1.1 400 Bad Request\r\n"[..], &frame(PING, 0, 0, &[0; 8]), &frame(SETTINGS, ACK, 0, b"")]
    {
        let mut client = ClientConnection::new(Settings::default());
        let mut seen = Vec::new();
        feed_client(&mut client, bytes, &mut seen);
        assert_eq!(seen, [Seen::Error(ConnectionError::NoPreface)]);
        assert!(!client.may_open());
    }
}

#[test]
fn frames_of_a_wrong_size() {
    let client = waiting(1);
    let cases = [
        frame(PING, 0, 0, &[0; 7]),
        frame(RST_STREAM, 0, 1, &[0; 5]),
        frame(WINDOW_UPDATE, 0, 1, &[0; 3]),
        frame(PRIORITY, 0, 1, &[0; 4]),
        frame(SETTINGS, 0, 0, &[0; 7]),
        frame(SETTINGS, ACK, 0, &[0; 6]),
        frame(GOAWAY, 0, 0, &[0; 7]),
        frame(DATA, 0, 1, &[0; 16_385]),
        frame(DATA, PADDED, 1, &[]),
        frame(HEADERS, END_HEADERS | PADDED, 1, &[]),
        frame(HEADERS, END_HEADERS | WITH_PRIORITY, 1, &[0; 4]),
        frame(0x42, 0, 1, &[0; 16_385]),
    ];
    for case in cases {
        fails(&client, &[case], ConnectionError::FrameSize);
    }
}

#[test]
fn frames_on_streams_where_they_have_no_place() {
    let client = waiting(1);
    let cases = [
        frame(DATA, 0, 0, b"x"),
        frame(DATA, 0, 3, b"x"),
        frame(DATA, 0, 2, b"x"),
        headers(ENDS, 0, ":status: 200"),
        headers(ENDS, 3, ":status: 200"),
        headers(ENDS, 2, ":status: 200"),
        reset(0, ErrorCode::Cancel),
        reset(3, ErrorCode::Cancel),
        window(3, 1),
        frame(PRIORITY, 0, 0, &[0; 5]),
        frame(SETTINGS, 0, 1, b""),
        frame(PING, 0, 1, &[0; 8]),
        frame(GOAWAY, 0, 1, &[0; 8]),
    ];
    for case in cases {
        fails(&client, &[case], ConnectionError::UnexpectedStream);
    }
    fails(&client, &[frame(PUSH_PROMISE, END_HEADERS, 1, &[0, 0, 0, 2])], ConnectionError::PushPromise);
}

#[test]
fn header_blocks_that_are_interleaved_broken_or_endless() {
    let client = waiting(2);
    let start = headers(0, 1, ":status: 200");
    fails(&client, &[start.clone(), frame(PING, 0, 0, &[0; 8])], ConnectionError::Interleaved);
    fails(&client, &[start.clone(), frame(0x42, 0, 0, b"")], ConnectionError::Interleaved);
    fails(&client, &[start.clone(), frame(CONTINUATION, END_HEADERS, 3, b"")], ConnectionError::Interleaved);
    fails(&client, &[frame(CONTINUATION, END_HEADERS, 1, b"")], ConnectionError::Interleaved);
    let flood = [vec![start.clone()], vec![frame(CONTINUATION, 0, 1, b""); 64]].concat();
    fails(&client, &flood, ConnectionError::ContinuationFlood);
    let large = [vec![start], vec![frame(CONTINUATION, 0, 1, &[0; 16_384]); 4]].concat();
    fails(&client, &large, ConnectionError::HeaderListTooLarge);
    let bomb = [&[0x88][..], &[0x8f; 1_500]].concat(); // accept-charset, 46 bytes each
    fails(&client, &[frame(HEADERS, ENDS, 1, &bomb)], ConnectionError::HeaderListTooLarge);
    let broken = ConnectionError::Compression(HpackError::Index);
    fails(&client, &[frame(HEADERS, ENDS, 1, &[0x88, 0xbe])], broken);
    assert_eq!(broken.code(), ErrorCode::CompressionError);
    let padded = frame(HEADERS, ENDS | PADDED, 1, &[3, 0x88, 0]);
    fails(&client, &[padded], ConnectionError::Padding);
    fails(&client, &[frame(DATA, PADDED, 1, &[3, 0, 0])], ConnectionError::Padding);
}

#[test]
fn settings_and_windows_out_of_range() {
    let client = waiting(1);
    fails(&client, &[settings(&[(2, 2)])], ConnectionError::Setting);
    fails(&client, &[settings(&[(5, 16_383)])], ConnectionError::Setting);
    fails(&client, &[settings(&[(5, 1 << 24)])], ConnectionError::Setting);
    fails(&client, &[settings(&[(4, 1 << 31)])], ConnectionError::WindowSetting);
    fails(&client, &[window(0, 0)], ConnectionError::ZeroIncrement);
    fails(&client, &[window(0, (1 << 31) - 1)], ConnectionError::WindowTooLarge);
    assert_eq!(ConnectionError::WindowSetting.code(), ErrorCode::FlowControlError);
}

#[test]
fn more_bytes_than_a_window_allows() {
    let start = headers(END_HEADERS, 1, ":status: 200");
    let small = waiting_with(Settings { initial_window: 10, ..Settings::default() }, b"GET", 1);
    fails(&small, &[start.clone(), frame(DATA, 0, 1, &[0; 11])], ConnectionError::FlowControl);
    fails(&small, &[start.clone(), frame(DATA, PADDED, 1, &[9; 11])], ConnectionError::FlowControl);
    let none = waiting_with(Settings { initial_window: 0, ..Settings::default() }, b"GET", 1);
    fails(&none, &[start.clone(), frame(DATA, 0, 1, &[0])], ConnectionError::FlowControl);
    let wide = Settings { initial_window: 1 << 20, max_frame: 1 << 17, ..Settings::default() };
    let frames = [start, frame(DATA, 0, 1, &[0; 65_536])];
    fails(&waiting_with(wide, b"GET", 1), &frames, ConnectionError::FlowControl);
}

#[test]
fn floods_of_what_costs_the_sender_nothing() {
    let client = waiting(1);
    fails(&client, &vec![frame(PING, 0, 0, &[0; 8]); 1_000], ConnectionError::ControlFlood);
    fails(&client, &vec![settings(&[]); 1_000], ConnectionError::ControlFlood);
    let start = headers(END_HEADERS, 1, ":status: 200");
    let empty = [vec![start.clone()], vec![frame(DATA, 0, 1, b""); 101]].concat();
    fails(&client, &empty, ConnectionError::EmptyFrameFlood);
    let padded = [vec![start], vec![frame(DATA, PADDED, 1, &[1, 0]); 101]].concat();
    fails(&client, &padded, ConnectionError::EmptyFrameFlood);
    fails(&client, &vec![reset(1, ErrorCode::Cancel); 103], ConnectionError::ResetFlood);
}

#[test]
fn answers_that_were_sent_do_not_count_as_a_flood() {
    let mut client = waiting(1);
    let mut seen = Vec::new();
    feed_client(&mut client, &settings(&[]), &mut seen);
    for _ in 0..5_000 {
        client.output().clear();
        feed_client(&mut client, &frame(PING, 0, 0, &[0; 8]), &mut seen);
    }
    assert_eq!(seen, []);
}

#[test]
fn a_message_that_goes_on_behind_its_end() {
    let client = waiting(2);
    let reply = headers(ENDS, 1, ":status: 200");
    fails(&client, &[reply.clone(), frame(DATA, 0, 1, b"x")], ConnectionError::StreamClosed);
    fails(&client, &[reply.clone(), reply.clone()], ConnectionError::StreamClosed);
    // Windows and resets may be under way when a stream closes.
    let (seen, _) = client_sees(&client, &[reply, window(1, 5), reset(1, ErrorCode::NoError)]);
    assert_eq!(seen.len(), 1);
}
