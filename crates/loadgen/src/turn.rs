//! The one loop: what is due is sent, what has happened is taken in, and so on until the job is over.
//!
//! Measuring side, hot. The loop neither knows which workload it runs, nor how requests are paced, nor what
//! is spoken, nor how the kernel is asked: those are the source, the [`Flow`], the [`Connection`] and the
//! driver.

use crate::batching::{Batching, FEWEST_IN_FLIGHT};
use crate::connection::{Arrival, Connection, Done, Manner, Outcome};
use crate::exchange::Exchange;
use crate::flow::{Due, Flow};
use crate::job::{Protocol, Reuse};
use crate::lane::{Lane, LaneJob, LaneReport};
use crate::sampler::Sampler;
use crate::tls::{HandshakeLedger, TlsClient, error_class};
use bakeoff_meter::{ErrorClass, Recorder};
use bakeoff_sys::driver::{Connecting, Event, Slot, SystemCalls, Wait, Wish};
use bakeoff_units::{Clock, Nanos};
use bakeoff_workload::{Source, Statuses};
use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicBool, Ordering};

/// A lane that had so many failures one after the other and not one good reply ends the run: the
/// server answers nothing, and asking on would only take time.
pub const GIVE_UP_AFTER: u32 = 200;

/// How often time limits are looked at.
const SWEEP: Nanos = Nanos::from_millis(20);
/// Pause of a robot after a failed connection attempt, doubled up to 64 times.
const BACK_OFF: Nanos = Nanos::from_millis(1);

/// A job being run.
pub(crate) struct Run<'l, 'j, S> {
    lane: &'l mut Lane,
    manner: Manner<'j>,
    source: S,
    terms: Terms<'j>,
    flow: Flow,
    recorder: Recorder,
    batching: Batching,
    in_flight: usize,
    /// Connections that wait for the server to close them.
    lingering: usize,
    /// Attempts to connect that failed in a row, by slot.
    failed_connects: Vec<u8>,
    failures_in_a_row: u32,
    /// Requests that go over another connection.
    again: Vec<Exchange>,
    /// When the loop last looked at something that came.
    seen: Nanos,
    stopped: bool,
    gave_up: bool,
    last_reply: Nanos,
    tls: Option<String>,
    handshakes: HandshakeLedger,
    violation: Option<String>,
    sampler: Option<Sampler>,
}

/// What the job says, apart from its source and its flow.
struct Terms<'j> {
    end: Option<Nanos>,
    timeout: Nanos,
    refused: Statuses,
    interrupted: &'j AtomicBool,
    /// Replies may gather, and are stamped.
    batched: bool,
}

impl<'l, 'j, S: Source> Run<'l, 'j, S> {
    pub(crate) fn new(lane: &'l mut Lane, manner: Manner<'j>, job: LaneJob<'j, S>) -> Self {
        let seats = job.plan.seats();
        let terms = Terms {
            end: job.until.map(|until| job.start + until),
            timeout: job.timeout,
            refused: job.refused,
            interrupted: job.interrupted,
            // A connection a request leaves nothing to gather: setting it up is what costs.
            batched: manner.target.reuse != Reuse::Never && seats >= FEWEST_IN_FLIGHT,
        };
        let streams = manner.target.protocol.streams();
        // Open connections first, so that a slice does not begin with set-ups.
        let is_open = |seat: u32| lane.connections[seat as usize / streams].is_some();
        let flow = Flow::new(job.plan, job.start, is_open);
        Self {
            failed_connects: vec![0; lane.connections.len()],
            lane,
            manner,
            source: job.source,
            terms,
            flow,
            recorder: Recorder::new(),
            batching: Batching::default(),
            in_flight: 0,
            lingering: 0,
            failures_in_a_row: 0,
            again: Vec::new(),
            seen: job.start,
            stopped: false,
            gave_up: false,
            last_reply: Nanos::ZERO,
            tls: None,
            handshakes: HandshakeLedger::default(),
            violation: None,
            sampler: job.sample_every.map(|every| Sampler::new(job.start, every, job.until)),
        }
    }

    pub(crate) fn run_to_end(mut self) -> io::Result<LaneReport> {
        self.flow.schedule(self.source.upcoming(0));
        let mut sweep_at = self.lane.clock.now() + SWEEP;
        loop {
            let now = self.lane.clock.now();
            if let Some(sampler) = &mut self.sampler {
                sampler.note(now, self.in_flight);
            }
            self.stop_if_told(now);
            self.start_due(now);
            if self.in_flight == 0 && self.nothing_to_come() {
                return Ok(self.report());
            }
            if now >= sweep_at {
                self.sweep(now);
                sweep_at = now + SWEEP;
            }
            let wait = self.patience(sweep_at);
            self.lane.driver.wait(wait)?;
            self.take_in();
        }
    }

