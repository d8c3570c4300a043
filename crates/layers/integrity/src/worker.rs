//! The worker: arms the tree, starts the deciding threads, and keeps watch beside them.
//!
//! Its main thread hears of leases that are asked back, of signals, of mounts, of the supervisor's
//! end; it answers opens whose time is over. It never opens anything below the tree while it could be
//! waited for, but for arming, where the deciding threads let it pass.

use crate::counters::Count;
use crate::deciders::{self, drain};
use crate::enforcer::{Enforcer, threads};
use crate::error::EnforceError;
use crate::gap::Gap;
use crate::settings::Settings;
use crate::tree::Listed;
use crate::{reload, respond, rights, status, tree};
use bakeoff_layers_base::manifest::Action;
use bakeoff_sys::fanotify::{Group, Mark};
use bakeoff_sys::inode;
use bakeoff_sys::lease::{Arrived, Breaks};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What the supervisor hands to a worker.
#[derive(Debug)]
pub struct Inherited {
    /// Number of the descriptor of the group of permission events, which it holds, too.
    pub group: RawFd,
    /// Its end of a pair of sockets: alive as long as it lives.
    pub supervisor: UnixStream,
    /// Its process id.
    pub supervisor_pid: u32,
    /// Workers before this one that died.
    pub restarts: u64,
}

/// Enforces until SIGTERM.
///
/// # Errors
/// The tree cannot be armed.
pub fn run(mut settings: Settings, inherited: Inherited) -> Result<(), EnforceError> {
    let breaks = Breaks::new(&[libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGUSR1])
        .map_err(EnforceError::system("signals"))?;
    rights::give_up(&settings, &[])?;
    // What refuses nothing changes nothing either.
    settings.freeze &= settings.mode != Action::Log;
    let manifest = Arc::new(reload::read(&settings, 0)?);
    let adopt = inherited.restarts > 0;
    let group = Group::inherited(inherited.group).map_err(EnforceError::system("the group's descriptor"))?;
    let first = Listed::new(manifest.clone());
    let enforcer = Enforcer::new(settings, group, first, inherited.supervisor_pid, adopt)?;
    let enforcer = Arc::new(enforcer);
    if adopt {
        restore(&enforcer, inherited.restarts);
    }
    start_threads(&enforcer)?;
    let listed = tree::arm(&enforcer, manifest)?;
    enforcer.replace_listed(listed);
    if adopt {
        forget_marks(&enforcer);
    }
    let mut watch = Watch::new(enforcer, breaks, inherited.supervisor)?;
    watch.look_ahead();
    rights::confine_worker(&watch.enforcer.settings)?;
    watch.armed();
    watch.run();
    watch.end();
    Ok(())
}

