//! One connection: TLS if any, what is spoken over it, and the exchanges that it carries.
//!
//! Measuring side, hot. Bytes in, bytes out, no socket: whoever owns the driver moves them. What becomes of
//! an exchange is told as a [`Done`]; what becomes of the connection, by [`Connection::over`].

mod http;
mod http1;
mod http2;
mod outcome;
mod render;

use crate::exchange::Exchange;
use crate::flow::Turn;
use crate::job::{BodyCheck, Protocol, Reuse, Target};
use crate::tls::TlsSession;
use bakeoff_meter::ErrorClass;
use bakeoff_units::{Clock, MonotonicClock, Nanos};
use http::Http;
use outcome::Closing;
pub(crate) use outcome::{Arrival, Done, Outcome};
pub(crate) use render::Renderer;
use std::cell::RefCell;

/// How far the connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Connecting,
    Handshaking,
    Open,
}

/// What all connections of a lane are told.
pub(crate) struct Manner<'a> {
    pub(crate) target: &'a Target,
    pub(crate) render: Renderer,
    pub(crate) check: BodyCheck,
    pub(crate) clock: MonotonicClock,
    /// See [`crate::Engine::connect_timeout`].
    pub(crate) connect_timeout: Option<Nanos>,
    /// Room for what is to be encrypted.
    pub(crate) plain: RefCell<Vec<u8>>,
}

/// See the module.
pub(crate) struct Connection {
    tls: Option<Box<TlsSession>>,
    phase: Phase,
    since: Nanos,
    http: Http,
    served: u64,
    begun: u64,
    /// How many requests it may carry.
    most: u64,
    /// When it last carried something to its end.
    used: Nanos,
    /// Writing to it failed; what came before that can still be read.
    unwritable: bool,
    over: bool,
    /// Every exchange is done, and the peer is to close by then.
    lingering: Option<Nanos>,
    /// Whose turn comes when it is closed.
    held: Option<Turn>,
}