    fn report(self) -> LaneReport {
        LaneReport {
            recorder: self.recorder,
            last_reply: self.last_reply,
            gave_up: self.gave_up,
            tls: self.tls,
            handshakes: self.handshakes,
            violation: self.violation,
            in_flight: self.sampler.map_or_else(Vec::new, Sampler::finish),
            calls: SystemCalls::default(),
        }
    }

    fn patience(&self, sweep_at: Nanos) -> Wait {
        let now = self.lane.clock.now();
        let next = self.flow.next_wake().filter(|_| !self.stopped);
        let due = next.map(|next| next.since(now));
        let batch = if self.terms.batched { self.batching.plan(self.in_flight, due) } else { None };
        let until = sweep_at.since(now);
        Wait { at_most: Some(due.map_or(until, |due| due.min(until))), batch }
    }

    fn nothing_to_come(&self) -> bool {
        self.stopped || (self.flow.is_over() && self.lingering == 0)
    }

    fn stop_if_told(&mut self, now: Nanos) {
        if let Some(end) = self.terms.end.filter(|end| now >= *end && !self.stopped) {
            self.start_due(Nanos::new(end.get().saturating_sub(1)));
            self.count_unsent(end);
            self.stopped = true;
        }
        if self.terms.interrupted.load(Ordering::Relaxed) || self.gave_up {
            self.stopped = true;
            for slot in 0..self.lane.connections.len() {
                let Some(connection) = &mut self.lane.connections[slot] else { continue };
                connection.break_with(ErrorClass::CutOff, &mut self.lane.memory.done);
                self.settle(slot as Slot);
            }
        }
    }

    /// What was due before the end and found no free connection is not forgotten.
    fn count_unsent(&mut self, end: Nanos) {
        while self.flow.next_due().is_some_and(|due| due < end) && self.source.next(0).is_some() {
            self.recorder.error(ErrorClass::NotSent);
            self.flow.schedule(self.source.upcoming(0));
        }
        for _ in 0..self.flow.held_up(end) {
            self.recorder.error(ErrorClass::NotSent);
        }
    }

    fn start_due(&mut self, now: Nanos) {
        while !self.stopped {
            let Some(due) = self.flow.next(now) else { return };
            self.ask(due);
            if self.flow.is_open() {
                self.flow.schedule(self.source.upcoming(0));
            }
        }
    }

    /// Takes the next request of a robot and sends it.
    fn ask(&mut self, due: Due) {
        let words = self.lane.memory.words.pop().unwrap_or_default();
        let Some(ask) = self.source.next(due.turn.robot as usize) else {
            return self.flow.leave(due.turn, self.lane.clock.now());
        };
        // Read for each request: one that others held up is sent later than the loop woke.
        let now = self.lane.clock.now();
        let exchange = Exchange::new(&ask, words, due.turn, due.due, now + self.terms.timeout);
        self.in_flight += 1;
        if due.postponed {
            // Held up by busy connections, not by this thread: told apart from lateness.
            self.recorder.counters.postponed += 1;
        } else {
            self.recorder.times.lateness.record(now.since(due.due));
        }
        self.dispatch(exchange, now);
    }

    /// Sends it on its connection, or opens one first.
    fn dispatch(&mut self, exchange: Exchange, now: Nanos) {
        let slot = exchange.turn.seat / self.manner.target.protocol.streams() as u32;
        let memory = &mut self.lane.memory;
        match &mut self.lane.connections[slot as usize] {
            Some(connection) => {
                connection.ask(exchange, now, &self.manner, &mut memory.out, &mut memory.done);
                self.hand_over(slot);
                if !self.lane.memory.done.is_empty() {
                    self.settle(slot);
                }
            }
            None => self.connect(slot, exchange, now),
        }
    }

    fn connect(&mut self, slot: Slot, exchange: Exchange, now: Nanos) {
        let memory = &mut self.lane.memory;
        memory.out.clear();
        let tls = match self.lane.tls.as_mut().map(TlsClient::session).transpose() {
            Ok(session) => session,
            Err(error) => return self.fail(exchange, error_class(&error)),
        };
        let connection = Connection::new(exchange, tls, now, &self.manner, &mut memory.out, &mut memory.done);
        let wish = self.wish(slot);
        self.lane.opened += 1;
        let memory = &mut self.lane.memory;
        let begun = self.lane.driver.connect(slot, self.manner.target.address, wish, &memory.out);
        memory.out.clear();
        let connection = self.lane.connections[slot as usize].insert(connection);
        match begun {
            Ok(Connecting::Begun) => {}
            Ok(Connecting::Done(stood)) => self.connected(slot, stood),
            Err(error) => connection.break_with(connect_class(&error), &mut memory.done),
        }
        if !self.lane.memory.done.is_empty() {
            self.settle(slot);
        }
    }

