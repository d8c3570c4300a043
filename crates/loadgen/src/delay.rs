//! Lateness of requests by cause: the generator itself, or other programs on its core.
//!
//! Measuring side; a comparison a turn, and a small file read every ten milliseconds of an open loop. The kernel counts
//! how long a thread was ready to run and did not (its run-queue delay). Lateness is kept once more without the
//! intervals in which that grew by more than waking up takes. Time taken by a hypervisor is in no such count, and stays
//! in.

use bakeoff_meter::Histogram;
use bakeoff_sys::thread::{RunQueue, RunQueueDelay};
use bakeoff_units::Nanos;

/// Length of an interval.
const INTERVAL: Nanos = Nanos::from_millis(10);
/// Waking up an idle core is counted as delay, too: so much each time is no sign of other programs.
const PER_WAKING: Nanos = Nanos::from_micros(3);
/// The same for an interval.
const ALLOWED: Nanos = Nanos::from_micros(20);

/// Lateness without the intervals in which other programs had the core.
#[derive(Clone, Debug, Default)]
pub struct OwnLateness {
    /// As [`bakeoff_meter::Times::lateness`], of the intervals that are left.
    pub times: Histogram,
    /// Intervals with requests.
    pub intervals: u64,
    /// Those of them that are left out.
    pub excluded: u64,
}

impl OwnLateness {
    /// Adds another thread's.
    pub fn add(&mut self, more: &Self) {
        self.times.merge(&more.times);
        self.intervals += more.intervals;
        self.excluded += more.excluded;
    }
}

/// Sorts a worker's lateness by interval.
pub(crate) struct Delays {
    queue: RunQueue,
    before: RunQueueDelay,
    until: Nanos,
    pending: Vec<Nanos>,
    own: OwnLateness,
}

impl Delays {
    /// `None` where the kernel keeps no such count.
    pub(crate) fn new(start: Nanos) -> Option<Self> {
        let mut queue = RunQueue::of_this_thread().ok()?;
        let before = queue.delay()?;
        let pending = Vec::with_capacity(1024);
        Some(Self { queue, before, until: start + INTERVAL, pending, own: OwnLateness::default() })
    }

    /// Notes the lateness of a request.
    pub(crate) fn note(&mut self, late: Nanos) {
        self.pending.push(late);
    }

    /// Closes intervals that are over.
    pub(crate) fn tick(&mut self, now: Nanos) {
        if now >= self.until {
            self.close();
            self.until = now + INTERVAL;
        }
    }

    fn close(&mut self) {
        let Some(after) = self.queue.delay() else { return };
        if !self.pending.is_empty() {
            self.own.intervals += 1;
            if is_own(&self.before, &after) {
                self.pending.iter().for_each(|late| self.own.times.record(*late));
            } else {
                self.own.excluded += 1;
            }
        }
        self.pending.clear();
        self.before = after;
    }

    pub(crate) fn finish(mut self) -> OwnLateness {
        self.close();
        self.own
    }
}

/// Whether the thread had its core when it was ready to run.
fn is_own(before: &RunQueueDelay, after: &RunQueueDelay) -> bool {
    let turns = after.turns.saturating_sub(before.turns);
    after.waited.since(before.waited) <= ALLOWED + PER_WAKING.times(turns as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waking_up_often_is_no_sign_of_others() {
        let at = |micros, turns| RunQueueDelay { waited: Nanos::from_micros(micros), turns };
        assert!(is_own(&at(0, 0), &at(20, 0)));
        assert!(is_own(&at(100, 50), &at(400, 150)));
        assert!(!is_own(&at(100, 50), &at(1500, 150)));
        assert!(!is_own(&at(0, 0), &at(1000, 1)));
    }

    #[test]
    fn all_is_kept_or_left_out_by_interval() {
        let Some(mut delays) = Delays::new(Nanos::ZERO) else { return };
        delays.note(Nanos::new(5));
        delays.tick(Nanos::from_millis(11));
        delays.tick(Nanos::from_millis(40)); // nothing was due: no interval
        delays.note(Nanos::new(7));
        let own = delays.finish();
        assert_eq!(own.intervals, 2);
        assert_eq!(own.times.count() + own.excluded, 2);
    }
}