impl Connection {
    /// A connection for this exchange and `most` in all; `out` gets what is to be sent first.
    pub(crate) fn new(
        exchange: Exchange,
        most: u64,
        tls: Option<TlsSession>,
        now: Nanos,
        manner: &Manner<'_>,
        out: &mut Vec<u8>,
        done: &mut Vec<Done>,
    ) -> Self {
        let mut connection = Self {
            tls: tls.map(Box::new),
            phase: Phase::Connecting,
            since: now,
            http: Http::new(manner.target.protocol, exchange),
            served: 0,
            begun: 0,
            most,
            used: now,
            unwritable: false,
            over: false,
            lingering: None,
            held: None,
        };
        match &mut connection.tls {
            Some(tls) => tls.take_output(out),
            None => connection.begin(now, manner, out, done),
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

    /// What the peer did that the protocol forbids, in words.
    pub(crate) fn violation(&self) -> Option<&str> {
        self.http.violation()
    }

    /// Whether it does not stand yet.
    pub(crate) fn is_connecting(&self) -> bool {
        self.phase == Phase::Connecting
    }

    /// Whether it is to be closed.
    pub(crate) const fn over(&self) -> bool {
        self.over
    }

    /// Whether it stands and can carry a further request.
    pub(crate) fn reusable(&self) -> bool {
        let usable = self.phase == Phase::Open && !self.over && !self.unwritable;
        usable && self.lingering.is_none() && self.http.is_quiet()
    }

    /// Whether it has carried more than one request.
    pub(crate) const fn is_reused(&self) -> bool {
        self.begun > 1
    }

    /// Whether it stands and has carried nothing for longer than it may.
    pub(crate) fn is_idle_too_long(&self, now: Nanos, target: &Target) -> bool {
        target.idle_timeout.is_some_and(|limit| self.reusable() && now >= self.used + limit)
    }

    /// Whether it only waits for the peer to close.
    pub(crate) const fn is_lingering(&self) -> bool {
        self.lingering.is_some() && !self.over
    }

    /// Another exchange; it is told in `out` at once when the connection is open.
    pub(crate) fn ask(
        &mut self,
        exchange: Exchange,
        now: Nanos,
        manner: &Manner<'_>,
        out: &mut Vec<u8>,
        done: &mut Vec<Done>,
    ) {
        self.http.push(exchange);
        if self.phase == Phase::Open {
            self.begin(now, manner, out, done);
        }
    }

    /// Sends what waits, as far as it may.
    fn begin(&mut self, now: Nanos, manner: &Manner<'_>, out: &mut Vec<u8>, done: &mut Vec<Done>) {
        let left = self.most.saturating_sub(self.begun);
        let Some(tls) = &mut self.tls else {
            self.begun += self.http.begin(now, &manner.render, left, out, done);
            return;
        };
        let mut plain = manner.plain.borrow_mut();
        plain.clear();
        self.begun += self.http.begin(now, &manner.render, left, &mut plain, done);
        if !plain.is_empty() {
            // A session that has failed says so when it is read.
            let _ = tls.write(&plain, out);
        }
    }

    /// The TCP connection stands, since that moment; how long that took. `out` gets what waited for it.
    pub(crate) fn connected(
        &mut self,
        stood: Nanos,
        manner: &Manner<'_>,
        out: &mut Vec<u8>,
        done: &mut Vec<Done>,
    ) -> Nanos {
        let took = stood.since(self.since);
        self.since = stood;
        self.phase = if self.tls.is_some() { Phase::Handshaking } else { Phase::Open };
        if self.tls.is_none() {
            self.http.stood(stood);
            if self.http.has_more_to_say(false) {
                self.begin(manner.clock.now(), manner, out, done);
            }
        }
        took
    }

    /// Bytes came. `out` gets what they call for, `done` the exchanges that they end; how long
    /// the TLS handshake took if they were its last. `KEEP`: heads of replies are kept (HTTP/1).
    pub(crate) fn receive<const KEEP: bool>(
        &mut self,
        bytes: &[u8],
        arrival: &Arrival,
        manner: &Manner<'_>,
        out: &mut Vec<u8>,
        done: &mut Vec<Done>,
    ) -> Option<Nanos> {
        let before = done.len();
        let was_open = self.phase == Phase::Open;
        let read = match self.tls.is_some() {
            false => self.http.receive::<KEEP>(bytes, arrival, manner.check, done).map(|()| false),
            true => self.receive_tls::<KEEP>(bytes, arrival, manner, out, done),
        };
        if let Err(class) = read {
            // Surplus behind a reply that was whole spoils that reply.
            if let Some(last) = done[before..].last_mut().filter(|_| class == ErrorClass::Surplus) {
                last.outcome = Outcome::Failed(class);
            }
            self.break_with(class, done);
            if matches!(self.http, Http::Two(_)) && was_open {
                self.begin(arrival.seen(), manner, out, done); // nothing is left to send but why it ends
            }
        }
        let spent =
            self.after_replies(&done[before..], arrival.seen(), manner) || self.is_spent(manner.target);
        if read == Ok(true) {
            self.ended_by_tls(arrival, done);
        }
        let opened = self.phase == Phase::Open && !was_open;
        let now = if opened { manner.clock.now() } else { arrival.seen() };
        if self.phase == Phase::Open && !self.over && !spent && self.http.has_more_to_say(opened) {
            self.begin(now, manner, out, done);
        }
        if spent {
            self.close_inside(Closing::ENDED, arrival, done);
        }
        opened.then(|| now.since(self.since))
    }

    /// Replies were whole: whether the connection has carried all that it should.
    fn after_replies(&mut self, done: &[Done], now: Nanos, manner: &Manner<'_>) -> bool {
        let complete = done.iter().filter(|done| matches!(done.outcome, Outcome::Complete(_)));
        let Some(last) = complete.clone().next_back() else { return false };
        self.served += complete.count() as u64;
        self.used = now;
        let keep_alive = last.exchange.head.is_some_and(|head| head.keep_alive);
        match manner.target.reuse {
            // The server said it would close: TIME_WAIT then stays on its side.
            Reuse::Never if manner.target.protocol == Protocol::Http1 => {
                self.lingering = Some(now + LINGER);
                false
            }
            _ => !keep_alive,
        }
    }

    /// Whether nothing is in flight and nothing more is to be sent on it. HTTP/1.1 that says it closes is
    /// closed by the server.
    fn is_spent(&self, target: &Target) -> bool {
        let closed_by_peer = target.reuse == Reuse::Never && target.protocol == Protocol::Http1;
        self.http.is_spent() || (self.begun >= self.most && !closed_by_peer && self.http.is_idle())
    }

    /// Says whether the peer has ended the session (close_notify).
    fn receive_tls<const KEEP: bool>(
        &mut self,
        raw: &[u8],
        arrival: &Arrival,
        manner: &Manner<'_>,
        out: &mut Vec<u8>,
        done: &mut Vec<Done>,
    ) -> Result<bool, ErrorClass> {
        let Some(tls) = self.tls.as_mut() else { return Ok(false) };
        // Session tickets come at any time and are no part of a reply.
        let http = &mut self.http;
        let read = tls.receive(raw, &mut |plain| http.receive::<KEEP>(plain, arrival, manner.check, done));
        tls.take_output(out); // of a failure too: the alert
        let wants_h2 = matches!(manner.target.protocol, Protocol::Http2 { .. });
        if self.phase == Phase::Handshaking && wants_h2 && refuses_h2(tls) {
            return Err(ErrorClass::NoHttp2);
        }
        let progress = read?;
        if self.phase == Phase::Handshaking && progress.established {
            self.phase = Phase::Open;
        }
        Ok(progress.ended)
    }

    /// close_notify came.
    fn ended_by_tls(&mut self, arrival: &Arrival, done: &mut Vec<Done>) {
        // With `lingering` the peer is to close the connection itself.
        if self.lingering.is_none() {
            self.close_inside(Closing::ENDED, arrival, done);
        }
    }

    /// The peer has ended its half.
    pub(crate) fn ended(&mut self, arrival: &Arrival, done: &mut Vec<Done>) {
        match self.phase {
            Phase::Connecting => self.break_with(ErrorClass::ConnectFailed, done),
            Phase::Handshaking => self.break_with(ErrorClass::TlsFailed, done),
            Phase::Open if self.unwritable => self.close_inside(Closing::RESET, arrival, done),
            Phase::Open => self.close_inside(Closing::ENDED, arrival, done),
        }
    }

    /// Reading it failed.
    pub(crate) fn broken(&mut self, arrival: &Arrival, done: &mut Vec<Done>) {
        match self.phase {
            Phase::Connecting | Phase::Handshaking => self.break_with(ErrorClass::Reset, done),
            Phase::Open => self.close_inside(Closing::RESET, arrival, done),
        }
    }

    /// Writing to it failed. Over HTTP/2 that may have been an answer to a ping, and replies to requests
    /// that were sent long ago may lie there unread: the connection's end follows behind them.
    pub(crate) fn not_sent(&mut self, arrival: &Arrival, done: &mut Vec<Done>) {
        if matches!(self.http, Http::Two(_)) && self.phase == Phase::Open {
            self.unwritable = true;
        } else {
            self.close_inside(Closing::NOT_SENT, arrival, done);
        }
    }

    /// The peer has ended its half already, and nothing more is read before that is told.
    pub(crate) fn will_end(&mut self) {
        self.over |= self.http.is_quiet();
    }

    fn close_inside(&mut self, closing: Closing, arrival: &Arrival, done: &mut Vec<Done>) {
        self.http.end(closing, self.served, arrival, done);
        self.over = true;
    }

    /// Whatever is on it fails.
    pub(crate) fn break_with(&mut self, class: ErrorClass, done: &mut Vec<Done>) {
        self.http.fail(class, done);
        self.over = true;
    }

    /// Time limits; whether one has passed.
    pub(crate) fn sweep(
        &mut self,
        now: Nanos,
        manner: &Manner<'_>,
        out: &mut Vec<u8>,
        done: &mut Vec<Done>,
    ) -> bool {
        if self.lingering.is_some_and(|until| now >= until) || self.is_idle_too_long(now, manner.target) {
            self.over = true;
        }
        let opened = self.phase == Phase::Open;
        let limit = manner.connect_timeout.filter(|_| self.phase == Phase::Connecting);
        let late = limit.is_some_and(|limit| now >= self.since + limit);
        match &mut self.http {
            Http::Two(http) if opened => {
                http.give_up_overdue(now, done);
                if done.is_empty() {
                    return self.over;
                }
                self.begin(now, manner, out, done);
                if self.is_spent(manner.target) {
                    self.close_inside(Closing::ENDED, &Arrival::new(&manner.clock, None), done);
                }
                return true;
            }
            http if http.is_overdue(now) || late => {
                let connecting = self.phase == Phase::Connecting;
                self.break_with(
                    if connecting { ErrorClass::ConnectTimeout } else { ErrorClass::Timeout },
                    done,
                );
            }
            _ => {}
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

/// Whether the server has chosen another protocol, or none, or wants none that was offered.
fn refuses_h2(tls: &TlsSession) -> bool {
    let alert = rustls::Error::AlertReceived(rustls::AlertDescription::NoApplicationProtocol);
    tls.failure() == Some(&alert) || (!tls.is_handshaking() && tls.alpn() != Some(b"h2"))
}

/// How long a connection that the server said it would close may stay open.
const LINGER: Nanos = Nanos::from_millis(200);
