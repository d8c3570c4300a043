//! Opens that were read from the kernel and are not decided yet, each with the time when it was read: all of them
//! until the tree is armed, later those that find no free thread, and those of a file that is just hashed.
//!
//! Hot, but while nothing waits a check costs one load. Decides nothing. One hash serves all opens of a file that
//! waited when it began, and so many are never hashed at once that no thread is left for what needs none.

use crate::leases::Key;
use bakeoff_layers_base::locks::lock;
use bakeoff_sys::fanotify::Open;
use bakeoff_sys::inode::Facts;
use std::collections::{HashSet, VecDeque};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Identity of a file that has to be hashed. Opens of the same identity get the same answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Hashed {
    pub(crate) key: Key,
    /// Entry that it is compared with.
    pub(crate) index: u32,
    /// Whether its inode alone says so.
    pub(crate) by_inode: bool,
}

/// A file that `log` mode has let open, to be checked later.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) file: Arc<OwnedFd>,
    pub(crate) facts: Facts,
    /// Its number in the manifest.
    pub(crate) index: u32,
}

#[derive(Debug)]
pub(crate) struct Waiting {
    opens: Mutex<Queue>,
    /// Number of waiting opens.
    number: AtomicUsize,
    /// Limit on them: each holds a descriptor.
    limit: usize,
    /// Limit on files hashed at once.
    at_once: usize,
    /// Whether the tree is armed, so that they may be decided.
    decided: AtomicBool,
    wake: UnixStream,
    woken: UnixStream,
}

#[derive(Debug, Default)]
struct Queue {
    opens: VecDeque<WaitingOpen>,
    hashed: HashSet<Hashed>,
    /// Number of opens that ever waited.
    came: u64,
}

#[derive(Debug)]
struct WaitingOpen {
    open: Open,
    since: Instant,
    number: u64,
    /// Its file, if it waits for a hash.
    hashed: Option<Hashed>,
}

/// A hash in progress.
#[derive(Debug)]
pub(crate) struct HashBegun<'w> {
    waiting: &'w Waiting,
    hashed: Hashed,
    /// Opens that came before it began have lower numbers.
    before: u64,
}

impl HashBegun<'_> {
    /// Removes the opens that waited for this file when its hash began; the caller must answer them.
    pub(crate) fn served(&self) -> Vec<Open> {
        self.waiting.remove(|one| one.hashed == Some(self.hashed) && one.number < self.before)
    }
}

impl Drop for HashBegun<'_> {
    fn drop(&mut self) {
        self.waiting.queue().hashed.remove(&self.hashed);
    }
}

impl Waiting {
    pub(crate) fn new(limit: usize, at_once: usize) -> io::Result<Self> {
        let (wake, woken) = UnixStream::pair()?;
        Ok(Self {
            opens: Mutex::default(),
            number: AtomicUsize::new(0),
            limit,
            at_once,
            decided: AtomicBool::new(false),
            wake,
            woken,
        })
    }

    /// Adds an open that waits since that time, for a hash if one is named; or gives it back if the limit is reached.
    pub(crate) fn put(&self, open: Open, since: Instant, hashed: Option<Hashed>) -> Result<(), Open> {
        let mut queue = self.queue();
        if queue.opens.len() >= self.limit {
            return Err(open);
        }
        queue.came += 1;
        let number = queue.came;
        queue.opens.push_back(WaitingOpen { open, since, number, hashed });
        self.number.store(queue.opens.len(), Ordering::Release);
        Ok(())
    }

    /// The one that waits longest and can be decided now, once they may be.
    pub(crate) fn next(&self) -> Option<(Open, Instant)> {
        if self.number.load(Ordering::Acquire) == 0 || !self.is_decided() {
            return None;
        }
        let mut queue = self.queue();
        let at =
            queue.opens.iter().position(|one| one.hashed.is_none_or(|hashed| self.is_free(&queue, hashed)));
        let next = at.and_then(|at| queue.opens.remove(at));
        self.number.store(queue.opens.len(), Ordering::Release);
        next.map(|one| (one.open, one.since))
    }

