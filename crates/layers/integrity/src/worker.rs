//! The worker: arms the tree, starts the deciding threads, and keeps watch beside them.
//!
//! Its main thread hears of leases that are asked back, of signals, of mounts, of the supervisor's
//! end; it answers opens whose time is over. It never opens anything below the tree, and nothing that
//! could be waited for: arming, hashing and reloading have threads of their own.

use crate::counters::Count;
use crate::deciders::{self, gather};
use crate::enforcer::{Enforcer, threads};
use crate::error::{EnforceError, escaped};
use crate::gap::Gap;
use crate::settings::{Links, Settings};
use crate::tree::Listed;
use crate::{place, reload, respond, rest, rights, status, tree};
use bakeoff_layers_base::clock::now_unix_s;
use bakeoff_layers_base::daemon::status::{StatusFile, read_back};
use bakeoff_layers_base::manifest::{Action, Manifest};
use bakeoff_sys::fanotify::{Group, Mark, Open};
use bakeoff_sys::inode;
use bakeoff_sys::lease::{Arrived, Breaks};
use bakeoff_sys::process::{self, Stat};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

/// What the supervisor hands to a worker.
#[derive(Debug)]
pub(crate) struct Inherited {
    /// The group of permission events, which it holds, too.
    pub(crate) group: Group,
    /// Where it hears what we say: a packet for each thing.
    pub(crate) supervisor: UnixStream,
    /// Its process id.
    pub(crate) supervisor_pid: u32,
    /// Workers before this one that died.
    pub(crate) restarts: u64,
    /// Opens that the last of them had read.
    pub(crate) orphans: Vec<Open>,
    /// Version of the manifest that was in force then; 0 at first.
    pub(crate) version: u64,
    /// Root of the process tree that `stop` ends.
    pub(crate) server: Option<Stat>,
    /// When enforcing began.
    pub(crate) began: SystemTime,
}

/// Enforces until SIGTERM; the process's exit code. Why it could not is said to the supervisor.
pub(crate) fn run(settings: Settings, inherited: Inherited) -> i32 {
    let supervisor = inherited.supervisor.try_clone();
    match enforce(settings, inherited) {
        Ok(()) => 0,
        Err(error) => {
            let _ = supervisor.map(|supervisor| tell(&supervisor, &format!("failed {error}")));
            3
        }
    }
}

fn enforce(settings: Settings, inherited: Inherited) -> Result<(), EnforceError> {
    let breaks = Breaks::new(&[libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGUSR1])
        .map_err(EnforceError::system("signals"))?;
    rights::give_up(&settings, &[])?;
    let manifest = Arc::new(reload::read(&settings, inherited.version)?);
    let (restarts, supervisor_pid) = (inherited.restarts, inherited.supervisor_pid);
    let first = Listed::new(manifest.clone());
    let (group, server) = (inherited.group, inherited.server);
    let adopt_since = (restarts > 0).then_some(inherited.began);
    let enforcer = Enforcer::new(settings, group, first, supervisor_pid, adopt_since, server)?;
    let enforcer = Arc::new(enforcer);
    if restarts > 0 {
        restore(&enforcer, restarts);
    }
    let now = Instant::now();
    for open in inherited.orphans {
        enforcer.counters.add(Count::Orphaned);
        if let Err(open) = enforcer.waiting.put(open, now) {
            enforcer.answer(open.number, enforcer.settings.allows_undecided());
        }
    }
    start_threads(&enforcer)?;
    wait_for_tick(inherited.began);
    let mut watch = Watch::new(enforcer, breaks, inherited.supervisor)?;
    watch.arm(manifest, restarts > 0)?;
    watch.look_ahead();
    rights::confine_worker(&watch.enforcer.settings)?;
    watch.may_rest = true;
    watch.rest_or_rouse();
    watch.armed();
    watch.run();
    watch.end();
    Ok(())
}