    fn wish(&self, slot: Slot) -> Wish {
        let target = self.manner.target;
        let (lane, lanes) = self.lane.place;
        let single = target.reuse == Reuse::Never;
        let nth = if single { self.lane.opened } else { u64::from(slot) };
        Wish {
            from: target.from.nth(nth * lanes as u64 + lane as u64),
            // One small request and nothing behind it: there is nothing to hold back.
            no_delay: !single || target.tls.is_some() || target.protocol != Protocol::Http1,
            stamped: self.terms.batched,
        }
    }

    fn connected(&mut self, slot: Slot, stood: Nanos) {
        let Some(connection) = &mut self.lane.connections[slot as usize] else { return };
        let memory = &mut self.lane.memory;
        let took = connection.connected(stood, &self.manner, &mut memory.out, &mut memory.done);
        self.recorder.counters.connections += 1;
        self.recorder.times.connect.record(took);
        self.failed_connects[slot as usize] = 0;
    }

    /// Takes in all that has happened.
    fn take_in(&mut self) {
        loop {
            let Some((slot, event)) = self.lane.driver.next() else { return };
            let Some(Some(connection)) = self.lane.connections.get_mut(slot as usize) else { continue };
            let memory = &mut self.lane.memory;
            let mut opened = None;
            match event {
                Event::Data(data) => {
                    let arrival = Arrival::new(&self.manner.clock, data.arrived);
                    self.seen = arrival.seen();
                    opened = connection.receive(
                        data.bytes,
                        &arrival,
                        &self.manner,
                        &mut memory.out,
                        &mut memory.done,
                    );
                    if data.ended {
                        connection.will_end();
                    }
                }
                Event::Connected(stood) => self.connected(slot, stood),
                Event::NotConnected(error) => connection.break_with(connect_class(&error), &mut memory.done),
                Event::Ended => connection.ended(&Arrival::new(&self.manner.clock, None), &mut memory.done),
                Event::Broken(_) => {
                    connection.broken(&Arrival::new(&self.manner.clock, None), &mut memory.done)
                }
                Event::NotSent(_) => {
                    connection.not_sent(&Arrival::new(&self.manner.clock, None), &mut memory.done);
                }
                // A generator neither listens nor sends bodies.
                Event::Sent | Event::Accepted(_) | Event::NotAccepted(_) => continue,
            }
            if let Some(took) = opened {
                self.recorder.times.handshake.record(took);
                self.note_handshake(slot);
            }
            self.settle(slot);
            self.start_due(Nanos::ZERO);
        }
    }

    fn note_handshake(&mut self, slot: Slot) {
        let Some(session) = self.lane.connections[slot as usize].as_ref().and_then(Connection::tls) else {
            return;
        };
        self.handshakes.record(session);
        if self.tls.is_none() {
            self.tls = session.description();
        }
    }

    /// Hands over what a connection has to say.
    fn hand_over(&mut self, slot: Slot) {
        let memory = &mut self.lane.memory;
        if memory.out.is_empty() {
            return;
        }
        let sent = self.lane.driver.send(slot, &memory.out);
        memory.out.clear();
        if let (Err(_), Some(connection)) = (sent, &mut self.lane.connections[slot as usize]) {
            connection.not_sent(&Arrival::new(&self.manner.clock, None), &mut memory.done);
        }
    }

    /// Does what follows from an event: sends, accounts, closes, asks again.
    fn settle(&mut self, slot: Slot) {
        self.hand_over(slot);
        let mut done = std::mem::take(&mut self.lane.memory.done);
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
        self.lane.memory.done = done;
        if self.lane.connections[slot as usize].as_ref().is_some_and(|connection| connection.over()) {
            self.close(slot);
        }
        while let Some(exchange) = self.again.pop() {
            let now = self.lane.clock.now();
            self.dispatch(exchange, now);
        }
    }

    /// What a server did is told with the job in which it was counted.
    fn note_violation(&mut self, slot: Slot, class: ErrorClass) {
        let broken = matches!(class, ErrorClass::Protocol | ErrorClass::Malformed | ErrorClass::NoHttp2);
        if broken && self.violation.is_none() {
            let connection = self.lane.connections[slot as usize].as_ref();
            self.violation = connection.and_then(Connection::violation).map(str::to_owned);
        }
    }

