//! One connection: the tunnel that it goes through and TLS if any, what is spoken over it, and the exchanges
//! that it carries.
//!
//! Measuring side, hot. Bytes in, bytes out, no socket: whoever owns the driver moves them. What becomes of
//! an exchange is told as a [`Done`]; what becomes of the connection, by [`Connection::over`].

mod ends;
mod http;
mod http1;
mod http2;
mod limits;
mod outcome;
mod render;
mod secure;
mod tunnel;

use crate::exchange::Exchange;
use crate::flow::Turn;
use crate::job::{BodyCheck, Target};
use crate::tls::TlsSession;
use bakeoff_meter::ErrorClass;
use bakeoff_units::{Clock, MonotonicClock, Nanos};
use http::Http;
use limits::LINGER;
use outcome::Closing;
pub(crate) use outcome::{Arrival, Done, Outcome};
pub(crate) use render::Renderer;
use std::cell::RefCell;
use tunnel::Tunnel;

/// How far the connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Connecting,
    /// A proxy was asked for a tunnel.
    Tunnelling,
    Handshaking,
    Open,
}

/// What a connection has got through, and how long that took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passed {
    /// Its tunnel stands; the time runs from when the connection was begun.
    Tunnel(Nanos),
    /// The TLS handshake.
    Handshake(Nanos),
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
    /// What it goes through and does not stand yet.
    tunnel: Option<Box<Tunnel>>,
    tls: Option<Box<TlsSession>>,
    phase: Phase,
    /// When connecting began, the TCP connection stood, or the last reply was whole.
    since: Nanos,
    http: Http,
    served: u64,
    begun: u64,
    /// How many requests it may carry.
    most: u64,
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
            tunnel: manner.target.via.map(|_| Box::default()),
            tls: tls.map(Box::new),
            phase: Phase::Connecting,
            since: now,
            http: Http::new(manner.target.protocol, exchange),
            served: 0,
            begun: 0,
            most,
            unwritable: false,
            over: false,
            lingering: None,
            held: None,
        };
        match &mut connection.tls {
            _ if connection.tunnel.is_some() => out.extend_from_slice(manner.render.connect()),
            Some(tls) => tls.take_output(out),
            None => connection.begin(now, manner, out, done),
        }
        connection
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

    /// The TCP connection stands, since that moment; how long that took, unless it has to get through a tunnel
    /// first. `out` gets what waited for it.
    pub(crate) fn connected(
        &mut self,
        stood: Nanos,
        manner: &Manner<'_>,
        out: &mut Vec<u8>,
        done: &mut Vec<Done>,
    ) -> Option<Nanos> {
        if self.tunnel.is_some() {
            self.phase = Phase::Tunnelling;
            return None;
        }
        let took = stood.since(self.since);
        self.since = stood;
        self.phase = if self.tls.is_some() { Phase::Handshaking } else { Phase::Open };
        if self.tls.is_none() {
            self.http.stood(stood);
            if self.http.has_more_to_say(false) {
                self.begin(manner.clock.now(), manner, out, done);
            }
        }
        Some(took)
    }

    /// Bytes came. `out` gets what they call for, `done` the exchanges that they end; what the connection has
    /// got through if they were the last of that. `KEEP`: heads of replies are kept (HTTP/1).
    pub(crate) fn receive<const KEEP: bool>(
        &mut self,
        bytes: &[u8],
        arrival: &Arrival,
        manner: &Manner<'_>,
        out: &mut Vec<u8>,
        done: &mut Vec<Done>,
    ) -> Option<Passed> {
        if self.phase == Phase::Tunnelling {
            return self.receive_of_proxy(bytes, arrival, manner, out, done);
        }
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
        opened.then(|| Passed::Handshake(now.since(self.since)))
    }

    /// Replies were whole: whether the connection has carried all that it should.
    fn after_replies(&mut self, done: &[Done], now: Nanos, manner: &Manner<'_>) -> bool {
        let complete = done.iter().filter(|done| matches!(done.outcome, Outcome::Complete(_)));
        let Some(last) = complete.clone().next_back() else { return false };
        self.served += complete.count() as u64;
        self.since = now;
        let keep_alive = last.exchange.head.is_some_and(|head| head.keep_alive);
        if manner.target.closed_by_server() {
            self.lingering = Some(now + LINGER);
            return false;
        }
        !keep_alive
    }

    /// Whether nothing is in flight and nothing more is to be sent on it. HTTP/1.1 that says it closes is
    /// closed by the server.
    fn is_spent(&self, target: &Target) -> bool {
        let used_up = self.begun >= self.most && !target.closed_by_server();
        self.http.is_spent() || (used_up && self.http.is_idle())
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
