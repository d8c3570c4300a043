//! The one loop: a thread's slots, their connections, and what wakes them.
//!
//! A slot is a place for a connection. In a closed loop each robot has one; in an open loop they
//! are a pool. The loop neither knows which workload it runs nor how requests are paced.

use crate::connection::{Connection, Opening, Phase, Received};
use crate::exchange::Exchange;
use crate::job::{BodyCheck, Target};
use crate::pacer::Pacer;
use crate::sampler::Sampler;
use bakeoff_meter::{ErrorClass, Recorder};
use bakeoff_sys::epoll::{Poller, Ready};
use bakeoff_units::{Clock, MonotonicClock, Nanos};
use bakeoff_workload::{Ask, Source, Statuses};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// A lane that had so many failures one after the other and not one good reply ends the run: the
/// server answers nothing, and asking on would only take time.
pub const GIVE_UP_AFTER: u32 = 200;

/// Receive buffer: large enough for most replies in one read, small enough for a core's cache.
const BUFFER_BYTES: usize = 64 * 1024;
/// Events taken from the kernel at a time.
const EVENTS: usize = 256;
/// How often time limits are looked at.
const SWEEP: Nanos = Nanos::from_millis(20);
/// How long a connection that the server said it would close may stay open.
const LINGER: Nanos = Nanos::from_millis(200);
/// Pause of a robot after a failed connection attempt, doubled up to 64 times.
const BACK_OFF: Nanos = Nanos::from_millis(1);

#[derive(Default)]
struct Slot {
    connection: Option<Connection>,
    exchange: Option<Exchange>,
    out: Vec<u8>,
    out_at: usize,
    deadline: Nanos,
    resent: bool,
    lingering: bool,
    failed_connects: u32,
}

/// How a lane's requests come due.
pub(crate) enum Flow {
    Closed { think: Nanos },
    Open { pacer: Box<dyn Pacer>, slots: usize },
}

/// One thread's share of a job.
pub(crate) struct LaneJob<'a, S> {
    pub(crate) source: S,
    pub(crate) robots: usize,
    pub(crate) flow: Flow,
    pub(crate) start: Nanos,
    pub(crate) timeout: Nanos,
    pub(crate) until: Option<Nanos>,
    pub(crate) check: BodyCheck,
    pub(crate) refused: Statuses,
    pub(crate) sample_every: Option<Nanos>,
    pub(crate) interrupted: &'a AtomicBool,
}

/// What a lane lives with from job to job: connections stay open between slices.
pub(crate) struct Lane {
    poller: Poller,
    slots: Vec<Slot>,
    buffer: Vec<u8>,
    clock: MonotonicClock,
    /// Slots with more to read, and whether the peer has ended its half.
    again: Vec<(usize, bool)>,
}

/// What a lane did.
pub(crate) struct LaneReport {
    pub(crate) recorder: Recorder,
    pub(crate) last_reply: Nanos,
    pub(crate) gave_up: bool,
    pub(crate) tls: Option<String>,
    pub(crate) in_flight: Vec<u32>,
}

impl Lane {
    pub(crate) fn new(clock: MonotonicClock) -> io::Result<Self> {
        Ok(Self {
            poller: Poller::new(EVENTS)?,
            slots: Vec::new(),
            buffer: vec![0; BUFFER_BYTES],
            clock,
            again: Vec::new(),
        })
    }

    /// Closes all connections.
    pub(crate) fn disconnect(&mut self) {
        self.slots.clear();
    }

    /// Runs a job to its end.
    pub(crate) fn run<S: Source>(&mut self, target: &Target, job: LaneJob<'_, S>) -> io::Result<LaneReport> {
        let wanted = match &job.flow {
            Flow::Closed { .. } => job.robots,
            Flow::Open { slots, .. } => *slots,
        };
        self.slots.truncate(wanted);
        self.slots.resize_with(wanted, Slot::default);
        let render = Renderer::new(target);
        let sampler = job.sample_every.map(|every| Sampler::new(job.start, every, job.until));
        let mut run = Run {
            lane: self,
            target,
            render,
            job,
            recorder: Recorder::new(),
            waiting: BinaryHeap::with_capacity(wanted),
            idle: Vec::new(),
            starved_until: Nanos::ZERO,
            next_due: None,
            in_flight: 0,
            failures_in_a_row: 0,
            stopped: false,
            gave_up: false,
            last_reply: Nanos::ZERO,
            tls: None,
            sampler,
        };
        run.notice_closed_while_idle()?;
        run.go()?;
        Ok(LaneReport {
            recorder: run.recorder,
            last_reply: run.last_reply,
            gave_up: run.gave_up,
            tls: run.tls,
            in_flight: run.sampler.map_or_else(Vec::new, Sampler::finish),
        })
    }
}

