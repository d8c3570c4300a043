//! bakeoff's handle of a supervisor: starts it, sends it orders, receives exits, ends it.

use super::protocol::{Fault, Order, Plan, Report};
use super::{NO_LINK, ending};
use crate::cgroup::Groups;
use crate::litter::Litter;
use bakeoff_sys::lines::Lines;
use bakeoff_sys::process::{self, Ending, ResourceUsage};
use bakeoff_units::{Clock, MonotonicClock, Nanos};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard};

/// Time that a supervisor may take to answer: it has nothing else to do, but the machine may.
const PATIENCE: Nanos = Nanos::from_secs(10);

/// One subject's supervisor.
#[derive(Debug)]
pub(crate) struct Supervisor {
    process: Child,
    channel: Mutex<Channel>,
    mark: String,
    started: AtomicU32,
    groups: Groups,
    grace: Nanos,
    litter: Litter,
    /// Our end of the socket to the started process.
    voice: Option<UnixStream>,
    ended: bool,
}

/// Reasons why nothing was started.
#[derive(Debug)]
pub(crate) enum LaunchError {
    /// The supervisor itself could not be started, or died.
    Supervisor(io::Error),
    /// The program is not there.
    NotFound,
    /// A limit cannot be set: the sentence for the user.
    Limits(String),
    /// Any other error in the supervisor.
    Failed { doing: String, error: String },
}

/// The started process has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exit {
    pub(crate) ending: Ending,
    /// From just before it was started to the moment it was reaped.
    pub(crate) elapsed: Nanos,
}

/// The subject and its supervisor are gone.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Farewell {
    pub(crate) used: ResourceUsage,
    pub(crate) group: Option<Nanos>,
    pub(crate) killed: usize,
    pub(crate) left: usize,
}

impl Supervisor {
    /// Starts a supervisor with `command` and lets it start what `plan` says.
    pub(crate) fn launch(command: &[OsString], plan: Plan) -> Result<Self, LaunchError> {
        process::become_subreaper().map_err(LaunchError::Supervisor)?;
        let grace = Nanos::from_millis(plan.grace_ms);
        let (process, channel, voice) = start(command, &plan).map_err(LaunchError::Supervisor)?;
        let began = process::stat(process.id()).map_or(0, |stat| stat.start_ticks);
        let mark = format!("BAKEOFF_SUPERVISOR={}-{began}", process.id());
        let mut supervisor = Self {
            process,
            channel: Mutex::new(channel),
            mark,
            started: AtomicU32::new(0),
            groups: Groups::default(),
            grace,
            litter: Litter::default(),
            voice,
            ended: false,
        };
        supervisor.launch_next(plan)?;
        Ok(supervisor)
    }

    /// Starts another program, when the one started before has ended. Processes that it left behind stay.
    pub(crate) fn launch_next(&mut self, plan: Plan) -> Result<(), LaunchError> {
        self.litter.clone_from(&plan.litter);
        self.groups = self.launch_again(plan)?;
        Ok(())
    }

    /// The same for a supervisor that others read from meanwhile: the new process joins the groups of the one started
    /// first.
    pub(crate) fn launch_again(&self, mut plan: Plan) -> Result<Groups, LaunchError> {
        if let Some((name, value)) = self.mark.split_once('=') {
            plan.env.push((name.to_owned(), value.to_owned()));
        }
        self.channel().exit = None;
        match self.ask(&Order::Launch(Box::new(plan))).map_err(LaunchError::Supervisor)? {
            Report::Started { pid, groups } => {
                self.started.store(pid, Ordering::Relaxed);
                Ok(groups)
            }
            Report::Failed { fault, doing, error } => Err(match fault {
                Fault::NotFound => LaunchError::NotFound,
                Fault::Limits => LaunchError::Limits(error),
                Fault::Other => LaunchError::Failed { doing, error },
            }),
            other => Err(LaunchError::Supervisor(unexpected(&other))),
        }
    }

    /// The other end of the standard input and output of the started process; given once, if the plan says that it
    /// speaks.
    pub(crate) fn take_voice(&mut self) -> Option<UnixStream> {
        self.voice.take()
    }

    /// Its own number: everything below it is the subject.
    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// The process it started.
    pub(crate) fn started(&self) -> u32 {
        self.started.load(Ordering::Relaxed)
    }

    pub(crate) fn groups(&self) -> &Groups {
        &self.groups
    }

    /// The exit of the started process, if it has ended. Waits at most `patience`. An error: the supervisor is gone.
    pub(crate) fn exit(&self, patience: Nanos) -> io::Result<Option<Exit>> {
        let mut channel = self.channel();
        if channel.exit.is_none()
            && let Some(report) = channel.receive(patience)?
        {
            return Err(unexpected(&report));
        }
        Ok(channel.exit)
    }

    /// Resources used by all processes that it has reaped.
    pub(crate) fn reaped(&self) -> io::Result<ResourceUsage> {
        match self.ask(&Order::Reaped)? {
            Report::Reaped(sum) => Ok(sum.into()),
            other => Err(unexpected(&other)),
        }
    }

