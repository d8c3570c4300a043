//! Watchdog for work on a file system that may never answer.
//!
//! Measuring side. A daemon that hangs leaves every process that uses its file system hanging in the kernel, where no
//! signal helps. So all such work is done in a thread, and bakeoff's main thread waits beside it; after a while it
//! takes the file system away, and the work comes back with an error.

use bakeoff_units::{Clock, MonotonicClock, Nanos};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Interval of the watchdog's checks.
const LOOK: Duration = Duration::from_millis(100);
/// Time that an operation may still take after the user wanted to stop.
const FAREWELL: Nanos = Nanos::from_secs(2);

/// Settings of the watchdog.
#[derive(Clone, Copy)]
pub(super) struct Watch<'a> {
    pub(super) clock: MonotonicClock,
    /// Most time that a single operation may take.
    pub(super) patience: Nanos,
    pub(super) interrupted: &'a AtomicBool,
}

/// Sign of life: the work marks its progress here.
pub(super) struct Pulse<'a> {
    last: AtomicU64,
    watch: Watch<'a>,
}

impl Pulse<'_> {
    /// An operation begins now.
    pub(super) fn beat(&self) {
        self.at(self.watch.clock.now());
    }

    /// An operation begins; for callers that know the time.
    pub(super) fn at(&self, now: Nanos) {
        self.last.store(now.get(), Ordering::Relaxed);
    }

    /// An operation begins, unless the user wants to stop.
    pub(super) fn goes_on(&self) -> bool {
        self.beat();
        !self.watch.interrupted.load(Ordering::Relaxed)
    }
}

impl Watch<'_> {
    /// Does the work in a thread of its own. If an operation takes too long, `rescue` runs once; the second result says
    /// whether it did.
    pub(super) fn over<T: Send>(
        &self,
        rescue: &mut dyn FnMut(),
        work: impl FnOnce(&Pulse<'_>) -> T + Send,
    ) -> (T, bool) {
        let pulse = Pulse { last: AtomicU64::new(self.clock.now().get()), watch: *self };
        std::thread::scope(|scope| {
            let (done, ended) = channel::<()>();
            let pulse = &pulse;
            let worker = scope.spawn(move || {
                let _done = done; // gone with the thread, and the watcher sees it
                work(pulse)
            });
            let mut rescued = false;
            while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                if !rescued && self.is_too_long(pulse) {
                    rescued = true;
                    rescue();
                }
            }
            match worker.join() {
                Ok(result) => (result, rescued),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }

    fn is_too_long(&self, pulse: &Pulse<'_>) -> bool {
        let leaving = self.interrupted.load(Ordering::Relaxed);
        let patience = if leaving { self.patience.min(FAREWELL) } else { self.patience };
        self.clock.now().since(Nanos::new(pulse.last.load(Ordering::Relaxed))) > patience
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static NEVER: AtomicBool = AtomicBool::new(false);

    fn watch(patience: Nanos) -> Watch<'static> {
        Watch { clock: MonotonicClock::new(), patience, interrupted: &NEVER }
    }

    #[test]
    fn work_that_moves_on_is_left_alone() {
        let mut never = || panic!("nothing hangs");
        let (sum, rescued) = watch(Nanos::from_secs(60))
            .over(&mut never, |pulse| (0..1000).filter(|_| pulse.goes_on()).sum::<u32>());
        assert_eq!((sum, rescued), (499_500, false));
    }

    #[test]
    fn work_that_hangs_is_rescued_once() {
        let (free, hang) = channel::<()>();
        let mut rescues = 0;
        let mut free = Some(free);
        let mut rescue = || {
            rescues += 1;
            free.take();
        };
        let (ended, rescued) = watch(Nanos::from_millis(1)).over(&mut rescue, move |_| hang.recv().is_err());
        assert!(ended && rescued);
        assert_eq!(rescues, 1);
    }
}
