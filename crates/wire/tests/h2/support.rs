//! Frames by hand, and peers that note what they see.

use bakeoff_wire::h2::{
    ClientConnection, ClientStep, ConnectionError, ErrorCode, H2ReplyHead, Malformed, ServerConnection,
    ServerStep, Settings, StreamId,
};
use bakeoff_wire::http1::{ContentCoding, ServerMethod};

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const PRIORITY: u8 = 2;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PUSH_PROMISE: u8 = 5;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

pub(crate) const END_STREAM: u8 = 1;
pub(crate) const ACK: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;
pub(crate) const PADDED: u8 = 8;
pub(crate) const WITH_PRIORITY: u8 = 32;

pub(crate) const ENDS: u8 = END_STREAM | END_HEADERS;

pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

pub(crate) fn settings(list: &[(u16, u32)]) -> Vec<u8> {
    let payload: Vec<u8> = list
        .iter()
        .flat_map(|(name, value)| name.to_be_bytes().into_iter().chain(value.to_be_bytes()))
        .collect();
    frame(SETTINGS, 0, 0, &payload)
}

pub(crate) fn window(stream: u32, increment: u32) -> Vec<u8> {
    frame(WINDOW_UPDATE, 0, stream, &increment.to_be_bytes())
}

pub(crate) fn reset(stream: u32, code: ErrorCode) -> Vec<u8> {
    frame(RST_STREAM, 0, stream, &code.number().to_be_bytes())
}

pub(crate) fn goaway(last: u32, code: ErrorCode) -> Vec<u8> {
    frame(GOAWAY, 0, 0, &[last.to_be_bytes(), code.number().to_be_bytes()].concat())
}

/// A header block of literals that enter no table. `name: value` on each line.
pub(crate) fn block(lines: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in lines.lines() {
        let (name, value) = line.trim().rsplit_once(": ").unwrap_or((line.trim(), ""));
        bytes.push(0);
        for text in [name, value] {
            assert!(text.len() < 127);
            bytes.push(text.len() as u8);
            bytes.extend(text.bytes());
        }
    }
    bytes
}

pub(crate) fn headers(flags: u8, stream: u32, lines: &str) -> Vec<u8> {
    frame(HEADERS, flags, stream, &block(lines))
}

/// An event that the application of a peer gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Head(u32, H2ReplyHead, bool),
    Request(u32, ServerMethod, String, bool),
    Body(u32, Vec<u8>, bool),
    Reset(u32, ErrorCode),
    Malformed(u32, Malformed),
    GoAway(u32, ErrorCode),
    Error(ConnectionError),
}

pub(crate) fn head(
    stream: u32,
    status: u16,
    content_length: Option<u64>,
    head_bytes: u64,
    end: bool,
) -> Seen {
    let coding = ContentCoding::Identity;
    Seen::Head(stream, H2ReplyHead { status, content_length, coding, head_bytes }, end)
}

pub(crate) fn body(stream: u32, bytes: &[u8], end: bool) -> Seen {
    Seen::Body(stream, bytes.to_vec(), end)
}

/// Notes body bytes: pieces of one body become one.
fn note(seen: &mut Vec<Seen>, stream: StreamId, bytes: &[u8], end: bool) {
    if let Some(Seen::Body(last, known, ended @ false)) = seen.last_mut()
        && *last == stream.number()
    {
        known.extend_from_slice(bytes);
        *ended = end;
    } else {
        seen.push(body(stream.number(), bytes, end));
    }
}

/// Hands bytes to a client; `seen` gets its events.
pub(crate) fn feed_client(client: &mut ClientConnection, bytes: &[u8], seen: &mut Vec<Seen>) {
    let mut rest = bytes;
    loop {
        match client.step(rest) {
            Ok(ClientStep::More) => return,
            Ok(ClientStep::Head { used, stream, head, end }) => {
                seen.push(Seen::Head(stream.number(), head, end));
                rest = &rest[used..];
            }
            Ok(ClientStep::Body { skip, len, stream, end }) => {
                note(seen, stream, &rest[skip..skip + len], end);
                rest = &rest[skip + len..];
            }
            Ok(ClientStep::Reset { used, stream, code }) => {
                seen.push(Seen::Reset(stream.number(), code));
                rest = &rest[used..];
            }
            Ok(ClientStep::Malformed { used, stream, why }) => {
                seen.push(Seen::Malformed(stream.number(), why));
                rest = &rest[used..];
            }
            Ok(ClientStep::GoAway { used, last_stream, code }) => {
                seen.push(Seen::GoAway(last_stream, code));
                rest = &rest[used..];
            }
            Err(error) => {
                if seen.last() != Some(&Seen::Error(error)) {
                    seen.push(Seen::Error(error));
                }
                return;
            }
        }
    }
}