    /// Begins a hash; `None` if there are too many, or this file is hashed already: then the open has to wait.
    pub(crate) fn begin(&self, hashed: Hashed) -> Option<HashBegun<'_>> {
        let mut queue = self.queue();
        if !self.is_free(&queue, hashed) {
            return None;
        }
        queue.hashed.insert(hashed);
        Some(HashBegun { waiting: self, hashed, before: queue.came + 1 })
    }

    fn is_free(&self, queue: &Queue, hashed: Hashed) -> bool {
        queue.hashed.len() < self.at_once && !queue.hashed.contains(&hashed)
    }

    /// Removes those that wait for longer than `limit`; the caller must answer them.
    pub(crate) fn take_late(&self, limit: Duration) -> Vec<Open> {
        if self.number.load(Ordering::Acquire) == 0 {
            return Vec::new();
        }
        self.remove(|one| one.since.elapsed() > limit)
    }

    fn remove(&self, which: impl Fn(&WaitingOpen) -> bool) -> Vec<Open> {
        let mut queue = self.queue();
        let (taken, left): (VecDeque<_>, _) = std::mem::take(&mut queue.opens).into_iter().partition(which);
        queue.opens = left;
        self.number.store(queue.opens.len(), Ordering::Release);
        taken.into_iter().map(|one| one.open).collect()
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

    fn queue(&self) -> MutexGuard<'_, Queue> {
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
        let waiting = Waiting::new(3, 1).unwrap();
        let now = Instant::now();
        let before = now.checked_sub(Duration::from_secs(60)).unwrap();
        for (number, since) in [(1, before), (2, now), (3, now)] {
            waiting.put(open(number), since, None).unwrap();
        }
        assert_eq!(waiting.put(open(4), now, None).unwrap_err().number, 4);
        assert!(waiting.next().is_none(), "nothing is decided before the tree is armed");
        let late: Vec<_> =
            waiting.take_late(Duration::from_secs(30)).iter().map(|open| open.number).collect();
        assert_eq!(late, [1]);
        waiting.decide();
        assert_eq!(waiting.next().map(|(open, since)| (open.number, since)), Some((2, now)));
        assert_eq!(waiting.next().map(|(open, _)| open.number), Some(3));
        assert!(waiting.next().is_none());
    }

    #[test]
    fn one_hash_serves_all_who_waited_when_it_began_and_holds_up_nothing_else() {
        let (waiting, now) = (Waiting::new(9, 2).unwrap(), Instant::now());
        waiting.decide();
        let file = |index| Hashed { key: (1, 1), index, by_inode: false };
        let numbers = |opens: Vec<Open>| opens.iter().map(|open| open.number).collect::<Vec<_>>();
        let next = || waiting.next().map(|(open, _)| open.number);
        let first = waiting.begin(file(0)).unwrap();
        assert!(waiting.begin(file(0)).is_none(), "hashed already");
        for (number, hashed) in [(1, Some(file(0))), (2, Some(file(1))), (3, None), (4, Some(file(0)))] {
            waiting.put(open(number), now, hashed).unwrap();
        }
        assert_eq!((next(), next()), (Some(2), Some(3)), "the second name of a file is another's");
        let second = waiting.begin(file(1)).unwrap();
        assert!(waiting.begin(file(2)).is_none(), "a thread is left for what needs no hash");
        assert_eq!(
            (next(), numbers(first.served())),
            (None, vec![]),
            "who came later waits for the next hash"
        );
        drop(first);
        assert_eq!(next(), Some(1));
        let third = waiting.begin(file(0)).unwrap();
        waiting.put(open(5), now, Some(file(0))).unwrap();
        assert_eq!(numbers(third.served()), [4]);
        drop((second, third));
        assert_eq!((next(), next()), (Some(5), None));
    }
}
