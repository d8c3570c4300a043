//! Learning a policy: a program runs watched, and its accesses become the policy.
//!
//! Measured side. Owns the run: the program is a child whose standard output goes to standard error, as the policy is
//! printed. `policy` turns the observed accesses into text.

use super::needs::{Stage, WATCHED, leads_elsewhere, needs};
use super::observed::Observed;
use super::policy::ObservedAccesses;
use crate::confine::calls::{changes_attributes, watching};
use crate::log::LoggedAccess;
use crate::log::messages::{WRITTEN, hear};
use bakeoff_sys::notify::{Call, CallListener};
use bakeoff_sys::process::fork;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Result of learning.
#[derive(Clone, Debug)]
pub struct Learnt {
    /// A policy with one domain.
    pub policy: String,
    /// End of the program, unless it was with 0.
    pub ended: Option<String>,
    /// Number of calls that were looked at.
    pub calls: u64,
}

/// Runs a program until it and all its descendants are gone, and writes a policy with one domain of this name. For a
/// process with one thread. SIGTERM and Ctrl-C are passed on to the program.
///
/// # Errors
/// The program cannot be watched.
pub fn learn(mut command: Command, domain: &str) -> io::Result<Learnt> {
    let (own, theirs) = UnixStream::pair()?;
    let asked: SigSet = [Signal::SIGTERM, Signal::SIGINT].into_iter().collect();
    asked.thread_block()?;
    let signals = SignalFd::with_flags(&asked, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
    let child = fork(|| {
        let why = watched(&theirs).err().unwrap_or_else(|| command.stdout(Stdio::from(io::stderr())).exec());
        let _ = write!(&theirs, "{why}");
        127
    })?;
    drop(theirs);
    let child = Pid::from_raw(i32::try_from(child).map_err(io::Error::other)?);
    let seen = watch(&own, &signals, child);
    let ended = match waitpid(child, None)? {
        WaitStatus::Exited(_, 0) => None,
        WaitStatus::Exited(_, code) => Some(format!("exit code {code}")),
        how => Some(format!("{how:?}")),
    };
    let (seen, calls) = seen?;
    let program = command.get_program().to_string_lossy().into_owned();
    let mut why = String::new();
    (&own).read_to_string(&mut why)?;
    if !why.is_empty() {
        return Err(io::Error::other(format!("cannot execute {program}: {why}")));
    }
    Ok(Learnt { policy: seen.policy(domain, &program, &what_is), ended, calls })
}

/// Main function of the child, which is watched from now on.
fn watched(socket: &UnixStream) -> io::Result<()> {
    let listener = CallListener::from(watching(false, WATCHED).listen()?);
    listener.hand_over(socket)?;
    drop(listener);
    hear(socket, WRITTEN)
}

fn watch(mut socket: &UnixStream, signals: &SignalFd, child: Pid) -> io::Result<(ObservedAccesses, u64)> {
    let listener = CallListener::take_over(socket)?;
    listener.wake_here();
    socket.write_all(WRITTEN.as_bytes())?;
    let (mut seen, mut calls, mut elsewhere) = (ObservedAccesses::default(), 0, false);
    loop {
        let mut ready = [
            PollFd::new(listener.as_fd(), PollFlags::POLLIN),
            PollFd::new(signals.as_fd(), PollFlags::POLLIN),
        ];
        let _ = poll(&mut ready, PollTimeout::NONE);
        let found = ready[0].revents().unwrap_or(PollFlags::empty());
        if let Some(signal) = signals.read_signal()? {
            let _ = kill(child, Signal::try_from(signal.ssi_signo as i32)?);
        }
        if found.contains(PollFlags::POLLIN) {
            let Some(call) = listener.receive()? else { continue };
            elsewhere |= leads_elsewhere(&call);
            let needed = needs(Observed { thread: call.thread, elsewhere }, &call);
            if listener.is_waiting(call.id) {
                calls += 1;
                note(&mut seen, &call, needed);
            }
            let _ = listener.go_on(call.id);
        } else if found.contains(PollFlags::POLLHUP) {
            return Ok((seen, calls));
        }
    }
}

fn note(seen: &mut ObservedAccesses, call: &Call, needed: Option<Vec<Stage>>) {
    let Some(stages) = needed else {
        seen.unseen += 1;
        return;
    };
    for stage in stages {
        for wanted in stage.wanted {
            match wanted {
                LoggedAccess::Call(_) if changes_attributes(call.number) => seen.attributes = true,
                other => seen.note(other),
            }
        }
        seen.moves.extend(stage.moved.map(|moved| (moved.from, moved.to)));
    }
}

/// Whether a path is a directory; `None` if it does not exist, or a policy cannot name it.
fn what_is(path: &Path) -> Option<bool> {
    fs::symlink_metadata(path).ok().filter(|about| !about.is_symlink()).map(|about| about.is_dir())
}
