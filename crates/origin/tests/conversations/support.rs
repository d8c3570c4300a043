//! A running origin, a scripted client, and a parser for replies.

use bakeoff_content::{Body, Catalogue, ObjectId};
use bakeoff_origin::{Costs, Origin, OriginOptions, World};
use bakeoff_units::Nanos;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// A test that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(240);

/// Runs a test; it fails when it takes too long.
pub(crate) fn within_patience(test: impl Fn() + Send + 'static) {
    let (done, end) = channel();
    let thread = std::thread::spawn(move || {
        test();
        let _ = done.send(());
    });
    match end.recv_timeout(PATIENCE) {
        Err(RecvTimeoutError::Timeout) => panic!("it hangs: no end after {PATIENCE:?}"),
        Ok(()) | Err(RecvTimeoutError::Disconnected) => {
            if let Err(panic) = thread.join() {
                std::panic::resume_unwind(panic);
            }
        }
    }
}

/// An origin with a small site on a port of its own.
pub(crate) fn origin() -> Origin {
    start(None)
}

pub(crate) fn start(tls: Option<(PathBuf, PathBuf)>) -> Origin {
    let mut catalogue = Catalogue::default();
    for (path, size) in [(&b"/index.html"[..], 100), (b"/blog/index.html", 200), (b"/a b", 300)] {
        catalogue.insert(path, size);
    }
    Origin::start(OriginOptions { catalogue, tls, ..options() }).unwrap()
}

/// The origin of this world, in so many threads.
pub(crate) fn of_world(world: World, threads: usize) -> Origin {
    Origin::start(OriginOptions { world: Some(world), threads, ..options() }).unwrap()
}

/// The same over TLS.
pub(crate) fn of_world_over_tls(world: World, files: (PathBuf, PathBuf)) -> Origin {
    Origin::start(OriginOptions { world: Some(world), tls: Some(files), ..options() }).unwrap()
}

/// An origin of one thread with planted costs.
pub(crate) fn with_costs(burn: Costs<Option<Nanos>>) -> Origin {
    Origin::start(OriginOptions { threads: 1, burn, ..options() }).unwrap()
}

fn options() -> OriginOptions {
    OriginOptions {
        address: "127.0.0.1:0".parse().unwrap(),
        threads: 2,
        catalogue: Catalogue::default(),
        tls: None,
        http2: true,
        world: None,
        burn: Costs::default(),
        for_caches: None,
    }
}

pub(crate) fn address(origin: &Origin) -> SocketAddr {
    origin.url().split("//").nth(1).unwrap().parse().unwrap()
}

pub(crate) fn answered(origin: &Origin) -> u64 {
    origin.tally().requests
}

/// Number of connections that ended for this reason; waits until there is one.
pub(crate) fn ended(origin: &Origin, why: &str) -> u64 {
    let begin = Instant::now();
    loop {
        let endings = origin.tally().endings;
        if let Some((_, number)) = endings.iter().find(|(label, _)| *label == why) {
            return *number;
        }
        assert!(begin.elapsed() < PATIENCE / 2, "none ended by `{why}`: {endings:?}");
        std::thread::yield_now();
    }
}

/// The bytes of `/bytes/N`.
pub(crate) fn bytes(size: u64) -> Vec<u8> {
    object(&format!("/bytes/{size}"), size)
}

/// The bytes of an object of this path.
pub(crate) fn object(path: &str, size: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    Body::new(ObjectId::of_name(path.as_bytes()), size).write_to(&mut bytes).unwrap();
    bytes
}

pub(crate) fn connect(origin: &Origin) -> TcpStream {
    let stream = TcpStream::connect(address(origin)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Sends `request`, ends its half, and reads to the end.
pub(crate) fn ask(origin: &Origin, request: impl AsRef<[u8]>) -> Vec<Reply> {
    let mut stream = connect(origin);
    stream.write_all(request.as_ref()).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    read_all(&mut stream, &[])
}

/// The one reply to a GET with these further header lines.
pub(crate) fn get(origin: &Origin, target: &str, lines: &str) -> Reply {
    let mut replies = ask(origin, format!("GET {target} HTTP/1.1\r\nHost: x\r\n{lines}\r\n"));
    assert_eq!(replies.len(), 1);
    replies.remove(0)
}

/// Replies until the origin closes. `to_head` holds the positions of those without a body.
pub(crate) fn read_all(stream: &mut impl Read, to_head: &[usize]) -> Vec<Reply> {
    let mut raw = Vec::new();
    stream.read_to_end(&mut raw).unwrap();
    let (mut rest, mut replies) = (raw.as_slice(), Vec::new());
    while !rest.is_empty() {
        let (reply, used) = Reply::parse(rest, to_head.contains(&replies.len()));
        replies.push(reply);
        rest = &rest[used..];
    }
    replies
}

/// The next reply.
pub(crate) fn read_one(stream: &mut impl Read) -> Reply {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    let mut reply = Reply::head(&head);
    reply.body.resize(reply.length().unwrap_or(0), 0);
    stream.read_exact(&mut reply.body).unwrap();
    reply
}

/// A reply taken apart.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    lines: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    fn parse(raw: &[u8], to_head: bool) -> (Self, usize) {
        let end = raw.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
        let mut reply = Self::head(&raw[..end]);
        let length = if to_head { 0 } else { reply.length().unwrap_or(0) };
        reply.body = raw[end..end + length].to_vec();
        (reply, end + length)
    }

    /// A reply without its body.
    pub(crate) fn head(head: &[u8]) -> Self {
        let text = std::str::from_utf8(head).unwrap();
        let mut lines = text.trim_end().split("\r\n");
        let first = lines.next().unwrap();
        assert!(first.starts_with("HTTP/1.1 "), "{first}");
        let fields = lines.map(|line| line.split_once(": ").unwrap());
        Self {
            status: first[9..12].parse().unwrap(),
            lines: fields.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect(),
            body: Vec::new(),
        }
    }

    /// The value of a header line.
    pub(crate) fn line(&self, name: &str) -> Option<&str> {
        self.lines.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    fn length(&self) -> Option<usize> {
        self.line("content-length").map(|length| length.parse().unwrap())
    }
}