/// Writes request heads.
struct Renderer {
    after_target: Vec<u8>,
}

impl Renderer {
    fn new(target: &Target) -> Self {
        let mut after_target = format!(" HTTP/1.1\r\nHost: {}\r\n", target.host).into_bytes();
        after_target.extend_from_slice(&target.headers);
        if !target.keep_alive {
            after_target.extend_from_slice(b"Connection: close\r\n");
        }
        Self { after_target }
    }

    fn render(&self, ask: &Ask<'_>, out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(ask.method.as_str().as_bytes());
        out.push(b' ');
        out.extend_from_slice(ask.target);
        out.extend_from_slice(&self.after_target);
        out.extend_from_slice(ask.headers);
        out.extend_from_slice(b"\r\n");
    }
}

struct Run<'l, 'j, S> {
    lane: &'l mut Lane,
    target: &'l Target,
    render: Renderer,
    job: LaneJob<'j, S>,
    recorder: Recorder,
    /// Closed loop: robots that think or back off, by the time they go on.
    waiting: BinaryHeap<Reverse<(Nanos, usize)>>,
    /// Open loop: free slots, the last used on top.
    idle: Vec<usize>,
    /// Open loop: when there was last no free slot; a request due before that was held up by it.
    starved_until: Nanos,
    /// Open loop: when the next request is due.
    next_due: Option<Nanos>,
    in_flight: usize,
    failures_in_a_row: u32,
    stopped: bool,
    gave_up: bool,
    last_reply: Nanos,
    tls: Option<String>,
    sampler: Option<Sampler>,
}

impl<S: Source> Run<'_, '_, S> {
    fn go(&mut self) -> io::Result<()> {
        self.begin();
        let mut sweep_at = self.lane.clock.now() + SWEEP;
        loop {
            let now = self.lane.clock.now();
            if let Some(sampler) = &mut self.sampler {
                sampler.note(now, self.in_flight);
            }
            self.stop_if_told(now);
            self.start_due(now);
            if self.in_flight == 0 && self.nothing_to_come() {
                return Ok(());
            }
            if now >= sweep_at {
                self.sweep(now);
                sweep_at = now + SWEEP;
            }
            let wake = self.next_wake().map_or(sweep_at, |due| due.min(sweep_at));
            let wait =
                if self.lane.again.is_empty() { wake.since(self.lane.clock.now()) } else { Nanos::ZERO };
            let ready = self.lane.poller.wait(Some(wait))?;
            for index in 0..ready {
                let event = self.lane.poller.event(index);
                self.on_event(event);
            }
            let turns = self.lane.again.len();
            for turn in 0..turns {
                let (slot, closed) = self.lane.again[turn];
                self.on_readable(slot, closed);
            }
            self.lane.again.drain(..turns);
        }
    }

    /// Everything is due at the start in a closed loop; in an open loop the pacer says.
    fn begin(&mut self) {
        match &self.job.flow {
            Flow::Closed { .. } => {
                for slot in 0..self.lane.slots.len() {
                    self.waiting.push(Reverse((self.job.start, slot)));
                }
            }
            Flow::Open { .. } => {
                self.idle = (0..self.lane.slots.len()).rev().collect();
                // Open connections first, so that a slice does not begin with set-ups.
                self.idle.sort_by_key(|&slot| self.lane.slots[slot].connection.is_some());
                self.schedule_next();
            }
        }
    }

