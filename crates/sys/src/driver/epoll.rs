//! The driver: epoll, edge-triggered, plain reads and writes.
//!
//! A connection is registered once; no system call a request but its read and its write. The price of edges is that a
//! socket is read until it comes back short, and that one with more to say is remembered. Events gather by a nap before
//! the queue is asked: the cost is in waking up, not in the calls.

use super::found::{Found, Read};
use super::links::Links;
use super::stamp::{self, Moment, Stamping};
use super::unsent::{Flushed, Unsent, write};
use super::{Connecting, ConnectionEvent, ConnectionOptions, LISTENER, Sending, Slot, SystemCalls, Wait};
use crate::epoll::{Interest, Poller, Readiness};
use crate::net;
use bakeoff_units::{Clock, MonotonicClock, Nanos};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;

/// Receive buffer: large enough for most replies in one read, small enough for a core's cache.
const BUFFER_BYTES: usize = 64 * 1024;
/// Events taken from the kernel at a time.
const EVENTS: usize = 256;
/// Most reads of one connection before the others get their turn.
const READS_PER_TURN: u32 = 16;

/// Connections by number. All errors returned at once are the kernel's. It may go on on another thread.
#[derive(Debug)]
pub struct Driver {
    poller: Poller,
    links: Links<Link>,
    listener: Option<TcpListener>,
    buffer: Vec<u8>,
    clock: MonotonicClock,
    /// When the clocks were last compared; forgotten at each wait.
    moment: Option<Moment>,
    stamping: Stamping,
    ready: usize,
    taken: usize,
    /// The connection that is being read.
    current: Option<Reading>,
    /// Those that gave way with more to read.
    again: VecDeque<Reading>,
    /// Number of those that have their turn in this round of events.
    turns: usize,
    /// A connection that stands and whose kept body went out at once, which is to be reported as well.
    sent: Option<u64>,
    calls: SystemCalls,
}

/// One connection.
#[derive(Debug)]
struct Link {
    stream: TcpStream,
    connecting: bool,
    stamped: bool,
    watched_for_writing: bool,
    /// Whether its end or its break was reported: it is not read any more.
    over: bool,
    unsent: Unsent,
}

impl Link {
    fn new(stream: TcpStream, stamped: bool) -> Self {
        let unsent = Unsent::default();
        Self { stream, connecting: false, stamped, watched_for_writing: false, over: false, unsent }
    }
}

/// A connection that is being read.
#[derive(Clone, Copy, Debug)]
struct Reading {
    token: u64,
    ended: bool,
    left: u32,
}

impl Reading {
    fn new(event: Readiness) -> Self {
        Self { token: event.token, ended: event.closed, left: READS_PER_TURN }
    }

    fn again(self) -> Self {
        Self { left: READS_PER_TURN, ..self }
    }
}

impl Driver {
    /// A driver with no connections; stamps are converted to this clock.
    ///
    /// # Errors
    ///
    /// When no event queue can be made, mostly for want of descriptors.
    pub fn new(clock: MonotonicClock) -> io::Result<Self> {
        Ok(Self {
            poller: Poller::new(EVENTS)?,
            links: Links::default(),
            listener: None,
            buffer: vec![0; BUFFER_BYTES],
            clock,
            moment: None,
            stamping: Stamping::default(),
            ready: 0,
            taken: 0,
            current: None,
            again: VecDeque::new(),
            turns: 0,
            sent: None,
            calls: SystemCalls::default(),
        })
    }

    fn find(&mut self) -> Option<(Slot, Found)> {
        loop {
            if let Some(token) = self.sent.take() {
                if let Some((slot, _)) = self.links.by_token(token) {
                    return Some((slot, Found::Sent));
                }
            } else if let Some(reading) = self.current {
                if let Some(found) = self.read(reading) {
                    return Some(found);
                }
            } else if self.taken < self.ready {
                let event = self.poller.event(self.taken);
                self.taken += 1;
                if let Some(found) = self.look(event) {
                    return Some(found);
                }
            } else if self.turns > 0 {
                self.turns -= 1;
                self.current = self.again.pop_front().map(Reading::again);
            } else {
                return None;
            }
        }
    }

    /// One event of the queue.
    fn look(&mut self, event: Readiness) -> Option<(Slot, Found)> {
        if event.token == u64::from(LISTENER) {
            return self.accept();
        }
        let (slot, link) = self.links.by_token(event.token)?;
        if link.connecting {
            return self.look_at_connecting(slot, event);
        }
        if event.readable && !link.over {
            self.current = Some(Reading::new(event));
        }
        if event.writable && link.unsent.is_some() {
            self.calls.writes += 1;
            return match link.unsent.flush(&link.stream) {
                Flushed::Blocked => None,
                Flushed::All { told: true } => Some((slot, Found::Sent)),
                Flushed::All { told: false } => None,
                Flushed::Failed(error) => Some((slot, Found::NotSent(error))),
            };
        }
        None
    }

