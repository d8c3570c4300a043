//! The protocol of a connection, HTTP/1.1 or HTTP/2, behind one interface.
//!
//! Measuring side, hot. A protocol holds the exchanges of its connection; it does not decide when the connection is to
//! be closed.

use super::http1::Http1;
use super::http2::Http2;
use super::outcome::{Arrival, Closing, Done};
use super::render::Renderer;
use crate::exchange::Exchange;
use crate::job::{BodyCheck, Protocol};
use crate::listener::RequestListener;
use bakeoff_meter::ErrorClass;
use bakeoff_units::Nanos;
use bakeoff_wire::http1::ReplyHead;

/// One of two protocols.
#[expect(clippy::large_enum_variant, reason = "the larger one is the common one")]
pub(super) enum Http {
    One(Http1),
    Two(Box<Http2>),
}

impl Http {
    pub(super) fn new(protocol: Protocol, exchange: Exchange) -> Self {
        match protocol {
            Protocol::Http1 => Self::One(Http1::with(exchange)),
            Protocol::Http2 { .. } => Self::Two(Box::new(Http2::with(exchange))),
        }
    }

    /// Another exchange, to be sent by [`Http::begin`].
    pub(super) fn push(&mut self, exchange: Exchange) {
        match self {
            Self::One(http) => http.push(exchange),
            Self::Two(http) => http.push(exchange),
        }
    }

    /// Sends waiting requests, at most `most`; returns their number.
    pub(super) fn begin(
        &mut self,
        now: Nanos,
        render: &Renderer,
        most: u64,
        out: &mut Vec<u8>,
        done: &mut Vec<Done>,
    ) -> u64 {
        match self {
            Self::One(http) => {
                http.begin(now, render, out);
                1
            }
            Self::Two(http) => http.begin(now, render, most, out, done),
        }
    }

    /// Whether [`Http::begin`] is to be called after bytes came; `opened`: the connection has just become
    /// open.
    pub(super) const fn has_more_to_say(&self, opened: bool) -> bool {
        match self {
            Self::One(_) => opened,
            Self::Two(_) => true,
        }
    }

    /// Exchanges begun while the connection was being made were sent at this moment.
    pub(super) fn stood(&mut self, at: Nanos) {
        match self {
            Self::One(http) => http.stood(at),
            Self::Two(http) => http.stood(at),
        }
    }

    /// Whether it holds no exchange.
    pub(super) fn is_quiet(&self) -> bool {
        match self {
            Self::One(http) => http.is_quiet(),
            Self::Two(http) => http.is_quiet(),
        }
    }

    /// Whether nothing is in flight.
    pub(super) fn is_idle(&self) -> bool {
        match self {
            Self::One(http) => http.is_quiet(),
            Self::Two(http) => http.is_idle(),
        }
    }

    /// Whether nothing is in flight and it takes nothing more: waiting requests go elsewhere.
    pub(super) fn is_spent(&self) -> bool {
        match self {
            Self::One(_) => false,
            Self::Two(http) => http.is_spent(),
        }
    }

    /// The peer's violation of the protocol, in words.
    pub(super) fn violation(&self) -> Option<&str> {
        match self {
            Self::One(_) => None,
            Self::Two(http) => http.violation(),
        }
    }

    /// Feeds bytes.
    pub(super) fn receive<L: RequestListener>(
        &mut self,
        bytes: &[u8],
        arrival: &Arrival,
        check: BodyCheck,
        listener: &mut L,
        done: &mut Vec<Done>,
    ) -> Result<(), ErrorClass> {
        match self {
            Self::One(http) => http.receive(bytes, arrival, check, listener, done),
            Self::Two(http) => http.receive(bytes, arrival, check, done),
        }
    }

    /// The connection has ended.
    pub(super) fn end(&mut self, closing: Closing, served: u64, arrival: &Arrival, done: &mut Vec<Done>) {
        match self {
            Self::One(http) => http.end(closing, served, arrival, done),
            Self::Two(http) => http.end(closing, served, done),
        }
    }

    /// A proxy has answered in the server's place, with this head.
    pub(super) fn keep_refusal(&mut self, head: ReplyHead, bytes: &[u8]) {
        match self {
            Self::One(http) => http.keep_refusal(head, bytes),
            Self::Two(_) => {} // heads of HTTP/2 are not kept, and no tunnel carries it
        }
    }

    /// Fails all exchanges.
    pub(super) fn fail(&mut self, class: ErrorClass, done: &mut Vec<Done>) {
        match self {
            Self::One(http) => http.fail(class, done),
            Self::Two(http) => http.fail(class, done),
        }
    }

    /// Whether the time of an exchange is over, before the connection is open.
    pub(super) fn is_overdue(&self, now: Nanos) -> bool {
        match self {
            Self::One(http) => http.is_overdue(now),
            Self::Two(http) => http.is_overdue(now),
        }
    }
}