/// Waits until the clock of change times has moved on since enforcing began: what becomes immutable
/// from now on is later than what was so before.
fn wait_for_tick(began: SystemTime) {
    /// The slowest that Linux is built with.
    const TICK: Duration = Duration::from_millis(10);
    let passed = SystemTime::now().duration_since(began).unwrap_or(TICK);
    std::thread::sleep(TICK.saturating_sub(passed));
}

/// The numbers of the workers before this one.
fn restore(enforcer: &Enforcer, restarts: u64) {
    if let Some(path) = &enforcer.settings.status {
        enforcer.counters.restore(&read_back(path));
    }
    let before = enforcer.counters.get(Count::Restarts);
    enforcer.counters.add_many(Count::Restarts, restarts.saturating_sub(before));
}

fn start_threads(enforcer: &Arc<Enforcer>) -> Result<(), EnforceError> {
    let start = |name: &str, work: Box<dyn FnOnce() + Send>| {
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
        thread.map(drop).map_err(EnforceError::system("a thread"))
    };
    for slot in 0..threads() {
        let enforcer = enforcer.clone();
        start("decide", Box::new(move || deciders::decide(&enforcer, slot)))?;
    }
    let looked_at = enforcer.clone();
    start("walk", Box::new(move || look_through(&looked_at)))?;
    if enforcer.settings.mode == Action::Log {
        let enforcer = enforcer.clone();
        start("look", Box::new(move || deciders::look_afterwards(&enforcer)))?;
    }
    Ok(())
}

/// Looks through a tree that is not frozen, for ever. A thread of its own: what is mounted there need not answer.
fn look_through(enforcer: &Enforcer) {
    loop {
        std::thread::sleep(LOOK_THROUGH);
        tree::look_again(enforcer);
    }
}

/// The verdicts of a worker that died were kept under leases that died with it: the kernel asks again.
fn forget_marks(enforcer: &Enforcer) {
    let listed = enforcer.listed();
    for entry in listed.manifest.entries() {
        if let Ok(file) = inode::open_below(&enforcer.tree.root, Path::new(entry.path), inode::For::Knowing) {
            let _ = enforcer.group.remove(Mark::Ignored, &file);
        }
    }
}

/// The main thread's own.
struct Watch {
    enforcer: Arc<Enforcer>,
    breaks: Breaks,
    supervisor: UnixStream,
    /// Can be read when the supervisor has ended.
    supervisors_end: OwnedFd,
    /// Readable when a mount was made or taken off.
    mounts: File,
    supervised: bool,
    /// SIGHUP came.
    reload: bool,
    status: StatusFile,
    status_written: Instant,
    /// When the supervisor last heard from us.
    told: Instant,
    /// When the place was last looked at.
    placed: Instant,
    /// There may be marks that need not be.
    may_rest: bool,
    /// Marks were put back since there was a gap.
    roused: bool,
    /// When it was last looked whether somebody has let go of what he held.
    looked_again: Instant,
}

/// The supervisor hears from us so often.
const HEARTBEAT: Duration = Duration::from_millis(500);
/// The status is as old as this at most.
const STATUS_AGE: Duration = Duration::from_millis(200);
/// A tree that is not frozen is looked through so often.
const LOOK_THROUGH: Duration = Duration::from_secs(10);
/// How long nobody may notice that the place of the tree is another one, where nothing tells of it.
const PLACE_AGE: Duration = Duration::from_secs(10);
/// The same while nothing but a file system that is read-only keeps files from being changed.
const READ_ONLY_AGE: Duration = Duration::from_secs(1);
/// Arming that is at one file for longer says which.
const HELD_UP: Duration = Duration::from_secs(3);
/// How often it is looked whether somebody has let go of a file.
const LOOK_AGAIN: Duration = Duration::from_secs(10);
/// How long a lease is waited for at the end, so that no file stays frozen: `fs.lease-break-time` is 45 s.
const LEASES_END: Duration = Duration::from_secs(50);

