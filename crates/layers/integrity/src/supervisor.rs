//! Supervisor of the worker: holds the group of permission events beside it, so that opens wait instead of passing
//! when the worker dies, and starts the next, which decides the opens that the dead one left.
//!
//! Cold; sleeps in `poll`. It opens nothing below the tree for reading, and reads no event while a worker lives. It
//! marks mounts that the worker, which may not, tells it of. Worker and supervisor share one table of open files. So
//! the files of opens that a killed worker had read are still open, by the numbers that identify the opens in the
//! kernel, and the next worker finds out what they are. While no worker lives, files with a verdict open without asking
//! and all others wait: as long as it takes to start one.

use crate::alone::TreeLock;
use crate::error::EnforceError;
use crate::preflight;
use crate::rights;
use crate::settings::EnforcementSettings;
use crate::worker::{self, Inherited};
use crate::written::WrittenFiles;
use bakeoff_layers_base::manifest::FaultAction;
use bakeoff_layers_base::plain;
use bakeoff_sys::fanotify::{FanotifyEvent, Group, Mark, Open, is_answered};
use bakeoff_sys::inode::{self, InodeKind};
use bakeoff_sys::lease::{Breaks, LeaseArrival};
use bakeoff_sys::privilege::Capability;
use bakeoff_sys::process::{self, Ending, Stat};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
use nix::unistd::Pid;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// A worker that is silent for this long, beyond its time limit, is ended: opens wait for it.
const SILENCE: Duration = Duration::from_secs(3);
/// After so many workers in a row that did not arm the next one has to wait: everything is refused for a while.
const UNARMED_DEATHS: u32 = 5;
/// Length of that while.
const CLOSED: Duration = Duration::from_secs(10);
/// An open is not tried again after so many workers died while it waited.
const DEADLY: u64 = 3;
/// Time limit for a worker to clean up, or to read its manifest.
const ENDING: Duration = Duration::from_secs(60);
/// Time limit for a killed worker to be gone. One that waits in the kernel may not go at all.
const DYING: Duration = Duration::from_secs(5);
/// Longest packet accepted from a worker.
const PACKET_BYTES: usize = 8 * 1024;

/// Enforces until SIGTERM or Ctrl-C. `say` gets the line `armed ...`, once; `note` gets later messages. For a process
/// with one thread.
///
/// # Errors
/// The tree cannot be guarded, or the first worker did not arm.
pub fn run(
    settings: &EnforcementSettings,
    mut say: impl FnMut(&str),
    mut note: impl FnMut(&str),
) -> Result<(), EnforceError> {
    preflight::check(settings)?;
    let server = settings.stop_pid.map(server).transpose()?;
    let signals = Breaks::new(&[libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGUSR1, libc::SIGCHLD])
        .map_err(EnforceError::system("signals"))?;
    // When memory runs out the kernel should kill another process. Without the right to say so the chance is as large
    // as for any process.
    let _ = plain::tell_kernel("/proc/self/oom_score_adj", "-900");
    // A file that cannot be frozen takes a descriptor; on a large site these are more than administrators allow a
    // process. A file without one is hashed at each open.
    let _ = bakeoff_sys::rlimit::raise_open_files_beyond();
    let group = Group::new().map_err(EnforceError::Fanotify)?;
    let files = Arc::new(WrittenFiles::open(settings)?);
    let _alone = TreeLock::take(&settings.root)?;
    rights::give_up(settings, &files, &[Capability::SysAdmin])?;
    rights::confine_supervisor()?;
    let mut supervisor = Supervisor {
        settings,
        files,
        group,
        signals,
        server,
        restarts: 0,
        unarmed: 0,
        version: 0,
        orphans: Vec::new(),
        began: SystemTime::now(),
    };
    let mut worker = supervisor.start()?;
    let mut armed = false;
    loop {
        let end = supervisor.watch(&mut worker, |said| match said.split_once(' ') {
            Some(("armed", _)) if !armed => {
                armed = true;
                say(said);
            }
            Some(("note", said)) => note(said),
            _ => {}
        })?;
        match end {
            End::Asked => return supervisor.end(worker),
            End::Died(how) if !armed => {
                supervisor.close(&mut worker);
                return Err(EnforceError::Worker(how));
            }
            End::Died(how) => {
                let orphans = supervisor.bury(worker)?;
                note(&format!(
                    "the worker {how}; starting another, which decides {orphans} opens that it left"
                ));
                worker = supervisor.next(&mut note)?;
            }
        }
    }
}

/// The process with this number, identified so that a later one with the same number is told apart.
fn server(pid: u32) -> Result<Stat, EnforceError> {
    process::stat(pid).map_err(|source| EnforceError::Server { pid, source })
}

