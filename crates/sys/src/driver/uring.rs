//! The driver for Linux 6.1 and later: io_uring. Receives stand, sends are queued, and all that is queued is
//! handed over by the call that waits.
//!
//! Hot. Connections are begun and first written to by plain calls: on loopback they stand at once. Nothing
//! lies with the kernel between two waits but receives, accepts and polls, so that a slot is free as soon as
//! it is closed. The ring belongs to the thread that waits; on another thread a new one is made, and the
//! receives are asked for again. That costs some hundred microseconds and loses nothing.

mod buffers;
mod link;
mod outcome;
mod probe;
mod receive;
mod ring;
mod tag;

use super::found::Found as AnyFound;
use super::links::Links;
use super::stamp::{Moment, Stamping};
use super::unsent::{Flushed, write};
use super::{Connecting, Data, Driver, Event, Kind, LISTENER, Sending, Slot, SystemCalls, Wait, Wish};
use crate::net;
use bakeoff_units::{Clock, MonotonicClock, Nanos};
use link::Link;
use outcome::adopt_descriptor;
use receive::Received;
use ring::{Receive, Ring};
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use tag::Op;

/// More than that is not queued for the next wait, but sent at once.
const MOST_QUEUED_BYTES: usize = 1024 * 1024;

type Found = AnyFound<Received>;

/// See the module.
pub struct UringDriver {
    ring: Option<Ring>,
    links: Links<Link>,
    listener: Option<TcpListener>,
    /// To be asked of the kernel by the next wait, unless the connection is closed before.
    asked: Vec<(Op, u64)>,
    /// Receives that ended for want of buffers with nothing received in this round, in order.
    starved: VecDeque<u64>,
    /// Those that received something first; they come after the others, or they would take all again.
    greedy: VecDeque<u64>,
    /// How many waits there were.
    round: u64,
    /// The buffer whose bytes the caller is looking at.
    lent: Option<u16>,
    /// A connection that stands and whose kept body went out at once, which is to be told as well.
    sent: Option<u64>,
    clock: MonotonicClock,
    /// When the clocks were last compared; forgotten at each wait.
    moment: Option<Moment>,
    stamping: Stamping,
    calls: SystemCalls,
}

impl UringDriver {
    /// A driver with no connections; stamps are told on this clock. When it is dropped, a system call that
    /// the thread that waited last is in may be interrupted, once.
    ///
    /// # Errors
    /// When the kernel does not let us have a ring or is too old for what is needed, in words.
    pub fn new(clock: MonotonicClock) -> io::Result<Self> {
        probe::probe()?;
        Ok(Self {
            ring: None,
            links: Links::default(),
            listener: None,
            asked: Vec::new(),
            starved: VecDeque::new(),
            greedy: VecDeque::new(),
            round: 0,
            lent: None,
            sent: None,
            clock,
            moment: None,
            stamping: Stamping::default(),
            calls: SystemCalls::default(),
        })
    }

    /// A ring of this thread: none can be used that another thread has made.
    fn take_ring(&mut self) -> io::Result<Ring> {
        match self.ring.take() {
            Some(ring) if ring.is_of_this_thread() => Ok(ring),
            old => {
                drop(old);
                self.calls.connections += 2;
                self.ask_again();
                Ring::new()
            }
        }
    }

    /// What stood in a ring that is no more.
    fn ask_again(&mut self) {
        self.asked.clear();
        self.starved.clear();
        self.greedy.clear();
        for (token, link) in self.links.iter_mut() {
            if link.waiting_for_room() {
                self.asked.push((Op::Ready, token));
            }
            if !link.connecting && !link.over {
                self.asked.push((Op::Receive, token));
            }
            if link.queued_bytes() > 0 {
                self.asked.push((Op::Send, token));
            }
            link.armed = false;
        }
        if self.listener.is_some() {
            self.asked.push((Op::Accept, u64::from(LISTENER)));
        }
    }

