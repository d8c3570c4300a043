//! Schedule of a worker: the current phase, and when and why it ends.
//!
//! Measuring side, hot: consulted for each request. Knows the ends of phases; the requests in them are the
//! population's. Moments may come a little out of order.

use super::stretch::{Handover, Stretch};
use super::{EndReason, ErrorGoal, Factors, FillGate, Goal, PartsGate, Phase};
use crate::population::Worker;
use bakeoff_units::Nanos;
use std::sync::Arc;

/// The phases of one worker, and how far they have come.
#[derive(Clone, Debug)]
pub struct Schedule {
    phases: Arc<[Phase]>,
    worker: Worker,
    gate: FillGate,
    /// The current phase; beyond the last when all are over.
    index: usize,
    stretch: Stretch,
    tally: PhaseCounts,
    frozen: bool,
    /// When the lock of the current phase was first seen open.
    opened: Option<Nanos>,
    /// The other parts of the run, where there are.
    parts: Option<PartsGate>,
    /// When and why the current phase came to its end, while it waits for other parts.
    reached: Option<(Nanos, EndReason)>,
    /// When and why it ends, as found by the last look.
    end: Option<(Nanos, EndReason)>,
    ended: Vec<EndedPhase>,
}

/// Counts of the current phase so far.
#[derive(Clone, Copy, Debug, Default)]
struct PhaseCounts {
    transactions: u64,
    errors: u64,
    fill_bytes: u64,
}

/// A request that has ended, as goals see it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Finished {
    /// Whether it was an error.
    pub failed: bool,
    /// Bytes that went into a cache; 0 for hits and for uncachable replies.
    pub fill_bytes: u64,
}

/// A phase that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedPhase {
    /// Its place in the plan.
    pub phase: usize,
    /// When it began.
    pub began: Nanos,
    /// When it ended.
    pub ended: Nanos,
    /// The reason.
    pub why: EndReason,
}

impl Schedule {
    /// Begins the first phase. Without phases, the test is over at once.
    pub fn new(phases: Arc<[Phase]>, worker: Worker, gate: FillGate) -> Self {
        let stretch = phases.first().map_or_else(
            || Stretch::new(&Phase::nothing(), Nanos::ZERO, Handover::FULL),
            |phase| Stretch::new(phase, Nanos::ZERO, Handover::FULL),
        );
        let tally = PhaseCounts::default();
        let ended = Vec::with_capacity(phases.len());
        Self {
            phases,
            worker,
            gate,
            index: 0,
            stretch,
            tally,
            frozen: false,
            opened: None,
            parts: None,
            reached: None,
            end: None,
            ended,
        }
    }

    /// The same as one of several parts of a run: a phase that has come to its end goes on until it has for all.
    #[must_use]
    pub fn agreeing(self, parts: PartsGate) -> Self {
        Self { parts: Some(parts), ..self }
    }

    /// The place in the plan of the current phase, `None` when all are over.
    pub fn phase(&self) -> Option<usize> {
        (self.index < self.phases.len()).then_some(self.index)
    }

    /// All of them.
    pub fn phases(&self) -> &[Phase] {
        &self.phases
    }

    /// Those that are over.
    pub fn ended(&self) -> &[EndedPhase] {
        &self.ended
    }

    /// The factors of this moment.
    pub fn factors(&self, now: Nanos) -> Factors {
        self.stretch.factors(now)
    }

    /// The working set has stopped growing.
    pub const fn set_frozen(&mut self) {
        self.frozen = true;
    }

    /// A request has ended. Counts only: the phase ends when it is [looked at](Self::end_by) again.
    pub fn note(&mut self, finished: Finished) {
        self.tally.transactions += 1;
        self.tally.errors += u64::from(finished.failed);
        self.tally.fill_bytes += finished.fill_bytes;
    }

    /// When the current phase ends, if it does by now. Changes nothing but its knowledge of locks.
    pub fn end_by(&mut self, now: Nanos) -> Option<Nanos> {
        let goal = self.phases.get(self.index)?.goal;
        if self.opened.is_none() && goal.lock.is_some_and(|lock| !self.is_held(lock)) {
            self.opened = Some(now);
        }
        self.end = self.end_with_others(&goal, now);
        self.end.map(|(at, _)| at)
    }

