//! Listener: a source that is told how its requests end.
//!
//! Measuring side, hot where a source listens. It is told what was recorded, request by request, so that it can react:
//! ask for embedded objects, try again, count by its own classes. Judges nothing. For a source that does not listen
//! nothing is kept and nothing is told: the loop is compiled for either.

use bakeoff_content::ObjectId;
use bakeoff_meter::ErrorClass;
use bakeoff_units::Nanos;
use bakeoff_workload::{Ask, Source};

/// Is told how the requests end that it gave as a [`Source`].
pub trait RequestListener {
    /// Whether it listens at all; without that no reply's head is kept.
    const LISTENS: bool = true;

    /// A request that was given by [`Source::next`] has ended, in whatever way. Each does exactly once. No
    /// I/O, no locks. In an open loop on the source's own clock [`Source::upcoming`] is asked anew after
    /// it; a request made in answer to a failure has to be due later than the failure, as it would go round
    /// for ever otherwise.
    fn ended(&mut self, ended: &RequestEnd<'_>);

    /// The head of a reply has come, before its body: the id of the bytes that must follow, if the head says more of that
    /// than the request did. Heads of HTTP/2 are not kept, and nothing is asked about them.
    fn headed(&mut self, ticket: u32, head: &[u8]) -> Option<ObjectId> {
        let _ = (ticket, head);
        None
    }

    /// A request that has waited for a connection of its robot's own is sent only now: its header lines
    /// ([`Ask::headers`]) if they are to be written anew, as they speak of the time at which it is sent.
    fn sending(&mut self, ticket: u32, now: Nanos) -> Option<&[u8]> {
        let _ = (ticket, now);
        None
    }

    /// Whether to go on, asked often and at least every 50 milliseconds; `now` is the time since the job's
    /// start.
    fn course(&mut self, now: Nanos) -> Continuation {
        let _ = now;
        Continuation::GoOn
    }
}

/// The further course of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Continuation {
    /// Go on as before.
    #[default]
    GoOn,
    /// Nothing more is sent and the source is asked for nothing more. Requests in flight come to their own end; a
    /// request that waits for a connection of its robot's own ends as not sent. Requests that were due and not asked
    /// for yet are not counted.
    Drain,
    /// The run ends at once: the same, but that requests in flight are cut off.
    Stop,
}

/// The end of a request. Times are since the job's start.
#[derive(Clone, Copy, Debug)]
pub struct RequestEnd<'a> {
    /// In a closed loop the robot that was asked for it, in an open one [`Ask::robot`].
    pub robot: u32,
    /// [`Ask::ticket`].
    pub ticket: u32,
    /// When it should have been sent.
    pub due: Nanos,
    /// When it was written to a connection that stood, or when the connection stood that was made for it. Where
    /// none ever did: when connecting began, or `due` over TLS and where it was never tried.
    pub sent: Nanos,
    /// When the first byte of the reply was seen; `done` where none was.
    pub first_byte: Nanos,
    /// When it ended: with the last byte of the reply, or when it had failed.
    pub done: Nanos,
    /// The reply if it was as expected, or the class under which it was counted.
    pub result: Result<Reply<'a>, ErrorClass>,
    /// Whether its connection had carried requests before.
    pub reused: bool,
    /// Whether it was sent twice: the first time over a kept connection that turned out to be closed.
    pub resent: bool,
    /// The head of the reply as it came, final status line and fields; empty where there was none. Also of
    /// a reply that was not as expected.
    pub head: &'a [u8],
}

/// A reply that was as expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply<'a> {
    /// Status.
    pub status: u16,
    /// The head as it came.
    pub head: &'a [u8],
    /// Bytes of the head.
    pub head_bytes: u64,
    /// Bytes of the body, without those of the chunked coding.
    pub body_bytes: u64,
}

/// A source that does not listen.
pub(crate) struct Deaf<S>(pub(crate) S);

impl<S: Source> Source for Deaf<S> {
    #[inline]
    fn next(&mut self, robot: usize) -> Option<Ask<'_>> {
        self.0.next(robot)
    }

    #[inline]
    fn upcoming(&self, robot: usize) -> Option<Nanos> {
        self.0.upcoming(robot)
    }
}

impl<S> RequestListener for Deaf<S> {
    const LISTENS: bool = false;

    fn ended(&mut self, _ended: &RequestEnd<'_>) {}
}
