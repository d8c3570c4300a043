//! Test stage of a driver: the driver, a clock, peers, and the events so far.

use bakeoff_sys::driver::{Connecting, ConnectionEvent, ConnectionOptions, Driver, Slot, Wait};
use bakeoff_units::{MonotonicClock, Nanos};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

/// Longest that anything here may take; only a failure takes it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Tests that count descriptors of the process have it to themselves.
static PROCESS: RwLock<()> = RwLock::new(());

/// Runs a test over a new driver.
pub(crate) fn on_a_stage(test: impl Fn(Stage)) {
    let _shared = PROCESS.read().unwrap_or_else(PoisonError::into_inner);
    test(Stage::new());
}

/// The same while no other test runs.
pub(crate) fn on_a_stage_alone(test: impl Fn(Stage)) {
    let _alone = PROCESS.write().unwrap_or_else(PoisonError::into_inner);
    test(Stage::new());
}

/// An event that outlives the driver's buffer.
#[derive(Debug)]
#[allow(dead_code)] // some is only shown, when a test fails
pub(crate) enum Told {
    Connected,
    NotConnected(ErrorKind),
    Data { bytes: Vec<u8>, arrived: Option<Nanos> },
    Sent,
    Ended,
    Broken(ErrorKind),
    NotSent(ErrorKind),
    Accepted(TcpStream),
    NotAccepted(ErrorKind),
}

/// All events so far, in order.
pub(crate) type Story = Vec<(Slot, Told)>;

pub(crate) struct Stage {
    pub(crate) driver: Driver,
    pub(crate) clock: MonotonicClock,
}

impl Stage {
    fn new() -> Self {
        let clock = MonotonicClock::new();
        Self { driver: Driver::new(clock).unwrap(), clock }
    }

    /// The events of one wait.
    pub(crate) fn wait(&mut self, wait: Wait) -> Story {
        self.driver.wait(wait).unwrap();
        self.drain()
    }

    pub(crate) fn drain(&mut self) -> Story {
        let mut story = Story::new();
        while let Some((slot, event)) = self.driver.next() {
            story.push((slot, told(event)));
        }
        story
    }

    /// Goes on until there are enough events.
    pub(crate) fn until(&mut self, enough: impl Fn(&Story) -> bool) -> Story {
        let deadline = Instant::now() + PATIENCE;
        let mut story = Story::new();
        while !enough(&story) {
            assert!(Instant::now() < deadline, "only {} events: {:?}", story.len(), story.last());
            story.extend(self.wait(short(20)));
        }
        story
    }

    /// Makes sure that no event follows: some empty waits.
    pub(crate) fn quiet(&mut self) -> Story {
        (0..3).flat_map(|_| self.wait(short(10))).collect()
    }

    /// A connection that stands, and its other end.
    pub(crate) fn pair(&mut self, slot: Slot, wish: ConnectionOptions) -> (TcpStream, Story) {
        let (listener, address) = listener();
        let story = self.connect(slot, address, wish, b"hello");
        let mut peer = accept(&listener);
        expect(&mut peer, b"hello");
        (peer, story)
    }

    /// Connects and waits until it stands.
    pub(crate) fn connect(
        &mut self,
        slot: Slot,
        to: SocketAddr,
        wish: ConnectionOptions,
        first: &[u8],
    ) -> Story {
        match self.driver.connect(slot, to, wish, first).unwrap() {
            Connecting::Done(_) => self.wait(short(0)),
            Connecting::Begun => self
                .until(|story| story.iter().any(|(of, told)| *of == slot && matches!(told, Told::Connected))),
        }
    }

    /// Hands over the queued bytes, for drivers that queue.
    pub(crate) fn hand_over(&mut self) -> Story {
        self.wait(short(0))
    }
}

fn told(event: ConnectionEvent<'_>) -> Told {
    match event {
        ConnectionEvent::Connected(_) => Told::Connected,
        ConnectionEvent::NotConnected(error) => Told::NotConnected(error.kind()),
        ConnectionEvent::Data(data) => {
            assert!(!data.bytes.is_empty());
            Told::Data { bytes: data.bytes.to_vec(), arrived: data.arrived }
        }
        ConnectionEvent::Sent => Told::Sent,
        ConnectionEvent::Ended => Told::Ended,
        ConnectionEvent::Broken(error) => Told::Broken(error.kind()),
        ConnectionEvent::NotSent(error) => Told::NotSent(error.kind()),
        ConnectionEvent::Accepted(stream) => Told::Accepted(stream),
        ConnectionEvent::NotAccepted(error) => Told::NotAccepted(error.kind()),
    }
}

/// A wait of at most so many milliseconds.
pub(crate) fn short(millis: u64) -> Wait {
    Wait { at_most: Some(Nanos::from_millis(millis)), batch: None }
}

/// All bytes of one slot.
pub(crate) fn bytes_of(story: &Story, slot: Slot) -> Vec<u8> {
    let mut all = Vec::new();
    for (of, told) in story {
        if let (true, Told::Data { bytes, .. }) = (*of == slot, told) {
            all.extend_from_slice(bytes);
        }
    }
    all
}

/// Number of events of one slot that fit.
pub(crate) fn count(story: &Story, slot: Slot, what: impl Fn(&Told) -> bool) -> usize {
    story.iter().filter(|(of, told)| *of == slot && what(told)).count()
}

pub(crate) fn has(story: &Story, slot: Slot, what: impl Fn(&Told) -> bool) -> bool {
    count(story, slot, what) > 0
}

pub(crate) fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// The next connection to a listener, with time limits on reading and writing.
pub(crate) fn accept(listener: &TcpListener) -> TcpStream {
    let (peer, _) = listener.accept().unwrap();
    peer.set_read_timeout(Some(PATIENCE)).unwrap();
    peer.set_write_timeout(Some(PATIENCE)).unwrap();
    peer.set_nodelay(true).unwrap();
    peer
}

/// Reads exactly these bytes.
pub(crate) fn expect(peer: &mut TcpStream, bytes: &[u8]) {
    let mut got = vec![0; bytes.len()];
    peer.read_exact(&mut got).unwrap();
    assert!(got == bytes, "{:?}", got.escape_ascii().to_string());
}

/// Makes sure that no byte follows.
pub(crate) fn expect_end(peer: &mut TcpStream) {
    let mut rest = Vec::new();
    peer.read_to_end(&mut rest).unwrap();
    assert!(rest.is_empty(), "{:?}", rest.escape_ascii().to_string());
}

pub(crate) fn say(peer: &mut TcpStream, bytes: &[u8]) {
    peer.write_all(bytes).unwrap();
}

/// Bytes in which every place can be told from its neighbours.
pub(crate) fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 31 % 251) as u8).collect()
}

/// A listener whose queue is full: a connection stands only when [`Crowd::disperse`] has made room.
pub(crate) struct Crowd {
    listener: TcpListener,
    pub(crate) address: SocketAddr,
    first: TcpStream,
}

impl Crowd {
    pub(crate) fn gather() -> Self {
        let (listener, address) = listener();
        let none = nix::sys::socket::Backlog::new(0).unwrap();
        nix::sys::socket::listen(&listener, none).unwrap();
        let first = TcpStream::connect(address).unwrap();
        Self { listener, address, first }
    }

    /// Takes the one that fills the queue.
    pub(crate) fn disperse(self) -> TcpListener {
        drop(accept(&self.listener));
        drop(self.first);
        self.listener
    }
}
