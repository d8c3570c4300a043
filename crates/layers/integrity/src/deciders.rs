//! Deciding threads: one has the turn, waits for events and answers the quick ones. Before it hashes a long file or
//! waits for a disk, it passes the turn to another.
//!
//! Hot. They open nothing by a path, so that none waits for another. Each has a slot with the number of its current
//! open. The main thread answers in its place once the time limit is exceeded, and the first answer counts. Before
//! the tree is armed they allow our own opens and defer all others.

use crate::arming::open_listed;
use crate::counters::Count;
use crate::enforcer::Enforcer;
use crate::gap::Gap;
use crate::judge::{self, FoundBy, Turn, Which};
use crate::respond;
use crate::tree::{Listed, key};
use crate::waiting::{Hashed, Job};
use bakeoff_layers_base::locks::lock;
use bakeoff_layers_base::manifest::FaultAction;
use bakeoff_layers_base::manifest::check::Deviation;
use bakeoff_sys::fanotify::{FanotifyEvent, Open, set_answered};
use bakeoff_sys::inode;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io;
use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Loop of a deciding thread, without end.
pub(crate) fn decide(enforcer: &Enforcer, slot: usize) {
    // Kept from one event to the next: passing it on wakes a thread, which costs more than most answers.
    let mut turn: Turn<'_> = None;
    loop {
        // Without the turn, too: whoever has it may wait for an event.
        let decided = enforcer.waiting.is_decided();
        if let Some((open, since)) = enforcer.waiting.next() {
            handle(enforcer, slot, open, since, &mut turn);
            continue;
        }
        if turn.is_none() {
            turn = Some(lock(&enforcer.turn));
            continue;
        }
        match next(enforcer) {
            Next::Open(open) if decided => handle(enforcer, slot, open, Instant::now(), &mut turn),
            Next::Open(open) => put_by(enforcer, open, Instant::now(), None),
            Next::Seen => {}
            Next::None => wait(enforcer, decided),
        }
    }
}

/// Result of reading an event.
enum Next {
    /// An open by another process.
    Open(Open),
    /// An event that needs no more work.
    Seen,
    /// No event.
    None,
}

/// Reads an event. Our own opens are allowed at once: arming waits for some.
fn next(enforcer: &Enforcer) -> Next {
    match enforcer.group.read() {
        Ok(FanotifyEvent::Open(open)) if open.pid == enforcer.own => {
            let _ = enforcer.group.answer(open.number, true);
            enforcer.counters.add(Count::Own);
        }
        Ok(FanotifyEvent::Open(open)) => return Next::Open(open),
        Ok(FanotifyEvent::Unopened { pid, error }) => unopened(enforcer, pid, &error),
        Ok(FanotifyEvent::Overflow) => enforcer.gaps.add(Gap::KernelOverflow),
        Ok(FanotifyEvent::Other) => {}
        // No event; or an older kernel refused the open of a leased file without telling.
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Next::None,
        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
        // An older kernel again: it was a socket, or no descriptor was free for the file.
        Err(error) if is_nothing(&error) => {
            respond::wrong(enforcer, "?", Deviation::NotAFile, FaultAction::Deny);
        }
        Err(_) => enforcer.gaps.add(Gap::Descriptors),
    }
    Next::Seen
}

/// A socket, or a missing device: nobody could open it anyway.
fn is_nothing(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENXIO | libc::ENODEV))
}

/// Counts an open that the kernel refused because it could not open the file for us. Waiting for the holder of a
/// lease would make all others wait with us.
fn unopened(enforcer: &Enforcer, pid: u32, error: &io::Error) {
    let leased = error.kind() == io::ErrorKind::WouldBlock;
    if is_nothing(error) {
        respond::wrong(enforcer, "?", Deviation::NotAFile, FaultAction::Deny);
    } else if !leased {
        enforcer.gaps.add(Gap::Descriptors);
    }
    if pid != enforcer.own {
        if leased {
            enforcer.counters.add(Count::Leased);
        }
        enforcer.counters.add(Count::Decided);
        enforcer.counters.add(Count::Denied);
    }
}

