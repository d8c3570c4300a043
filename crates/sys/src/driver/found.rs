//! What a driver found: an event whose bytes are still named by where they lie.

use super::{Data, Event};
use bakeoff_units::Nanos;
use std::io;
use std::net::TcpStream;

/// An [`Event`] that borrows nothing; `D` says where the bytes are.
pub(super) enum Found<D> {
    Connected(Nanos),
    NotConnected(io::Error),
    Data(D),
    Sent,
    Ended,
    Broken(io::Error),
    NotSent(io::Error),
    Accepted(TcpStream),
    NotAccepted(io::Error),
}

impl<D> Found<D> {
    pub(super) fn event<'d>(self, data: impl FnOnce(D) -> Data<'d>) -> Event<'d> {
        match self {
            Self::Connected(stood) => Event::Connected(stood),
            Self::NotConnected(error) => Event::NotConnected(error),
            Self::Data(place) => Event::Data(data(place)),
            Self::Sent => Event::Sent,
            Self::Ended => Event::Ended,
            Self::Broken(error) => Event::Broken(error),
            Self::NotSent(error) => Event::NotSent(error),
            Self::Accepted(stream) => Event::Accepted(stream),
            Self::NotAccepted(error) => Event::NotAccepted(error),
        }
    }
}
