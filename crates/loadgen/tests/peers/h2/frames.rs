//! Scripted HTTP/2 server: it sends frames, right or wrong, and reads requests.

use crate::support::{Authority, Peer, Talk, closed, lists, run};
use bakeoff_loadgen::{Alpn, Protocol, Recording, Station, Target, TlsOptions, Trust};
use bakeoff_units::Nanos;
use bakeoff_wire::h2::frame::{
    ACK, END_HEADERS, END_STREAM, FRAME_HEAD_BYTES, FrameHead, FrameKind, PREFACE,
};
use bakeoff_wire::h2::hpack::HpackDecoder;
use rustls::pki_types::ServerName;
use std::num::NonZeroU16;

/// `:status: 200` by its index.
pub(crate) const OK: &[u8] = &[0x88];

/// A frame as bytes.
pub(crate) fn frame(kind: FrameKind, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = FrameHead { length: payload.len() as u32, kind, flags, stream }.bytes().to_vec();
    bytes.extend_from_slice(payload);
    bytes
}

/// Settings as a frame.
pub(crate) fn settings(settings: &[(u16, u32)]) -> Vec<u8> {
    let one = |(name, value): &(u16, u32)| [&name.to_be_bytes()[..], &value.to_be_bytes()[..]].concat();
    frame(FrameKind::Settings, 0, 0, &settings.iter().flat_map(one).collect::<Vec<u8>>())
}

/// A field that goes into no table.
pub(crate) fn field(name: &[u8], value: &[u8]) -> Vec<u8> {
    [&[0, name.len() as u8], name, &[value.len() as u8], value].concat()
}

pub(crate) fn headers(stream: u32, block: &[u8], end: bool) -> Vec<u8> {
    frame(FrameKind::Headers, END_HEADERS | if end { END_STREAM } else { 0 }, stream, block)
}

pub(crate) fn data(stream: u32, bytes: &[u8], end: bool) -> Vec<u8> {
    frame(FrameKind::Data, if end { END_STREAM } else { 0 }, stream, bytes)
}

/// A good reply of five bytes.
pub(crate) fn reply(stream: u32) -> Vec<u8> {
    let head = [OK, &field(b"content-length", b"5")].concat();
    [headers(stream, &head, false), data(stream, b"hello", true)].concat()
}

pub(crate) fn reset(stream: u32, code: u32) -> Vec<u8> {
    frame(FrameKind::RstStream, 0, stream, &code.to_be_bytes())
}

pub(crate) fn goaway(last: u32, code: u32) -> Vec<u8> {
    frame(FrameKind::GoAway, 0, 0, &[last.to_be_bytes(), code.to_be_bytes()].concat())
}

/// The server's end of a connection, after its preface.
pub(crate) struct Frames<'t> {
    pub(crate) talk: &'t mut Talk,
    unread: Vec<u8>,
    decoder: HpackDecoder,
    /// Whether its settings are sent: only then may they be acknowledged.
    greeted: bool,
}

impl<'t> Frames<'t> {
    /// Reads the client's preface; `None` when that does not come.
    pub(crate) fn begin(talk: &'t mut Talk) -> Option<Self> {
        let mut frames =
            Self { talk, unread: Vec::new(), decoder: HpackDecoder::new(4096, 65_536), greeted: false };
        let preface = frames.take(PREFACE.len())?;
        assert_eq!(preface, PREFACE);
        Some(frames)
    }

    /// The same, and says these settings.
    pub(crate) fn greet(talk: &'t mut Talk, own: &[(u16, u32)]) -> Option<Self> {
        let mut frames = Self::begin(talk)?;
        frames.talk.say(settings(own));
        frames.greeted = true;
        Some(frames)
    }

    /// From now on with a table of so many bytes, empty at first.
    pub(crate) fn allow_table(&mut self, bytes: Option<u32>) -> &mut Self {
        if let Some(bytes) = bytes {
            self.decoder = HpackDecoder::new(bytes, 65_536);
        }
        self
    }

    fn take(&mut self, count: usize) -> Option<Vec<u8>> {
        let mut buffer = [0; 4096];
        while self.unread.len() < count {
            match self.talk.read(&mut buffer) {
                Ok(0) | Err(_) => return None,
                Ok(n) => self.unread.extend_from_slice(&buffer[..n]),
            }
        }
        Some(self.unread.drain(..count).collect())
    }

