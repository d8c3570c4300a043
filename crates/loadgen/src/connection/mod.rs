//! One connection: TLS if any, what is spoken over it, and the exchanges that it carries.
//!
//! Measuring side, hot. Bytes in, bytes out, no socket: whoever owns the driver moves them. What becomes of
//! an exchange is told as a [`Done`]; what becomes of the connection, by [`Connection::over`].

mod http1;

use crate::exchange::Exchange;
use crate::flow::Turn;
use crate::job::{BodyCheck, Reuse, Target};
use crate::tls::TlsSession;
use bakeoff_meter::ErrorClass;
use bakeoff_units::{Clock, MonotonicClock, Nanos};
use http1::Http1;
pub(crate) use http1::Renderer;
use std::cell::RefCell;

/// How far the connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Connecting,
    Handshaking,
    Open,
}

/// When bytes came: the kernel's word if there is one, or the clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    at: Nanos,
    seen: Nanos,
}

impl Arrival {
    /// `stamp`: the kernel's word.
    pub(crate) fn new(clock: &MonotonicClock, stamp: Option<Nanos>) -> Self {
        let seen = clock.now();
        Self { at: stamp.unwrap_or(seen), seen }
    }

    /// The moment, as far as it can be one of a reply to what was sent then: a stamp outside that was
    /// made by a clock that has been set since.
    pub(crate) fn after(&self, sent: Nanos) -> Nanos {
        if self.at < sent || self.at > self.seen { self.seen } else { self.at }
    }

    /// When they were looked at.
    pub(crate) const fn seen(&self) -> Nanos {
        self.seen
    }
}

/// An exchange that has ended on this connection.
pub(crate) struct Done {
    pub(crate) exchange: Exchange,
    pub(crate) outcome: Outcome,
}

/// How it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The reply was whole at this moment.
    Complete(Nanos),
    /// Closed before a byte of the reply, on a connection that had served before: the server may have
    /// closed it while it was idle, so the request may be sent again (RFC 9112 section 9.3.1).
    Again,
    /// It has failed.
    Failed(ErrorClass),
}

/// What all connections of a lane are told.
pub(crate) struct Manner<'a> {
    pub(crate) target: &'a Target,
    pub(crate) render: Renderer,
    pub(crate) check: BodyCheck,
    pub(crate) clock: MonotonicClock,
    /// Room for what is to be encrypted.
    pub(crate) plain: RefCell<Vec<u8>>,
}

/// See the module.
pub(crate) struct Connection {
    tls: Option<Box<TlsSession>>,
    phase: Phase,
    since: Nanos,
    http: Http1,
    served: u64,
    begun: u64,
    over: bool,
    /// Every exchange is done, and the peer is to close by then.
    lingering: Option<Nanos>,
    /// Whose turn comes when it is closed.
    held: Option<Turn>,
}

impl Connection {
    /// A connection for this exchange; `out` gets what is to be sent first.
    pub(crate) fn new(
        exchange: Exchange,
        tls: Option<TlsSession>,
        now: Nanos,
        manner: &Manner<'_>,
        out: &mut Vec<u8>,
    ) -> Self {
        let mut connection = Self {
            tls: tls.map(Box::new),
            phase: Phase::Connecting,
            since: now,
            http: Http1::with(exchange),
            served: 0,
            begun: 0,
            over: false,
            lingering: None,
            held: None,
        };
        match &mut connection.tls {
            Some(tls) => tls.take_output(out),
            None => connection.begin(now, manner, out),
        }
        connection
    }

    /// Its TLS session, if there is one and the handshake has begun and not ended.
    pub(crate) fn handshaking(&self) -> Option<&TlsSession> {
        self.tls.as_deref().filter(|_| self.phase == Phase::Handshaking)
    }

    /// Its TLS session, if there is one.
    pub(crate) fn tls(&self) -> Option<&TlsSession> {
        self.tls.as_deref()
    }

    /// Whether it is to be closed.
    pub(crate) const fn over(&self) -> bool {
        self.over
    }

    /// Whether it stands and can carry a further request.
    pub(crate) fn reusable(&self) -> bool {
        let quiet = self.lingering.is_none() && self.http.exchange.is_none();
        self.phase == Phase::Open && !self.over && quiet
    }

