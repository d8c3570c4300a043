//! The supervisor: holds the group of permission events beside the worker, so that opens wait instead
//! of passing when the worker dies, answers what the dead one left, and starts the next.
//!
//! Cold; sleeps in `poll`. It opens nothing below the tree for reading, and reads no event while a worker
//! lives. It marks the mounts that the worker, who may not, tells it of.
//! While no worker lives, files with a verdict open unasked and all others wait: for as long as it
//! takes to start one.

use crate::error::EnforceError;
use crate::preflight;
use crate::rights;
use crate::settings::Settings;
use bakeoff_layers_base::manifest::Action;
use bakeoff_sys::fanotify::{Event, Group, Mark};
use bakeoff_sys::inode;
use bakeoff_sys::lease::{Arrived, Breaks};
use bakeoff_sys::privilege::Capability;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A worker that says nothing for so long, beside its time limit, is ended: whoever opens waits for it.
const SILENCE: Duration = Duration::from_secs(3);
/// A worker that lives for less has died young.
const YOUNG: Duration = Duration::from_secs(10);
/// So many in a row are not followed by another at once: everything is refused for a while.
const YOUNG_DEATHS: u32 = 5;
/// How long.
const CLOSED: Duration = Duration::from_secs(10);
/// How long a worker may take to leave nothing behind.
const ENDING: Duration = Duration::from_secs(60);

/// How a worker is started: an executable and its arguments, to which the number of the group's
/// descriptor and of workers that died are appended. Its standard input is the pair of sockets.
#[derive(Clone, Debug)]
pub struct Start {
    /// Mostly this executable.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

/// Enforces until SIGTERM or Ctrl-C. `say` is handed the line `armed ...`, once; `note` what happens
/// later.
///
/// # Errors
/// The tree cannot be guarded, or the first worker did not arm.
pub fn run(
    settings: &Settings,
    start: &Start,
    mut say: impl FnMut(&str),
    mut note: impl FnMut(&str),
) -> Result<(), EnforceError> {
    preflight::check(settings)?;
    let signals = Breaks::new(&[libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGUSR1, libc::SIGCHLD])
        .map_err(EnforceError::system("signals"))?;
    // Whoever is killed for want of memory should be another one. Without the right to say so the
    // chance is as large as for any process.
    let _ = std::fs::write("/proc/self/oom_score_adj", "-900");
    let group = Group::new().map_err(EnforceError::Fanotify)?;
    rights::give_up(settings, &[Capability::SysAdmin])?;
    rights::confine_supervisor()?;
    let mut supervisor = Supervisor { settings, start, group, signals, restarts: 0, young: 0 };
    let mut worker = supervisor.start()?;
    let mut armed = false;
    loop {
        let end = supervisor.watch(&mut worker, |line| match line.split_once(' ') {
            Some(("armed", _)) if !armed => {
                armed = true;
                say(line);
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
                let orphans = supervisor.bury(&mut worker);
                note(&format!(
                    "the worker {how}; {orphans} opens that it left were answered; starting another"
                ));
                worker = supervisor.next(&mut note)?;
            }
        }
    }
}

struct Supervisor<'a> {
    settings: &'a Settings,
    start: &'a Start,
    group: Group,
    signals: Breaks,
    restarts: u64,
    /// Workers in a row that died young.
    young: u32,
}

struct Worker {
    child: Child,
    lines: BufReader<UnixStream>,
    born: Instant,
    heard: Instant,
    armed: bool,
}

enum End {
    /// Somebody asked us to end.
    Asked,
    /// It died, or was ended since it did not answer.
    Died(String),
}

impl Supervisor<'_> {
    fn start(&self) -> Result<Worker, EnforceError> {
        let failed = EnforceError::system("the worker");
        self.spawn().map_err(failed)
    }

    fn spawn(&self) -> std::io::Result<Worker> {
        let (own, theirs) = UnixStream::pair()?;
        own.set_nonblocking(true)?;
        let handed = self.group.as_fd().try_clone_to_owned()?;
        // For the child alone; there is no other thread that could start one meanwhile.
        fcntl(&handed, FcntlArg::F_SETFD(FdFlag::empty()))?;
        let child = Command::new(&self.start.program)
            .args(&self.start.arguments)
            .arg(format!("--group-fd={}", handed.as_raw_fd()))
            .arg(format!("--restarts={}", self.restarts))
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .spawn()?;
        let now = Instant::now();
        Ok(Worker { child, lines: BufReader::new(own), born: now, heard: now, armed: false })
    }

