//! Driver of connections over epoll: connections by number, bytes in, bytes out.
//!
//! Hot; used by the load generator and the origin. A driver owns the sockets, the unsent bytes, and the wait for
//! events; the caller owns the meaning of the bytes, and decides how long to wait.
//!
//! A connection is a [`Slot`], a number that the caller chooses. After [`Driver::close`] the number can be used again
//! at once: no event of the old connection is reported for the new one.

mod epoll;
mod found;
mod links;
mod stamp;
mod unsent;

use crate::net::Local;
use bakeoff_units::Nanos;
use std::io;
use std::net::TcpStream;

pub use epoll::Driver;

/// The caller's number of a connection; small, as drivers keep tables by it.
pub type Slot = u32;

/// An event of a connection.
#[derive(Debug)]
pub enum ConnectionEvent<'d> {
    /// The connection that was begun stands since that moment, and its first bytes were handed over then.
    Connected(Nanos),
    /// It was begun and failed; the slot is free.
    NotConnected(io::Error),
    /// Bytes came.
    Data(Data<'d>),
    /// All of a [`Driver::send_body`] that was [`Sending::Pending`] is with the kernel.
    Sent,
    /// The peer has ended its half; nothing more will come.
    Ended,
    /// The connection broke while it was read: reset, mostly.
    Broken(io::Error),
    /// The bytes handed over cannot be sent.
    NotSent(io::Error),
    /// A client has connected to the listener: the stream is to be [adopted](Driver::adopt) or dropped.
    Accepted(TcpStream),
    /// A connection to the listener could not be taken, for want of descriptors mostly.
    NotAccepted(io::Error),
}

/// Bytes of a connection, in the driver's own buffer until the next event is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Data<'d> {
    /// At least one.
    pub bytes: &'d [u8],
    /// When the last of them reached this machine's kernel, on the clock given to the driver; only for
    /// connections that were begun [stamped](ConnectionOptions::stamped).
    pub arrived: Option<Nanos>,
    /// Whether the peer is known to have ended its half; [`ConnectionEvent::Ended`] follows all the same.
    pub ended: bool,
    /// Events that the same wait found and that come after this one, about one for each connection.
    pub behind: usize,
}

/// Options of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionOptions {
    /// Its local end.
    pub from: Local,
    /// Whether small writes are sent at once even while others are on their way (`TCP_NODELAY`).
    pub no_delay: bool,
    /// Whether incoming bytes are stamped by the kernel.
    pub stamped: bool,
}

/// The state of a connection when [`Driver::connect`] returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connecting {
    /// It stands since that moment, as it mostly does at once on loopback, and its first bytes were handed
    /// over then; no [`ConnectionEvent::Connected`] follows.
    Done(Nanos),
    /// An event will tell.
    Begun,
}

/// The state of bytes that were handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sending {
    /// They are with the kernel.
    Done,
    /// [`ConnectionEvent::Sent`] will tell when they are; until then nothing more may be handed over.
    Pending,
}

/// Options of a wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wait {
    /// Come back after this long with nothing; `None`: never.
    pub at_most: Option<Nanos>,
    /// Let more than one event gather first.
    pub batch: Option<EventBatch>,
}

/// The batch that is worth waiting for beyond the first event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventBatch {
    /// Number of events that are enough.
    pub events: u32,
    /// After this long any are.
    pub within: Nanos,
}

/// Counts of a driver's system calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SystemCalls {
    /// Reads of connections.
    pub reads: u64,
    /// Writes to connections.
    pub writes: u64,
    /// Waits for events.
    pub waits: u64,
    /// Sleeps that let events gather.
    pub naps: u64,
    /// Setting up and closing connections: socket, options, connect, registration, close.
    pub connections: u64,
}

impl SystemCalls {
    /// All of them.
    pub const fn total(&self) -> u64 {
        self.reads + self.writes + self.waits + self.naps + self.connections
    }

    /// Those since an earlier look.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            reads: self.reads - earlier.reads,
            writes: self.writes - earlier.writes,
            waits: self.waits - earlier.waits,
            naps: self.naps - earlier.naps,
            connections: self.connections - earlier.connections,
        }
    }

    /// Those of several drivers.
    pub const fn add(&mut self, more: &Self) {
        self.reads += more.reads;
        self.writes += more.writes;
        self.waits += more.waits;
        self.naps += more.naps;
        self.connections += more.connections;
    }
}

/// The slot of the listener's events.
pub const LISTENER: Slot = Slot::MAX;
