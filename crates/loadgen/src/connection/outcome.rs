//! Outcome of an exchange on a connection, and its moment.
//!
//! Measuring side, hot. Nothing here sends or reads.

use crate::exchange::Exchange;
use bakeoff_meter::ErrorClass;
use bakeoff_units::{Clock, MonotonicClock, Nanos};

/// The arrival time of bytes: the kernel's stamp if there is one, or the clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    at: Nanos,
    seen: Nanos,
}

impl Arrival {
    /// `stamp`: the kernel's stamp.
    pub(crate) fn new(clock: &MonotonicClock, stamp: Option<Nanos>) -> Self {
        let seen = clock.now();
        Self { at: stamp.unwrap_or(seen), seen }
    }

    /// The moment, as far as it can be one of a reply to a request sent then: a stamp outside that was made by a clock
    /// that has been set since.
    pub(crate) fn after(&self, sent: Nanos) -> Nanos {
        if self.at < sent || self.at > self.seen { self.seen } else { self.at }
    }

    /// When the bytes were looked at.
    pub(crate) const fn seen(&self) -> Nanos {
        self.seen
    }
}

/// An exchange that has ended on this connection.
pub(crate) struct Done {
    pub(crate) exchange: Exchange,
    pub(crate) outcome: Outcome,
}

/// The outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The reply was whole at this moment.
    Complete(Nanos),
    /// Closed before a byte of the reply, on a connection that had served before: the server may have closed it while
    /// it was idle, so a request that may be repeated is sent again (RFC 9112 section 9.3.1). Or the server said that
    /// it did not look at it, and then it may be any request.
    Again,
    /// It was never sent here, and goes over another connection.
    Elsewhere,
    /// It has failed.
    Failed(ErrorClass),
}

/// The end of a connection while replies were due: the error classes of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Closing {
    /// Before the first byte of a reply.
    pub(super) before: ErrorClass,
    /// Inside a reply.
    inside: ErrorClass,
}

impl Closing {
    /// By the peer, in order.
    pub(super) const ENDED: Self = Self { before: ErrorClass::ClosedEarly, inside: ErrorClass::Truncated };
    /// By the peer, at once.
    pub(super) const RESET: Self = Self { before: ErrorClass::Reset, inside: ErrorClass::Reset };
    /// It takes no more requests.
    pub(super) const NOT_SENT: Self = Self { before: ErrorClass::SendFailed, inside: ErrorClass::SendFailed };

    /// The outcome of an exchange; `untouched`: nothing of its reply has come.
    pub(super) const fn outcome(self, exchange: &Exchange, untouched: bool, served: u64) -> Outcome {
        match untouched {
            true if served > 0 && !exchange.resent && exchange.is_repeatable() => Outcome::Again,
            true => Outcome::Failed(self.before),
            false => Outcome::Failed(self.inside),
        }
    }
}