    /// Whether it only waits for the peer to close.
    pub(crate) const fn is_lingering(&self) -> bool {
        self.lingering.is_some() && !self.over
    }

    /// Another exchange; it is told in `out` at once when the connection is open.
    pub(crate) fn ask(&mut self, exchange: Exchange, now: Nanos, manner: &Manner<'_>, out: &mut Vec<u8>) {
        self.http.exchange = Some(exchange);
        if self.phase == Phase::Open {
            self.begin(now, manner, out);
        }
    }

    fn begin(&mut self, now: Nanos, manner: &Manner<'_>, out: &mut Vec<u8>) {
        self.begun += 1;
        match &mut self.tls {
            None => self.http.begin(now, &manner.render, out),
            Some(tls) => {
                let mark = out.len();
                self.http.begin(now, &manner.render, out);
                let mut plain = manner.plain.borrow_mut();
                plain.clear();
                plain.extend_from_slice(&out[mark..]);
                out.truncate(mark);
                // A session that has failed says so when it is read.
                let _ = tls.write(&plain, out);
            }
        }
    }

    /// The TCP connection stands, since that moment; how long that took.
    pub(crate) fn connected(&mut self, stood: Nanos) -> Nanos {
        let took = stood.since(self.since);
        self.since = stood;
        self.phase = if self.tls.is_some() { Phase::Handshaking } else { Phase::Open };
        if let Some(exchange) = self.http.exchange.as_mut().filter(|_| self.tls.is_none()) {
            exchange.sent = stood;
        }
        took
    }

    /// Bytes came. `out` gets what they call for, `done` the exchanges that they end; how long
    /// the TLS handshake took if they were its last.
    pub(crate) fn receive(
        &mut self,
        bytes: &[u8],
        arrival: &Arrival,
        manner: &Manner<'_>,
        out: &mut Vec<u8>,
        done: &mut Vec<Done>,
    ) -> Option<Nanos> {
        let before = done.len();
        let mut opened = None;
        let read = match self.tls.is_some() {
            false => self.http.receive(bytes, arrival, manner.check, done).map(|()| false),
            true => self.receive_tls(bytes, arrival, manner, out, done, &mut opened),
        };
        if let Err(class) = read {
            // Surplus behind a reply that was whole spoils that reply.
            if let Some(last) = done[before..].last_mut().filter(|_| class == ErrorClass::Surplus) {
                last.outcome = Outcome::Failed(class);
            }
            self.break_with(class, done);
        }
        let complete = done[before..].iter().filter(|done| matches!(done.outcome, Outcome::Complete(_)));
        let last = complete.last().map(|done| done.exchange.head.is_some_and(|head| head.keep_alive));
        if let Some(keep_alive) = last {
            self.after_reply(keep_alive, arrival.seen(), manner);
        }
        if read == Ok(true) {
            self.ended_by_tls(arrival, done);
        }
        opened
    }

    /// A reply was whole: whether the connection goes on.
    fn after_reply(&mut self, keep_alive: bool, now: Nanos, manner: &Manner<'_>) {
        self.served += 1;
        match manner.target.reuse {
            // The server said it would close: TIME_WAIT then stays on its side.
            Reuse::Never => self.lingering = Some(now + LINGER),
            Reuse::UpTo(most) if self.begun >= most.get() => self.over = true,
            _ if !keep_alive => self.over = true,
            _ => {}
        }
    }

    /// Says whether the peer has ended the session (close_notify).
    fn receive_tls(
        &mut self,
        raw: &[u8],
        arrival: &Arrival,
        manner: &Manner<'_>,
        out: &mut Vec<u8>,
        done: &mut Vec<Done>,
        opened: &mut Option<Nanos>,
    ) -> Result<bool, ErrorClass> {
        let Some(tls) = self.tls.as_mut() else { return Ok(false) };
        // Session tickets come at any time and are no part of a reply.
        let http = &mut self.http;
        let read = tls.receive(raw, &mut |plain| http.receive(plain, arrival, manner.check, done));
        tls.take_output(out); // of a failure too: the alert
        let progress = read?;
        if self.phase == Phase::Handshaking && progress.established {
            let now = manner.clock.now();
            *opened = Some(now.since(self.since));
            self.phase = Phase::Open;
            self.begin(now, manner, out);
        }
        Ok(progress.ended)
    }