struct Supervisor<'a> {
    settings: &'a EnforcementSettings,
    files: Arc<WrittenFiles>,
    group: Group,
    signals: Breaks,
    server: Option<Stat>,
    restarts: u64,
    /// Workers in a row that died before they were armed.
    unarmed: u32,
    /// Version of the manifest in force.
    version: u64,
    /// Opens that the last worker had read.
    orphans: Vec<Open>,
    /// Start of enforcement.
    began: SystemTime,
}

struct Worker {
    pid: u32,
    socket: UnixStream,
    /// The supervisor's descriptors at the worker's start: all others are the worker's.
    own: Vec<RawFd>,
    heard: Instant,
    speaks: bool,
    armed: bool,
    /// It was reaped, so its number may be another process's.
    reaped: bool,
    /// Reason why it could not enforce.
    failed: Option<String>,
}

impl Worker {
    /// Its exit, if it has ended.
    fn ending(&mut self) -> Option<Ending> {
        let reaped = process::reap_pid(self.pid).ok().flatten()?;
        self.reaped = true;
        Some(reaped.ending)
    }

    fn signal(&self, signal: Signal) {
        if let (false, Ok(pid)) = (self.reaped, i32::try_from(self.pid)) {
            let _ = kill(Pid::from_raw(pid), signal);
        }
    }

    /// Kills it, if it is not dead, and waits until it is gone. The wait is limited, as a worker that waits in the
    /// kernel for a lock does not go. Such a worker does nothing any more.
    fn end_now(&mut self) {
        self.signal(Signal::SIGKILL);
        let began = Instant::now();
        while !self.reaped && self.ending().is_none() && began.elapsed() < DYING {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

enum End {
    /// We were asked to end.
    Asked,
    /// The worker died, or was ended because it did not answer.
    Died(String),
}

impl Supervisor<'_> {
    fn start(&mut self) -> Result<Worker, EnforceError> {
        self.spawn().map_err(EnforceError::system("the worker"))
    }

    fn spawn(&mut self) -> std::io::Result<Worker> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let (socket, theirs) = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, flags)?;
        let mut own = process::open_numbers()?;
        own.retain(|number| {
            *number != theirs.as_raw_fd() && !self.orphans.iter().any(|open| open.number == *number)
        });
        let inherited = Inherited {
            group: self.group.try_clone()?,
            files: self.files.clone(),
            supervisor: UnixStream::from(theirs),
            supervisor_pid: std::process::id(),
            restarts: self.restarts,
            orphans: std::mem::take(&mut self.orphans),
            version: self.version,
            server: self.server,
            began: self.began,
        };
        let settings = self.settings.clone();
        let pid = process::share_files(move || worker::run(settings, inherited))?;
        let socket = UnixStream::from(socket);
        let heard = Instant::now();
        Ok(Worker { pid, socket, own, heard, speaks: false, armed: false, reaped: false, failed: None })
    }

    /// Forwards signals to the worker and its messages to `said`, until it is gone or we are asked to end.
    fn watch(&mut self, worker: &mut Worker, mut said: impl FnMut(&str)) -> Result<End, EnforceError> {
        loop {
            let mut ready = [
                PollFd::new(self.signals.as_fd(), PollFlags::POLLIN),
                PollFd::new(worker.socket.as_fd(), PollFlags::POLLIN),
            ];
            let timeout = PollTimeout::try_from(SILENCE / 6).unwrap_or(PollTimeout::NONE);
            let _ = poll(&mut ready, timeout);
            self.listen(worker, &mut said);
            while let Some(arrived) = self.signals.next().map_err(EnforceError::system("signals"))? {
                match arrived {
                    LeaseArrival::Signal(libc::SIGTERM | libc::SIGINT) => return Ok(End::Asked),
                    LeaseArrival::Signal(libc::SIGHUP) => worker.signal(Signal::SIGHUP),
                    LeaseArrival::Signal(libc::SIGUSR1) => worker.signal(Signal::SIGUSR1),
                    _ => {}
                }
            }
            if let Some(ending) = worker.ending() {
                self.listen(worker, &mut said);
                let how = worker.failed.take().unwrap_or_else(|| format!("ended ({ending})"));
                return Ok(End::Died(how));
            }
            let patience = if worker.speaks { SILENCE + self.settings.time_limit } else { ENDING };
            if worker.heard.elapsed() > patience {
                return Ok(End::Died(format!("did not answer for {} s", patience.as_secs())));
            }
        }
    }

