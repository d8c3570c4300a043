//! Kernel's caches of the mount: a record of what it was told, and its invalidation.
//!
//! Measured side, client process. Answers and breaks can cross: a break may come for an answer on its way to the
//! kernel. So each question notes the time at which it was asked, and an answer about an object broken since gets no
//! time for which the kernel may keep it. An answer on its way counts as told before it goes, and a break waits until
//! it has arrived ([`Telling`]): before that the kernel may not know what to forget.
//!
//! A break must not wait for anything that may wait for another client, or two of them wait for each other.
//! Attributes are dropped without a lock: from then on every `read` asks first. Names are dropped all at once
//! (`FUSE_NOTIFY_INC_EPOCH`, Linux 6.16), as dropping a single one would wait for the holder of its directory. Pages
//! may be locked: threads of their own drop them ([`PageDroppers`]), and the break is acknowledged after that
//! ([`Uses`]). On an older kernel names are not kept at all.

use super::order::{Order, Reading, Writing};
use super::pages::{PageDroppers, PageRange};
use super::uses::{Ack, InUse, Uses};
use crate::frame::BreakScope;
use bakeoff_layers_base::locks::lock;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// Number of the export, which is also FUSE's number of the root.
const ROOT: u64 = 1;
/// Codes of `linux/fuse.h`.
const INVALIDATE_INODE: i32 = 2;
const NEXT_EPOCH: i32 = 8;
/// All pages of an object.
const ALL: PageRange = (0, 0);
/// Limit on breaks that are remembered one by one.
const MOST_BROKEN: usize = 10_000;
/// Longest wait for pages to be dropped between two sessions, and behind a write; one locked longer belongs to a read that
/// the next session answers, or to the write.
const FORGETTING: Duration = Duration::from_secs(1);
/// Longest wait at the end, for all pages to be dropped; a page locked longer waits for an answer that does not come.
const EMPTYING: Duration = Duration::from_secs(5);

/// A point in time between two breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct BreakCount(u64);

#[derive(Debug, Default)]
struct SeenVersion {
    told: HashMap<u64, Lookups>,
    /// Time at which each was last broken.
    broken: HashMap<u64, u64>,
    /// Latest time at which any other object was broken.
    floor: u64,
    now: u64,
    /// Time at which the last session was lost.
    lost: u64,
    /// Answers on their way to the kernel: object, and the time of the question.
    telling: Vec<(u64, BreakCount)>,
}

/// Number of times that the kernel was told of an object: the kernel forgets them all at once, and each session only
/// knows of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Lookups {
    by_lost_sessions: u64,
    by_this_session: u64,
}

/// The kernel's side of the mount.
#[derive(Debug)]
pub(super) struct Kernel {
    device: Arc<OnceLock<File>>,
    keeps_names: AtomicBool,
    seen: Mutex<SeenVersion>,
    /// Signals that an answer has arrived.
    arrived: Condvar,
    droppers: PageDroppers,
    uses: Arc<Uses>,
    order: Arc<Order>,
}

impl Kernel {
    pub(super) fn new() -> Self {
        let device = Arc::new(OnceLock::new());
        let its = device.clone();
        let drop_pages = move |object, range| drop(invalidate(&its, object, Some(range)));
        Self {
            device,
            keeps_names: AtomicBool::new(false),
            seen: Mutex::default(),
            arrived: Condvar::new(),
            droppers: PageDroppers::new(Box::new(drop_pages)),
            uses: Arc::default(),
            order: Arc::default(),
        }
    }

    /// Opens the mount's device for invalidations. Called before anything is asked.
    pub(super) fn is_there(&self, device: BorrowedFd<'_>) -> io::Result<()> {
        let device = File::from(device.try_clone_to_owned()?);
        let _ = self.device.set(device);
        self.keeps_names.store(self.drop_names().is_ok(), Ordering::Relaxed);
        Ok(())
    }

    /// Whether the kernel may keep names.
    pub(super) fn keeps_names(&self) -> bool {
        self.keeps_names.load(Ordering::Relaxed)
    }

    /// The time of a question.
    pub(super) fn now(&self) -> BreakCount {
        BreakCount(lock(&self.seen).now)
    }

    /// Whether an answer to a question of that time is still valid.
    pub(super) fn holds(&self, object: u64, since: BreakCount) -> bool {
        lock(&self.seen).holds(object, since)
    }

    /// Counts that the kernel is told of an object once more: the answer is on its way until the result is dropped.
    /// Whether it is still valid is as of [`holds`](Self::holds).
    pub(super) fn tell(&self, object: u64, since: BreakCount) -> (bool, Telling<'_>) {
        let mut seen = lock(&self.seen);
        // Who asked before a loss may have the answer of either session. Counted for the one before, the server
        // remembers an object too long; for the other one it would forget an object that the kernel knows.
        let is_lost = since.0 < seen.lost;
        let lookups = seen.told.entry(object).or_default();
        match is_lost {
            true => lookups.by_lost_sessions += 1,
            false => lookups.by_this_session += 1,
        }
        seen.telling.push((object, since));
        (seen.holds(object, since), Telling { kernel: self, object, since })
    }