    /// close_notify came.
    fn ended_by_tls(&mut self, arrival: &Arrival, done: &mut Vec<Done>) {
        if self.lingering.is_some() {
            return; // the peer is to close the connection itself
        }
        if self.http.exchange.is_some() {
            self.close_inside(ErrorClass::ClosedEarly, ErrorClass::Truncated, arrival, done);
        } else {
            self.over = true;
        }
    }

    /// The peer has ended its half.
    pub(crate) fn ended(&mut self, arrival: &Arrival, done: &mut Vec<Done>) {
        match self.phase {
            Phase::Connecting => self.break_with(ErrorClass::ConnectFailed, done),
            Phase::Handshaking => self.break_with(ErrorClass::TlsFailed, done),
            Phase::Open if self.http.exchange.is_none() => self.over = true,
            Phase::Open => self.close_inside(ErrorClass::ClosedEarly, ErrorClass::Truncated, arrival, done),
        }
    }

    /// Reading it failed.
    pub(crate) fn broken(&mut self, arrival: &Arrival, done: &mut Vec<Done>) {
        match self.phase {
            Phase::Open if self.http.exchange.is_none() => self.over = true,
            Phase::Open => self.close_inside(ErrorClass::Reset, ErrorClass::Reset, arrival, done),
            Phase::Connecting | Phase::Handshaking => self.break_with(ErrorClass::Reset, done),
        }
    }

    /// Writing to it failed.
    pub(crate) fn not_sent(&mut self, done: &mut Vec<Done>) {
        if self.may_be_stale() {
            return self.stale(done);
        }
        self.break_with(ErrorClass::SendFailed, done);
    }

    /// The peer has ended its half already, and nothing more is read before that is told.
    pub(crate) const fn will_end(&mut self) {
        self.over |= self.http.exchange.is_none();
    }

    fn close_inside(
        &mut self,
        before: ErrorClass,
        inside: ErrorClass,
        arrival: &Arrival,
        done: &mut Vec<Done>,
    ) {
        if self.http.untouched() {
            return if self.may_be_stale() { self.stale(done) } else { self.break_with(before, done) };
        }
        if self.http.ends_with_close() && inside == ErrorClass::Truncated {
            self.http.complete(arrival, done);
            self.served += 1;
            self.over = true;
            return;
        }
        self.break_with(inside, done);
    }

    fn may_be_stale(&self) -> bool {
        let once = self.http.exchange.as_ref().is_some_and(|exchange| !exchange.resent);
        once && self.served > 0 && self.http.untouched()
    }

    fn stale(&mut self, done: &mut Vec<Done>) {
        done.extend(self.http.exchange.take().map(|exchange| Done { exchange, outcome: Outcome::Again }));
        self.over = true;
    }

    /// Whatever is on it fails.
    pub(crate) fn break_with(&mut self, class: ErrorClass, done: &mut Vec<Done>) {
        let exchange = self.http.exchange.take();
        done.extend(exchange.map(|exchange| Done { exchange, outcome: Outcome::Failed(class) }));
        self.over = true;
    }

    /// Time limits; whether one has passed.
    pub(crate) fn sweep(&mut self, now: Nanos, done: &mut Vec<Done>) -> bool {
        if self.lingering.is_some_and(|until| now >= until) {
            self.over = true;
        }
        if self.http.exchange.as_ref().is_some_and(|exchange| now >= exchange.deadline) {
            let connecting = self.phase == Phase::Connecting;
            self.break_with(if connecting { ErrorClass::ConnectTimeout } else { ErrorClass::Timeout }, done);
        }
        self.over
    }

    /// Keeps a turn until the connection is closed.
    pub(crate) fn hold(&mut self, turn: Turn) {
        self.held = Some(turn);
    }

    /// The turn that was kept.
    pub(crate) const fn held(&self) -> Option<Turn> {
        self.held
    }
}

/// How long a connection that the server said it would close may stay open.
const LINGER: Nanos = Nanos::from_millis(200);
