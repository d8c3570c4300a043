//! Flow of requests: which robot asks when, and from which seat.
//!
//! Measuring side, hot. A seat is a place for one request in flight, on a connection that follows from its number. In a
//! closed loop a robot has a seat of its own, or shares a number of them with the others; in an open loop all requests
//! share, or each robot has its own ([`pools`]). Time comes in from the loop; nothing here reads a clock or sees a
//! socket.

mod pools;

pub(crate) use pools::RobotPools;

use crate::pacer::{Original, Pacer};
use crate::wheel::Wheel;
use bakeoff_units::Nanos;
use std::collections::VecDeque;

/// A seat, and the robot that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    pub(crate) seat: u32,
    /// The robot, 0 where an open loop has none.
    pub(crate) robot: u32,
}

/// A request that can be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) turn: Turn,
    pub(crate) due: Nanos,
    /// Whether it waited for a seat: for others' replies, not for this thread.
    pub(crate) postponed: bool,
}

/// The way in which requests come due.
pub(crate) enum Plan {
    /// Each robot asks again when its reply is there and it has thought.
    Closed {
        think: Nanos,
        /// The first requests are spread over this time.
        spread: Nanos,
        robots: usize,
        /// Seats, if fewer than robots.
        seats: Option<usize>,
    },
    /// The pacer decides.
    Open { pacer: Box<dyn Pacer>, seats: usize },
    /// The source decides.
    Sourced { seats: usize },
    /// The source decides, and each robot has seats of its own.
    Pooled { robots: usize, each: usize },
}

impl Plan {
    pub(crate) fn seats(&self) -> usize {
        match self {
            Self::Closed { robots, seats, .. } => seats.unwrap_or(*robots),
            Self::Open { seats, .. } | Self::Sourced { seats } => *seats,
            Self::Pooled { robots, each } => robots * each,
        }
    }

    /// Seats that are there from the start; robots' pools make theirs when they need them.
    pub(crate) fn seats_at_first(&self) -> usize {
        if let Self::Pooled { .. } = self { 0 } else { self.seats() }
    }

    /// The pools of robots that have seats of their own.
    pub(crate) fn pools<T>(&self) -> Option<RobotPools<T>> {
        match *self {
            Self::Pooled { robots, each } => Some(RobotPools::new(robots, each)),
            _ => None,
        }
    }
}

/// See the module.
pub(crate) struct Flow {
    pace: Pace,
    start: Nanos,
    /// Robots that think or back off, by the time they go on.
    waiting: Wheel,
    /// Number of these robots.
    thinking: usize,
    /// Robots that go on at once.
    ready: VecDeque<Due>,
    /// Robots that were due and found no seat.
    line: VecDeque<(Nanos, u32)>,
    /// Free seats, the last used on top; `None` where each robot has its own.
    idle: Option<Vec<u32>>,
    /// When there was last no free seat: a request due before that was held up by it.
    starved_until: Nanos,
    /// Open loop: when the next request is due.
    next_due: Option<Nanos>,
}

enum Pace {
    Closed {
        think: Nanos,
    },
    Open {
        pacer: Box<dyn Pacer>,
        /// The source's clock is the pace, so that it may be asked as often as one likes.
        sourced: bool,
    },
}

impl Pace {
    /// A flow that the source paces.
    fn sourced() -> Self {
        Self::Open { pacer: Box::new(Original::new(1.0)), sourced: true }
    }
}

impl Flow {
    /// `prefer` tells whether a seat is a good one to begin with.
    pub(crate) fn new(plan: Plan, start: Nanos, prefer: impl Fn(u32) -> bool) -> Self {
        let seats = plan.seats() as u32;
        let robots = if let Plan::Closed { robots, .. } = &plan { *robots } else { 0 };
        let shared = !matches!(&plan, Plan::Closed { seats: None, .. } | Plan::Pooled { .. });
        let mut flow = Self {
            pace: Pace::Closed { think: Nanos::ZERO },
            start,
            waiting: Wheel::with_capacity(robots),
            thinking: 0,
            ready: VecDeque::new(),
            line: VecDeque::new(),
            idle: shared.then(|| idle_seats(seats, prefer)),
            starved_until: Nanos::ZERO,
            next_due: None,
        };
        flow.pace = match plan {
            Plan::Open { pacer, .. } => Pace::Open { pacer, sourced: false },
            Plan::Sourced { .. } | Plan::Pooled { .. } => Pace::sourced(),
            Plan::Closed { think, spread, robots, .. } => {
                for robot in 0..robots {
                    let at = start + spread.times(robot as f64 / robots as f64);
                    flow.wait(at, robot as u32);
                }
                Pace::Closed { think }
            }
        };
        flow
    }

    /// Open loop: the workload's own time of the next request, or none.
    pub(crate) fn schedule(&mut self, upcoming: Option<Nanos>) {
        if let Pace::Open { pacer, .. } = &mut self.pace {
            let start = self.start;
            self.next_due = upcoming.map(|at| start + pacer.due(at));
        }
    }