    fn stop_if_told(&mut self, now: Nanos) {
        let end = self.job.until.map(|until| self.job.start + until);
        if let Some(end) = end.filter(|end| now >= *end && !self.stopped) {
            self.start_due(Nanos::new(end.get().saturating_sub(1)));
            self.count_unsent(end);
            self.stopped = true;
        }
        if self.job.interrupted.load(Ordering::Relaxed) || self.gave_up {
            self.stopped = true;
            for slot in 0..self.lane.slots.len() {
                if self.lane.slots[slot].exchange.take().is_some() {
                    self.in_flight -= 1;
                }
                self.close(slot);
            }
        }
    }

    /// Open loop: what was due before the end and found no free connection is not forgotten.
    fn count_unsent(&mut self, end: Nanos) {
        while self.next_due.is_some_and(|due| due < end) && self.job.source.next(0).is_some() {
            self.recorder.error(ErrorClass::NotSent);
            self.schedule_next();
        }
    }

    fn nothing_to_come(&self) -> bool {
        self.stopped || (self.waiting.is_empty() && self.next_due.is_none() && self.nobody_lingers())
    }

    fn nobody_lingers(&self) -> bool {
        self.target.keep_alive || !self.lane.slots.iter().any(|slot| slot.lingering)
    }

    fn next_wake(&self) -> Option<Nanos> {
        if self.stopped {
            return None;
        }
        match &self.job.flow {
            Flow::Closed { .. } => self.waiting.peek().map(|Reverse((due, _))| *due),
            // With no free slot nothing can be sent before an event frees one.
            Flow::Open { .. } => self.next_due.filter(|_| !self.idle.is_empty()),
        }
    }

    fn start_due(&mut self, now: Nanos) {
        if self.stopped {
            return;
        }
        if matches!(self.job.flow, Flow::Closed { .. }) {
            while let Some(Reverse((due, slot))) = self.waiting.peek().copied() {
                if due > now {
                    break;
                }
                self.waiting.pop();
                self.ask(slot, slot, due.max(self.job.start), true);
            }
            return;
        }
        while let Some(due) = self.next_due.filter(|due| *due <= now) {
            let Some(slot) = self.idle.pop() else { return };
            // Held up by busy connections, not by this thread: told apart from lateness.
            let postponed = due < self.starved_until;
            self.ask(slot, 0, due, !postponed);
            self.recorder.counters.postponed += u64::from(postponed);
            self.schedule_next();
        }
    }

    fn schedule_next(&mut self) {
        let Flow::Open { pacer, .. } = &mut self.job.flow else { return };
        let start = self.job.start;
        self.next_due = self.job.source.upcoming(0).map(|at| start + pacer.due(at));
    }

    /// Takes the next request of `robot` and sends it from `slot`.
    fn ask(&mut self, slot: usize, robot: usize, due: Nanos, on_time: bool) {
        let Some(ask) = self.job.source.next(robot) else { return };
        let place = &mut self.lane.slots[slot];
        self.render.render(&ask, &mut place.out);
        place.exchange = Some(Exchange::new(ask.method, ask.expect, due));
        // Read for each request: one that others held up is sent later than the loop woke.
        let now = self.lane.clock.now();
        place.resent = false;
        place.deadline = now + self.job.timeout;
        self.in_flight += 1;
        if on_time {
            self.recorder.times.lateness.record(now.since(due));
        }
        self.dispatch(slot, now);
    }

    /// Sends the slot's request on its connection, or opens one first.
    fn dispatch(&mut self, slot: usize, now: Nanos) {
        let place = &mut self.lane.slots[slot];
        place.out_at = 0;
        if let Some(connection) = &place.connection {
            if connection.phase == Phase::Open {
                self.send(slot, now);
            }
            return;
        }
        match Connection::start(self.target, now) {
            Ok(connection) => {
                if self.lane.poller.add(&connection.stream, slot as u64).is_err() {
                    return self.fail(slot, ErrorClass::ConnectFailed);
                }
                self.lane.slots[slot].connection = Some(connection);
                // On loopback it mostly stands already.
                self.on_opening(slot);
            }
            Err(class) => self.fail(slot, class),
        }
    }

