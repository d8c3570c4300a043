//! End of a request: it is recorded and reported, and its seat is free.
//!
//! Measuring side, hot.

use super::{GIVE_UP_AFTER, Run};
use crate::connection::Connection;
use crate::exchange::Exchange;
use crate::flow::Turn;
use crate::listener::{Reply, RequestEnd, RequestListener};
use crate::profile::Stage;
use bakeoff_meter::{ErrorClass, RequestRefusal};
use bakeoff_sys::driver::Slot;
use bakeoff_units::{Clock, Nanos};
use bakeoff_workload::Source;

/// Pause of a robot after a failed connection attempt, doubled up to 64 times.
const BACK_OFF: Nanos = Nanos::from_millis(1);

impl<S: Source + RequestListener> Run<'_, '_, S> {
    pub(super) fn complete(&mut self, slot: Slot, exchange: Exchange, at: Nanos) {
        let refusal = exchange.refused_with(&self.terms.refusals);
        let judged = match refusal {
            Some(status) => {
                self.recorder.refused(RequestRefusal::Status(status));
                Err(ErrorClass::WrongStatus)
            }
            None => exchange.finish(at, &self.terms.refused, &mut self.recorder),
        };
        if let (Err(class), None) = (judged, refusal) {
            self.recorder.example(class, || exchange.in_words());
        }
        self.batching.served(at.since(exchange.sent));
        self.last_reply = self.last_reply.max(at);
        self.in_flight -= 1;
        self.profiler.count();
        match judged {
            Ok(()) => self.failures_in_a_row = 0,
            Err(_) if refusal.is_some() => {}
            Err(_) => self.count_failure(),
        }
        self.tell(slot, &exchange, at, judged);
        let turn = exchange.turn;
        self.worker.memory.words.push(exchange.words);
        match &mut self.worker.connections[slot as usize] {
            Some(connection) if connection.is_lingering() => {
                connection.hold(turn);
                self.lingering += 1;
            }
            _ => self.served(turn, self.seen),
        }
        self.profiler.lap(Stage::Recording);
    }

    pub(super) fn fail(&mut self, exchange: Exchange, class: ErrorClass) {
        let now = self.worker.clock.now();
        if self.terms.refusals.has_class(class) {
            self.recorder.refused(RequestRefusal::Class(class));
        } else {
            self.recorder.error(class);
            self.recorder.example(class, || exchange.in_words());
            self.count_failure();
        }
        self.in_flight -= 1;
        let slot = exchange.turn.seat as usize / self.manner.target.protocol.streams();
        self.tell(slot as Slot, &exchange, now, Err(class));
        let opening = matches!(
            class,
            ErrorClass::ConnectRefused | ErrorClass::ConnectFailed | ErrorClass::ConnectTimeout
        );
        // All requests that waited for one connection pause alike.
        let doublings = self.failed_connects[slot].saturating_add(1).min(6);
        let pause = if opening { BACK_OFF.times(f64::from(1 << doublings)) } else { Nanos::ZERO };
        match &mut self.pools {
            None => self.flow.failed(exchange.turn, now, pause),
            Some(pools) => pools.free(exchange.turn.seat),
        }
        self.worker.memory.words.push(exchange.words);
    }

    fn count_failure(&mut self) {
        self.failures_in_a_row += 1;
        if self.failures_in_a_row >= GIVE_UP_AFTER && self.recorder.counters.replies == 0 {
            (self.gave_up, self.stopped) = (true, true);
        }
    }

    /// A seat is free, as its request was answered.
    pub(super) fn served(&mut self, turn: Turn, now: Nanos) {
        match &mut self.pools {
            None => self.flow.served(turn, now),
            Some(pools) => pools.free(turn.seat),
        }
    }

    /// Tells the source how a request ended, and asks whether that calls for another.
    fn tell(&mut self, slot: Slot, exchange: &Exchange, done: Nanos, judged: Result<(), ErrorClass>) {
        if !S::LISTENS {
            return;
        }
        let start = self.terms.start;
        let head = exchange.kept_head();
        let reply = Reply {
            status: exchange.head.map_or(0, |head| head.status),
            head,
            head_bytes: exchange.head.map_or(0, |head| head.bytes),
            body_bytes: exchange.body_seen(),
        };
        let connection = self.worker.connections.get(slot as usize).and_then(Option::as_ref);
        self.source.ended(&RequestEnd {
            robot: exchange.turn.robot,
            ticket: exchange.ticket,
            due: exchange.due.since(start),
            sent: exchange.sent.since(start),
            first_byte: exchange.first_byte.unwrap_or(done).since(start),
            done: done.since(start),
            result: judged.map(|()| reply),
            reused: connection.is_some_and(Connection::is_reused),
            resent: exchange.resent,
            head,
        });
        self.ask_anew();
    }

    /// Tells the source of a request that was never sent.
    pub(super) fn tell_unsent(&mut self, robot: u32, ticket: u32, due: Nanos) {
        if !S::LISTENS {
            return;
        }
        let due = due.since(self.terms.start);
        let done = self.worker.clock.now().since(self.terms.start);
        self.source.ended(&RequestEnd {
            robot,
            ticket,
            due,
            sent: due,
            first_byte: done,
            done,
            result: Err(ErrorClass::NotSent),
            reused: false,
            resent: false,
            head: &[],
        });
        self.ask_anew();
    }

    fn ask_anew(&mut self) {
        if self.flow.may_change() {
            self.flow.schedule(self.source.upcoming(0));
        }
    }
}