    /// The next frame; `None` when the generator has closed. Settings are acknowledged.
    pub(crate) fn next(&mut self) -> Option<(FrameHead, Vec<u8>)> {
        let head = self.take(FRAME_HEAD_BYTES)?;
        let head = FrameHead::parse(head.first_chunk()?);
        let payload = self.take(head.length as usize)?;
        if head.kind == FrameKind::Settings && !head.has(ACK) && self.greeted {
            self.say(frame(FrameKind::Settings, ACK, 0, &[]));
        }
        if head.kind == FrameKind::RstStream {
            self.note(format!("RST {} {}", head.stream, payload[3]));
        }
        Some((head, payload))
    }

    fn note(&self, what: String) {
        self.talk.log.lock().unwrap().push((self.talk.number, what));
    }

    /// The next request: its stream. Its path is logged.
    pub(crate) fn request(&mut self) -> Option<u32> {
        loop {
            let (head, payload) = self.next()?;
            if head.kind != FrameKind::Headers {
                continue;
            }
            assert!(head.has(END_HEADERS) && head.has(END_STREAM), "a request is one frame: {head:?}");
            let mut fields = Vec::new();
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            self.decoder.decode(&payload, |name, value| fields.push((text(name), text(value)))).unwrap();
            let path = fields.iter().find(|(name, _)| name == ":path").unwrap().1.clone();
            self.note(path);
            return Some(head.stream);
        }
    }

    /// The next `N` requests.
    pub(crate) fn requests<const N: usize>(&mut self) -> Option<[u32; N]> {
        let mut streams = [0; N];
        for stream in &mut streams {
            *stream = self.request()?;
        }
        Some(streams)
    }

    pub(crate) fn say(&mut self, bytes: impl AsRef<[u8]>) {
        self.talk.say(bytes);
    }

    /// Answers every request.
    pub(crate) fn serve(&mut self) {
        while let Some(stream) = self.request() {
            self.say(reply(stream));
        }
    }

    /// The same without looking at the paths: some heads were passed over before.
    pub(crate) fn serve_anything(&mut self) {
        while let Some((head, _)) = self.next() {
            if head.kind == FrameKind::Headers {
                self.say(reply(head.stream));
            }
        }
    }
}

/// A server that greets and then plays a script on each connection.
pub(crate) fn peer(script: impl Fn(&mut Frames<'_>) + Send + Sync + 'static) -> Peer {
    Peer::new(move |talk| {
        if let Some(mut frames) = Frames::greet(talk, &[]) {
            script(&mut frames);
        }
    })
}

/// Asks over plain HTTP/2, so many streams at once.
pub(crate) fn target(peer: &Peer, streams: u16) -> Target {
    Target { protocol: Protocol::Http2 { streams: NonZeroU16::new(streams).unwrap() }, ..peer.target() }
}

pub(crate) fn station(peer: &Peer, streams: u16) -> Station {
    Station::new(target(peer, streams), 1, Vec::new()).unwrap()
}

/// Over TLS.
pub(crate) fn tls_target(peer: &Peer, authority: &Authority, streams: u16) -> Target {
    let trust = Trust::File(authority.file.path().to_owned());
    let options = TlsOptions { alpn: vec![Alpn::H2], ..TlsOptions::new(trust) };
    let name = ServerName::try_from("localhost").unwrap();
    Target { tls: Some((options.load().unwrap(), name)), ..target(peer, streams) }
}

/// The wait for a reply that does not come. Others come in that time on a busy machine, too.
pub(crate) const SHORT: Nanos = Nanos::from_secs(2);

/// Three robots on three streams of one connection, which make two requests each. The script has the first
/// connection with the streams of their first requests; afterwards, and on all others, there is service.
pub(crate) fn three(script: impl Fn(&mut Frames<'_>, [u32; 3]) + Send + Sync + 'static) -> (Recording, Peer) {
    let peer = peer(move |frames| {
        if frames.talk.number == 0 {
            let Some(streams) = frames.requests() else { return };
            script(frames, streams);
        }
        frames.serve();
    });
    let recording = run(&mut station(&peer, 3), closed(&lists(3, 2), 1));
    assert!(!recording.gave_up);
    (recording, peer)
}
