//! End of a connection: by the peer, in order or not, and by this side.
//!
//! Measuring side, hot. [`Closing`] decides the ends of its exchanges; the owner of the driver closes the socket, after
//! it asked [`Connection::over`].

use super::http::Http;
use super::outcome::{Arrival, Closing, Done};
use super::{Connection, Phase};
use bakeoff_meter::ErrorClass;

impl Connection {
    /// close_notify came.
    pub(super) fn ended_by_tls(&mut self, arrival: &Arrival, done: &mut Vec<Done>) {
        // With `lingering` the peer is to close the connection itself.
        if self.lingering.is_none() {
            self.close_inside(Closing::ENDED, arrival, done);
        }
    }

    /// The peer has ended its half.
    pub(crate) fn ended(&mut self, arrival: &Arrival, done: &mut Vec<Done>) {
        match self.phase {
            Phase::Connecting => self.break_with(ErrorClass::ConnectFailed, done),
            Phase::Tunnelling => self.break_with(ErrorClass::TunnelBroken, done),
            Phase::Handshaking => self.break_with(ErrorClass::TlsFailed, done),
            Phase::Open if self.unwritable => self.close_inside(Closing::RESET, arrival, done),
            Phase::Open => self.close_inside(Closing::ENDED, arrival, done),
        }
    }

    /// Reading it failed.
    pub(crate) fn broken(&mut self, arrival: &Arrival, done: &mut Vec<Done>) {
        match self.phase {
            Phase::Connecting | Phase::Tunnelling | Phase::Handshaking => {
                self.break_with(ErrorClass::Reset, done);
            }
            Phase::Open => self.close_inside(Closing::RESET, arrival, done),
        }
    }

    /// Writing to it failed. Over HTTP/2 that may have been an answer to a ping, and replies to earlier requests may
    /// lie there unread: the connection's end follows behind them.
    pub(crate) fn not_sent(&mut self, arrival: &Arrival, done: &mut Vec<Done>) {
        if matches!(self.http, Http::Two(_)) && self.phase == Phase::Open {
            self.unwritable = true;
        } else {
            self.close_inside(Closing::NOT_SENT, arrival, done);
        }
    }

    /// The peer has ended its half already, and nothing more is read before that is reported.
    pub(crate) fn will_end(&mut self) {
        self.over |= self.http.is_quiet();
    }

    pub(super) fn close_inside(&mut self, closing: Closing, arrival: &Arrival, done: &mut Vec<Done>) {
        self.http.end(closing, self.served, arrival, done);
        self.over = true;
    }

    /// Fails all exchanges on it.
    pub(crate) fn break_with(&mut self, class: ErrorClass, done: &mut Vec<Done>) {
        self.http.fail(class, done);
        self.over = true;
    }
}
