//! Scripted peers, slices to run against them, and the conditions that every recording must satisfy.

use bakeoff_loadgen::{BodyCheck, Pace, Recording, Reuse, Station, StationJob, Target, TlsOptions, Trust};
use bakeoff_units::Nanos;
use bakeoff_workload::{Ask, Expect, ListSource, Method, Request, RequestTable, Slice, Source, Statuses};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, bind, getsockname, socket};
use rustls::pki_types::{PrivatePkcs8KeyDer, ServerName};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A test that takes longer hangs, on any machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) static NEVER: AtomicBool = AtomicBool::new(false);

pub(crate) const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
pub(crate) const OK_CLOSE: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello";

/// Runs a test, which fails when it takes too long.
pub(crate) fn within_patience(test: impl FnOnce() + Send + 'static) {
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

/// A peer's log: connection and target of each request, in the order of arrival.
pub(crate) type Log = Arc<Mutex<Vec<(usize, String)>>>;

/// A server on a port of its own. Its threads end with the connections, or with the process.
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    pub(crate) log: Log,
    accepted: Arc<Mutex<usize>>,
}

impl Peer {
    /// Plays `script` on each connection and then closes it.
    pub(crate) fn new(script: impl Fn(&mut Talk) + Send + Sync + 'static) -> Self {
        Self::start(None, script)
    }

    /// The same behind TLS.
    pub(crate) fn tls(authority: &Authority, script: impl Fn(&mut Talk) + Send + Sync + 'static) -> Self {
        Self::start(Some(authority.server.clone()), script)
    }

    /// The same, agreeing to one of these protocols (ALPN).
    pub(crate) fn tls_speaking(
        authority: &Authority,
        protocols: &[&[u8]],
        script: impl Fn(&mut Talk) + Send + Sync + 'static,
    ) -> Self {
        let mut config = (*authority.server).clone();
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        Self::start(Some(Arc::new(config)), script)
    }

    fn start(tls: Option<Arc<ServerConfig>>, script: impl Fn(&mut Talk) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let peer =
            Self { address: listener.local_addr().unwrap(), log: Log::default(), accepted: Arc::default() };
        let (log, accepted, script) = (peer.log.clone(), peer.accepted.clone(), Arc::new(script));
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                *accepted.lock().unwrap() += 1;
                let mut talk = Talk::new(stream.unwrap(), tls.clone(), number, log.clone());
                let script = script.clone();
                std::thread::spawn(move || script(&mut talk));
            }
        });
        peer
    }

    /// Connections so far.
    pub(crate) fn connections(&self) -> usize {
        *self.accepted.lock().unwrap()
    }

    /// Targets asked for, sorted.
    pub(crate) fn asked(&self) -> Vec<String> {
        let mut asked: Vec<_> = self.log.lock().unwrap().iter().map(|(_, target)| target.clone()).collect();
        asked.sort();
        asked
    }

    pub(crate) fn target(&self) -> Target {
        Target::plain(self.address, "localhost".to_owned())
    }

    /// A station of one thread.
    pub(crate) fn station(&self) -> Station {
        Station::new(self.target(), 1, Vec::new()).unwrap()
    }

    /// A station of one thread with a connection per request.
    pub(crate) fn station_per_request(&self) -> Station {
        Station::new(Target { reuse: Reuse::Never, ..self.target() }, 1, Vec::new()).unwrap()
    }

    /// The target over TLS, by this name, trusting this authority.
    pub(crate) fn tls_target(&self, authority: &Authority, name: &'static str) -> Target {
        let config = TlsOptions::new(Trust::File(authority.file.path().to_owned())).load().unwrap();
        Target { tls: Some((config, ServerName::try_from(name).unwrap())), ..self.target() }
    }

    pub(crate) fn tls_station(&self, authority: &Authority) -> Station {
        Station::new(self.tls_target(authority, "localhost"), 1, Vec::new()).unwrap()
    }
}

/// A port that is taken, so that no other program gets it, and where nothing listens.
pub(crate) struct Nobody {
    pub(crate) address: SocketAddr,
    _socket: OwnedFd,
}

impl Nobody {
    pub(crate) fn new() -> Self {
        let socket = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None).unwrap();
        bind(socket.as_raw_fd(), &SockaddrIn::new(127, 0, 0, 1, 0)).unwrap();
        let bound: SockaddrIn = getsockname(socket.as_raw_fd()).unwrap();
        Self { address: SocketAddrV4::from(bound).into(), _socket: socket }
    }

    /// A station of one thread towards it.
    pub(crate) fn station(&self) -> Station {
        station_to(self.address)
    }
}

/// A station of one thread towards any address.
pub(crate) fn station_to(address: SocketAddr) -> Station {
    Station::new(Target::plain(address, "localhost".to_owned()), 1, Vec::new()).unwrap()
}