    /// Kills the subject at once and stays, for the next start. Returns the number of processes still there.
    pub(crate) fn kill(&self) -> io::Result<usize> {
        let mut channel = self.channel();
        channel.send(&Order::Kill)?;
        match channel.answer(ending::INSIST + PATIENCE)? {
            Report::Killed { left } => Ok(left),
            other => Err(unexpected(&other)),
        }
    }

    /// Ends the subject and the supervisor. If the supervisor was killed, does here what it would have done.
    pub(crate) fn end(&mut self) -> Farewell {
        if std::mem::replace(&mut self.ended, true) {
            return Farewell::default();
        }
        let farewell = self.ask_to_end();
        if farewell.is_none() {
            let _ = self.process.kill(); // already dead is what we want
        }
        let _ = self.process.wait(); // cannot fail for a child nobody else waits for
        let left = ending::kill_left_by(self.pid(), &self.mark, &self.groups);
        self.litter.remove();
        farewell.unwrap_or(Farewell { killed: left.killed, left: left.left, ..Farewell::default() })
    }

    fn ask_to_end(&self) -> Option<Farewell> {
        let mut channel = self.channel();
        channel.send(&Order::Stop).ok()?;
        let patience = self.grace + ending::INSIST + PATIENCE;
        match channel.answer(patience).ok()? {
            Report::Ended { sum, group_ns, killed, left } => {
                Some(Farewell { used: sum.into(), group: group_ns.map(Nanos::new), killed, left })
            }
            _ => None,
        }
    }

    fn ask(&self, order: &Order) -> io::Result<Report> {
        let mut channel = self.channel();
        channel.send(order)?;
        channel.answer(PATIENCE)
    }

    fn channel(&self) -> MutexGuard<'_, Channel> {
        self.channel.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        self.end();
    }
}

fn start(command: &[OsString], plan: &Plan) -> io::Result<(Child, Channel, Option<UnixStream>)> {
    let Some((program, words)) = command.split_first() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "an empty supervisor command"));
    };
    let (ours, theirs) = UnixStream::pair()?;
    let mut log = OpenOptions::new();
    log.create(true).append(true).custom_flags(NO_LINK);
    let log = log.open(plan.dir.join("supervisor.log"))?;
    let (voice, stdout) = if plan.speaks {
        let (ours, theirs) = UnixStream::pair()?;
        (Some(ours), Stdio::from(OwnedFd::from(theirs)))
    } else {
        (None, Stdio::from(log.try_clone()?))
    };
    let process = Command::new(program)
        .args(words)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(stdout)
        .stderr(log)
        .spawn()?;
    Ok((process, Channel { lines: Lines::new(ours), exit: None }, voice))
}

#[derive(Debug)]
struct Channel {
    lines: Lines,
    exit: Option<Exit>,
}

impl Channel {
    fn send(&mut self, order: &Order) -> io::Result<()> {
        self.lines.say(serde_json::to_vec(order)?)
    }

    fn answer(&mut self, patience: Nanos) -> io::Result<Report> {
        let clock = MonotonicClock::new();
        loop {
            let left = patience.since(clock.now());
            match self.receive(left)? {
                Some(report) => return Ok(report),
                None if left == Nanos::ZERO => return Err(io::ErrorKind::TimedOut.into()),
                None => {}
            }
        }
    }

    /// The next report other than the news of an exit, which is kept. None: nothing within `patience`, or only that
    /// news.
    fn receive(&mut self, patience: Nanos) -> io::Result<Option<Report>> {
        let mut line = self.lines.next_line();
        if line.is_none() {
            if !self.readable(patience)? {
                return Ok(None);
            }
            if !self.lines.hear()? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            line = self.lines.next_line();
        }
        let Some(line) = line else { return Ok(None) };
        match serde_json::from_slice(&line)? {
            Report::Exited { exited, killed, elapsed_ns } => {
                let ending = killed.map_or(Ending::Exited(exited.unwrap_or(0)), Ending::Killed);
                self.exit = Some(Exit { ending, elapsed: Nanos::new(elapsed_ns) });
                Ok(None)
            }
            other => Ok(Some(other)),
        }
    }

    fn readable(&self, patience: Nanos) -> io::Result<bool> {
        let milliseconds = i32::try_from(patience.get().div_ceil(1_000_000)).unwrap_or(i32::MAX);
        let timeout = PollTimeout::try_from(milliseconds).unwrap_or(PollTimeout::MAX);
        match poll(&mut [PollFd::new(self.lines.as_fd(), PollFlags::POLLIN)], timeout) {
            Ok(ready) => Ok(ready > 0),
            Err(nix::Error::EINTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

fn unexpected(report: &Report) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the supervisor answered {report:?}"))
}

/// How the subject ended, if it has. A first process that exited with 0 and left others is no end.
pub(crate) fn still_there(supervisor: &Supervisor) -> io::Result<Option<String>> {
    let Some(exit) = supervisor.exit(Nanos::ZERO)? else { return Ok(None) };
    let went_well = exit.ending == Ending::Exited(0);
    let others = || process::descendants(supervisor.pid()).is_ok_and(|below| !below.is_empty());
    Ok((!(went_well && others())).then(|| exit.ending.to_string()))
}