/// Defers an open, as no thread is free or its file is just hashed; its time runs.
fn put_by(enforcer: &Enforcer, open: Open, since: Instant, hashed: Option<Hashed>) {
    if let Err(open) = enforcer.waiting.put(open, since, hashed) {
        enforcer.counters.add(Count::Overflow);
        enforcer.answer(open.number, enforcer.settings.allows_undecided());
    }
}

/// Takes all events from the kernel, where their waiting time is unknown.
pub(crate) fn gather(enforcer: &Enforcer) {
    loop {
        match next(enforcer) {
            Next::Open(open) => put_by(enforcer, open, Instant::now(), None),
            Next::Seen => {}
            Next::None => return,
        }
    }
}

/// Waits for the next event, or, before the tree is armed, for the arming.
fn wait(enforcer: &Enforcer, decided: bool) {
    let mut ready = [
        PollFd::new(enforcer.group.as_fd(), PollFlags::POLLIN),
        PollFd::new(enforcer.waiting.as_woken(), PollFlags::POLLIN),
    ];
    let used = if decided { 1 } else { 2 };
    let _ = poll(ready.get_mut(..used).unwrap_or_default(), PollTimeout::NONE);
}

/// Decides an open that was read at time `since`.
fn handle(enforcer: &Enforcer, slot: usize, open: Open, since: Instant, turn: &mut Turn<'_>) {
    enforcer.slots.begin(slot, open.number, enforcer.elapsed_ms(since));
    // The file stays open until its open was answered: the answer names the descriptor's number, which another event
    // would otherwise reuse.
    let (number, pid, file) = (open.number, open.pid, Arc::new(open.file));
    let judged = judge(enforcer, &file, turn);
    // Otherwise the main thread has answered after the time limit.
    let unanswered = enforcer.slots.finish(slot);
    let (allow, later) = match judged {
        Judged::Now(allow, later) => (allow, later),
        Judged::Wait(hashed) => {
            if let (true, Some(file)) = (unanswered, Arc::into_inner(file)) {
                put_by(enforcer, Open { file, pid, number }, since, Some(hashed));
            }
            return;
        }
    };
    if unanswered {
        enforcer.answer(number, allow);
        enforcer.counters.add_many(Count::DecisionNs, since.elapsed().as_nanos() as u64);
    }
    if Arc::strong_count(&file) > 1 {
        // The file is kept for its lease or a later check. Nothing waits for it any more, if we die now.
        let _ = set_answered(&*file);
    }
    if let Some(job) = later
        && enforcer.later.0.try_send(job).is_err()
    {
        enforcer.counters.add(Count::Unchecked);
    }
}

/// Result of judging an open.
enum Judged {
    /// Whether it is allowed, and the check to make afterwards: in `log` mode, for every file without a verdict.
    Now(bool, Option<Job>),
    /// It has to wait for a hash.
    Wait(Hashed),
}

fn judge(enforcer: &Enforcer, file: &Arc<OwnedFd>, turn: &mut Turn<'_>) -> Judged {
    let most = FaultAction::default();
    let Ok(facts) = inode::facts(&**file) else {
        return Judged::Now(respond::wrong(enforcer, "?", Deviation::Unreadable, most), None);
    };
    let listed = enforcer.listed();
    let (which, found_by) = judge::which(enforcer, &listed, file, &facts);
    let index = match which {
        Which::Excluded => {
            enforcer.counters.add(Count::Excluded);
            return Judged::Now(true, None);
        }
        Which::Unlisted(path) => {
            return Judged::Now(respond::wrong(enforcer, &path, Deviation::Unlisted, found_by.most()), None);
        }
        Which::Listed(index) => index,
    };
    if let Some(known) = judge::remembered(enforcer, &listed, &facts, index) {
        enforcer.counters.add(Count::Remembered);
        return Judged::Now(settle(enforcer, &listed, index, known, found_by), None);
    }
    if enforcer.settings.mode == FaultAction::Log {
        return Judged::Now(true, Some(Job { file: file.clone(), facts, index }));
    }
    let hashed = Hashed { key: key(&facts), index, by_inode: found_by == FoundBy::Inode };
    let Some(begun) = enforcer.waiting.begin(hashed) else { return Judged::Wait(hashed) };
    let looked = judge::look(enforcer, &listed, file, &facts, index, turn);
    let allow = || match looked {
        Some(wrong) => settle(enforcer, &listed, index, wrong, found_by),
        None => enforcer.settings.allows_undecided(),
    };
    for open in begun.served() {
        enforcer.answer(open.number, allow());
    }
    Judged::Now(allow(), None)
}

