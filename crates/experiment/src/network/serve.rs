//! The host that listens: serves one client, turns strangers away, and ends.

use super::frame::{FRAME, Frame, NoFrame};
use super::stream::Peer;
use super::{BLOCK, GRACE, HELLO_TIME, LONGEST, NetworkError};
use bakeoff_sys::epoll::Poller;
use bakeoff_sys::net;
use bakeoff_units::{Bytes, Clock, MonotonicClock, Nanos};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};

/// Waits for one client.
pub struct Listener {
    listener: TcpListener,
    address: SocketAddr,
    hello_time: Nanos,
}

/// What one client did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// Who.
    pub client: SocketAddr,
    /// Bytes that it sent in blocks.
    pub received: Bytes,
    /// Bytes that it was sent in blocks; never more.
    pub sent: Bytes,
    /// Connections that were not bakeoff's, before it came.
    pub strangers: u64,
}

/// Connections that may be about to say who they are at the same time; the oldest gives way.
const MOST_WAITING: usize = 16;
/// How often the flag of Ctrl-C is looked at.
const LOOK: Nanos = Nanos::from_millis(100);
/// The listening socket's number at the poller; connections count from 1.
const LISTENER: u64 = 0;

/// The door: who has come in and not yet said who it is.
struct Door<'l> {
    listener: &'l TcpListener,
    poller: Poller,
    clock: MonotonicClock,
    patience: Nanos,
    waiting: Vec<Newcomer>,
    last_token: u64,
    strangers: u64,
}

/// A connection that has not yet said who it is.
struct Newcomer {
    stream: TcpStream,
    address: SocketAddr,
    token: u64,
    until: Nanos,
    said: [u8; FRAME],
    length: usize,
}

/// What a newcomer turned out to be.
enum Newcame {
    /// It has not said enough yet.
    Silent,
    /// It is gone or no client of ours.
    Stranger,
    /// A client that wants so much time.
    Client(Nanos),
}

/// A client, and the time it wants.
type Client = (Newcomer, Nanos);

impl Listener {
    /// Listens.
    ///
    /// # Errors
    /// The address is not of this machine, or its port is in use.
    pub fn bind(address: SocketAddr) -> Result<Self, NetworkError> {
        let bound = |listener: TcpListener| listener.local_addr().map(|address| (listener, address));
        let (listener, address) =
            net::listen(address, false).and_then(bound).map_err(|why| NetworkError::Bind { address, why })?;
        Ok(Self { listener, address, hello_time: HELLO_TIME })
    }

    /// Where.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves one client, or gives up after `time`.
    ///
    /// # Errors
    /// Nobody came, the client broke the rules, or `interrupted` was set.
    pub fn serve(self, time: Nanos, interrupted: &AtomicBool) -> Result<Served, NetworkError> {
        let mut door = Door::open(&self.listener, self.hello_time)?;
        let (client, asked) = door.wait(time, interrupted)?;
        let strangers = door.strangers;
        drop(door);
        // Nobody else is let in from here on.
        drop(self.listener);
        let mut peer = Peer::new(client.stream, client.address, asked + GRACE)?;
        peer.say(Frame::Welcome(asked.get()))?;
        let (received, sent) = session(&mut peer)?;
        let (received, sent) = (Bytes::new(received), Bytes::new(sent));
        Ok(Served { client: client.address, received, sent, strangers })
    }
}

impl<'l> Door<'l> {
    fn open(listener: &'l TcpListener, patience: Nanos) -> io::Result<Self> {
        let poller = Poller::new(MOST_WAITING + 1)?;
        poller.add_listener(listener, LISTENER)?;
        let clock = MonotonicClock::new();
        Ok(Self {
            listener,
            poller,
            clock,
            patience,
            waiting: Vec::new(),
            last_token: LISTENER,
            strangers: 0,
        })
    }

    fn wait(&mut self, time: Nanos, interrupted: &AtomicBool) -> Result<Client, NetworkError> {
        let end = self.clock.now() + time;
        loop {
            let left = end.since(self.clock.now());
            if interrupted.load(Ordering::Relaxed) {
                return Err(NetworkError::Interrupted);
            }
            if left == Nanos::ZERO {
                return Err(NetworkError::Nobody { waited: time, strangers: self.strangers });
            }
            let ready = self.poller.wait(Some(left.min(LOOK)))?;
            let tokens: Vec<u64> = (0..ready).map(|index| self.poller.event(index).token).collect();
            if let Some(client) = self.hear(&tokens) {
                return Ok(client);
            }
            if tokens.contains(&LISTENER) {
                self.accept()?;
            }
        }
    }