impl Watch {
    fn new(enforcer: Arc<Enforcer>, breaks: Breaks, supervisor: UnixStream) -> Result<Self, EnforceError> {
        let mounts =
            File::open("/proc/self/mountinfo").map_err(EnforceError::system("/proc/self/mountinfo"))?;
        // Its socket does not tell: both processes have all descriptors in common.
        let supervisors_end =
            process::end_of(enforcer.supervisor).map_err(EnforceError::system("the supervisor"))?;
        // Without a directory for it, enforcement goes on all the same.
        let status = StatusFile::open(enforcer.settings.status.as_deref()).unwrap_or_default();
        let now = Instant::now();
        Ok(Self {
            enforcer,
            breaks,
            supervisor,
            supervisors_end,
            mounts,
            supervised: true,
            reload: false,
            status,
            status_written: now,
            told: now.checked_sub(HEARTBEAT).unwrap_or(now),
            placed: now,
            may_rest: false,
            roused: false,
            looked_again: now,
        })
    }

    /// Does something that may wait for others in a thread of its own, and goes on with the main thread's
    /// work until it is done. None when it panicked.
    fn beside<T: Send + 'static>(&mut self, work: impl FnOnce(&Enforcer) -> T + Send + 'static) -> Option<T> {
        let enforcer = self.enforcer.clone();
        let thread = std::thread::spawn(move || work(&enforcer));
        while !thread.is_finished() {
            self.turn(Duration::from_millis(5));
            for path in self.enforcer.progress.held_up(HELD_UP) {
                let place = self.enforcer.tree.path.join(path);
                let place = escaped(&place);
                self.tell(&format!(
                    "note {place} holds everything up: a process that reads or writes it keeps it locked"
                ));
            }
        }
        thread.join().ok()
    }

    /// Marks and freezes the tree. From then on what waits is decided.
    fn arm(&mut self, manifest: Arc<Manifest>, again: bool) -> Result<(), EnforceError> {
        let armed = self.beside(move |enforcer| -> Result<(), EnforceError> {
            let mut listed = tree::arm(enforcer, manifest)?;
            let odd = listed.odd.take();
            enforcer.replace_listed(listed);
            let strict = enforcer.settings.links == Links::Deny && enforcer.settings.mode != Action::Log;
            // One worker after another must not end because of something that came meanwhile.
            if let Some((path, what)) = odd.filter(|_| strict && !again) {
                tree::disarm(enforcer);
                return Err(EnforceError::Odd { path, what });
            }
            if again {
                forget_marks(enforcer);
            }
            Ok(())
        });
        armed.unwrap_or_else(|| Err(EnforceError::Worker("arming panicked".to_owned())))?;
        self.enforcer.waiting.decide();
        self.look_at_place();
        Ok(())
    }

    /// Hashes everything before it is asked for.
    fn look_ahead(&mut self) {
        self.may_rest = false;
        if !self.enforcer.settings.ahead {
            return;
        }
        self.beside(|enforcer| {
            let threads = threads();
            std::thread::scope(|scope| {
                for first in 0..threads {
                    scope.spawn(move || deciders::look_ahead(enforcer, first, threads));
                }
            });
        });
    }

    fn armed(&mut self) {
        let enforcer = self.enforcer.clone();
        let listed = enforcer.listed();
        let line = format!(
            "armed {}: {} files, mode {}, degree {}",
            enforcer.tree.path.display(),
            listed.manifest.len(),
            enforcer.settings.mode,
            enforcer.gaps.line(enforcer.settings.mode)
        );
        self.write_status();
        self.tell_version();
        self.tell(&line);
    }

    fn run(&mut self) {
        while !self.is_ending() {
            self.turn(HEARTBEAT);
            if std::mem::take(&mut self.reload) {
                let said = self.beside(reload::reload);
                self.look_ahead();
                self.may_rest = true;
                self.write_status();
                self.tell_version();
                self.tell(&format!("note {}", said.as_deref().unwrap_or("reloading panicked")));
            }
            self.rest_or_rouse();
            if self.looked_again.elapsed() > LOOK_AGAIN {
                if !self.enforcer.held_by_others().is_empty() {
                    self.beside(deciders::look_again);
                }
                self.looked_again = Instant::now();
            }
        }
    }

    fn is_ending(&self) -> bool {
        self.enforcer.ending.load(Ordering::Relaxed)
    }

    /// Waits for something, and does what is due.
    fn turn(&mut self, longest: Duration) {
        let busy = self.enforcer.settings.time_limit / 4;
        let timeout = longest.min(busy).min(if self.is_status_due() { STATUS_AGE } else { longest });
        let mut ready = [
            PollFd::new(self.breaks.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.enforcer.orders.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.mounts.as_fd(), PollFlags::POLLPRI),
            PollFd::new(self.supervisors_end.as_fd(), PollFlags::POLLIN),
        ];
        let used = if self.supervised { ready.len() } else { ready.len() - 1 };
        let timeout = PollTimeout::try_from(timeout).unwrap_or(PollTimeout::ZERO);
        let _ = poll(ready.get_mut(..used).unwrap_or_default(), timeout);
        let is_ready = |at: usize| ready.get(at).and_then(PollFd::any).unwrap_or(false);
        let (mounts, supervisor) = (is_ready(2), self.supervised && is_ready(3));
        self.hear();
        if let Some(said) = respond::carry_out(&self.enforcer) {
            self.tell(&format!("note {said}"));
        }
        for said in self.enforcer.take_notes() {
            self.tell(&format!("note {said}"));
        }
        let age = if self.enforcer.is_read_only() { READ_ONLY_AGE } else { PLACE_AGE };
        if (mounts || self.placed.elapsed() >= age) && self.enforcer.waiting.is_decided() {
            self.look_at_place();
        }
        if supervisor {
            self.supervised = false;
            self.enforcer.gaps.set(Gap::NoSupervisor, 1);
            self.write_status();
        }
        self.answer_late();
        self.look_at_the_date();
        if self.told.elapsed() >= HEARTBEAT / 2 {
            self.told = Instant::now();
            self.tell("alive");
        }
        if self.status_written.elapsed() >= STATUS_AGE && self.is_status_due() {
            self.write_status();
        }
    }

    /// Marks that need not be are taken away as soon as everything was looked at and there is no gap, and
    /// put back as soon as there is one. Never while a manifest is read again.
    fn rest_or_rouse(&mut self) {
        let resting = self.enforcer.unasked.load(Ordering::Relaxed) > 0;
        match self.enforcer.gaps.any_open() {
            true if resting => self.rouse(),
            false if self.may_rest => {
                if self.roused {
                    // What a mount lay over has no marks yet.
                    self.rouse();
                    self.roused = false;
                }
                self.may_rest = false;
                let unasked = self.beside(rest::rest).unwrap_or(0);
                self.enforcer.unasked.store(unasked, Ordering::Relaxed);
            }
            _ => {}
        }
    }

    fn rouse(&mut self) {
        self.beside(reload::rouse);
        self.look_ahead();
        (self.roused, self.may_rest) = (true, true);
    }

    /// Leases that are asked back, and signals.
    fn hear(&mut self) {
        while let Ok(Some(arrived)) = self.breaks.next() {
            match arrived {
                Arrived::Break(fd) => self.enforcer.broken(fd),
                Arrived::Lost => self.enforcer.void_all(),
                Arrived::Signal(libc::SIGHUP) => self.reload = true,
                Arrived::Signal(libc::SIGUSR1) => self.write_status(),
                Arrived::Signal(_) => self.enforcer.ending.store(true, Ordering::Relaxed),
            }
        }
    }

    /// Opens that waited too long for their thread, and those that no thread was free for; each by its own
    /// time.
    fn answer_late(&mut self) {
        let enforcer = &self.enforcer;
        let limit = enforcer.settings.time_limit;
        let limit_ms = u32::try_from(limit.as_millis()).unwrap_or(u32::MAX);
        let allow = enforcer.settings.allows_undecided();
        enforcer.slots.answer_late(enforcer.elapsed_ms(Instant::now()), limit_ms, |number| {
            enforcer.counters.add(Count::Timeout);
            enforcer.answer(number, allow);
        });
        // Somebody holds the turn while he waits for an event; if nobody does, all threads are at work.
        if let Ok(_turn) = enforcer.turn.try_lock() {
            gather(enforcer);
        }
        let why = if enforcer.waiting.is_decided() { Count::Overflow } else { Count::Timeout };
        for open in enforcer.waiting.take_late(limit) {
            enforcer.counters.add(why);
            enforcer.answer(open.number, allow);
        }
    }

    /// A manifest that expires while it is enforced goes on: to refuse everything at a date would be an
    /// outage, and to allow everything no protection. It is a gap.
    fn look_at_the_date(&self) {
        let enforcer = &self.enforcer;
        let listed = enforcer.listed();
        let header = listed.manifest.header();
        let expired = header.not_after_unix_s < now_unix_s();
        if expired && !enforcer.gaps.is_open(Gap::Expired) {
            self.tell(&format!(
                "note version {} of the manifest has expired, and is enforced until there is a newer one: seal it again, then SIGHUP",
                header.version
            ));
        }
        enforcer.gaps.set(Gap::Expired, u64::from(expired));
    }

    /// Mounts that were put on the tree since it was armed are a gap, and asked about from now on; and
    /// what else is known of the place may have changed.
    fn look_at_place(&mut self) {
        self.placed = Instant::now();
        // Read to the end, it tells of the next change.
        let mut again = &self.mounts;
        let _ = std::io::Seek::rewind(&mut again);
        let _ = again.read_to_end(&mut Vec::new());
        let enforcer = &self.enforcer;
        let Ok(place) = place::look(&enforcer.tree, &enforcer.settings.exclude) else { return };
        enforcer.gaps.set(Gap::MountedOver, place.over.len() as u64);
        enforcer.gaps.set(Gap::Elsewhere, place.elsewhere);
        enforcer.gaps.set(Gap::Moved, u64::from(place.moved));
        if !place.over.is_empty() {
            // Whoever may mark a mount may do much else: that is the supervisor.
            let over: Vec<String> = place.over.iter().map(u64::to_string).collect();
            self.tell(&format!("over {}", over.join(" ")));
        }
        let before = enforcer.read_only.swap(place.read_only, Ordering::Relaxed);
        if before && !place.read_only {
            // It can be written to from now on: no verdict holds that was kept without a lease.
            enforcer.void_all();
            enforcer.gaps.add(Gap::NotFrozen);
        }
    }

    fn is_status_due(&self) -> bool {
        let enforcer = &self.enforcer;
        enforcer.settings.status.is_some() && (enforcer.counters.is_changed() || enforcer.gaps.is_changed())
    }

    fn write_status(&mut self) {
        let _ = (self.enforcer.counters.take_changed(), self.enforcer.gaps.take_changed());
        self.status_written = Instant::now();
        // What cannot be written now is written the next time; enforcement goes on.
        let _ = self.status.write(status::text(&self.enforcer));
        // If it stayed open, the supervisor would take it for the file of an open when this worker dies.
        self.status.take_over();
    }

    fn tell_version(&self) {
        self.tell(&format!("version {}", self.enforcer.listed().manifest.header().version));
    }

    fn tell(&self, what: &str) {
        tell(&self.supervisor, what);
    }

    /// Leaves nothing behind: neither marks nor immutable files. Says so before the first open passes.
    fn end(mut self) {
        let began = Instant::now();
        self.enforcer.ended.store(true, Ordering::Relaxed);
        self.write_status();
        self.beside(tree::disarm);
        // Somebody may hold a lease on a file, and was asked to let go.
        while self.enforcer.guard.len() > 0 && began.elapsed() < LEASES_END {
            self.turn(Duration::from_millis(100));
            self.beside(tree::thaw);
        }
        self.write_status();
    }
}

/// Says something to the supervisor: a packet, which comes whole or not at all, whatever stands in it.
/// When he does not read, he does not need to know.
fn tell(mut supervisor: &UnixStream, what: &str) {
    let _ = supervisor.write(what.as_bytes());
}