    fn look_at_connecting(&mut self, slot: Slot, event: Readiness) -> Option<(Slot, Found)> {
        let stood = self.clock.now();
        let (_, link) = self.links.by_token(event.token)?;
        self.calls.connections += 1;
        match link.stream.take_error() {
            Ok(None) if event.writable => {}
            Ok(None) => return None,
            Ok(Some(error)) | Err(error) => {
                self.close(slot);
                return Some((slot, Found::NotConnected(error)));
            }
        }
        link.connecting = false;
        self.calls.writes += 1;
        match link.unsent.flush(&link.stream) {
            Flushed::Failed(error) => return Some((slot, Found::NotSent(error))),
            Flushed::All { told: true } => self.sent = Some(event.token),
            Flushed::All { told: false } | Flushed::Blocked => {}
        }
        if event.closed || event.readable {
            // Bytes that came together with the connection: no further edge tells of them.
            self.current = Some(Reading::new(event));
        }
        Some((slot, Found::Connected(stood)))
    }

    fn accept(&mut self) -> Option<(Slot, Found)> {
        let listener = self.listener.as_ref()?;
        self.calls.connections += 1;
        match net::accept(listener) {
            Ok(stream) => {
                self.taken -= 1; // there may be more: the listener's event stands until it has none
                Some((LISTENER, Found::Accepted(stream)))
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => None,
            Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => {
                self.taken -= 1;
                None
            }
            Err(error) => Some((LISTENER, Found::NotAccepted(error))),
        }
    }

    fn watch(&mut self, slot: Slot, link: Link, interest: Interest) -> io::Result<()> {
        let (token, link) = self.links.put(slot, link);
        let watched = self.poller.watch(&link.stream, token, interest);
        if watched.is_err() {
            self.links.remove(slot);
        }
        watched
    }

    /// Hands over as much as the kernel takes and keeps the rest.
    fn hand_over(&mut self, slot: Slot, head: &[u8], body: &'static [u8], told: bool) -> io::Result<Sending> {
        let Some((token, link)) = self.links.get(slot) else { return Err(ErrorKind::NotConnected.into()) };
        if link.connecting || link.unsent.is_some() {
            link.unsent.keep(head, body, told);
            return Ok(Sending::Pending);
        }
        self.calls.writes += 1;
        let taken = write(&link.stream, head, body)?;
        if taken == head.len() + body.len() {
            return Ok(Sending::Done);
        }
        let of_head = taken.min(head.len());
        link.unsent.keep(&head[of_head..], &body[taken - of_head..], told);
        if !link.watched_for_writing {
            link.watched_for_writing = true;
            self.calls.connections += 1;
            self.poller.change(&link.stream, token, Interest::Both)?;
        }
        Ok(Sending::Pending)
    }
}

/// Reads: a socket is read until it comes back short, but not for ever.
impl Driver {
    fn read(&mut self, reading: Reading) -> Option<(Slot, Found)> {
        let Some((slot, link)) = self.links.by_token(reading.token).filter(|(_, link)| !link.over) else {
            self.current = None;
            return None;
        };
        self.calls.reads += 1;
        let got = if link.stamped {
            stamp::receive(link.stream.as_fd(), &mut self.buffer)
        } else {
            (&link.stream).read(&mut self.buffer).map(|len| (len, None))
        };
        match got {
            Ok((0, _)) => {
                link.over = true;
                self.current = None;
                Some((slot, Found::Ended))
            }
            Ok((len, stamp)) => {
                self.go_on_reading(reading, len);
                let arrived = stamp.map(|stamp| self.moment().convert(stamp));
                Some((slot, Found::Data(Read { len, arrived, ended: reading.ended, behind: self.left() })))
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.current = None;
                None
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => None,
            Err(error) => {
                link.over = true;
                self.current = None;
                Some((slot, Found::Broken(error)))
            }
        }
    }

    /// A short read has emptied the socket, unless its end is to be read as well.
    fn go_on_reading(&mut self, reading: Reading, len: usize) {
        let more = Reading { left: reading.left - 1, ..reading };
        self.current = (len == self.buffer.len() || reading.ended).then_some(more);
        if self.current.is_some() && more.left == 0 {
            self.again.push_back(more);
            self.current = None;
        }
    }

    fn moment(&mut self) -> Moment {
        *self.moment.get_or_insert_with(|| Moment::now(&self.clock))
    }
}

impl Driver {
    /// Begins a connection and hands over its first bytes, to be sent as soon as it stands.
    ///
    /// # Errors
    /// When not even the attempt can be made: no descriptor, no free port, refused at once.
    pub fn connect(
        &mut self,
        slot: Slot,
        to: SocketAddr,
        wish: ConnectionOptions,
        first: &[u8],
    ) -> io::Result<Connecting> {
        self.close(slot);
        let stream = net::begin(to, wish.from, wish.no_delay)?;
        self.calls.connections += 3 + u64::from(wish.no_delay) + wish.from.calls();
        if wish.stamped {
            self.calls.connections += 1;
            self.stamping.ask(&stream)?;
        }
        let mut link = Link::new(stream, wish.stamped);
        let stood = self.clock.now();
        self.calls.writes += 1;
        let taken = write(&link.stream, first, &[])?;
        let done = taken == first.len() && !first.is_empty();
        if !done {
            link.connecting = true;
            link.watched_for_writing = true;
            link.unsent.keep(&first[taken..], &[], false);
        }
        let interest = if done { Interest::Reading } else { Interest::Both };
        self.watch(slot, link, interest)?;
        Ok(if done { Connecting::Done(stood) } else { Connecting::Begun })
    }

