//! The threads that answer: one has the turn, waits for events and answers what is quick; when it is in
//! for a long file or a disk it gives the turn to another.
//!
//! Hot. They open nothing by a path, so that none waits for another. Each has a slot that says which
//! open it is busy with; the main thread answers in its place when the time limit is over, and what is
//! answered first counts.

use crate::counters::Count;
use crate::enforcer::Enforcer;
use crate::gap::Gap;
use crate::judge::{self, Turn, Which};
use crate::queue::Job;
use crate::respond;
use crate::tree::{Listed, key};
use bakeoff_layers_base::manifest::Action;
use bakeoff_layers_base::manifest::check::Wrong;
use bakeoff_sys::fanotify::{Event, Open};
use bakeoff_sys::inode;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io;
use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::time::Instant;

/// What each thread is busy with.
#[derive(Debug)]
pub(crate) struct Slots(Vec<Slot>);

#[derive(Debug)]
struct Slot {
    /// Number of the open that waits for an answer; below zero when none does.
    number: AtomicI32,
    /// When it was read, in nanoseconds since the worker began.
    since_ns: AtomicU64,
}

/// No open.
const NONE: RawFd = -1;

impl Slots {
    pub(crate) fn new(threads: usize) -> Self {
        let slot = || Slot { number: AtomicI32::new(NONE), since_ns: AtomicU64::new(0) };
        Self((0..threads).map(|_| slot()).collect())
    }

    /// The opens that wait for longer than `limit_ns`; each is taken, and must be answered.
    pub(crate) fn take_late(&self, now_ns: u64, limit_ns: u64) -> Vec<RawFd> {
        let late = |slot: &&Slot| now_ns.saturating_sub(slot.since_ns.load(Ordering::Acquire)) > limit_ns;
        let taken = self.0.iter().filter(late).map(|slot| slot.number.swap(NONE, Ordering::AcqRel));
        taken.filter(|number| *number != NONE).collect()
    }
}

/// Answers opens, for ever.
pub(crate) fn decide(enforcer: &Enforcer, slot: usize) {
    // Kept from one event to the next: handing it on wakes a thread, which costs more than most answers.
    let mut turn: Turn<'_> = None;
    loop {
        if turn.is_none() {
            turn = Some(enforcer.turn.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
        }
        match enforcer.group.read() {
            Ok(Event::Open(open)) => handle(enforcer, slot, open, &mut turn),
            Ok(Event::Overflow) => enforcer.gaps.add(Gap::KernelOverflow),
            Ok(Event::Other) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => wait(enforcer),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // A socket, or a device that is not there. Nobody could open it anyhow.
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENXIO | libc::ENODEV)) => {
                respond::wrong(enforcer, "?", Wrong::NotAFile, Action::Deny);
            }
            // The kernel has refused the open: there was no descriptor for it.
            Err(_) => enforcer.gaps.add(Gap::Descriptors),
        }
    }
}

/// Waits for the next event.
fn wait(enforcer: &Enforcer) {
    let mut ready = [PollFd::new(enforcer.group.as_fd(), PollFlags::POLLIN)];
    let _ = poll(&mut ready, PollTimeout::NONE);
}

fn handle(enforcer: &Enforcer, slot: usize, open: Open, turn: &mut Turn<'_>) {
    if enforcer.own == open.pid {
        let _ = enforcer.group.answer(open.number, true);
        enforcer.counters.add(Count::Own);
        return;
    }
    let began = Instant::now();
    enforcer.begin(slot, open.number, began);
    // The file stays open until its open was answered: the answer is addressed to the number of the
    // descriptor, and another event would get the same one.
    let (number, file) = (open.number, Arc::new(open.file));
    let (allow, later) = judge(enforcer, &file, turn);
    enforcer.finish(slot, number, allow, began);
    if let Some(job) = later
        && enforcer.queue.put(job).is_err()
    {
        enforcer.counters.add(Count::Unchecked);
    }
}

