//! Worker process: arms the tree, starts the deciding threads, and does the main thread's work beside them.
//!
//! Its main thread handles lease breaks, signals, mount changes and the end of the supervisor, and answers opens that
//! exceeded the time limit. It never opens anything below the tree, and never waits: arming, hashing and reloading
//! have threads of their own.

use crate::arming::Mounts;
use crate::counters::Count;
use crate::deciders::{self, gather};
use crate::enforcer::{self, Enforcer, threads};
use crate::error::{EnforceError, escaped};
use crate::gap::Gap;
use crate::settings::{EnforcementSettings, Links};
use crate::tree::Listed;
use crate::written::{StatusWriter, WrittenFiles};
use crate::{arming, place, reload, respond, rest, rights, status};
use bakeoff_layers_base::clock::now_unix_s;
use bakeoff_layers_base::manifest::{FaultAction, Manifest};
use bakeoff_layers_base::plain::{self, FileOwner};
use bakeoff_sys::fanotify::{Group, Mark, Open};
use bakeoff_sys::inode;
use bakeoff_sys::lease::{Breaks, LeaseArrival};
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

/// State passed from the supervisor to a worker.
#[derive(Debug)]
pub(crate) struct Inherited {
    /// The group of permission events, which the supervisor holds, too.
    pub(crate) group: Group,
    /// Places of the files to write.
    pub(crate) files: Arc<WrittenFiles>,
    /// Socket for our messages to it: a packet for each.
    pub(crate) supervisor: UnixStream,
    /// Its process id.
    pub(crate) supervisor_pid: u32,
    /// Number of earlier workers, which died.
    pub(crate) restarts: u64,
    /// Opens that the last of them had read.
    pub(crate) orphans: Vec<Open>,
    /// Version of the manifest then in force; 0 for the first worker.
    pub(crate) version: u64,
    /// Root of the process tree that `stop` ends.
    pub(crate) server: Option<Stat>,
    /// Start of enforcement.
    pub(crate) began: SystemTime,
}

/// Enforces until SIGTERM; returns the process's exit code. The supervisor gets the reason of a failure.
pub(crate) fn run(settings: EnforcementSettings, inherited: Inherited) -> i32 {
    let supervisor = inherited.supervisor.try_clone();
    match enforce(settings, inherited) {
        Ok(()) => 0,
        Err(error) => {
            let _ = supervisor.map(|supervisor| tell(&supervisor, &format!("failed {error}")));
            3
        }
    }
}