    /// Counts that the kernel has forgotten so many mentions of an object, the oldest first; returns how many of them
    /// this session's server made.
    pub(super) fn forgot(&self, object: u64, count: u64) -> u64 {
        let mut seen = lock(&self.seen);
        let Some(told) = seen.told.get_mut(&object) else { return 0 };
        let lost = told.by_lost_sessions.min(count);
        told.by_lost_sessions -= lost;
        let own = told.by_this_session.min(count - lost);
        told.by_this_session -= own;
        if *told == Lookups::default() {
            seen.told.remove(&object);
        }
        own
    }

    /// Makes the kernel forget everything after the loss of a session, before the next one begins: a reader that waits
    /// for new attributes would go on with old pages. Those of a read that waits for the next session are locked, and
    /// waited for briefly.
    pub(super) fn lost(&self) {
        {
            let mut seen = lock(&self.seen);
            seen.now += 1;
            seen.lost = seen.now;
            for told in seen.told.values_mut() {
                told.by_lost_sessions += std::mem::take(&mut told.by_this_session);
            }
        }
        self.uses.lost();
        self.dropped_within(FORGETTING);
    }

    /// Uses of objects for the kernel.
    pub(super) const fn uses(&self) -> &Arc<Uses> {
        &self.uses
    }

    /// Makes the kernel forget what it knows of an object, and acknowledges when no reader gets anything old.
    pub(super) fn break_it(&self, object: u64, what: BreakScope, ack: Ack) {
        let is_known = {
            let mut seen = lock(&self.seen);
            seen.is_broken(object);
            let now = BreakCount(seen.now);
            // Whoever writes an answer waits for nobody.
            seen = self.wait_while(seen, |(told, since)| told == object && since < now);
            object == ROOT || seen.told.contains_key(&object)
        };
        if what.names {
            let _ = self.drop_names();
        }
        if is_known {
            self.drop_attributes(object);
        }
        match what.contents || what.names {
            true => self.droppers.drop_pages(object, ALL, self.uses.drops(object, ack)),
            false => ack(),
        }
    }

    /// Makes the kernel forget everything: nobody will announce changes any more. When all pages are dropped, so are
    /// all copies of `done`.
    pub(super) fn break_all(&self, done: &(impl Clone + Send + 'static)) {
        let known: Vec<u64> = {
            let mut seen = lock(&self.seen);
            seen.now += 1;
            seen.floor = seen.now;
            seen.broken.clear();
            let now = BreakCount(seen.now);
            seen = self.wait_while(seen, |(_, since)| since < now);
            seen.told.keys().copied().chain([ROOT]).collect()
        };
        let _ = self.drop_names();
        known.iter().for_each(|object| self.drop_attributes(*object));
        known.iter().for_each(|object| self.droppers.drop_pages(*object, ALL, done.clone()));
    }

    /// The same at the end.
    pub(super) fn empty(&self) {
        self.dropped_within(EMPTYING);
    }

    /// The same, and waits until all pages are dropped, but no longer than this.
    fn dropped_within(&self, limit: Duration) {
        let (done, ends) = channel::<()>();
        self.break_all(&done);
        drop(done);
        let _ = ends.recv_timeout(limit);
    }

    /// Order of the mount's own reads and writes.
    pub(super) const fn order(&self) -> &Arc<Order> {
        &self.order
    }

    /// Has pages dropped that a read brought, which is over then.
    pub(super) fn drop_read(&self, object: u64, range: PageRange, read: (InUse, Reading)) {
        self.droppers.drop_pages(object, range, (read, self.uses.passes(object)));
    }

    /// Has pages dropped that reads beside a write may have left as they were before it, and waits until they are. A
    /// page that is locked longer is one of the write's own, which nobody reads before it is over.
    pub(super) fn drop_beside(&self, object: u64, writing: &Writing) {
        let (done, ends) = channel::<()>();
        for range in writing.beside() {
            self.droppers.drop_pages(object, range, (done.clone(), self.uses.passes(object)));
        }
        drop(done);
        let _ = ends.recv_timeout(FORGETTING);
    }

    fn drop_names(&self) -> io::Result<()> {
        notify(&self.device, NEXT_EPOCH, &[])
    }

    /// A missing inode is one that the kernel has forgotten.
    fn drop_attributes(&self, object: u64) {
        let _ = invalidate(&self.device, object, None);
    }

    /// Waits while such an answer is on its way.
    fn wait_while<'k>(
        &'k self,
        seen: MutexGuard<'k, SeenVersion>,
        is_old: impl Fn((u64, BreakCount)) -> bool,
    ) -> MutexGuard<'k, SeenVersion> {
        let waited = self.arrived.wait_while(seen, |seen| seen.telling.iter().any(|one| is_old(*one)));
        waited.unwrap_or_else(PoisonError::into_inner)
    }
}