/// An authority that signs its own certificate for `localhost`.
pub(crate) struct Authority {
    /// The certificate.
    pub(crate) file: tempfile::NamedTempFile,
    /// Its key, PEM.
    pub(crate) key: String,
    server: Arc<ServerConfig>,
}

impl Authority {
    pub(crate) fn new(common_name: &str) -> Self {
        let mut params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.distinguished_name.push(rcgen::DnType::CommonName, common_name);
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(certificate.pem().as_bytes()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let private = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
        let server = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], private)
            .unwrap();
        Self { file, key: key.serialize_pem(), server: Arc::new(server) }
    }
}

enum Wire {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ServerConnection, TcpStream>>),
    Gone,
}

/// The peer's end of one connection.
pub(crate) struct Talk {
    wire: Wire,
    /// Its number, from 0, in the order of connections.
    pub(crate) number: usize,
    unread: Vec<u8>,
    pub(crate) log: Log,
}

impl Talk {
    fn new(stream: TcpStream, tls: Option<Arc<ServerConfig>>, number: usize, log: Log) -> Self {
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let wire = match tls {
            None => Wire::Plain(stream),
            Some(config) => {
                Wire::Tls(Box::new(StreamOwned::new(ServerConnection::new(config).unwrap(), stream)))
            }
        };
        Self { wire, number, unread: Vec::new(), log }
    }

    /// Without TLS and without a server around it.
    pub(crate) fn over(stream: TcpStream) -> Self {
        Self::new(stream, None, 0, Log::default())
    }

    /// The next request's head; `None` when the generator has closed.
    pub(crate) fn request(&mut self) -> Option<String> {
        let mut buffer = [0; 4096];
        loop {
            if let Some(end) = self.unread.windows(4).position(|four| four == b"\r\n\r\n") {
                let head = String::from_utf8(self.unread.drain(..end + 4).collect()).unwrap();
                let target = head.split(' ').nth(1).unwrap().to_owned();
                self.log.lock().unwrap().push((self.number, target));
                return Some(head);
            }
            match self.read(&mut buffer) {
                Ok(0) | Err(_) => return None,
                Ok(n) => self.unread.extend_from_slice(&buffer[..n]),
            }
        }
    }

    /// Sends bytes at once. A peer that has gone is not the script's business.
    pub(crate) fn say(&mut self, bytes: impl AsRef<[u8]>) {
        let bytes = bytes.as_ref();
        let _ = match &mut self.wire {
            Wire::Plain(stream) => stream.write_all(bytes),
            Wire::Tls(stream) => stream.write_all(bytes).and_then(|()| stream.flush()),
            Wire::Gone => Ok(()),
        };
    }

    /// The same, in pieces of this size.
    pub(crate) fn dribble(&mut self, bytes: &[u8], piece: usize) {
        bytes.chunks(piece).for_each(|piece| self.say(piece));
    }

    /// Answers every request alike.
    pub(crate) fn answer_all(&mut self, reply: impl AsRef<[u8]>) {
        while self.request().is_some() {
            self.say(reply.as_ref());
        }
    }

    /// Waits until the generator has closed; returns whether that is all it did.
    pub(crate) fn sees_the_end(&mut self) -> bool {
        matches!(self.read(&mut [0; 64]), Ok(0))
    }

    /// Whether the generator is silent for this long.
    pub(crate) fn hears_nothing_for(&mut self, time: Duration) -> bool {
        let Some(stream) = self.stream() else { return false };
        stream.set_read_timeout(Some(time)).unwrap();
        let read = stream.read(&mut [0; 64]);
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        read.is_err_and(|error| matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut))
    }

    /// Ends its own half of the connection.
    pub(crate) fn end_sending(&mut self) {
        self.stream().unwrap().shutdown(Shutdown::Write).unwrap();
    }

    /// TLS: says that nothing more will come, and leaves the connection open.
    pub(crate) fn notify_close(&mut self) {
        if let Wire::Tls(stream) = &mut self.wire {
            stream.conn.send_close_notify();
            stream.flush().unwrap();
        }
    }

    /// Closes the hard way.
    pub(crate) fn reset(&mut self) {
        let linger = nix::libc::linger { l_onoff: 1, l_linger: 0 };
        let stream = self.stream().unwrap();
        nix::sys::socket::setsockopt(stream, nix::sys::socket::sockopt::Linger, &linger).unwrap();
        self.wire = Wire::Gone;
    }

    /// The socket, below TLS.
    pub(crate) fn stream(&mut self) -> Option<&mut TcpStream> {
        match &mut self.wire {
            Wire::Plain(stream) => Some(stream),
            Wire::Tls(stream) => Some(&mut stream.sock),
            Wire::Gone => None,
        }
    }

    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match &mut self.wire {
            Wire::Plain(stream) => stream.read(buffer),
            Wire::Tls(stream) => stream.read(buffer),
            Wire::Gone => Ok(0),
        }
    }
}

