//! Internal form of a driver's event, whose bytes are named by their place.

use super::{ConnectionEvent, Data};
use bakeoff_units::Nanos;
use std::io;
use std::net::TcpStream;

/// An [`Event`] that borrows nothing.
pub(super) enum Found {
    Connected(Nanos),
    NotConnected(io::Error),
    Data(Read),
    Sent,
    Ended,
    Broken(io::Error),
    NotSent(io::Error),
    Accepted(TcpStream),
    NotAccepted(io::Error),
}

/// Bytes at the start of the buffer.
pub(super) struct Read {
    pub(super) len: usize,
    pub(super) arrived: Option<Nanos>,
    pub(super) ended: bool,
    pub(super) behind: usize,
}

impl Found {
    pub(super) fn event(self, buffer: &[u8]) -> ConnectionEvent<'_> {
        match self {
            Self::Connected(stood) => ConnectionEvent::Connected(stood),
            Self::NotConnected(error) => ConnectionEvent::NotConnected(error),
            Self::Data(Read { len, arrived, ended, behind }) => {
                ConnectionEvent::Data(Data { bytes: &buffer[..len], arrived, ended, behind })
            }
            Self::Sent => ConnectionEvent::Sent,
            Self::Ended => ConnectionEvent::Ended,
            Self::Broken(error) => ConnectionEvent::Broken(error),
            Self::NotSent(error) => ConnectionEvent::NotSent(error),
            Self::Accepted(stream) => ConnectionEvent::Accepted(stream),
            Self::NotAccepted(error) => ConnectionEvent::NotAccepted(error),
        }
    }
}
