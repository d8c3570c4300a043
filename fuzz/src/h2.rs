//! Fuzz targets of HTTP/2: the result of a connection must not depend on how its bytes are split.

use bakeoff_wire::h2::{
    ClientConnection, ClientStep, ConnectionError, ServerConnection, ServerStep, Settings, StreamId,
};

/// Windows so small that they are reopened often, and overrun.
const SETTINGS: Settings = Settings {
    initial_window: 300,
    connection_window: 0,
    max_frame: 0,
    header_table: 200,
    max_header_list: 20_000,
};

/// Events of one side, body bytes in one piece.
#[derive(Debug, Default, PartialEq, Eq)]
struct Told {
    events: Vec<String>,
    body: Option<(StreamId, Vec<u8>)>,
    error: Option<ConnectionError>,
    output: Vec<u8>,
}

impl Told {
    fn event(&mut self, event: String) {
        if let Some((stream, bytes)) = self.body.take() {
            self.events.push(format!("{stream:?}: {bytes:02x?}"));
        }
        self.events.push(event);
    }

    fn body(&mut self, stream: StreamId, bytes: &[u8], end: bool) {
        match &mut self.body {
            Some((known, before)) if *known == stream => before.extend_from_slice(bytes),
            _ => {
                self.event(format!("{stream:?} has a body"));
                self.body = Some((stream, bytes.to_vec()));
            }
        }
        if end {
            self.event(format!("{stream:?} ends"));
        }
    }

    fn finish(mut self, output: &mut Vec<u8>, error: Option<ConnectionError>) -> Self {
        self.event("nothing more".to_owned());
        self.output = std::mem::take(output);
        self.error = error;
        let farewell = self.output.len().checked_sub(17).map(|at| &self.output[at..at + 5]);
        assert!(error.is_none() || farewell == Some(&[0, 0, 8, 7, 0]), "an error without GOAWAY");
        self
    }
}

/// Replies: the first byte says how many requests were sent and whether the second was cancelled, the second byte is
/// the seed of the splits.
pub(crate) fn client(data: &[u8]) {
    let [requests, seed, bytes @ ..] = data else { return };
    let whole = ask(*requests, &[bytes]);
    let pieces = super::split(bytes, u64::from(*seed));
    assert_eq!(ask(*requests, &pieces), whole, "split by seed {seed}");
    if bytes.len() <= 2_000 {
        assert_eq!(ask(*requests, &bytes.chunks(1).collect::<Vec<_>>()), whole, "byte by byte");
    }
}

fn ask(requests: u8, pieces: &[&[u8]]) -> Told {
    let mut client = ClientConnection::new(SETTINGS);
    let mut streams = Vec::new();
    for number in 0..requests % 16 {
        let method: &[u8] = if number % 3 == 2 { b"HEAD" } else { b"GET" };
        let stream = client.request(method, b"http", b"localhost", b"/", [(&b"a"[..], &b"b"[..])]);
        streams.push(stream.expect("a hundred may be open"));
    }
    if let (Some(stream), true) = (streams.get(1), requests >= 128) {
        assert!(client.cancel(*stream, bakeoff_wire::h2::ErrorCode::Cancel));
    }
    client.output().clear();
    let mut told = Told::default();
    let mut error = None;
    for piece in pieces {
        error = hear(&mut client, piece, &mut told);
    }
    assert!(client.open_streams() <= streams.len());
    if let Some(error) = error {
        assert_eq!(client.step(b"x"), Err(error), "an error that passes");
    }
    let refused: Vec<_> = client.refused_by_goaway().collect();
    told.event(format!("{} open, {refused:?} refused, {}", client.open_streams(), client.may_open()));
    told.finish(client.output(), error)
}

fn hear(client: &mut ClientConnection, piece: &[u8], told: &mut Told) -> Option<ConnectionError> {
    let mut rest = piece;
    loop {
        let used = match client.step(rest) {
            Ok(ClientStep::More) => return None,
            Err(error) => return Some(error),
            Ok(ClientStep::Body { skip, len, stream, end }) => {
                assert!(len > 0 || end, "a step without news");
                told.body(stream, &rest[skip..skip + len], end);
                skip + len
            }
            Ok(ClientStep::Head { used, stream, head, end }) => {
                told.event(format!("{stream:?}: {head:?}, {end}"));
                used
            }
            Ok(ClientStep::Reset { used, stream, code }) => {
                told.event(format!("{stream:?}: reset, {code:?}"));
                used
            }
            Ok(ClientStep::Malformed { used, stream, why }) => {
                told.event(format!("{stream:?}: {why:?}"));
                used
            }
            Ok(ClientStep::GoAway { used, last_stream, code }) => {
                told.event(format!("no more than {last_stream}, {code:?}"));
                used
            }
        };
        rest = &rest[used..];
    }
}

/// Requests behind the preface: the first byte is the seed of the splits.
pub(crate) fn server(data: &[u8]) {
    let [seed, bytes @ ..] = data else { return };
    let whole = answer(&[bytes]);
    let pieces = super::split(bytes, u64::from(*seed));
    assert_eq!(answer(&pieces), whole, "split by seed {seed}");
    if bytes.len() <= 2_000 {
        assert_eq!(answer(&bytes.chunks(1).collect::<Vec<_>>()), whole, "byte by byte");
    }
}

fn answer(pieces: &[&[u8]]) -> Told {
    let mut server = ServerConnection::new(SETTINGS);
    server.output().clear();
    let mut told = Told::default();
    let mut error = take(&mut server, bakeoff_wire::h2::frame::PREFACE, &mut told);
    for piece in pieces {
        error = take(&mut server, piece, &mut told);
    }
    assert!(server.open_streams() <= bakeoff_wire::h2::MAX_STREAMS as usize);
    let woken: Vec<_> = server.unblocked().collect();
    told.event(format!("{} open, {woken:?} woken", server.open_streams()));
    told.finish(server.output(), error)
}

fn take(server: &mut ServerConnection, piece: &[u8], told: &mut Told) -> Option<ConnectionError> {
    let mut rest = piece;
    loop {
        let used = match server.step(rest) {
            Ok(ServerStep::More) => return None,
            Err(error) => return Some(error),
            Ok(ServerStep::Request { used, stream, head, end }) => {
                assert!(!head.path.is_empty());
                told.event(format!("{stream:?}: {head:?}, {end}"));
                reply(server, stream, told);
                used
            }
            Ok(ServerStep::Body { skip, len, stream, end }) => {
                assert!(len > 0 || end, "a step without news");
                told.body(stream, &rest[skip..skip + len], end);
                skip + len
            }
            Ok(ServerStep::Reset { used, stream, code }) => {
                told.event(format!("{stream:?}: reset, {code:?}"));
                used
            }
            Ok(ServerStep::Malformed { used, stream, why }) => {
                told.event(format!("{stream:?}: {why:?}"));
                used
            }
            Ok(ServerStep::GoAway { used, code }) => {
                told.event(format!("no more, {code:?}"));
                used
            }
        };
        rest = &rest[used..];
    }
}

/// A body that is larger than the connection's window.
fn reply(server: &mut ServerConnection, stream: StreamId, told: &mut Told) {
    assert!(server.respond(stream, 200, [(&b"server"[..], &b"fuzz"[..])], false));
    let mut left = 70_000;
    while let Some(grant) = server.data(stream, left, true) {
        assert!(u64::from(grant.len) <= left);
        left -= u64::from(grant.len);
        told.event(format!("{grant:?}"));
        if grant.end {
            break;
        }
    }
}