    /// Listens, once a driver; connections come as [`ConnectionEvent::Accepted`] in slot [`LISTENER`].
    ///
    /// # Errors
    ///
    /// What the registration reports.
    pub fn listen(&mut self, listener: TcpListener) -> io::Result<()> {
        self.poller.add_listener(&listener, u64::from(LISTENER))?;
        self.listener = Some(listener);
        Ok(())
    }

    /// Takes a connection that stands and does not block.
    ///
    /// # Errors
    /// What the registration reports.
    pub fn adopt(&mut self, slot: Slot, stream: TcpStream) -> io::Result<()> {
        self.close(slot);
        self.calls.connections += 1;
        self.watch(slot, Link::new(stream, false), Interest::Reading)
    }

    /// Hands bytes over behind those that were before; they are with the kernel at once or by the next
    /// [`Driver::wait`]. Bytes that it does not take then are kept and sent later; the caller has to bound their
    /// number.
    ///
    /// # Errors
    ///
    /// When the connection cannot carry them any more, as far as that is known at once.
    pub fn send(&mut self, slot: Slot, bytes: &[u8]) -> io::Result<()> {
        self.hand_over(slot, bytes, &[], false).map(|_| ())
    }

    /// The same with bytes that need no copy, and a report when all are with the kernel.
    ///
    /// # Errors
    ///
    /// As [`Driver::send`].
    pub fn send_body(&mut self, slot: Slot, head: &[u8], body: &'static [u8]) -> io::Result<Sending> {
        self.hand_over(slot, head, body, true)
    }

    /// Ends our half: bytes handed over before still go out.
    pub fn end(&mut self, slot: Slot) {
        if let Some((_, link)) = self.links.get(slot) {
            self.calls.connections += 1;
            link.unsent.end(&link.stream);
        }
    }

    /// Closes a connection, if there is one. Bytes that were [sent](Driver::send) still go out, as far as the kernel
    /// takes them at once.
    pub fn close(&mut self, slot: Slot) {
        if self.links.remove(slot).is_some() {
            // Dropped, thereby closed, thereby off the event queue.
            self.calls.connections += 1;
        }
    }

    /// Waits for events. Events that came before and were not fetched yet end the wait at once. Now and then a wait
    /// ends with none, though there was time left.
    ///
    /// # Errors
    ///
    /// When the kernel's queue fails; being interrupted by a signal is none.
    pub fn wait(&mut self, wait: Wait) -> io::Result<()> {
        if self.taken < self.ready || self.current.is_some() || self.turns > 0 || self.sent.is_some() {
            return Ok(()); // an edge is told once: what was not asked for would be lost
        }
        self.moment = None;
        self.taken = 0;
        self.ready = 0;
        let mut left = wait.at_most;
        if !self.again.is_empty() {
            left = Some(Nanos::ZERO);
        } else if let Some(batch) = wait.batch {
            let nap = batch.within.min(wait.at_most.unwrap_or(batch.within));
            if nap > Nanos::ZERO {
                self.calls.naps += 1;
                std::thread::sleep(nap.as_duration());
            }
            self.calls.waits += 1;
            self.ready = self.poller.wait(Some(Nanos::ZERO))?;
            left = left.map(|left| left.since(nap));
        }
        if self.ready == 0 {
            self.calls.waits += 1;
            self.ready = self.poller.wait(left)?;
        }
        self.turns = self.again.len();
        Ok(())
    }

    /// The next event; `None`: wait again. A connection that has much to read gives way to the others now and then.
    #[allow(clippy::should_implement_trait)] // what it gives borrows its buffer
    pub fn next(&mut self) -> Option<(Slot, ConnectionEvent<'_>)> {
        let (slot, found) = self.find()?;
        Some((slot, found.event(&self.buffer)))
    }

    /// Events of the last wait that are still to be fetched, about one for each connection.
    pub const fn left(&self) -> usize {
        self.ready - self.taken + self.turns
    }

    /// Totals since the start.
    pub const fn system_calls(&self) -> SystemCalls {
        self.calls
    }
}