    /// Listens to those who said something; who said nothing for too long goes.
    fn hear(&mut self, tokens: &[u64]) -> Option<Client> {
        let now = self.clock.now();
        for mut newcomer in std::mem::take(&mut self.waiting) {
            let spoke = tokens.contains(&newcomer.token);
            match if spoke { newcomer.listen() } else { Newcame::Silent } {
                Newcame::Client(asked) => return Some((newcomer, asked)),
                Newcame::Silent if newcomer.until > now => self.waiting.push(newcomer),
                Newcame::Silent | Newcame::Stranger => self.strangers += 1,
            }
        }
        None
    }

    /// Lets one in; when too many are there, the oldest goes.
    fn accept(&mut self) -> io::Result<()> {
        let (stream, address) = match self.listener.accept() {
            Ok(accepted) => accepted,
            Err(why) if is_gone(why.kind()) => return Ok(()),
            Err(why) => return Err(why),
        };
        stream.set_nonblocking(true)?;
        self.last_token += 1;
        self.poller.add_listener(&stream, self.last_token)?;
        if self.waiting.len() >= MOST_WAITING {
            self.waiting.remove(0);
            self.strangers += 1;
        }
        let until = self.clock.now() + self.patience;
        let token = self.last_token;
        self.waiting.push(Newcomer { stream, address, token, until, said: [0; FRAME], length: 0 });
        Ok(())
    }
}

/// It went before it was let in.
const fn is_gone(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::WouldBlock
            | ErrorKind::Interrupted
            | ErrorKind::ConnectionAborted
            | ErrorKind::ConnectionReset
    )
}

impl Newcomer {
    /// Reads what it says, no byte more than its greeting has.
    fn listen(&mut self) -> Newcame {
        match self.stream.read(&mut self.said[self.length..]) {
            Ok(0) => return Newcame::Stranger,
            Ok(more) => self.length += more,
            Err(why) if matches!(why.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => return Newcame::Stranger,
        }
        if self.length < FRAME {
            return Newcame::Silent;
        }
        match Frame::parse(&self.said) {
            Ok(Frame::Hello(ns)) => Newcame::Client(Nanos::new(ns).min(LONGEST)),
            Err(NoFrame::Version(_)) => {
                // As long as what was received, so that the other side can name our version.
                let _ = self.stream.write(&Frame::Welcome(0).bytes());
                Newcame::Stranger
            }
            _ => Newcame::Stranger,
        }
    }
}

/// Answers until the client says goodbye; returns the bytes of blocks received and sent.
pub(super) fn session(peer: &mut Peer) -> Result<(u64, u64), NetworkError> {
    let (mut received, mut sent) = (0, 0);
    loop {
        match peer.hear()? {
            Frame::Ping(number) => peer.say(Frame::Pong(number))?,
            Frame::Block(length) => received += receive(peer, length)?,
            Frame::Send(ns) => sent += send(peer, Nanos::new(ns), received - sent)?,
            Frame::Bye => return Ok((received, sent)),
            other => return Err(peer.broken(format!("{other:?} is nothing for a client to say"))),
        }
    }
}

/// Takes blocks until their end and says how many bytes came in which time, the first block left
/// out of both. Returns the bytes of all.
fn receive(peer: &mut Peer, first: u32) -> Result<u64, NetworkError> {
    peer.skip(first)?;
    let began = peer.now();
    let mut bytes = 0;
    let took = loop {
        match peer.hear()? {
            Frame::Block(length) => {
                peer.skip(length)?;
                bytes += u64::from(length);
            }
            Frame::End => break peer.now().since(began),
            other => return Err(peer.broken(format!("{other:?} among blocks"))),
        }
    };
    peer.say(Frame::Received(bytes))?;
    peer.say(Frame::Took(took.get()))?;
    Ok(bytes + u64::from(first))
}

/// Sends blocks for so long, but never more bytes than `most`.
fn send(peer: &mut Peer, time: Nanos, most: u64) -> Result<u64, NetworkError> {
    let end = peer.now() + time;
    let mut bytes = 0;
    while bytes + BLOCK as u64 <= most && peer.now() < end {
        peer.send_block()?;
        bytes += BLOCK as u64;
    }
    peer.say(Frame::End)?;
    Ok(bytes)
}

#[cfg(test)]
impl Listener {
    /// With less patience, for tests.
    pub(super) fn impatient(self, hello_time: Nanos) -> Self {
        Self { hello_time, ..self }
    }
}