    fn send(&mut self, slot: usize, now: Nanos) {
        let place = &mut self.lane.slots[slot];
        let (Some(connection), Some(exchange)) = (&mut place.connection, &mut place.exchange) else { return };
        if place.out_at == 0 {
            exchange.sent = now;
            connection.begin(exchange);
        }
        match connection.send(&place.out[place.out_at..]) {
            Ok(taken) => place.out_at += taken,
            Err(_) if connection.may_be_stale() && !place.resent => self.resend(slot),
            Err(class) => self.fail(slot, class),
        }
    }

    fn on_event(&mut self, event: Ready) {
        let slot = event.token as usize;
        let Some(place) = self.lane.slots.get_mut(slot) else { return };
        let Some(connection) = &mut place.connection else { return };
        if connection.phase != Phase::Open {
            let with_it = event.closed || (event.readable && connection.phase == Phase::Connecting);
            self.on_opening(slot);
            if with_it {
                // What came together with the connection: no further edge tells of it.
                self.on_readable(slot, event.closed);
            }
            return;
        }
        if event.writable && place.exchange.is_some() {
            if connection.flush().is_err() {
                return self.fail(slot, ErrorClass::SendFailed);
            }
            if place.out_at < place.out.len() {
                let now = self.lane.clock.now();
                self.send(slot, now);
            }
        }
        if event.readable {
            self.on_readable(slot, event.closed);
        }
    }

    fn on_opening(&mut self, slot: usize) {
        let now = self.lane.clock.now();
        let place = &mut self.lane.slots[slot];
        let Some(connection) = &mut place.connection else { return };
        let (phase, since) = (connection.phase, connection.since);
        let opening = connection.open(&mut self.lane.buffer, now);
        if phase == Phase::Connecting && connection.phase != phase {
            self.recorder.counters.connections += 1;
            self.recorder.times.connect.record(now.since(since));
            place.failed_connects = 0;
        }
        match opening {
            Opening::Wait | Opening::Connected => {}
            Opening::Failed(class) => self.fail(slot, class),
            Opening::Open => {
                let opened = self.lane.clock.now();
                if self.target.tls.is_some() {
                    self.recorder.times.handshake.record(opened.since(connection.since));
                    self.tls = self.tls.take().or_else(|| connection.tls_description());
                }
                self.send(slot, opened);
            }
        }
    }

    /// `closed`: the peer has ended its half, so that no further edge comes.
    fn on_readable(&mut self, slot: usize, closed: bool) {
        let place = &mut self.lane.slots[slot];
        let Some(connection) = &mut place.connection else { return };
        if connection.phase != Phase::Open {
            return;
        }
        let Some(exchange) = &mut place.exchange else {
            if connection.ended_while_idle(&mut self.lane.buffer, place.lingering) {
                self.close(slot);
            }
            return;
        };
        let clock = self.lane.clock;
        match connection.receive(&mut self.lane.buffer, exchange, self.job.check, closed, clock) {
            Received::Blocked => {}
            Received::Again => self.lane.again.push((slot, closed)),
            Received::Complete => self.complete(slot, closed),
            Received::Stale if !place.resent => self.resend(slot),
            Received::Stale => self.fail(slot, ErrorClass::ClosedEarly),
            Received::Failed(class) => self.fail(slot, class),
        }
    }

    fn complete(&mut self, slot: usize, closed: bool) {
        let now = self.lane.clock.now();
        let place = &mut self.lane.slots[slot];
        let Some(exchange) = place.exchange.take() else { return };
        let good_before = self.recorder.counters.replies;
        exchange.finish(now, &self.job.refused, &mut self.recorder);
        self.last_reply = now;
        self.in_flight -= 1;
        if self.recorder.counters.replies > good_before {
            self.failures_in_a_row = 0;
        } else {
            self.count_failure();
        }
        let place = &mut self.lane.slots[slot];
        let reusable = place.connection.as_ref().is_some_and(|connection| connection.reusable);
        if !self.target.keep_alive && !closed {
            // The server said it would close: TIME_WAIT then stays on its side.
            place.lingering = true;
            place.deadline = now + LINGER;
            if place.connection.as_mut().is_some_and(|c| c.ended_while_idle(&mut self.lane.buffer, true)) {
                self.close(slot);
            }
            return;
        }
        if reusable && self.target.keep_alive && !closed {
            self.free(slot, now);
        } else {
            place.lingering = true;
            self.close(slot);
        }
    }