/// Hands bytes to a server; `seen` gets its events.
pub(crate) fn feed_server(server: &mut ServerConnection, bytes: &[u8], seen: &mut Vec<Seen>) {
    let mut rest = bytes;
    loop {
        match server.step(rest) {
            Ok(ServerStep::More) => return,
            Ok(ServerStep::Request { used, stream, head, end }) => {
                let path = String::from_utf8_lossy(head.path).into_owned();
                seen.push(Seen::Request(stream.number(), head.method, path, end));
                rest = &rest[used..];
            }
            Ok(ServerStep::Body { skip, len, stream, end }) => {
                note(seen, stream, &rest[skip..skip + len], end);
                rest = &rest[skip + len..];
            }
            Ok(ServerStep::Reset { used, stream, code }) => {
                seen.push(Seen::Reset(stream.number(), code));
                rest = &rest[used..];
            }
            Ok(ServerStep::Malformed { used, stream, why }) => {
                seen.push(Seen::Malformed(stream.number(), why));
                rest = &rest[used..];
            }
            Ok(ServerStep::GoAway { used, code }) => {
                seen.push(Seen::GoAway(0, code));
                rest = &rest[used..];
            }
            Err(error) => {
                if seen.last() != Some(&Seen::Error(error)) {
                    seen.push(Seen::Error(error));
                }
                return;
            }
        }
    }
}

/// A client that has sent so many requests, with an empty output.
pub(crate) fn waiting(requests: usize) -> ClientConnection {
    waiting_with(Settings::default(), b"GET", requests)
}

pub(crate) fn waiting_with(settings: Settings, method: &[u8], requests: usize) -> ClientConnection {
    let mut client = ClientConnection::new(settings);
    for _ in 0..requests {
        client.request(method, b"http", b"localhost", b"/", []).unwrap();
    }
    client.output().clear();
    client
}

/// The client's events and output when these frames come behind the server's settings, however they are split.
pub(crate) fn client_sees(client: &ClientConnection, frames: &[Vec<u8>]) -> (Vec<Seen>, Vec<u8>) {
    let bytes = [settings(&[]), frames.concat()].concat();
    let play = |size: usize| {
        let (mut client, mut seen) = (client.clone(), Vec::new());
        for piece in bytes.chunks(size) {
            feed_client(&mut client, piece, &mut seen);
        }
        (seen, std::mem::take(client.output()))
    };
    let whole = play(bytes.len());
    for size in [1, 2, 7, 10, 100] {
        assert_eq!(play(size), whole, "in pieces of {size}");
    }
    let (seen, output) = whole;
    let ack = frame(SETTINGS, ACK, 0, &[]);
    (seen, output.strip_prefix(ack.as_slice()).map(<[u8]>::to_vec).unwrap_or(output))
}

/// A server that has its client's preface and settings, with an empty output.
pub(crate) fn greeted(list: &[(u16, u32)]) -> ServerConnection {
    let mut server = ServerConnection::new(Settings::default());
    let mut seen = Vec::new();
    feed_server(&mut server, bakeoff_wire::h2::frame::PREFACE, &mut seen);
    feed_server(&mut server, &settings(list), &mut seen);
    assert_eq!(seen, []);
    server.output().clear();
    server
}

/// The server's events and output, however the frames are split.
pub(crate) fn server_sees(server: &ServerConnection, frames: &[Vec<u8>]) -> (Vec<Seen>, Vec<u8>) {
    let bytes = frames.concat();
    let play = |size: usize| {
        let (mut server, mut seen) = (server.clone(), Vec::new());
        for piece in bytes.chunks(size) {
            feed_server(&mut server, piece, &mut seen);
        }
        (seen, std::mem::take(server.output()))
    };
    let whole = play(bytes.len().max(1));
    for size in [1, 2, 7, 10, 100] {
        assert_eq!(play(size), whole, "in pieces of {size}");
    }
    whole
}
