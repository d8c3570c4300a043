//! Connection: its tunnel and TLS session if any, its protocol, and the exchanges that it carries.
//!
//! Measuring side, hot. Bytes in, bytes out, no socket: the owner of the driver moves them. The end of an exchange is
//! reported as a [`Done`]; that of the connection by [`Connection::over`].

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
use crate::listener::RequestListener;
use crate::tls::TlsSession;
use bakeoff_meter::ErrorClass;
use bakeoff_units::{Clock, MonotonicClock, Nanos};
use http::Http;
use outcome::Closing;
pub(crate) use outcome::{Arrival, Done, Outcome};
pub(crate) use render::Renderer;
use std::cell::RefCell;
use tunnel::{Said, Tunnel};

/// Longest time for which a connection may stay open that the server said it would close.
const LINGER: Nanos = Nanos::from_millis(200);

/// The state of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Connecting,
    /// A proxy was asked for a tunnel.
    Tunnelling,
    Handshaking,
    Open,
}

/// A step that a connection has completed, and how long that took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passed {
    /// Its tunnel stands; the time runs from when the connection was begun.
    Tunnel(Nanos),
    /// The TLS handshake.
    Handshake(Nanos),
}

/// Settings that all connections of a worker share.
pub(crate) struct Manner<'a> {
    pub(crate) target: &'a Target,
    pub(crate) render: Renderer,
    pub(crate) check: BodyCheck,
    pub(crate) clock: MonotonicClock,
    /// See [`crate::Engine::connect_timeout`].
    pub(crate) connect_timeout: Option<Nanos>,
    /// Buffer for bytes to be encrypted.
    pub(crate) plain: RefCell<Vec<u8>>,
}

/// See the module.
pub(crate) struct Connection {
    /// Its tunnel while that does not stand yet.
    tunnel: Option<Box<Tunnel>>,
    tls: Option<Box<TlsSession>>,
    phase: Phase,
    /// When connecting began, the TCP connection stood, or the last reply was whole.
    since: Nanos,
    http: Http,
    served: u64,
    begun: u64,
    /// Number of requests it may carry.
    most: u64,
    /// Writing to it failed; bytes that came before can still be read.
    unwritable: bool,
    over: bool,
    /// The moment by which the peer is to close it; every exchange is done.
    lingering: Option<Nanos>,
    /// The turn that goes on when it is closed.
    held: Option<Turn>,
}

impl Connection {
    /// A connection for this exchange and `most` in all; `out` gets the bytes to be sent first.
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

    /// The peer's violation of the protocol, in words.
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

    /// Adds an exchange; it is written to `out` at once when the connection is open.
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

    /// Sends waiting requests, as far as it may.
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

    /// The TCP connection stands, since that moment; returns how long that took, unless it has to get through a tunnel
    /// first. `out` gets the bytes that waited for it.
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

    /// Takes in bytes. `out` gets the answers to them, `done` the exchanges that they end; returns the step that the
    /// connection has completed if they were the last of that. For a listener heads of replies are kept (HTTP/1).
    pub(crate) fn receive<L: RequestListener>(
        &mut self,
        bytes: &[u8],
        arrival: &Arrival,
        manner: &Manner<'_>,
        listener: &mut L,
        out: &mut Vec<u8>,
        done: &mut Vec<Done>,
    ) -> Option<Passed> {
        if self.phase == Phase::Tunnelling {
            return self.receive_of_proxy(bytes, arrival, manner, out, done);
        }
        let before = done.len();
        let was_open = self.phase == Phase::Open;
        let read = match self.tls.is_some() {
            false => self.http.receive(bytes, arrival, manner.check, listener, done).map(|()| false),
            true => self.receive_tls(bytes, arrival, manner, listener, out, done),
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

    /// Takes in bytes of the proxy whose tunnel does not stand yet.
    #[cold]
    fn receive_of_proxy(
        &mut self,
        bytes: &[u8],
        arrival: &Arrival,
        manner: &Manner<'_>,
        out: &mut Vec<u8>,
        done: &mut Vec<Done>,
    ) -> Option<Passed> {
        let tunnel = self.tunnel.as_mut()?;
        match tunnel.hear(bytes) {
            Ok(Said::Part) => return None,
            Ok(Said::Yes) => return Some(Passed::Tunnel(self.got_through(arrival, manner, out, done))),
            Ok(Said::No(head)) => {
                self.http.keep_refusal(head, &tunnel.heard);
                self.break_with(ErrorClass::TunnelRefused, done);
            }
            Err(class) => self.break_with(class, done),
        }
        None
    }

    /// Notes that the tunnel stands; returns the time since the connection was begun.
    fn got_through(
        &mut self,
        arrival: &Arrival,
        manner: &Manner<'_>,
        out: &mut Vec<u8>,
        done: &mut Vec<Done>,
    ) -> Nanos {
        self.tunnel = None;
        let stood = arrival.after(self.since);
        let took = stood.since(self.since);
        self.since = stood;
        if let Some(tls) = &mut self.tls {
            self.phase = Phase::Handshaking;
            tls.take_output(out);
        } else {
            self.phase = Phase::Open;
            self.begin(manner.clock.now(), manner, out, done);
        }
        took
    }

    /// After whole replies: whether the connection has carried all that it should.
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

    /// Whether nothing is in flight and nothing more is to be sent on it. An HTTP/1.1 connection that says it closes is
    /// closed by the server.
    fn is_spent(&self, target: &Target) -> bool {
        let used_up = self.begun >= self.most && !target.closed_by_server();
        self.http.is_spent() || (used_up && self.http.is_idle())
    }

    /// Keeps a turn until the connection is closed.
    pub(crate) fn hold(&mut self, turn: Turn) {
        self.held = Some(turn);
    }

    /// The turn that is held.
    pub(crate) const fn held(&self) -> Option<Turn> {
        self.held
    }
}