    /// Puts all that is asked for into the ring's queue; whether receives are left that have to wait.
    fn queue(&mut self, ring: &mut Ring) -> io::Result<bool> {
        for _ in 0..buffers::SMALL.count {
            let Some(token) = self.starved.pop_front().or_else(|| self.greedy.pop_front()) else { break };
            self.asked.push((Op::Receive, token));
        }
        let mut asked = std::mem::take(&mut self.asked);
        for (op, token) in asked.drain(..) {
            if op == Op::Accept {
                if let Some(listener) = &self.listener {
                    ring.accept(listener.as_raw_fd(), token)?;
                }
                continue;
            }
            let Some((_, link)) = self.links.by_token(token) else { continue };
            let fd = link.stream.as_raw_fd();
            match op {
                Op::Receive if link.armed || link.over => {}
                Op::Receive => {
                    link.armed = true;
                    ring.receive(fd, token, Receive { stamped: link.stamped, large: link.large })?;
                }
                Op::Ready => ring.ready(fd, token)?,
                Op::Send => {
                    if let Some(bytes) = link.hand_over() {
                        // SAFETY: the bytes lie on the heap and belong to the link until its next
                        // `hand_over`, which comes with the next wait; the ring is entered in this one, or
                        // dropped.
                        unsafe { ring.send(fd, token, bytes)? };
                    }
                }
                Op::Accept => {}
            }
        }
        self.asked = asked; // its memory
        Ok(!(self.starved.is_empty() && self.greedy.is_empty()))
    }

    fn find(&mut self) -> Option<(Slot, Found)> {
        loop {
            if let Some(token) = self.sent.take()
                && let Some((slot, _)) = self.links.by_token(token)
            {
                return Some((slot, Found::Sent));
            }
            let completion = self.ring.as_mut()?.next()?;
            let found = match completion.op {
                Op::Receive => self.received(completion),
                Op::Ready => self.ready(completion),
                Op::Send => self.not_sent(completion),
                Op::Accept => self.accepted(completion),
            };
            if found.is_some() {
                return found;
            }
        }
    }

    /// The kernel may write into the buffer again.
    fn give_back(&mut self) {
        if let (Some(buffer), Some(ring)) = (self.lent.take(), &mut self.ring) {
            ring.buffers.give(buffer);
        }
    }

    /// Sends what is queued by a plain call, for what is to follow at once.
    fn flush(&mut self, slot: Slot) -> Option<Flushed> {
        let (token, link) = self.links.get(slot)?;
        if link.connecting || link.waiting_for_room() || !link.queue_to_unsent() {
            return None;
        }
        self.calls.writes += 1;
        let flushed = link.unsent.flush(&link.stream);
        if matches!(flushed, Flushed::Blocked) {
            self.asked.push((Op::Ready, token));
        }
        Some(flushed)
    }
}

impl Driver for UringDriver {
    fn kind(&self) -> Kind {
        Kind::Uring
    }

    fn connect(&mut self, slot: Slot, to: SocketAddr, wish: Wish, first: &[u8]) -> io::Result<Connecting> {
        self.close(slot);
        let stream = net::begin(to, wish.from, wish.no_delay)?;
        self.calls.connections += 2 + u64::from(wish.no_delay) + wish.from.calls();
        if wish.stamped {
            self.calls.connections += 1;
            self.stamping.ask(&stream)?;
        }
        let mut link = Link::new(stream, wish.stamped);
        let stood = self.clock.now();
        self.calls.writes += 1;
        let taken = write(&link.stream, first, &[])?;
        if taken == first.len() && !first.is_empty() {
            let (token, _) = self.links.put(slot, link);
            self.asked.push((Op::Receive, token));
            return Ok(Connecting::Done(stood));
        }
        link.connecting = true;
        link.unsent.keep(&first[taken..], &[], false);
        let (token, _) = self.links.put(slot, link);
        self.asked.push((Op::Ready, token));
        Ok(Connecting::Begun)
    }

    fn listen(&mut self, listener: TcpListener) -> io::Result<()> {
        self.listener = Some(listener);
        self.asked.push((Op::Accept, u64::from(LISTENER)));
        Ok(())
    }