    /// Ends the current phase, if it is to end by now, and begins the next. A phase that ends by its time ends at that
    /// time, however late this is called: the next may have to end as well.
    pub fn advance(&mut self, now: Nanos) {
        let Some(goal) = self.phases.get(self.index).map(|phase| phase.goal) else { return };
        // As found a moment ago: the answer of others may change at any time.
        let found = self.end.take().or_else(|| self.end_with_others(&goal, now));
        let Some((at, why)) = found else { return };
        if let (Some(parts), EndReason::WithoutOthers) = (&self.parts, why) {
            parts.go_alone();
        }
        self.ended.push(EndedPhase { phase: self.index, began: self.stretch.began, ended: at, why });
        self.index = if why == EndReason::TooManyErrors { self.phases.len() } else { self.index + 1 };
        (self.tally, self.opened, self.reached) = (PhaseCounts::default(), None, None);
        let handover = self.stretch.handover(at);
        match self.phases.get(self.index) {
            Some(next) => self.stretch = Stretch::new(next, at, handover),
            None => self.stretch.began = at,
        }
    }

    /// When the clock alone ends the current phase, or opens its lock, if it does. `freezes`: when the working set will
    /// stop growing by itself. To be called again then: another end may follow from it.
    pub fn planned(&self, freezes: Option<Nanos>) -> Option<Nanos> {
        let goal = self.phases.get(self.index)?.goal;
        let end = self.planned_end(&goal, &self.stretch, true);
        let waits = !self.frozen && goal.lock.is_some_and(|lock| lock.frozen);
        let opens = freezes.filter(|_| waits);
        let first = end.map_or(opens, |end| Some(opens.map_or(end, |opens| opens.min(end))));
        first.filter(|at| *at < Nanos::MAX)
    }

    /// Seconds at full load that the time between two moments of this phase is worth.
    pub fn work(&self, from: Nanos, until: Nanos) -> f64 {
        self.stretch.work(from, until)
    }

    /// When so much work will have been done since `from`, if phases end as planned.
    pub fn reach(&self, from: Nanos, mut work: f64) -> Option<Nanos> {
        self.ahead(from, |stretch, from, until| {
            let reached = stretch.reach(from, work, until);
            if let (None, Some(until)) = (reached, until) {
                work -= stretch.work(from, until.max(from));
            }
            reached
        })
    }

    /// When the load will first be above a level, from `from` on, if phases end as planned.
    pub fn above(&self, from: Nanos, level: f64) -> Option<Nanos> {
        self.ahead(from, |stretch, from, until| stretch.above(from, level, until))
    }

    /// Looks into this phase, then into those that follow, as far as their ends are known.
    fn ahead(
        &self,
        from: Nanos,
        mut look: impl FnMut(&Stretch, Nanos, Option<Nanos>) -> Option<Nanos>,
    ) -> Option<Nanos> {
        let (mut stretch, mut from, mut locks_now) = (self.stretch, from, true);
        let first = self.phase()?;
        for (index, phase) in self.phases.iter().enumerate().skip(first) {
            let until = self.planned_end(&phase.goal, &stretch, locks_now);
            if let Some(at) = look(&stretch, from, until) {
                return Some(at);
            }
            let (Some(until), Some(next)) = (until, self.phases.get(index + 1)) else { break };
            // A phase that is over by time, but not yet looked at: it ends where it was planned.
            stretch = Stretch::new(next, until, stretch.handover(until));
            from = from.max(until);
            locks_now = false;
        }
        None
    }

    /// When a phase ends by the clock alone. The condition that holds a later phase may be met by then: the search does
    /// not go past it.
    fn planned_end(&self, goal: &Goal, stretch: &Stretch, locks_now: bool) -> Option<Nanos> {
        if self.waits_in(stretch) {
            return None;
        }
        let began = stretch.began;
        let held = goal.lock.is_some_and(|lock| !locks_now || self.is_held(lock));
        let by_clock = goal.duration.filter(|_| !held).map(|duration| began + duration);
        let waits = held || goal.counts_requests();
        let at_most = goal.lock.filter(|_| waits).map(|lock| began + lock.at_most);
        by_clock.or(at_most)
    }

