//! Sending: the choice of the next request and its connection, which is opened if need be.
//!
//! Measuring side, hot.

use super::Run;
use super::events::connect_class;
use crate::connection::Connection;
use crate::exchange::Exchange;
use crate::flow::{Due, RobotPools, Turn};
use crate::job::{Protocol, Reuse};
use crate::listener::RequestListener;
use crate::profile::Stage;
use crate::tls::{TlsClient, error_class};
use bakeoff_sys::driver::{Connecting, ConnectionOptions, Slot};
use bakeoff_sys::net::Local;
use bakeoff_units::{Clock, Nanos};
use bakeoff_workload::Source;
use std::net::IpAddr;

impl<S: Source + RequestListener> Run<'_, '_, S> {
    pub(super) fn start_due(&mut self, now: Nanos) {
        if self.pools.is_some() {
            return self.start_pooled(now);
        }
        while !self.stopped {
            let Some(due) = self.flow.next(now) else { return };
            let asked = self.ask(due);
            if self.flow.is_open() {
                self.schedule_next(asked);
            }
        }
    }

    /// The same where robots have connections of their own: first those that have waited for one.
    fn start_pooled(&mut self, now: Nanos) {
        loop {
            if let Some((seat, mut exchange)) = self.pools.as_mut().and_then(RobotPools::next_ready) {
                let now = self.worker.clock.now();
                if let Some(headers) = self.source.sending(exchange.ticket, now.since(self.terms.start)) {
                    exchange.words.set_headers(headers);
                }
                exchange.turn.seat = seat;
                exchange.deadline = now + self.terms.timeout;
                self.send(exchange, true, now);
            } else if self.stopped {
                return;
            } else {
                let Some(due) = self.flow.take_due(now) else { return };
                let asked = self.ask_pooled(due);
                self.schedule_next(asked);
            }
        }
    }

    /// Open loop: looks when the next request is due. A source that had none has no more, even if it still names a
    /// time: to believe that would be to ask it again and again.
    fn schedule_next(&mut self, had_one: bool) {
        let upcoming = if had_one { self.source.upcoming(0) } else { None };
        self.flow.schedule(upcoming);
    }

    /// Takes the next request of a robot and sends it; returns whether there was one.
    fn ask(&mut self, due: Due) -> bool {
        let Some(ask) = self.source.next(due.turn.robot as usize) else {
            self.flow.leave(due.turn, self.worker.clock.now());
            return false;
        };
        let words = self.worker.memory.words.pop().unwrap_or_default();
        let mut turn = due.turn;
        if S::LISTENS && self.flow.is_open() {
            turn.robot = ask.robot;
        }
        // Read for each request: one that was held up by others is sent later than the loop woke.
        let now = self.worker.clock.now();
        let exchange = Exchange::new(&ask, words, turn, due.due, now + self.terms.timeout);
        self.send(exchange, due.postponed, now);
        true
    }

    /// Takes the next request, and sends it if its robot has a connection for it; returns whether there was one.
    fn ask_pooled(&mut self, due: Nanos) -> bool {
        let (Some(pools), Some(ask)) = (&mut self.pools, self.source.next(0)) else { return false };
        let words = self.worker.memory.words.pop().unwrap_or_default();
        let robot = ask.robot;
        let now = self.worker.clock.now();
        let turn = Turn { seat: 0, robot };
        let mut exchange = Exchange::new(&ask, words, turn, due, now + self.terms.timeout);
        let Some(seat) = pools.claim(robot) else {
            pools.wait(robot, exchange);
            return true;
        };
        exchange.turn.seat = seat;
        if seat as usize >= self.worker.connections.len() {
            self.worker.connections.push(None);
            self.failed_connects.push(0);
        }
        self.send(exchange, false, now);
        true
    }

    fn send(&mut self, exchange: Exchange, postponed: bool, now: Nanos) {
        self.in_flight += 1;
        if postponed {
            // Held up by busy connections, not by this thread: counted apart from lateness.
            self.recorder.counters.postponed += 1;
        } else {
            let late = now.since(exchange.due);
            self.recorder.times.lateness.record(late);
            if let Some(delays) = &mut self.delays {
                delays.note(late);
            }
        }
        self.dispatch(exchange, now);
    }

    /// Sends it on its connection, or opens one first.
    pub(super) fn dispatch(&mut self, exchange: Exchange, now: Nanos) {
        let slot = exchange.turn.seat / self.manner.target.protocol.streams() as u32;
        let memory = &mut self.worker.memory;
        match &mut self.worker.connections[slot as usize] {
            Some(connection) => {
                connection.ask(exchange, now, &self.manner, &mut memory.out, &mut memory.done);
                self.hand_over(slot);
                if !self.worker.memory.done.is_empty() {
                    self.settle(slot);
                }
            }
            None => self.connect(slot, exchange, now),
        }
    }

    fn connect(&mut self, slot: Slot, exchange: Exchange, now: Nanos) {
        let memory = &mut self.worker.memory;
        memory.out.clear();
        let tls = match self.worker.tls.as_mut().map(TlsClient::session).transpose() {
            Ok(session) => session,
            Err(error) => return self.fail(exchange, error_class(&error)),
        };
        let (from, wish) = (self.local_address(slot, exchange.turn.robot), self.wish());
        let most = self.manner.target.reuse.most(self.nth());
        let memory = &mut self.worker.memory;
        let connection =
            Connection::new(exchange, most, tls, now, &self.manner, &mut memory.out, &mut memory.done);
        self.worker.opened += 1;
        let memory = &mut self.worker.memory;
        self.profiler.lap(Stage::Asking);
        let (to, driver, first) = (self.manner.target.next_hop(), &mut self.worker.driver, &memory.out);
        let begun = self
            .worker
            .ports
            .begin(from, |from| driver.connect(slot, to, ConnectionOptions { from, ..wish }, first));
        self.profiler.lap(Stage::Sending);
        memory.out.clear();
        let connection = self.worker.connections[slot as usize].insert(connection);
        match begun {
            Ok(Connecting::Begun) => {}
            Ok(Connecting::Done(stood)) => self.connected(slot, stood),
            Err(error) => connection.break_with(connect_class(&error), &mut memory.done),
        }
        if !self.worker.memory.done.is_empty() {
            self.settle(slot);
        }
    }

    /// The number of the next connection, counted over all threads as if they opened them in turn.
    fn nth(&self) -> u64 {
        let (worker, workers) = self.worker.place;
        self.worker.opened * workers as u64 + worker as u64
    }

    fn local_address(&self, slot: Slot, robot: u32) -> Option<IpAddr> {
        let target = self.manner.target;
        let (worker, workers) = self.worker.place;
        let owner = |number: u32| u64::from(number) * workers as u64 + worker as u64;
        let place = match &self.pools {
            Some(_) => owner(robot),
            None if target.reuse == Reuse::Never => self.nth(),
            None => owner(slot),
        };
        target.from.nth(place)
    }

    /// The connection's options except its local end.
    fn wish(&self) -> ConnectionOptions {
        let target = self.manner.target;
        let single = target.reuse == Reuse::Never;
        ConnectionOptions {
            from: Local::default(),
            // One small request and nothing behind it: there is nothing to hold back.
            no_delay: !single
                || target.tls.is_some()
                || target.via.is_some()
                || target.protocol != Protocol::Http1,
            stamped: self.terms.batched,
        }
    }
}