/// The numbers of the workers before this one.
fn restore(enforcer: &Enforcer, restarts: u64) {
    if let Some(path) = &enforcer.settings.status {
        enforcer.counters.restore(&bakeoff_layers_base::daemon::status::read_back(path));
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
    if enforcer.settings.mode == Action::Log {
        let enforcer = enforcer.clone();
        start("look", Box::new(move || deciders::look_afterwards(&enforcer)))?;
    }
    Ok(())
}

/// The verdicts of a worker that died were kept under leases that died with it: the kernel asks again.
fn forget_marks(enforcer: &Enforcer) {
    let listed = enforcer.listed();
    for entry in listed.manifest.entries() {
        let path = std::path::Path::new(entry.path);
        if let Ok(file) = inode::open_below(&enforcer.tree.root, path, inode::For::Knowing) {
            let _ = enforcer.group.remove(Mark::Ignored, &file);
        }
    }
}

/// The main thread's own.
struct Watch {
    enforcer: Arc<Enforcer>,
    breaks: Breaks,
    supervisor: UnixStream,
    /// Readable when a mount was made or taken off.
    mounts: File,
    supervised: bool,
    status_written: Instant,
    /// When the supervisor last heard from us.
    told: Instant,
    /// When events began to wait while no thread was free.
    crowded_since: Option<Instant>,
}

/// The supervisor hears from us so often.
const HEARTBEAT: Duration = Duration::from_millis(500);
/// The status is as old as this at most.
const STATUS_AGE: Duration = Duration::from_millis(200);

impl Watch {
    fn new(enforcer: Arc<Enforcer>, breaks: Breaks, supervisor: UnixStream) -> Result<Self, EnforceError> {
        let mounts =
            File::open("/proc/self/mountinfo").map_err(EnforceError::system("/proc/self/mountinfo"))?;
        supervisor.set_nonblocking(true).map_err(EnforceError::system("the supervisor"))?;
        let mut watch = Self {
            enforcer,
            breaks,
            supervisor,
            mounts,
            supervised: true,
            status_written: Instant::now(),
            told: Instant::now(),
            crowded_since: None,
        };
        watch.read_mounts();
        Ok(watch)
    }

    /// Hashes everything before it is asked for, while the main thread goes on with its own work.
    fn look_ahead(&mut self) {
        if !self.enforcer.settings.ahead {
            return;
        }
        let threads = threads();
        let workers: Vec<_> = (0..threads)
            .map(|first| {
                let enforcer = self.enforcer.clone();
                std::thread::spawn(move || deciders::look_ahead(&enforcer, first, threads))
            })
            .collect();
        while workers.iter().any(|worker| !worker.is_finished()) {
            self.turn(Duration::from_millis(20));
        }
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
        self.tell(&line);
    }

    fn run(&mut self) {
        while self.turn(HEARTBEAT) {}
    }

    /// Waits for something, and does what is due. False when it is time to end.
    fn turn(&mut self, longest: Duration) -> bool {
        let busy = self.enforcer.settings.time_limit / 4;
        let timeout = longest.min(busy).min(if self.is_status_due() { STATUS_AGE } else { longest });
        let mut ready = [
            PollFd::new(self.breaks.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.enforcer.orders.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.mounts.as_fd(), PollFlags::POLLPRI),
            PollFd::new(self.supervisor.as_fd(), PollFlags::POLLIN),
        ];
        let used = if self.supervised { ready.len() } else { ready.len() - 1 };
        let timeout = PollTimeout::try_from(timeout).unwrap_or(PollTimeout::ZERO);
        let _ = poll(ready.get_mut(..used).unwrap_or_default(), timeout);
        let is_ready = |at: usize| ready.get(at).and_then(PollFd::any).unwrap_or(false);
        let (mounts, supervisor) = (is_ready(2), self.supervised && is_ready(3));
        let go_on = self.hear();
        if let Some(said) = respond::carry_out(&self.enforcer) {
            self.tell(&format!("note {said}"));
        }
        if mounts {
            self.read_mounts();
        }
        if supervisor {
            self.read_supervisor();
        }
        self.answer_late();
        if self.told.elapsed() >= HEARTBEAT / 2 {
            self.told = Instant::now();
            self.tell("alive");
        }
        if self.status_written.elapsed() >= STATUS_AGE && self.is_status_due() {
            self.write_status();
        }
        go_on
    }

    /// Leases that are asked back, and signals.
    fn hear(&mut self) -> bool {
        while let Ok(Some(arrived)) = self.breaks.next() {
            match arrived {
                Arrived::Break(fd) => self.enforcer.broken(fd),
                Arrived::Lost => self.enforcer.void_all(),
                Arrived::Signal(libc::SIGHUP) => {
                    let said = reload::reload(&self.enforcer);
                    self.look_ahead();
                    self.write_status();
                    self.tell(&format!("note {said}"));
                }
                Arrived::Signal(libc::SIGUSR1) => self.write_status(),
                Arrived::Signal(_) => return false,
            }
        }
        true
    }

    /// Opens that waited too long for their thread, and those that no thread was free for.
    fn answer_late(&mut self) {
        let enforcer = &self.enforcer;
        let limit = enforcer.settings.time_limit;
        let now = enforcer.elapsed_ns(Instant::now());
        for number in enforcer.slots.take_late(now, limit.as_nanos() as u64) {
            enforcer.counters.add(Count::Timeout);
            enforcer.answer(number, enforcer.settings.allows_undecided());
        }
        // Somebody holds the turn while he waits for an event; if nobody does and events wait, all
        // threads are at work.
        let mut waiting = [PollFd::new(enforcer.group.as_fd(), PollFlags::POLLIN)];
        let crowded = poll(&mut waiting, PollTimeout::ZERO).is_ok_and(|ready| ready > 0);
        match (crowded, self.crowded_since) {
            (false, _) => self.crowded_since = None,
            (true, None) => self.crowded_since = Some(Instant::now()),
            (true, Some(since)) if since.elapsed() > limit => {
                drain(enforcer);
                self.crowded_since = None;
            }
            (true, Some(_)) => {}
        }
    }

    /// Which mounts lie on the tree: more than when it was armed is a gap; opens there are asked about
    /// from now on.
    fn read_mounts(&mut self) {
        let mut text = Vec::new();
        let mut again = &self.mounts;
        let _ = std::io::Seek::rewind(&mut again);
        let _ = again.read_to_end(&mut text);
        let enforcer = &self.enforcer;
        let Ok(below) = bakeoff_sys::mount::below(&enforcer.tree.path) else { return };
        let mut over = Vec::new();
        for mount in below {
            let Ok(top) = File::open(&mount.point) else { continue };
            match inode::facts(&top) {
                Ok(facts) if enforcer.tree.knows_mount(facts.mount) => {}
                found => over.push(found.map_or(0, |facts| facts.mount).to_string()),
            }
        }
        enforcer.gaps.set(Gap::MountedOver, over.len() as u64);
        if !over.is_empty() {
            // Whoever may mark a mount may do much else: that is the supervisor.
            self.tell(&format!("over {}", over.join(" ")));
        }
        let read_only = inode::is_read_only(&enforcer.tree.root).unwrap_or(false);
        let before = enforcer.read_only.swap(read_only, std::sync::atomic::Ordering::Relaxed);
        if before && !read_only {
            // It can be written to from now on: no verdict holds that was kept without a lease.
            enforcer.void_all();
            enforcer.gaps.add(Gap::NotFrozen);
        }
    }

    fn read_supervisor(&mut self) {
        let mut seen = [0; 64];
        if self.supervisor.read(&mut seen).is_ok_and(|length| length == 0) {
            self.supervised = false;
            self.enforcer.gaps.set(Gap::NoSupervisor, 1);
            self.write_status();
        }
    }

    fn is_status_due(&self) -> bool {
        let enforcer = &self.enforcer;
        enforcer.settings.status.is_some() && (enforcer.counters.is_changed() || enforcer.gaps.is_changed())
    }

    fn write_status(&mut self) {
        let _ = (self.enforcer.counters.take_changed(), self.enforcer.gaps.take_changed());
        self.status_written = Instant::now();
        if let Some(path) = &self.enforcer.settings.status {
            // What cannot be written now is written the next time; enforcement goes on.
            let _ = status::write(&self.enforcer, path);
        }
    }

    /// A line to the supervisor. When it does not read, it does not need to know.
    fn tell(&self, line: &str) {
        let _ = (&self.supervisor).write_all(format!("{line}\n").as_bytes());
    }

    /// Leaves nothing behind: neither marks nor immutable files.
    fn end(mut self) {
        let enforcer = self.enforcer.clone();
        tree::thaw_all(&enforcer, &enforcer.listed());
        let _ = enforcer.group.flush();
        enforcer.ended.store(true, std::sync::atomic::Ordering::Relaxed);
        self.write_status();
    }
}