    fn is_held(&self, lock: super::Lock) -> bool {
        (lock.frozen && !self.frozen) || (lock.told && !self.gate.is_open())
    }

    /// Whether other parts of the run are waited for at the end of a phase. If it ends without load nobody is: with
    /// nothing to come a run is over.
    fn waits_in(&self, stretch: &Stretch) -> bool {
        self.parts.as_ref().is_some_and(|parts| !parts.is_alone()) && !stretch.ends_idle()
    }

    /// When and why the current phase ends, if it does by now: in a part of a run, when it has ended for all.
    fn end_with_others(&mut self, goal: &Goal, now: Nanos) -> Option<(Nanos, EndReason)> {
        let own = self.end_of(goal, now);
        let Some(parts) = &self.parts else { return own };
        if own.is_some_and(|(_, why)| why == EndReason::TooManyErrors) {
            return own;
        }
        let was_held = self.reached.is_some();
        let (at, why) = self.reached.or(own)?;
        let steps = self.index as u32 + 1;
        parts.reach(steps);
        if !self.waits_in(&self.stretch) {
            return Some(if was_held { (now.max(at), EndReason::WithoutOthers) } else { (at, why) });
        }
        self.reached = Some((at, why));
        if parts.is_let_go(steps) {
            return Some((now.max(at), why));
        }
        let last = at + parts.patience();
        (now >= last).then_some((last, EndReason::WithoutOthers))
    }

    /// When and why the current phase ends by itself, if it does by now.
    fn end_of(&self, goal: &Goal, now: Nanos) -> Option<(Nanos, EndReason)> {
        if goal.errors.is_some_and(|errors| self.is_too_much(errors)) {
            return Some((now.max(self.stretch.began), EndReason::TooManyErrors));
        }
        let held = goal.lock.is_some_and(|lock| self.is_held(lock));
        if let Some(lock) = goal.lock.filter(|_| held) {
            let last = self.stretch.began + lock.at_most;
            return (now >= last).then_some((last, EndReason::TookTooLong));
        }
        let now = now.max(self.stretch.began);
        if goal.transactions.is_some_and(|all| self.tally.transactions >= self.worker.share(all)) {
            return Some((now, EndReason::Transactions));
        }
        if goal.fill_bytes.is_some_and(|all| self.tally.fill_bytes >= self.worker.share(all)) {
            return Some((now, EndReason::Fill));
        }
        if let Some(duration) = goal.duration {
            let planned = self.stretch.began + duration;
            // Held until after its time, it ends when it was let go.
            let let_go = goal.lock.map_or(planned, |_| self.opened.unwrap_or(now));
            return (now >= planned).then_some((planned.max(let_go), EndReason::Duration));
        }
        let lock = goal.lock?;
        if goal.counts_requests() {
            // Its condition has come, but the count that it needs may still never come.
            let last = self.stretch.began + lock.at_most;
            return (now >= last).then_some((last, EndReason::TookTooLong));
        }
        Some((now, if lock.told { EndReason::Told } else { EndReason::Frozen }))
    }

    fn is_too_much(&self, errors: ErrorGoal) -> bool {
        let PhaseCounts { transactions, errors: seen, .. } = self.tally;
        match errors {
            ErrorGoal::Count(most) => seen >= self.worker.share(most),
            ErrorGoal::Share(most) => {
                transactions >= ErrorGoal::RATIO_AFTER && seen as f64 >= most.get() * transactions as f64
            }
        }
    }
}

impl Phase {
    /// One that asks for nothing, for a schedule without phases.
    fn nothing() -> Self {
        let none = super::Ramp::default();
        Self {
            name: String::new(),
            goal: Goal::default(),
            load: none,
            population: none,
            recurrence: none,
            special: none,
            measured: false,
            outage: false,
        }
    }
}
