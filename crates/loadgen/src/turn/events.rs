//! Events: bytes, connections that stand, connections that end, time limits.
//!
//! Measuring side, hot.

use super::{Run, SWEEP};
use crate::connection::{Arrival, Connection, Done, Outcome, Passed};
use crate::listener::RequestListener;
use crate::profile::Stage;
use bakeoff_meter::ErrorClass;
use bakeoff_sys::driver::{ConnectionEvent, Slot};
use bakeoff_units::{Clock, Nanos};
use bakeoff_workload::Source;
use std::io::{self, ErrorKind};

/// Connections whose time limits are looked at in one go.
const SWEEP_AT_MOST: usize = 2048;
/// A time limit is noticed after this share of itself at most, or with the next sweep.
const LATE_BY: f64 = 1.0 / 64.0;

impl<S: Source + RequestListener> Run<'_, '_, S> {
    /// Takes in all events.
    pub(super) fn take_in(&mut self) {
        loop {
            let Some((slot, event)) = self.worker.driver.next() else { return };
            let Some(Some(connection)) = self.worker.connections.get_mut(slot as usize) else { continue };
            self.profiler.lap(Stage::Receiving);
            let memory = &mut self.worker.memory;
            let mut passed = None;
            match event {
                ConnectionEvent::Data(data) => {
                    let arrival = Arrival::new(&self.manner.clock, data.arrived);
                    self.seen = arrival.seen();
                    let (out, done) = (&mut memory.out, &mut memory.done);
                    passed =
                        connection.receive(data.bytes, &arrival, &self.manner, &mut self.source, out, done);
                    if data.ended {
                        connection.will_end();
                    }
                }
                ConnectionEvent::Connected(stood) => self.connected(slot, stood),
                ConnectionEvent::NotConnected(error) => {
                    connection.break_with(connect_class(&error), &mut memory.done)
                }
                ConnectionEvent::Ended => {
                    connection.ended(&Arrival::new(&self.manner.clock, None), &mut memory.done)
                }
                ConnectionEvent::Broken(_) => {
                    connection.broken(&Arrival::new(&self.manner.clock, None), &mut memory.done)
                }
                ConnectionEvent::NotSent(_) => {
                    connection.not_sent(&Arrival::new(&self.manner.clock, None), &mut memory.done);
                }
                // A generator does not listen, and nothing here waits until a request is all with the kernel.
                ConnectionEvent::Sent | ConnectionEvent::Accepted(_) | ConnectionEvent::NotAccepted(_) => {
                    continue;
                }
            }
            self.profiler.lap(Stage::Parsing);
            if let Some(passed) = passed {
                self.note_passed(slot, passed);
            }
            self.settle(slot);
            self.start_due(Nanos::ZERO);
        }
    }

    fn note_passed(&mut self, slot: Slot, passed: Passed) {
        match passed {
            Passed::Tunnel(took) => self.recorder.times.connect.record(took),
            Passed::Handshake(took) => {
                self.recorder.times.handshake.record(took);
                self.note_handshake(slot);
            }
        }
    }

    fn note_handshake(&mut self, slot: Slot) {
        let Some(session) = self.worker.connections[slot as usize].as_ref().and_then(Connection::tls) else {
            return;
        };
        self.handshakes.record(session);
        if self.tls.is_none() {
            self.tls = session.description();
        }
    }

    /// Hands a connection's output to the driver.
    pub(super) fn hand_over(&mut self, slot: Slot) {
        let memory = &mut self.worker.memory;
        if memory.out.is_empty() {
            return;
        }
        self.profiler.lap(Stage::Asking);
        let sent = self.worker.driver.send(slot, &memory.out);
        self.profiler.lap(Stage::Sending);
        memory.out.clear();
        if let (Err(_), Some(connection)) = (sent, &mut self.worker.connections[slot as usize]) {
            connection.not_sent(&Arrival::new(&self.manner.clock, None), &mut memory.done);
        }
    }