/// Invalidates attributes, and pages in a range; none without one.
fn invalidate(device: &OnceLock<File>, object: u64, range: Option<PageRange>) -> io::Result<()> {
    let mut body = [0; 24];
    // A negative offset is the kernel's word for no pages.
    let (offset, length) = range.unwrap_or((u64::MAX, 0));
    body[..8].copy_from_slice(&object.to_ne_bytes());
    body[8..16].copy_from_slice(&offset.to_ne_bytes());
    body[16..].copy_from_slice(&length.to_ne_bytes());
    notify(device, INVALIDATE_INODE, &body)
}

/// Sends `struct fuse_out_header` without a request number, and a body.
fn notify(device: &OnceLock<File>, code: i32, body: &[u8]) -> io::Result<()> {
    let Some(mut device) = device.get() else { return Err(ErrorKind::NotConnected.into()) };
    let mut message = Vec::with_capacity(16 + body.len());
    message.extend_from_slice(&(16 + body.len() as u32).to_ne_bytes());
    message.extend_from_slice(&code.to_ne_bytes());
    message.extend_from_slice(&0_u64.to_ne_bytes());
    message.extend_from_slice(body);
    device.write(&message).map(drop)
}

impl SeenVersion {
    fn holds(&self, object: u64, since: BreakCount) -> bool {
        self.broken.get(&object).copied().unwrap_or(self.floor) <= since.0
    }

    fn is_broken(&mut self, object: u64) {
        self.now += 1;
        if self.broken.len() >= MOST_BROKEN {
            self.broken.clear();
            self.floor = self.now;
        }
        self.broken.insert(object, self.now);
    }
}

/// An answer on its way to the kernel.
#[derive(Debug)]
pub(super) struct Telling<'k> {
    kernel: &'k Kernel,
    object: u64,
    since: BreakCount,
}

impl Drop for Telling<'_> {
    fn drop(&mut self) {
        let mut seen = lock(&self.kernel.seen);
        if let Some(at) = seen.telling.iter().position(|one| *one == (self.object, self.since)) {
            seen.telling.swap_remove(at);
        }
        drop(seen);
        self.kernel.arrived.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    /// A server that was told of more than it told itself would forget a file that the kernel has, and break no lease.
    #[test]
    fn a_server_hears_that_its_own_mentions_alone_were_forgotten() {
        let kernel = Kernel::new();
        let tell = |since| {
            kernel.tell(7, since);
        };
        let before = kernel.now();
        tell(before);
        tell(before);
        kernel.lost();
        tell(kernel.now());
        tell(before);
        assert_eq!(kernel.forgot(7, 2), 0, "those of the lost session are the oldest");
        assert_eq!(kernel.forgot(7, 9), 1);
        assert_eq!((kernel.forgot(7, 1), kernel.forgot(8, 1)), (0, 0));
        tell(kernel.now());
        kernel.lost();
        assert_eq!(kernel.forgot(7, 1), 0);
    }

    /// The kernel cannot forget an object that it is still being told of.
    #[test]
    fn a_break_waits_for_answers_on_their_way() {
        let kernel = Kernel::new();
        let (since, order) = (kernel.now(), Mutex::new(Vec::new()));
        let (_, first) = kernel.tell(7, since);
        let (_, _other) = kernel.tell(8, since);
        thread::scope(|scope| {
            scope.spawn(|| {
                kernel.break_it(7, BreakScope::default(), Box::new(|| {}));
                lock(&order).push("broken");
            });
            while kernel.holds(7, since) {
                thread::yield_now();
            }
            // Time for a break that does not wait; and an answer to a later question, which is valid.
            let (holds, _later) = kernel.tell(7, kernel.now());
            (0..1000).for_each(|_| thread::yield_now());
            lock(&order).push("arrived");
            drop(first);
            assert!(holds);
        });
        assert_eq!(*lock(&order), ["arrived", "broken"]);
    }

    #[test]
    fn what_was_broken_since_does_not_hold() {
        let kernel = Kernel::new();
        let before = kernel.now();
        assert!(kernel.tell(7, before).0);
        kernel.break_it(8, BreakScope::default(), Box::new(|| {}));
        assert!(kernel.holds(7, before) && !kernel.holds(8, before) && kernel.holds(8, kernel.now()));
        kernel.break_all(&());
        assert!(!kernel.holds(7, before) && kernel.holds(7, kernel.now()));
        let before = kernel.now();
        (0..=MOST_BROKEN as u64).for_each(|object| lock(&kernel.seen).is_broken(object));
        assert!(!kernel.holds(0, before), "one that is not remembered any more");
        assert!(kernel.holds(0, kernel.now()));
    }
}