/// Counts the fault of a listed file; returns whether its open is allowed.
fn settle(
    enforcer: &Enforcer,
    listed: &Listed,
    index: u32,
    wrong: Option<Deviation>,
    found_by: FoundBy,
) -> bool {
    let Some(wrong) = wrong else { return true };
    match listed.manifest.entry(index as usize) {
        Some(entry) => respond::wrong(enforcer, entry.path, wrong, entry.action.min(found_by.most())),
        None => respond::wrong(enforcer, "?", wrong, found_by.most()),
    }
}

/// Loop that checks files which `log` mode has allowed, without end.
pub(crate) fn look_afterwards(enforcer: &Enforcer) {
    let later = lock(&enforcer.later.1);
    while let Ok(Job { file, facts, index }) = later.recv() {
        let listed = enforcer.listed();
        // It may have been checked for another open while it waited.
        let known = judge::remembered(enforcer, &listed, &facts, index);
        let wrong = known.or_else(|| judge::look(enforcer, &listed, &file, &facts, index, &mut None));
        if let Some(wrong) = wrong {
            settle(enforcer, &listed, index, wrong, FoundBy::Path);
        }
    }
}

/// Checks every `step`-th listed file, starting at `first`, unless it has a verdict.
pub(crate) fn look_ahead(enforcer: &Enforcer, first: usize, step: usize) {
    let listed = enforcer.listed();
    for index in (first..listed.manifest.len()).step_by(step.max(1)) {
        if enforcer.ending.load(Ordering::Relaxed) {
            break;
        }
        let Some(entry) = listed.manifest.entry(index) else { continue };
        enforcer.progress.at(entry.path);
        let Some(file) = open_listed(enforcer, entry.path) else { continue };
        let Ok(facts) = inode::facts(&file) else { continue };
        // A file on a mount over the tree is not ours to freeze.
        if !enforcer.tree.knows_mount(facts.mount) {
            continue;
        }
        let index = index as u32;
        if enforcer.leases.is_full() && !enforcer.is_read_only() {
            // Its verdict could not be kept.
            enforcer.note_unheld(key(&facts), Some(Gap::Descriptors));
            continue;
        }
        if facts.kind == inode::InodeKind::File
            && judge::remembered(enforcer, &listed, &facts, index).is_none()
        {
            // A fault counts as a violation when somebody opens the file.
            let _ = judge::look(enforcer, &listed, &Arc::new(file), &facts, index, &mut None);
        }
    }
    enforcer.progress.done();
}

/// Checks files again that another process held at their check, and has released since.
pub(crate) fn look_again(enforcer: &Enforcer) {
    let listed = enforcer.listed();
    for key in enforcer.held_by_others() {
        let Some(index) = listed.of(key) else { continue };
        let Some(entry) = listed.manifest.entry(index as usize) else { continue };
        let Some(file) = open_listed(enforcer, entry.path) else { continue };
        let Ok(facts) = inode::facts(&file) else { continue };
        // Hashing a file that is still held would be in vain.
        if judge::let_go(enforcer, &file, key, entry.size_bytes) && !enforcer.ending.load(Ordering::Relaxed) {
            let _ = judge::look(enforcer, &listed, &Arc::new(file), &facts, index, &mut None);
        }
    }
}

impl Enforcer {
    /// Answers another process's open and counts it, unless it was answered already.
    pub(crate) fn answer(&self, number: RawFd, allow: bool) {
        if self.group.answer(number, allow).is_ok() {
            self.counters.add(Count::Decided);
            self.counters.add(if allow { Count::Allowed } else { Count::Denied });
        }
    }

    /// Milliseconds since the worker began; wraps after 49 days, but only differences are used.
    pub(crate) fn elapsed_ms(&self, now: Instant) -> u32 {
        now.duration_since(self.started).as_millis() as u32
    }
}