    fn complete(&mut self, slot: Slot, exchange: Exchange, at: Nanos) {
        let good_before = self.recorder.counters.replies;
        exchange.finish(at, &self.terms.refused, &mut self.recorder);
        self.batching.served(at.since(exchange.sent));
        self.last_reply = self.last_reply.max(at);
        self.in_flight -= 1;
        if self.recorder.counters.replies > good_before {
            self.failures_in_a_row = 0;
        } else {
            self.count_failure();
        }
        let turn = exchange.turn;
        self.lane.memory.words.push(exchange.words);
        match &mut self.lane.connections[slot as usize] {
            Some(connection) if connection.is_lingering() => {
                connection.hold(turn);
                self.lingering += 1;
            }
            _ => self.flow.served(turn, self.seen),
        }
    }

    fn fail(&mut self, exchange: Exchange, class: ErrorClass) {
        let now = self.lane.clock.now();
        self.recorder.error(class);
        self.in_flight -= 1;
        self.count_failure();
        let slot = exchange.turn.seat as usize / self.manner.target.protocol.streams();
        let opening = matches!(
            class,
            ErrorClass::ConnectRefused | ErrorClass::ConnectFailed | ErrorClass::ConnectTimeout
        );
        // All that waited for one connection pause alike.
        let doublings = self.failed_connects[slot].saturating_add(1).min(6);
        let pause = if opening { BACK_OFF.times(f64::from(1 << doublings)) } else { Nanos::ZERO };
        self.flow.failed(exchange.turn, now, pause);
        self.lane.memory.words.push(exchange.words);
    }

    fn count_failure(&mut self) {
        self.failures_in_a_row += 1;
        if self.failures_in_a_row >= GIVE_UP_AFTER && self.recorder.counters.replies == 0 {
            (self.gave_up, self.stopped) = (true, true);
        }
    }

    /// Closes a connection, and lets who waited for that go on.
    fn close(&mut self, slot: Slot) {
        self.lane.driver.close(slot);
        let Some(connection) = self.lane.connections[slot as usize].take() else { return };
        if connection.is_connecting() {
            let failed = &mut self.failed_connects[slot as usize];
            *failed = failed.saturating_add(1);
        }
        if let Some(session) = connection.handshaking() {
            self.handshakes.record(session);
        }
        if let Some(turn) = connection.held() {
            self.lingering -= 1;
            let now = self.lane.clock.now();
            self.flow.served(turn, now);
        }
    }

    /// Time limits.
    fn sweep(&mut self, now: Nanos) {
        for slot in 0..self.lane.connections.len() {
            let Some(connection) = &mut self.lane.connections[slot] else { continue };
            let memory = &mut self.lane.memory;
            if connection.sweep(now, &self.manner, &mut memory.out, &mut memory.done) {
                self.settle(slot as Slot);
            }
        }
    }
}

/// Takes in what has happened between jobs: connections that have ended are closed.
pub(crate) fn catch_up(lane: &mut Lane, manner: &Manner<'_>) -> io::Result<()> {
    for _ in 0..CATCH_UP_AT_MOST {
        lane.driver.wait(Wait { at_most: Some(Nanos::ZERO), batch: None })?;
        let mut quiet = true;
        while let Some((slot, event)) = lane.driver.next() {
            quiet = false;
            let Some(Some(connection)) = lane.connections.get_mut(slot as usize) else { continue };
            let arrival = Arrival::new(&lane.clock, None);
            let memory = &mut lane.memory;
            match event {
                Event::Data(data) => {
                    connection.receive(data.bytes, &arrival, manner, &mut memory.out, &mut memory.done);
                }
                _ => connection.ended(&arrival, &mut memory.done),
            }
            if !memory.out.is_empty() && lane.driver.send(slot, &memory.out).is_err() {
                connection.not_sent(&arrival, &mut memory.done);
            }
            memory.done.clear();
            memory.out.clear();
        }
        if quiet {
            return Ok(());
        }
    }
    Ok(())
}

/// A peer that goes on sending is dealt with in the job.
const CATCH_UP_AT_MOST: usize = 64;

fn connect_class(error: &io::Error) -> ErrorClass {
    match error.kind() {
        ErrorKind::ConnectionRefused => ErrorClass::ConnectRefused,
        ErrorKind::TimedOut => ErrorClass::ConnectTimeout,
        _ => ErrorClass::ConnectFailed,
    }
}
