//! Slots of the deciding threads: each holds the number of the open that its thread decides.
//!
//! Hot. The main thread answers an open in its thread's place once the time limit is exceeded; the first answer counts.

use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU64, Ordering};

/// Current open of each thread.
#[derive(Debug)]
pub(crate) struct Slots(Vec<AtomicU64>);

/// No open.
const NONE: u64 = u64::MAX;
/// An open that the main thread is just answering. Both values are above all numbers of opens, which are not
/// negative.
const TAKEN: u64 = u64::MAX - 1;

/// Number of an open that waits for an answer and the millisecond in which it was read, in one word: an atomic
/// exchange then takes exactly the open that was looked at, and not a later one of the same number.
const fn packed(number: RawFd, since_ms: u32) -> u64 {
    (since_ms as u64) << 32 | number as u32 as u64
}

impl Slots {
    pub(crate) fn new(threads: usize) -> Self {
        Self((0..threads).map(|_| AtomicU64::new(NONE)).collect())
    }

    pub(crate) fn begin(&self, slot: usize, number: RawFd, since_ms: u32) {
        if let Some(slot) = self.0.get(slot) {
            slot.store(packed(number, since_ms), Ordering::Release);
        }
    }

    /// Ends the slot's open; returns whether it is still to be answered. If [`Self::answer_late`] answered it, that
    /// has finished when this returns: only then may the number belong to another open.
    pub(crate) fn finish(&self, slot: usize) -> bool {
        let Some(slot) = self.0.get(slot) else { return false };
        loop {
            match slot.load(Ordering::Acquire) {
                NONE => return false,
                TAKEN => std::thread::yield_now(),
                open if take(slot, open, NONE) => return true,
                _ => {}
            }
        }
    }

    /// Answers the opens that wait for longer than `limit_ms`.
    pub(crate) fn answer_late(&self, now_ms: u32, limit_ms: u32, mut answer: impl FnMut(RawFd)) {
        for slot in &self.0 {
            let open = slot.load(Ordering::Acquire);
            let late = open < TAKEN && now_ms.wrapping_sub((open >> 32) as u32) > limit_ms;
            if late && take(slot, open, TAKEN) {
                answer(open as u32 as RawFd);
                slot.store(NONE, Ordering::Release);
            }
        }
    }
}

fn take(slot: &AtomicU64, open: u64, leave: u64) -> bool {
    slot.compare_exchange(open, leave, Ordering::AcqRel, Ordering::Relaxed).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Once an idle thread's last open was taken for a late one, and a new one that began at that moment was refused.
    #[test]
    fn only_what_waits_for_too_long_itself_is_answered() {
        let slots = Slots::new(2);
        let late = |now_ms| {
            let mut late = Vec::new();
            slots.answer_late(now_ms, 50, |number| late.push(number));
            late
        };
        slots.begin(0, 7, u32::MAX - 10);
        slots.begin(1, 8, 5);
        assert!(late(20).is_empty());
        assert_eq!(late(50), [7], "the clock wraps");
        assert!(!slots.finish(0) && slots.finish(1) && !slots.finish(1));
        slots.begin(0, 7, 1000);
        assert!(late(1050).is_empty(), "the same number, and a later open");
        assert_eq!(late(1051), [7]);
    }
}