    fn adopt(&mut self, slot: Slot, stream: TcpStream) -> io::Result<()> {
        self.close(slot);
        let (token, _) = self.links.put(slot, Link::new(stream, false));
        self.asked.push((Op::Receive, token));
        Ok(())
    }

    fn send(&mut self, slot: Slot, bytes: &[u8]) -> io::Result<()> {
        let Some((token, link)) = self.links.get(slot) else { return Err(ErrorKind::NotConnected.into()) };
        if link.queue(bytes) {
            self.asked.push((Op::Send, token));
        }
        if link.queued_bytes() < MOST_QUEUED_BYTES {
            return Ok(());
        }
        match self.flush(slot) {
            Some(Flushed::Failed(error)) => Err(error),
            _ => Ok(()),
        }
    }

    fn send_body(&mut self, slot: Slot, head: &[u8], body: &'static [u8]) -> io::Result<Sending> {
        if let Some(Flushed::Failed(error)) = self.flush(slot) {
            return Err(error);
        }
        let Some((token, link)) = self.links.get(slot) else { return Err(ErrorKind::NotConnected.into()) };
        if link.connecting || link.waiting_for_room() {
            link.unsent.keep(head, body, true);
            return Ok(Sending::Pending);
        }
        self.calls.writes += 1;
        let taken = write(&link.stream, head, body)?;
        if taken == head.len() + body.len() {
            return Ok(Sending::Done);
        }
        let of_head = taken.min(head.len());
        link.unsent.keep(&head[of_head..], &body[taken - of_head..], true);
        self.asked.push((Op::Ready, token));
        Ok(Sending::Pending)
    }

    fn end(&mut self, slot: Slot) {
        self.flush(slot);
        if let Some((_, link)) = self.links.get(slot) {
            self.calls.connections += 1;
            link.unsent.end(&link.stream);
        }
    }

    fn close(&mut self, slot: Slot) {
        self.flush(slot);
        if let Some(link) = self.links.remove(slot) {
            self.calls.connections += link.close();
        }
    }

    fn wait(&mut self, wait: Wait) -> io::Result<()> {
        self.give_back();
        self.moment = None;
        if self.sent.is_some() || self.ring.as_ref().is_some_and(|ring| ring.peek().is_some()) {
            return Ok(()); // also of another thread's ring, whose buffers hold them
        }
        self.round += 1;
        let mut ring = self.take_ring()?; // forgotten with its queue, if anything fails
        let hungry = self.queue(&mut ring)?;
        let wait = if hungry { Wait { at_most: Some(Nanos::ZERO), batch: None } } else { wait };
        ring.enter(wait, &mut self.calls)?;
        while let Some(cut) = ring.cut() {
            self.keep_the_rest(cut, &mut ring);
        }
        self.ring = Some(ring);
        Ok(())
    }

    fn next(&mut self) -> Option<(Slot, Event<'_>)> {
        self.give_back();
        let (slot, found) = self.find()?;
        let buffers = self.ring.as_ref().map(|ring| &ring.buffers);
        let event = found.event(|Received { buffer, place, arrived, ended }| {
            let bytes = buffers.map_or(&[][..], |buffers| buffers.bytes(buffer, place));
            Data { bytes, arrived, ended }
        });
        Some((slot, event))
    }

    fn system_calls(&self) -> SystemCalls {
        self.calls
    }
}

impl Drop for UringDriver {
    /// The kernel lets go of sockets a little after the ring is closed; what peers see must not wait.
    fn drop(&mut self) {
        let slots: Vec<Slot> = self.links.iter_mut().map(|(token, _)| token as Slot).collect();
        slots.into_iter().for_each(|slot| self.close(slot));
        if let Some(listener) = &self.listener {
            let _ = nix::sys::socket::shutdown(listener.as_raw_fd(), nix::sys::socket::Shutdown::Both);
        }
        while let Some(completion) = self.ring.as_mut().and_then(Ring::next) {
            if completion.op == Op::Accept && completion.result >= 0 {
                drop(adopt_descriptor(completion.result));
            }
        }
    }
}
