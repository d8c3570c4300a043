//! End of a run, and the requests that still wait then.
//!
//! Measuring side. Called once a turn of the loop. Requests that were due and are not sent any more are counted, and
//! reported to a source that listens.

use super::Run;
use crate::listener::{Continuation, RequestListener};
use bakeoff_meter::ErrorClass;
use bakeoff_sys::driver::Slot;
use bakeoff_units::Nanos;
use bakeoff_workload::Source;
use std::sync::atomic::Ordering;

impl<S: Source + RequestListener> Run<'_, '_, S> {
    pub(super) fn nothing_to_come(&self) -> bool {
        self.stopped || (self.flow.is_over() && self.lingering == 0 && !self.somebody_waits())
    }

    fn somebody_waits(&self) -> bool {
        self.pools.as_ref().is_some_and(|pools| pools.is_waited_for())
    }

    pub(super) fn stop_if_told(&mut self, now: Nanos) {
        if let Some(end) = self.terms.end.filter(|end| now >= *end && !self.stopped) {
            self.start_due(Nanos::new(end.get().saturating_sub(1)));
            self.count_unsent(end);
            self.stopped = true;
        }
        let course =
            if S::LISTENS { self.source.course(now.since(self.terms.start)) } else { Continuation::GoOn };
        if self.terms.interrupted.load(Ordering::Relaxed) || self.gave_up || course == Continuation::Stop {
            self.stopped = true;
            self.cut_off();
        } else if course == Continuation::Drain {
            self.stopped = true;
            self.give_up_lines();
        }
    }

    /// Ends the requests in flight, and those that wait for a connection.
    fn cut_off(&mut self) {
        self.give_up_lines();
        for slot in 0..self.worker.connections.len() {
            let Some(connection) = &mut self.worker.connections[slot] else { continue };
            connection.break_with(ErrorClass::CutOff, &mut self.worker.memory.done);
            self.settle(slot as Slot);
        }
    }

    /// Counts requests that were due before the end and found no free connection.
    fn count_unsent(&mut self, end: Nanos) {
        while let Some(due) = self.flow.next_due().filter(|due| *due < end) {
            if !self.count_one(0, due) {
                break;
            }
            self.flow.schedule(self.source.upcoming(0));
        }
        while let Some((due, robot)) = self.flow.held_up(end) {
            self.count_one(robot, due);
        }
        self.give_up_lines();
    }

    /// Counts one request, if the robot has one; returns whether it had.
    fn count_one(&mut self, robot: u32, due: Nanos) -> bool {
        let Some(ask) = self.source.next(robot as usize) else { return false };
        let (robot, ticket) = (if self.flow.is_open() { ask.robot } else { robot }, ask.ticket);
        self.recorder.error(ErrorClass::NotSent);
        self.tell_unsent(robot, ticket, due);
        true
    }

    /// Ends the requests that wait for a connection of their robot's own.
    fn give_up_lines(&mut self) {
        let Some(pools) = &mut self.pools else { return };
        for exchange in pools.give_up() {
            self.recorder.error(ErrorClass::NotSent);
            self.tell_unsent(exchange.turn.robot, exchange.ticket, exchange.due);
            self.worker.memory.words.push(exchange.words);
        }
    }
}