    /// Hands signals on and lines out until the worker is gone or we are asked to end.
    fn watch(&self, worker: &mut Worker, mut said: impl FnMut(&str)) -> Result<End, EnforceError> {
        let mut line = |text: &str| match text.strip_prefix("over ") {
            Some(mounts) => self.cover(mounts),
            None => said(text),
        };
        loop {
            let mut ready = [
                PollFd::new(self.signals.as_fd(), PollFlags::POLLIN),
                PollFd::new(worker.lines.get_ref().as_fd(), PollFlags::POLLIN),
            ];
            let timeout = PollTimeout::try_from(SILENCE / 6).unwrap_or(PollTimeout::NONE);
            let _ = poll(&mut ready, timeout);
            read_lines(worker, &mut line);
            while let Some(arrived) = self.signals.next().map_err(EnforceError::system("signals"))? {
                match arrived {
                    Arrived::Signal(libc::SIGTERM | libc::SIGINT) => return Ok(End::Asked),
                    Arrived::Signal(number @ (libc::SIGHUP | libc::SIGUSR1)) => signal(&worker.child, number),
                    _ => {}
                }
            }
            if let Ok(Some(status)) = worker.child.try_wait() {
                read_lines(worker, &mut line);
                return Ok(End::Died(format!("ended ({status})")));
            }
            // Arming a large tree takes its time, and nobody is asked about before its marks are there.
            let patience = if worker.armed { SILENCE + self.settings.time_limit } else { ENDING * 10 };
            if worker.heard.elapsed() > patience {
                return Ok(End::Died(format!("did not answer for {} s", patience.as_secs())));
            }
        }
    }

    /// Opens on these mounts, which were put over the tree, are asked about from now on.
    fn cover(&self, numbers: &str) {
        let Ok(root) = self.settings.root.canonicalize() else { return };
        for mount in bakeoff_sys::mount::below(&root).unwrap_or_default() {
            // Nobody is asked whether it may be opened so: the worker could be waiting for us.
            let top = OpenOptions::new().read(true).custom_flags(libc::O_PATH).open(&mount.point);
            let Ok(top) = top else { continue };
            let number = inode::facts(&top).map(|facts| facts.mount.to_string()).unwrap_or_default();
            if numbers.split(' ').any(|over| over == number) {
                let _ = self.group.add(Mark::Mount, &top);
            }
        }
    }

    /// Makes sure that a worker is gone, and answers the opens that it had read. Returns how many.
    fn bury(&mut self, worker: &mut Worker) -> u64 {
        let _ = worker.child.kill();
        let _ = worker.child.wait();
        self.restarts += 1;
        self.young = if worker.born.elapsed() < YOUNG { self.young + 1 } else { 0 };
        let limit = bakeoff_sys::rlimit::open_files().map_or(1024, |limit| limit.hard);
        let allow = self.settings.allows_undecided();
        // The kernel knows them by the numbers that their files had in the worker: any of them.
        (0..RawFd::try_from(limit).unwrap_or(RawFd::MAX))
            .filter(|number| self.group.answer(*number, allow).is_ok())
            .count() as u64
    }

    fn next(&mut self, note: &mut impl FnMut(&str)) -> Result<Worker, EnforceError> {
        if self.young >= YOUNG_DEATHS {
            note("workers die as soon as they start; what must be asked about is refused meanwhile");
            self.refuse_for(CLOSED);
        }
        self.start()
    }

    /// Answers everything without looking; nobody waits for ever.
    fn refuse_for(&self, time: Duration) {
        let began = Instant::now();
        let allow = self.settings.mode == Action::Log || self.settings.allows_undecided();
        while began.elapsed() < time {
            match self.group.read() {
                Ok(Event::Open(open)) => drop(self.group.answer(open.number, allow)),
                Ok(_) => {}
                Err(_) => {
                    let mut ready = [PollFd::new(self.group.as_fd(), PollFlags::POLLIN)];
                    let timeout = PollTimeout::try_from(CLOSED / 20).unwrap_or(PollTimeout::ZERO);
                    let _ = poll(&mut ready, timeout);
                }
            }
        }
    }

    /// The first worker did not arm: nothing may stay behind.
    fn close(&self, worker: &mut Worker) {
        let _ = worker.child.kill();
        let _ = worker.child.wait();
        let _ = self.group.flush();
    }

    /// Lets the worker take everything away; ends it when it does not.
    fn end(&self, mut worker: Worker) -> Result<(), EnforceError> {
        signal(&worker.child, libc::SIGTERM);
        let began = Instant::now();
        while began.elapsed() < ENDING {
            if let Ok(Some(status)) = worker.child.try_wait() {
                let _ = self.group.flush();
                return if status.success() {
                    Ok(())
                } else {
                    Err(EnforceError::Worker(format!(
                        "ended ({status}); files may be immutable still: bakeoff layer integrity thaw"
                    )))
                };
            }
            let mut ready = [PollFd::new(worker.lines.get_ref().as_fd(), PollFlags::POLLIN)];
            let _ = poll(&mut ready, PollTimeout::from(20_u8));
            read_lines(&mut worker, &mut |_| {});
        }
        self.close(&mut worker);
        Err(EnforceError::Worker(
            "did not end; files may be immutable still: bakeoff layer integrity thaw".to_owned(),
        ))
    }
}

fn signal(child: &Child, number: libc::c_int) {
    let signal = nix::sys::signal::Signal::try_from(number).ok();
    let pid = i32::try_from(child.id()).map(nix::unistd::Pid::from_raw).ok();
    if let (Some(signal), Some(pid)) = (signal, pid) {
        // It was not waited for, so the number is its own.
        let _ = nix::sys::signal::kill(pid, signal);
    }
}

fn read_lines(worker: &mut Worker, line: &mut impl FnMut(&str)) {
    let mut text = String::new();
    loop {
        text.clear();
        match worker.lines.read_line(&mut text) {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                worker.heard = Instant::now();
                worker.armed |= text.starts_with("armed");
                line(text.trim_end());
            }
        }
    }
}
