//! Opens that were read from the kernel and are not decided yet, each with the time when it was read: all of them
//! until the tree is armed, later those that find no free thread.
//!
//! Hot, but while nothing waits a check costs one load. Decides nothing.

use bakeoff_layers_base::locks::lock;
use bakeoff_sys::fanotify::Open;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

#[derive(Debug)]
pub(crate) struct Waiting {
    opens: Mutex<VecDeque<(Open, Instant)>>,
    /// Number of waiting opens.
    number: AtomicUsize,
    /// Limit on them: each holds a descriptor.
    limit: usize,
    /// Whether the tree is armed, so that they may be decided.
    decided: AtomicBool,
    wake: UnixStream,
    woken: UnixStream,
}

impl Waiting {
    pub(crate) fn new(limit: usize) -> io::Result<Self> {
        let (wake, woken) = UnixStream::pair()?;
        Ok(Self {
            opens: Mutex::new(VecDeque::new()),
            number: AtomicUsize::new(0),
            limit,
            decided: AtomicBool::new(false),
            wake,
            woken,
        })
    }

    /// Adds an open that waits since that time, or gives it back if the limit is reached.
    pub(crate) fn put(&self, open: Open, since: Instant) -> Result<(), Open> {
        let mut opens = self.opens();
        if opens.len() >= self.limit {
            return Err(open);
        }
        opens.push_back((open, since));
        self.number.store(opens.len(), Ordering::Release);
        Ok(())
    }

    /// The one that waits longest, once they may be decided.
    pub(crate) fn next(&self) -> Option<(Open, Instant)> {
        if self.number.load(Ordering::Acquire) == 0 || !self.is_decided() {
            return None;
        }
        let mut opens = self.opens();
        let next = opens.pop_front();
        self.number.store(opens.len(), Ordering::Release);
        next
    }

    /// Removes those that wait for longer than `limit`; the caller must answer them.
    pub(crate) fn take_late(&self, limit: Duration) -> Vec<Open> {
        if self.number.load(Ordering::Acquire) == 0 {
            return Vec::new();
        }
        let mut opens = self.opens();
        // Sorted by time: one left by a dead worker comes before all others.
        let late = opens.iter().take_while(|(_, since)| since.elapsed() > limit).count();
        let taken = opens.drain(..late).map(|(open, _)| open).collect();
        self.number.store(opens.len(), Ordering::Release);
        taken
    }

    /// Allows decisions from now on.
    pub(crate) fn decide(&self) {
        self.decided.store(true, Ordering::Release);
        // The thread that waits for an event handles them instead.
        let _ = (&self.wake).write(b"!");
    }

    pub(crate) fn is_decided(&self) -> bool {
        self.decided.load(Ordering::Acquire)
    }

    /// Descriptor that becomes readable once they may be decided.
    pub(crate) fn as_woken(&self) -> BorrowedFd<'_> {
        self.woken.as_fd()
    }

    fn opens(&self) -> MutexGuard<'_, VecDeque<(Open, Instant)>> {
        lock(&self.opens)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(number: i32) -> Open {
        Open { file: std::fs::File::open("/dev/null").unwrap().into(), pid: 0, number }
    }

    #[test]
    fn each_waits_its_own_time_and_none_is_decided_too_early() {
        let waiting = Waiting::new(3).unwrap();
        let now = Instant::now();
        let before = now.checked_sub(Duration::from_secs(60)).unwrap();
        for (number, since) in [(1, before), (2, now), (3, now)] {
            waiting.put(open(number), since).unwrap();
        }
        assert_eq!(waiting.put(open(4), now).unwrap_err().number, 4);
        assert!(waiting.next().is_none(), "nothing is decided before the tree is armed");
        let late: Vec<_> =
            waiting.take_late(Duration::from_secs(30)).iter().map(|open| open.number).collect();
        assert_eq!(late, [1]);
        waiting.decide();
        assert_eq!(waiting.next().map(|(open, since)| (open.number, since)), Some((2, now)));
        assert_eq!(waiting.next().map(|(open, _)| open.number), Some(3));
        assert!(waiting.next().is_none());
    }
}