    /// Acts on an event: sends, accounts, closes, asks again.
    pub(super) fn settle(&mut self, slot: Slot) {
        self.hand_over(slot);
        let mut done = std::mem::take(&mut self.worker.memory.done);
        for Done { exchange, outcome } in done.drain(..) {
            match outcome {
                Outcome::Complete(at) => self.complete(slot, exchange, at),
                Outcome::Failed(class) => {
                    self.note_violation(slot, class);
                    self.fail(exchange, class);
                }
                Outcome::Again => self.again.push(exchange.anew()),
                Outcome::Elsewhere => self.again.push(exchange),
            }
        }
        self.worker.memory.done = done;
        if self.worker.connections[slot as usize].as_ref().is_some_and(|connection| connection.over()) {
            self.close(slot);
        }
        while let Some(exchange) = self.again.pop() {
            let now = self.worker.clock.now();
            self.dispatch(exchange, now);
        }
    }

    /// A server's violation is reported with the job in which it was counted.
    fn note_violation(&mut self, slot: Slot, class: ErrorClass) {
        let broken = matches!(class, ErrorClass::Protocol | ErrorClass::Malformed | ErrorClass::NoHttp2);
        if broken && self.violation.is_none() {
            let connection = self.worker.connections[slot as usize].as_ref();
            self.violation = connection.and_then(Connection::violation).map(str::to_owned);
        }
    }

    pub(super) fn connected(&mut self, slot: Slot, stood: Nanos) {
        let Some(connection) = &mut self.worker.connections[slot as usize] else { return };
        let memory = &mut self.worker.memory;
        let took = connection.connected(stood, &self.manner, &mut memory.out, &mut memory.done);
        self.recorder.counters.connections += 1;
        if let Some(took) = took {
            self.recorder.times.connect.record(took);
        }
        self.failed_connects[slot as usize] = 0;
    }

    /// Closes a connection, and lets the turn that waited for that go on.
    fn close(&mut self, slot: Slot) {
        self.profiler.lap(Stage::Asking);
        self.worker.driver.close(slot);
        self.profiler.lap(Stage::Sending);
        let Some(connection) = self.worker.connections[slot as usize].take() else { return };
        if connection.is_connecting() {
            let failed = &mut self.failed_connects[slot as usize];
            *failed = failed.saturating_add(1);
        }
        if let Some(session) = connection.handshaking() {
            self.handshakes.record(session);
        }
        if let Some(turn) = connection.held() {
            self.lingering -= 1;
            let now = self.worker.clock.now();
            self.served(turn, now);
        }
        if let Some(pools) = &mut self.pools {
            pools.closed(slot);
        }
    }

    /// Time limits of some connections: with very many of them all at once would hold up what is due.
    pub(super) fn sweep(&mut self, now: Nanos) {
        let slots = self.worker.connections.len();
        for _ in 0..self.sweep_share(slots).min(SWEEP_AT_MOST) {
            self.swept = if self.swept + 1 < slots { self.swept + 1 } else { 0 };
            let slot = self.swept;
            let Some(connection) = &mut self.worker.connections[slot] else { continue };
            let memory = &mut self.worker.memory;
            if connection.sweep(now, &self.manner, &mut memory.out, &mut memory.done) {
                self.settle(slot as Slot);
            }
        }
    }

    fn sweep_share(&self, slots: usize) -> usize {
        if self.lingering > 0 {
            return slots;
        }
        let others = [self.manner.connect_timeout, self.manner.target.idle_timeout];
        share_of(slots, others.into_iter().flatten().fold(self.terms.timeout, Nanos::min))
    }
}

/// Connections to look at each sweep, so that each has its turn as often as the shortest of the limits asks for.
fn share_of(slots: usize, limit: Nanos) -> usize {
    let every = limit.times(LATE_BY).max(SWEEP);
    (slots as f64 * SWEEP.get() as f64 / every.get() as f64).ceil() as usize
}

pub(super) fn connect_class(error: &io::Error) -> ErrorClass {
    match error.kind() {
        ErrorKind::ConnectionRefused => ErrorClass::ConnectRefused,
        ErrorKind::TimedOut => ErrorClass::ConnectTimeout,
        _ => ErrorClass::ConnectFailed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_limits_are_looked_at_seldom_and_short_ones_each_time() {
        assert_eq!(share_of(4000, Nanos::from_millis(500)), 4000);
        let share = share_of(4000, Nanos::from_secs(60));
        assert!((80..100).contains(&share), "{share}"); // 47 sweeps for all
        assert_eq!(share_of(1, Nanos::from_secs(60)), 1);
        assert_eq!(share_of(0, Nanos::from_secs(60)), 0);
    }
}