    /// Whether the pacer decides.
    pub(crate) const fn is_open(&self) -> bool {
        matches!(self.pace, Pace::Open { .. })
    }

    /// Whether to ask for the workload's time of its next request again when a request has ended.
    pub(crate) fn may_change(&self) -> bool {
        matches!(self.pace, Pace::Open { sourced, .. } if sourced || self.next_due.is_none())
    }

    /// Open loop with seats by robot: when the next request is due, if it is. [`Flow::schedule`] must follow.
    pub(crate) fn take_due(&mut self, now: Nanos) -> Option<Nanos> {
        self.next_due.take_if(|due| *due <= now)
    }

    /// The next request that is due and has a seat. In an open loop [`Flow::schedule`] must follow.
    pub(crate) fn next(&mut self, now: Nanos) -> Option<Due> {
        if let Some(due) = self.ready.pop_front() {
            return Some(due);
        }
        if self.is_open() {
            let due = self.next_due.filter(|due| *due <= now)?;
            let seat = self.idle.as_mut()?.pop()?;
            return Some(Due { turn: Turn { seat, robot: 0 }, due, postponed: due < self.starved_until });
        }
        loop {
            if self.thinking == 0 {
                return None; // most often; the wheel would look through its lists
            }
            let (due, robot) = self.waiting.pop_due(now)?;
            self.thinking -= 1;
            let seat = match &mut self.idle {
                None => robot, // its own
                Some(idle) => match idle.pop() {
                    Some(seat) => seat,
                    None => {
                        self.line.push_back((due, robot));
                        continue;
                    }
                },
            };
            return Some(Due { turn: Turn { seat, robot }, due: due.max(self.start), postponed: false });
        }
    }

    /// A request has got its reply: its robot thinks, and the seat is free.
    pub(crate) fn served(&mut self, turn: Turn, now: Nanos) {
        match self.pace {
            Pace::Closed { think: Nanos::ZERO } => {
                if self.idle.is_none() {
                    return self.ready.push_back(Due { turn, due: now, postponed: false });
                }
                self.wait(now, turn.robot);
            }
            Pace::Closed { think } => self.wait(now + think, turn.robot),
            Pace::Open { .. } => {}
        }
        self.free(turn.seat, now);
    }

    /// A request has failed: its robot thinks, and pauses if that is wise.
    pub(crate) fn failed(&mut self, turn: Turn, now: Nanos, pause: Nanos) {
        if let Pace::Closed { think } = self.pace {
            self.wait(now + think + pause, turn.robot);
        }
        self.free(turn.seat, now);
    }

    /// There was no request to ask: the robot is done.
    pub(crate) fn leave(&mut self, turn: Turn, now: Nanos) {
        self.free(turn.seat, now);
    }

    fn wait(&mut self, until: Nanos, robot: u32) {
        self.waiting.insert(until, robot);
        self.thinking += 1;
    }

    fn free(&mut self, seat: u32, now: Nanos) {
        let Some(idle) = &mut self.idle else { return };
        if let Some((due, robot)) = self.line.pop_front() {
            return self.ready.push_back(Due { turn: Turn { seat, robot }, due, postponed: true });
        }
        if idle.is_empty() {
            self.starved_until = now;
        }
        idle.push(seat);
    }

    /// When the loop has to wake up for it, at the latest.
    pub(crate) fn next_wake(&self) -> Option<Nanos> {
        if !self.ready.is_empty() {
            return Some(Nanos::ZERO);
        }
        match &self.pace {
            Pace::Closed { .. } if self.thinking == 0 => None,
            Pace::Closed { .. } => self.waiting.next_due(),
            // With no free seat nothing can be sent before an event frees one. A robot's own seats are not known here.
            Pace::Open { .. } => {
                self.next_due.filter(|_| self.idle.as_ref().is_none_or(|idle| !idle.is_empty()))
            }
        }
    }

    /// Open loop: when the next request is due, with or without a seat.
    pub(crate) const fn next_due(&self) -> Option<Nanos> {
        self.next_due
    }

    /// Takes a robot that was due before this moment and found no seat, with the time since which it is due.
    pub(crate) fn held_up(&mut self, before: Nanos) -> Option<(Nanos, u32)> {
        let place = self.line.iter().position(|(due, _)| *due < before)?;
        self.line.remove(place)
    }

    /// Whether no request will follow.
    pub(crate) fn is_over(&self) -> bool {
        self.thinking == 0 && self.ready.is_empty() && self.line.is_empty() && self.next_due.is_none()
    }
}

/// Idle seats: the preferred ones on top, low numbers first.
fn idle_seats(seats: u32, prefer: impl Fn(u32) -> bool) -> Vec<u32> {
    let mut idle: Vec<u32> = (0..seats).rev().collect();
    idle.sort_by_key(|&seat| prefer(seat));
    idle
}

#[cfg(test)]
mod tests;