/// A GET whose reply is not known.
pub(crate) fn get(target: &str) -> Request {
    expecting(target, Expect::Anything)
}

pub(crate) fn expecting(target: &str, expect: Expect) -> Request {
    Request { method: Method::Get, target: target.as_bytes().into(), headers: Box::default(), expect }
}

/// `robots` lists of `each` requests: robot r's i-th is `/r/i`.
pub(crate) fn lists(robots: usize, each: usize) -> Slice {
    let requests = (0..robots * each).map(|i| get(&format!("/{}/{}", i / each, i % each))).collect();
    let lists = (0..robots).map(|robot| (robot * each..(robot + 1) * each).map(|i| i as u32).collect());
    Slice { table: Arc::new(RequestTable { requests }), lists: Arc::new(lists.collect()), at: Arc::default() }
}

/// One robot that makes these requests.
pub(crate) fn one_robot(requests: Vec<Request>) -> Slice {
    let list = (0..requests.len() as u32).collect();
    Slice { table: Arc::new(RequestTable { requests }), lists: Arc::new(vec![list]), at: Arc::default() }
}

/// A closed loop without think time.
pub(crate) fn closed(slice: &Slice, threads: usize) -> StationJob<'static, ListSource> {
    let sources = slice.by_robot(threads);
    StationJob {
        robots: sources.iter().map(ListSource::robots).collect(),
        sources,
        pace: Pace::Closed { think: Nanos::ZERO, spread: Nanos::ZERO, connections: None },
        begins: None,
        timeout: Nanos::from_secs(60),
        until: None,
        check: BodyCheck::Full,
        refused: Statuses::default(),
        interrupted: &NEVER,
    }
}

/// A source that calls a hook, which may wait, before it gives a request.
pub(crate) struct Hooked {
    source: ListSource,
    /// Called with the robot before each of its requests.
    hook: Box<dyn FnMut(usize) + Send>,
}

impl Source for Hooked {
    fn next(&mut self, robot: usize) -> Option<Ask<'_>> {
        (self.hook)(robot);
        self.source.next(robot)
    }

    fn upcoming(&self, robot: usize) -> Option<Nanos> {
        self.source.upcoming(robot)
    }
}

/// The same job with a hook in its only source.
pub(crate) fn hooked(
    job: StationJob<'static, ListSource>,
    hook: impl FnMut(usize) + Send + 'static,
) -> StationJob<'static, Hooked> {
    assert_eq!(job.sources.len(), 1, "a hook is for one thread");
    let mut hook = Some(Box::new(hook));
    with_sources(job, |source| Hooked { source, hook: hook.take().unwrap() })
}

/// The same job with other sources.
fn with_sources<'a, S, T>(job: StationJob<'a, S>, into: impl FnMut(S) -> T) -> StationJob<'a, T> {
    StationJob {
        sources: job.sources.into_iter().map(into).collect(),
        robots: job.robots,
        pace: job.pace,
        begins: job.begins,
        timeout: job.timeout,
        until: job.until,
        check: job.check,
        refused: job.refused,
        interrupted: job.interrupted,
    }
}

/// A source of any kind: the compiler makes an engine for each kind that a station is given, which takes it longer
/// than all else here.
pub(crate) struct Any(Box<dyn Source>);

impl Source for Any {
    fn next(&mut self, robot: usize) -> Option<Ask<'_>> {
        self.0.next(robot)
    }

    fn upcoming(&self, robot: usize) -> Option<Nanos> {
        self.0.upcoming(robot)
    }
}

/// The same job, of the one kind that stations are given here.
pub(crate) fn any<S: Source + 'static>(job: StationJob<'_, S>) -> StationJob<'_, Any> {
    with_sources(job, |source| Any(Box::new(source)))
}

/// Runs a job and checks the conditions of every recording.
pub(crate) fn run<S: Source + 'static>(station: &mut Station, job: StationJob<'_, S>) -> Recording {
    let recording = station.run(any(job)).unwrap();
    let (counters, times) = (&recording.counters, &recording.times);
    assert_eq!(counters.requests, counters.replies + counters.error_count(), "{counters:?}");
    for histogram in [&times.response, &times.service, &times.first_byte] {
        assert_eq!(histogram.count(), counters.replies, "a failure is in a histogram: {counters:?}");
    }
    let unsent = counters.errors.get("not-sent").copied().unwrap_or(0);
    assert!(times.lateness.count() + counters.postponed >= counters.requests - unsent, "{counters:?}");
    recording
}

/// Errors by class, as (label, count).
pub(crate) fn errors(recording: &Recording) -> Vec<(&str, u64)> {
    recording.counters.errors.iter().map(|(class, count)| (class.as_str(), *count)).collect()
}

/// Requests, good replies, connections.
pub(crate) fn totals(recording: &Recording) -> (u64, u64, u64) {
    let counters = &recording.counters;
    (counters.requests, counters.replies, counters.connections)
}