fn enforce(settings: EnforcementSettings, inherited: Inherited) -> Result<(), EnforceError> {
    let breaks = Breaks::new(&[libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGUSR1])
        .map_err(EnforceError::system("signals"))?;
    rights::give_up(&settings, &inherited.files, &[])?;
    let tree = settings.root.canonicalize();
    let tree = tree.map_err(|source| EnforceError::Root { path: settings.root.clone(), source })?;
    let manifest = Arc::new(reload::read(&settings, &tree, inherited.version)?);
    let (restarts, supervisor_pid) = (inherited.restarts, inherited.supervisor_pid);
    let first = Listed::new(manifest.clone());
    let (group, server) = (inherited.group, inherited.server);
    let adopt_since = (restarts > 0).then_some(inherited.began);
    let enforcer =
        Enforcer::new((settings, inherited.files), group, first, supervisor_pid, adopt_since, server)?;
    let enforcer = Arc::new(enforcer);
    if restarts > 0 {
        restore(&enforcer, restarts);
    }
    let now = Instant::now();
    for open in inherited.orphans {
        enforcer.counters.add(Count::Orphaned);
        if let Err(open) = enforcer.waiting.put(open, now, None) {
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

/// Waits until the clock of change times has advanced since the start: files made immutable from now on have a later
/// time than those that were immutable before.
fn wait_for_tick(began: SystemTime) {
    /// The slowest tick that Linux is built with.
    const TICK: Duration = Duration::from_millis(10);
    let passed = SystemTime::now().duration_since(began).unwrap_or(TICK);
    std::thread::sleep(TICK.saturating_sub(passed));
}

/// Restores the counters of the earlier workers.
fn restore(enforcer: &Enforcer, restarts: u64) {
    let status = enforcer.files.status.as_ref();
    let left = status
        .and_then(|place| plain::read_at_most(&place.open(FileOwner::Trusted).ok()?, MOST_STATUS_BYTES).ok());
    enforcer.counters.restore(&String::from_utf8_lossy(&left.unwrap_or_default()));
    let before = enforcer.counters.get(Count::Restarts);
    enforcer.counters.add_many(Count::Restarts, restarts.saturating_sub(before));
}

fn start_threads(enforcer: &Arc<Enforcer>) -> Result<(), EnforceError> {
    let start = |name: &str, work: Box<dyn FnOnce() + Send>| {
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
        thread.map(drop).map_err(EnforceError::system("a thread"))
    };
    for slot in 0..enforcer::deciders() {
        let enforcer = enforcer.clone();
        start("decide", Box::new(move || deciders::decide(&enforcer, slot)))?;
    }
    let looked_at = enforcer.clone();
    start("walk", Box::new(move || look_through(&looked_at)))?;
    if enforcer.settings.mode == FaultAction::Log {
        let enforcer = enforcer.clone();
        start("look", Box::new(move || deciders::look_afterwards(&enforcer)))?;
    }
    Ok(())
}

/// Walks the tree again and again. In a thread of its own: a file system mounted there need not answer.
fn look_through(enforcer: &Enforcer) {
    let mut took = Duration::ZERO;
    loop {
        std::thread::sleep(LOOK_THROUGH.max(took * IDLE));
        let began = Instant::now();
        arming::look_again(enforcer);
        // Where files can come at any time the interval is promised.
        took = if enforcer.can_change() { Duration::ZERO } else { began.elapsed() };
    }
}

/// Drops the kernel's marks for a dead worker's verdicts, whose leases died with it: the kernel asks again.
fn forget_marks(enforcer: &Enforcer) {
    let listed = enforcer.listed();
    for entry in listed.manifest.entries() {
        if let Ok(file) =
            inode::open_below(&enforcer.tree.root, Path::new(entry.path), inode::OpenPurpose::Knowing)
        {
            let _ = enforcer.group.remove(Mark::Ignored, &file);
        }
    }
}

/// State of the main thread alone.
struct Watch {
    enforcer: Arc<Enforcer>,
    breaks: Breaks,
    supervisor: UnixStream,
    /// Readable when the supervisor has ended.
    supervisors_end: OwnedFd,
    /// Readable when a mount was made or removed.
    mounts: File,
    supervised: bool,
    /// Whether SIGHUP came.
    reload: bool,
    status: StatusWriter,
    status_written: Instant,
    /// Time of the last message to the supervisor.
    told: Instant,
    /// Time of the last look at the location.
    placed: Instant,
    /// Whether there may be unneeded marks.
    may_rest: bool,
    /// Whether marks were restored because of a gap.
    roused: bool,
    /// Number of mounts over the tree at the last look.
    over: usize,
    /// Whether a mount is gone, and what it covered has to be armed.
    uncovered: bool,
    /// Time of the last look for files released by others.
    looked_again: Instant,
}

/// Interval of messages to the supervisor.
const HEARTBEAT: Duration = Duration::from_millis(500);
/// Longest age of the status.
const STATUS_AGE: Duration = Duration::from_millis(200);
/// Longest wait for a status that is to be written now.
const STATUS_NOW: Duration = Duration::from_secs(1);
/// Size limit when an earlier worker's status is read.
const MOST_STATUS_BYTES: u64 = 64 << 20;
/// Interval of walks through the tree.
const LOOK_THROUGH: Duration = Duration::from_secs(10);
/// A walk through a frozen tree rests for so many times as long as it took: half a percent of a core on a large site.
const IDLE: u32 = 200;
/// Longest time for which a changed location may go unnoticed, if no event reports it.
const PLACE_AGE: Duration = Duration::from_secs(10);
/// The same while only a read-only file system keeps files from being changed.
const READ_ONLY_AGE: Duration = Duration::from_secs(1);
/// Arming that takes longer for one file reports its name.
const HELD_UP: Duration = Duration::from_secs(3);
/// Interval of looks for files released by others.
const LOOK_AGAIN: Duration = Duration::from_secs(10);
/// Longest wait for a lease at the end, so that no file stays frozen: `fs.lease-break-time` is 45 s.
const LEASES_END: Duration = Duration::from_secs(50);

impl Watch {
    fn new(enforcer: Arc<Enforcer>, breaks: Breaks, supervisor: UnixStream) -> Result<Self, EnforceError> {
        let mounts = plain::open_kernels("/proc/self/mountinfo")
            .map_err(EnforceError::system("/proc/self/mountinfo"))?;
        // Its socket does not show that: both processes share all descriptors.
        let supervisors_end =
            process::end_of(enforcer.supervisor).map_err(EnforceError::system("the supervisor"))?;
        // A copy of the supervisor's, and this worker's own.
        let status = enforcer.files.status.as_ref().map(|place| place.beside("")).transpose();
        let status = status.and_then(StatusWriter::start).map_err(EnforceError::system("the status"))?;
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
            over: 0,
            uncovered: false,
            looked_again: now,
        })
    }

    /// Runs work that may wait for others in a thread of its own, and continues the main thread's work until it is
    /// done. `None` if it panicked.
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

    /// Marks and freezes the tree. From then on waiting opens are decided.
    fn arm(&mut self, manifest: Arc<Manifest>, again: bool) -> Result<(), EnforceError> {
        let armed = self.beside(move |enforcer| -> Result<(), EnforceError> {
            let mut listed = arming::arm(enforcer, manifest, Mounts::Taken)?;
            let odd = listed.odd.take();
            enforcer.replace_listed(listed);
            let strict = enforcer.settings.links == Links::Deny && enforcer.settings.mode != FaultAction::Log;
            // A restarted worker must not end because of a file that came meanwhile.
            if let Some((path, what)) = odd.filter(|_| strict && !again) {
                arming::disarm(enforcer);
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
        self.write_status_now();
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
                self.write_status_now();
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

    /// Waits for an event, and does the work that is due.
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

    /// Removes unneeded marks as soon as everything was checked and there is no gap, and restores them as soon as
    /// there is one. Never while a manifest is read again.
    fn rest_or_rouse(&mut self) {
        let resting = self.enforcer.unasked.load(Ordering::Relaxed) > 0;
        match self.enforcer.gaps.any_open() {
            _ if std::mem::take(&mut self.uncovered) => self.rouse(),
            true if resting => self.rouse(),
            false if self.may_rest => {
                if self.roused {
                    // The directories that a mount covered have no marks yet.
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

    /// Handles lease breaks and signals.
    fn hear(&mut self) {
        while let Ok(Some(arrived)) = self.breaks.next() {
            match arrived {
                LeaseArrival::Break(fd) => self.enforcer.broken(fd),
                LeaseArrival::Lost => self.enforcer.void_all(),
                LeaseArrival::Signal(libc::SIGHUP) => self.reload = true,
                LeaseArrival::Signal(libc::SIGUSR1) => self.write_status(),
                LeaseArrival::Signal(_) => self.enforcer.ending.store(true, Ordering::Relaxed),
            }
        }
    }

    /// Answers opens that waited too long for their thread, or for a free one; each by its own time.
    fn answer_late(&mut self) {
        let enforcer = &self.enforcer;
        let limit = enforcer.settings.time_limit;
        let limit_ms = u32::try_from(limit.as_millis()).unwrap_or(u32::MAX);
        let allow = enforcer.settings.allows_undecided();
        enforcer.slots.answer_late(enforcer.elapsed_ms(Instant::now()), limit_ms, |number| {
            enforcer.counters.add(Count::Timeout);
            enforcer.answer(number, allow);
        });
        // A thread holds the turn while it waits for an event; if none does, all threads are at work.
        if let Ok(_turn) = enforcer.turn.try_lock() {
            gather(enforcer);
        }
        let why = if enforcer.waiting.is_decided() { Count::Overflow } else { Count::Timeout };
        for open in enforcer.waiting.take_late(limit) {
            enforcer.counters.add(why);
            enforcer.answer(open.number, allow);
        }
    }

    /// Opens a gap if the manifest expires while it is enforced. Refusing everything at a date would be an outage,
    /// and allowing everything no protection.
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

    /// Records mounts that were put on the tree since it was armed as a gap, and has them marked; updates everything
    /// else known of the location.
    fn look_at_place(&mut self) {
        self.placed = Instant::now();
        // Read to the end, it signals the next change.
        let mut again = &self.mounts;
        let _ = std::io::Seek::rewind(&mut again);
        let _ = again.read_to_end(&mut Vec::new());
        let enforcer = &self.enforcer;
        let Ok(place) = place::look(&enforcer.tree, &enforcer.settings.root, &enforcer.settings.exclude)
        else {
            return;
        };
        enforcer.gaps.set(Gap::MountedOver, place.over.len() as u64);
        if let Some(devices) = place.gone {
            // Another disk may have the numbers of its files; and what it covered has no marks yet.
            devices.into_iter().for_each(|device| enforcer.guard.forget_device(device));
            enforcer.forget_let_go();
            enforcer.void_all();
            self.uncovered = true;
        }
        let over = place.over.len();
        self.uncovered |= over < std::mem::replace(&mut self.over, over);
        enforcer.gaps.set(Gap::Elsewhere, place.elsewhere);
        enforcer.gaps.set(Gap::Moved, u64::from(place.moved));
        if !place.over.is_empty() {
            // The supervisor marks them: the right to mark a mount allows much else.
            let over: Vec<String> = place.over.iter().map(u64::to_string).collect();
            self.tell(&format!("over {}", over.join(" ")));
        }
        let before = enforcer.read_only.swap(place.read_only, Ordering::Relaxed);
        if before && !place.read_only {
            // It can be written to from now on: verdicts kept without a lease are void.
            enforcer.void_all();
            enforcer.gaps.add(Gap::NotFrozen);
        }
    }

    fn is_status_due(&self) -> bool {
        let enforcer = &self.enforcer;
        enforcer.settings.status.is_some() && (enforcer.counters.is_changed() || enforcer.gaps.is_changed())
    }

    fn write_status(&mut self) {
        let text = self.status_text();
        if !self.status.write(text) {
            self.enforcer.counters.set_changed();
        }
    }

    /// Writes it before anything more is said or done, if the disk answers.
    fn write_status_now(&mut self) {
        let text = self.status_text();
        self.status.write_now(&text, STATUS_NOW);
    }

    fn status_text(&mut self) -> String {
        let _ = (self.enforcer.counters.take_changed(), self.enforcer.gaps.take_changed());
        self.status_written = Instant::now();
        status::text(&self.enforcer)
    }

    fn tell_version(&self) {
        self.tell(&format!("version {}", self.enforcer.listed().manifest.header().version));
    }

    fn tell(&self, what: &str) {
        tell(&self.supervisor, what);
    }

    /// Cleans up: removes marks and immutable attributes. Says so before the first open passes.
    fn end(mut self) {
        let began = Instant::now();
        self.enforcer.ended.store(true, Ordering::Relaxed);
        self.write_status_now();
        self.beside(arming::disarm);
        // Somebody may hold a lease on a file, and was asked to let go.
        while self.enforcer.guard.len() > 0 && began.elapsed() < LEASES_END {
            self.turn(Duration::from_millis(100));
            self.beside(arming::thaw);
        }
        self.write_status_now();
    }
}

/// Sends a message to the supervisor: a packet, which arrives whole or not at all, whatever its content. A supervisor
/// that does not read does not need it.
fn tell(mut supervisor: &UnixStream, what: &str) {
    let _ = supervisor.write(what.as_bytes());
}