/// Whether the open is allowed, and what is to be looked at after it was: in `log` mode, all that is
/// not known.
fn judge(enforcer: &Enforcer, file: &Arc<OwnedFd>, turn: &mut Turn<'_>) -> (bool, Option<Job>) {
    let Ok(facts) = inode::facts(&**file) else {
        return (respond::wrong(enforcer, "?", Wrong::Unreadable, Action::default()), None);
    };
    let listed = enforcer.listed();
    let index = match judge::which(enforcer, &listed, file, &facts) {
        Which::Excluded => {
            enforcer.counters.add(Count::Excluded);
            return (true, None);
        }
        Which::Unlisted(path) => {
            return (respond::wrong(enforcer, &path, Wrong::Unlisted, Action::default()), None);
        }
        Which::Listed(index) => index,
    };
    if let Some(known) = judge::remembered(enforcer, &listed, &facts, index) {
        enforcer.counters.add(Count::Remembered);
        return (settle(enforcer, &listed, index, known), None);
    }
    if enforcer.settings.mode == Action::Log {
        return (true, Some(Job { file: file.clone(), facts, index }));
    }
    let allow = match judge::look(enforcer, &listed, file, &facts, index, turn) {
        Some(wrong) => settle(enforcer, &listed, index, wrong),
        None => enforcer.settings.allows_undecided(),
    };
    (allow, None)
}

/// Counts what is wrong with a listed file; whether its open is allowed.
fn settle(enforcer: &Enforcer, listed: &Listed, index: u32, wrong: Option<Wrong>) -> bool {
    let Some(wrong) = wrong else { return true };
    match listed.manifest.entry(index as usize) {
        Some(entry) => respond::wrong(enforcer, entry.path, wrong, entry.action),
        None => respond::wrong(enforcer, "?", wrong, Action::default()),
    }
}

/// Looks at what `log` mode has allowed, for ever.
pub(crate) fn look_afterwards(enforcer: &Enforcer) {
    loop {
        let Job { file, facts, index } = enforcer.queue.take();
        let listed = enforcer.listed();
        // Many may have opened it while it waited.
        let known = judge::remembered(enforcer, &listed, &facts, index);
        let wrong = known.or_else(|| judge::look(enforcer, &listed, &file, &facts, index, &mut None));
        if let Some(wrong) = wrong {
            settle(enforcer, &listed, index, wrong);
        }
    }
}

/// Looks at every `step`-th listed file from the `first` on that was not looked at yet.
pub(crate) fn look_ahead(enforcer: &Enforcer, first: usize, step: usize) {
    let listed = enforcer.listed();
    for index in (first..listed.manifest.len()).step_by(step.max(1)) {
        let Some(entry) = listed.manifest.entry(index) else { continue };
        let path = std::path::Path::new(entry.path);
        let Ok(file) = inode::open_below(&enforcer.tree.root, path, inode::For::Reading) else { continue };
        let Ok(facts) = inode::facts(&file) else { continue };
        let index = index as u32;
        if enforcer.leases.is_full() && !enforcer.is_read_only() {
            // What is hashed now would be forgotten at once.
            enforcer.note_unheld(key(&facts), Some(Gap::Descriptors));
            continue;
        }
        if facts.kind == inode::Kind::File && judge::remembered(enforcer, &listed, &facts, index).is_none() {
            // What is wrong counts as a violation when somebody opens it.
            let _ = judge::look(enforcer, &listed, &Arc::new(file), &facts, index, &mut None);
        }
    }
}

impl Enforcer {
    fn begin(&self, slot: usize, number: RawFd, now: Instant) {
        if let Some(slot) = self.slots.0.get(slot) {
            slot.since_ns.store(self.elapsed_ns(now), Ordering::Release);
            slot.number.store(number, Ordering::Release);
        }
    }

    /// Answers, unless the main thread has done so; which open it is stands in the slot.
    fn finish(&self, slot: usize, number: RawFd, allow: bool, began: Instant) {
        let own = self.slots.0.get(slot).map(|slot| slot.number.swap(NONE, Ordering::AcqRel));
        if own == Some(number) {
            self.answer(number, allow);
            self.counters.add_many(Count::DecisionNs, began.elapsed().as_nanos() as u64);
        }
    }

    /// Answers somebody else's open and counts it.
    pub(crate) fn answer(&self, number: RawFd, allow: bool) {
        let _ = self.group.answer(number, allow);
        self.counters.add(Count::Decided);
        self.counters.add(if allow { Count::Allowed } else { Count::Denied });
    }

    pub(crate) fn elapsed_ns(&self, now: Instant) -> u64 {
        now.duration_since(self.started).as_nanos() as u64
    }
}

/// Answers all that waits unseen, when no thread was free for the length of the time limit.
pub(crate) fn drain(enforcer: &Enforcer) {
    while let Ok(Event::Open(open)) = enforcer.group.read() {
        if enforcer.own == open.pid {
            let _ = enforcer.group.answer(open.number, true);
            continue;
        }
        enforcer.counters.add(Count::Overflow);
        enforcer.answer(open.number, enforcer.settings.allows_undecided());
    }
}
