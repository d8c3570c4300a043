//! Timers of connections without events: a reply is due, or the connection was idle for too long.
//!
//! Hot in a world with think times: fifteen thousand replies may wait in one thread, so that setting and ringing take
//! the logarithm of that, and a slot is never searched for. Owns moments; the worker acts on them. An alarm belongs to
//! a connection, not to its slot: the slot's next holder never gets it.

use bakeoff_sys::driver::Slot;
use bakeoff_units::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The purpose of an alarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Alarm {
    /// A reply may go.
    Due,
    /// The connection may have been idle for too long.
    Idle,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<Entry>>,
    slots: Vec<Held>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    at: Nanos,
    slot: Slot,
    /// Of the slot's holder, when it was set.
    generation: u32,
    alarm: Alarm,
}

/// The alarms of a slot's holder.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    generation: u32,
    due: Option<Nanos>,
    idle: Option<Nanos>,
}

impl Timers {
    /// Sets the slot's alarm of this kind, in place of the one that was.
    pub(crate) fn set(&mut self, slot: Slot, alarm: Alarm, at: Nanos) {
        let place = slot as usize;
        if place >= self.slots.len() {
            self.slots.resize(place + 1, Held::default());
        }
        let held = &mut self.slots[place];
        let known = held.of(alarm);
        if *known != Some(at) {
            *known = Some(at);
            self.heap.push(Reverse(Entry { at, slot, generation: held.generation, alarm }));
        }
    }

    /// Whether the slot has an alarm of this kind.
    pub(crate) fn has(&self, slot: Slot, alarm: Alarm) -> bool {
        self.slots.get(slot as usize).is_some_and(|held| match alarm {
            Alarm::Due => held.due.is_some(),
            Alarm::Idle => held.idle.is_some(),
        })
    }

    /// The slot's connection is gone, and its alarms with it.
    pub(crate) fn forget(&mut self, slot: Slot) {
        if let Some(held) = self.slots.get_mut(slot as usize) {
            *held = Held { generation: held.generation.wrapping_add(1), due: None, idle: None };
        }
    }

    /// When to look again. It may be the moment of an alarm that does not count any more.
    pub(crate) fn next_at(&self) -> Option<Nanos> {
        self.heap.peek().map(|Reverse(entry)| entry.at)
    }

    /// Takes the first alarm whose moment has come, and its moment.
    pub(crate) fn ring(&mut self, now: Nanos) -> Option<(Slot, Alarm, Nanos)> {
        while self.next_at().is_some_and(|at| at <= now) {
            let Reverse(entry) = self.heap.pop()?;
            let Some(held) = self.slots.get_mut(entry.slot as usize) else { continue };
            let same = held.generation == entry.generation;
            let known = held.of(entry.alarm);
            if same && *known == Some(entry.at) {
                *known = None;
                return Some((entry.slot, entry.alarm, entry.at));
            }
        }
        None
    }
}

impl Held {
    const fn of(&mut self, alarm: Alarm) -> &mut Option<Nanos> {
        match alarm {
            Alarm::Due => &mut self.due,
            Alarm::Idle => &mut self.idle,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Nanos {
        Nanos::from_millis(millis)
    }

    #[test]
    fn alarms_ring_in_the_order_of_their_moments_and_once() {
        let mut timers = Timers::default();
        timers.set(7, Alarm::Due, at(30));
        timers.set(2, Alarm::Due, at(10));
        timers.set(2, Alarm::Idle, at(20));
        assert_eq!((timers.next_at(), timers.ring(at(9))), (Some(at(10)), None));
        assert_eq!(timers.ring(at(25)), Some((2, Alarm::Due, at(10))));
        assert_eq!(timers.ring(at(25)), Some((2, Alarm::Idle, at(20))));
        assert_eq!(timers.ring(at(25)), None);
        assert!(timers.has(7, Alarm::Due) && !timers.has(2, Alarm::Due) && !timers.has(99, Alarm::Due));
        assert_eq!(timers.ring(at(30)), Some((7, Alarm::Due, at(30))));
        assert_eq!((timers.next_at(), timers.ring(Nanos::MAX)), (None, None));
    }

    #[test]
    fn the_next_holder_of_a_slot_hears_nothing_of_the_last_ones_alarms() {
        let mut timers = Timers::default();
        timers.set(0, Alarm::Due, at(10));
        timers.set(0, Alarm::Idle, at(10));
        timers.forget(0);
        assert_eq!(timers.ring(at(10)), None);
        timers.set(0, Alarm::Due, at(20));
        timers.forget(0);
        timers.set(0, Alarm::Due, at(20));
        assert_eq!(timers.ring(at(20)), Some((0, Alarm::Due, at(20))));
        assert_eq!(timers.ring(at(20)), None);
        timers.forget(5); // never had one
    }

    #[test]
    fn an_alarm_that_is_set_again_rings_at_its_new_moment_only() {
        let mut timers = Timers::default();
        for millis in [10, 10, 40, 20] {
            timers.set(1, Alarm::Due, at(millis));
        }
        assert_eq!(timers.ring(at(100)), Some((1, Alarm::Due, at(20))));
        assert_eq!(timers.ring(at(100)), None);
    }
}
