//! Internal form of a driver's event, whose bytes are named by their place.

use super::{Data, Event};
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
    pub(super) fn event(self, buffer: &[u8]) -> Event<'_> {
        match self {
            Self::Connected(stood) => Event::Connected(stood),
            Self::NotConnected(error) => Event::NotConnected(error),
            Self::Data(Read { len, arrived, ended, behind }) => {
                Event::Data(Data { bytes: &buffer[..len], arrived, ended, behind })
            }
            Self::Sent => Event::Sent,
            Self::Ended => Event::Ended,
            Self::Broken(error) => Event::Broken(error),
            Self::NotSent(error) => Event::NotSent(error),
            Self::Accepted(stream) => Event::Accepted(stream),
            Self::NotAccepted(error) => Event::NotAccepted(error),
        }
    }
}