    /// Takes all messages of the worker.
    fn listen(&mut self, worker: &mut Worker, said: &mut impl FnMut(&str)) {
        let mut packet = [0; PACKET_BYTES];
        while let Ok(length @ 1..) = (&worker.socket).read(&mut packet) {
            worker.heard = Instant::now();
            worker.speaks = true;
            let text = String::from_utf8_lossy(packet.get(..length).unwrap_or_default());
            match text.split_once(' ') {
                Some(("over", mounts)) => self.cover(mounts),
                Some(("version", number)) => self.version = number.parse().unwrap_or(self.version),
                Some(("failed", why)) => worker.failed = Some(why.to_owned()),
                word => {
                    worker.armed |= word.is_some_and(|(word, _)| word == "armed");
                    said(&text);
                }
            }
        }
    }

    /// Marks these mounts, which were put over the tree: opens on them are decided from now on.
    fn cover(&self, numbers: &str) {
        let Ok(root) = self.settings.root.canonicalize() else { return };
        for mount in bakeoff_sys::mount::below(&root).unwrap_or_default() {
            // Opened without a permission event: the worker could be waiting for us.
            let Ok(top) = plain::open_to_know(&mount.point) else { continue };
            let number = inode::mount_of(&top).map(|mount| mount.to_string()).unwrap_or_default();
            if numbers.split(' ').any(|over| over == number) {
                let _ = self.group.add(Mark::Mount, &top);
            }
        }
    }

    /// Makes sure that a worker is gone, and takes over the opens that it had read. Returns the number that the next
    /// one has to decide. The socket to it is closed by then: the next worker may reuse its number for a file.
    fn bury(&mut self, mut worker: Worker) -> Result<usize, EnforceError> {
        worker.end_now();
        self.restarts += 1;
        self.unarmed = if worker.armed { 0 } else { self.unarmed + 1 };
        let left = process::left_open(&worker.own).map_err(EnforceError::system("/proc/self/fd"))?;
        for file in left.into_iter().filter(|file| !is_answered(file)) {
            let number = file.as_raw_fd();
            match survivor(file) {
                Some(file) => self.orphans.push(Open::left(file)),
                None => drop(self.group.answer(number, self.settings.allows_undecided())),
            }
        }
        Ok(self.orphans.len())
    }

    fn next(&mut self, note: &mut impl FnMut(&str)) -> Result<Worker, EnforceError> {
        if self.unarmed >= UNARMED_DEATHS {
            note("workers die as soon as they start; what must be asked about is refused meanwhile");
            self.refuse_for(CLOSED);
        }
        self.start()
    }

    /// Refuses everything for this time without looking, so that nobody waits for ever.
    fn refuse_for(&mut self, time: Duration) {
        let began = Instant::now();
        let allow = self.settings.mode == FaultAction::Log || self.settings.allows_undecided();
        for open in self.orphans.drain(..) {
            let _ = self.group.answer(open.number, allow);
        }
        while began.elapsed() < time {
            match self.group.read() {
                Ok(FanotifyEvent::Open(open)) => drop(self.group.answer(open.number, allow)),
                Ok(_) => {}
                Err(_) => {
                    let mut ready = [PollFd::new(self.group.as_fd(), PollFlags::POLLIN)];
                    let timeout = PollTimeout::try_from(CLOSED / 20).unwrap_or(PollTimeout::ZERO);
                    let _ = poll(&mut ready, timeout);
                }
            }
        }
    }

    /// Ends a first worker that did not arm: nothing may stay behind.
    fn close(&self, worker: &mut Worker) {
        worker.end_now();
        let _ = self.group.flush();
    }

    /// Lets the worker clean up; ends it if it does not.
    fn end(&mut self, mut worker: Worker) -> Result<(), EnforceError> {
        worker.signal(Signal::SIGTERM);
        let began = Instant::now();
        while began.elapsed() < ENDING {
            if let Some(ending) = worker.ending() {
                let _ = self.group.flush();
                return match ending {
                    Ending::Exited(0) => Ok(()),
                    how => Err(EnforceError::Worker(format!(
                        "ended ({how}); files may be immutable still: bakeoff layer integrity thaw"
                    ))),
                };
            }
            let mut ready = [PollFd::new(worker.socket.as_fd(), PollFlags::POLLIN)];
            let _ = poll(&mut ready, PollTimeout::from(20_u8));
            self.listen(&mut worker, &mut |_| {});
        }
        self.close(&mut worker);
        Err(EnforceError::Worker(
            "did not end; files may be immutable still: bakeoff layer integrity thaw".to_owned(),
        ))
    }
}

/// The file, if it may be tried again. Its position, which nobody reads from, counts the workers that died while its
/// open waited.
fn survivor(file: OwnedFd) -> Option<OwnedFd> {
    if inode::facts(&file).ok()?.kind != InodeKind::File {
        return None;
    }
    let mut file = File::from(file);
    let died = file.stream_position().ok()? + 1;
    file.seek(SeekFrom::Start(died)).ok()?;
    (died < DEADLY).then(|| file.into())
}