    /// The slot can take another request.
    fn free(&mut self, slot: usize, now: Nanos) {
        match self.job.flow {
            _ if self.stopped => {}
            Flow::Closed { think: Nanos::ZERO } => self.ask(slot, slot, now, true),
            Flow::Closed { think } => self.waiting.push(Reverse((now + think, slot))),
            Flow::Open { .. } => self.release(slot, now),
        }
    }

    /// Open loop: puts a slot back.
    fn release(&mut self, slot: usize, now: Nanos) {
        if self.idle.is_empty() {
            self.starved_until = now;
        }
        self.idle.push(slot);
    }

    /// Sends the request once more, on a new connection.
    fn resend(&mut self, slot: usize) {
        let place = &mut self.lane.slots[slot];
        place.connection = None;
        place.resent = true;
        if let Some(exchange) = &mut place.exchange {
            exchange.first_byte = None;
        }
        let now = self.lane.clock.now();
        self.dispatch(slot, now);
    }

    fn fail(&mut self, slot: usize, class: ErrorClass) {
        let now = self.lane.clock.now();
        let place = &mut self.lane.slots[slot];
        place.connection = None;
        if place.exchange.take().is_none() {
            return;
        }
        self.recorder.error(class);
        self.in_flight -= 1;
        self.count_failure();
        let opening = matches!(
            class,
            ErrorClass::ConnectRefused | ErrorClass::ConnectFailed | ErrorClass::ConnectTimeout
        );
        let place = &mut self.lane.slots[slot];
        place.failed_connects = if opening { place.failed_connects + 1 } else { 0 };
        let pause =
            if opening { BACK_OFF.times(f64::from(1 << place.failed_connects.min(6))) } else { Nanos::ZERO };
        match self.job.flow {
            Flow::Closed { think } => self.waiting.push(Reverse((now + think + pause, slot))),
            Flow::Open { .. } => self.release(slot, now),
        }
    }

    fn count_failure(&mut self) {
        self.failures_in_a_row += 1;
        if self.failures_in_a_row >= GIVE_UP_AFTER && self.recorder.counters.replies == 0 {
            self.gave_up = true;
        }
    }

    /// Closes a connection that carries no request, and lets its slot go on.
    fn close(&mut self, slot: usize) {
        let now = self.lane.clock.now();
        let place = &mut self.lane.slots[slot];
        place.connection = None;
        if std::mem::take(&mut place.lingering) {
            self.free(slot, now);
        }
    }

    /// Time limits.
    fn sweep(&mut self, now: Nanos) {
        for slot in 0..self.lane.slots.len() {
            let place = &self.lane.slots[slot];
            if now < place.deadline {
                continue;
            }
            if place.lingering {
                self.close(slot);
            } else if place.exchange.is_some() {
                let opened = place.connection.as_ref().is_some_and(|c| c.phase != Phase::Connecting);
                self.fail(slot, if opened { ErrorClass::Timeout } else { ErrorClass::ConnectTimeout });
            }
        }
    }

    /// Connections that the server closed since the last job are replaced, not blamed.
    fn notice_closed_while_idle(&mut self) -> io::Result<()> {
        self.lane.again.clear();
        loop {
            let ready = self.lane.poller.wait(Some(Nanos::ZERO))?;
            for index in 0..ready {
                let event = self.lane.poller.event(index);
                let slot = event.token as usize;
                let Some(place) = self.lane.slots.get_mut(slot) else { continue };
                let buffer = &mut self.lane.buffer;
                if event.readable
                    && place.connection.as_mut().is_some_and(|c| c.ended_while_idle(buffer, false))
                {
                    place.connection = None;
                }
            }
            if ready < EVENTS {
                break;
            }
        }
        for place in &mut self.lane.slots {
            let open = place.connection.as_ref().is_some_and(|c| c.phase == Phase::Open && c.reusable);
            if !open || !self.target.keep_alive {
                place.connection = None;
            }
            place.exchange = None;
            place.lingering = false;
            place.deadline = Nanos::ZERO;
        }
        Ok(())
    }
}
