//! Start of a launcher's own reader process, before the launcher confines itself.
//!
//! Measured side, cold. Owns the start, and the order of the messages between launcher and reader. The reader says
//! that it reads, the launcher reports its domain, and the reader confirms that it has written that down. The reader
//! is a copy of the launcher that is nobody's child: the program that the launcher becomes may wait for its children,
//! and must not find it.

use super::book::DomainLog;
use super::gather::Whose;
use super::messages::{CONFINED, FAILED, READING, WRITTEN, complain, hear};
use super::reader;
use bakeoff_layers_base::plain;
use bakeoff_sys::audit::Audit;
use bakeoff_sys::descriptors::close_inherited;
use bakeoff_sys::process::{fork, own_session};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{Pid, chdir, dup2_stderr, dup2_stdin, dup2_stdout};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Time limit for an answer of the reader.
const PATIENCE: Duration = Duration::from_secs(10);

/// Checks that this process may read the kernel's audit, and switch it on.
///
/// # Errors
/// It may not, with the reason.
pub fn is_allowed() -> io::Result<()> {
    Audit::open()?.settings().map(drop)
}

/// The launcher's end. If dropped before [`confined`](Self::confined) it says that nothing was run.
#[derive(Debug)]
pub struct LauncherEnd(UnixStream);

impl LauncherEnd {
    /// Starts a reader for this process, and waits until it reads: refusals are logged from now on.
    ///
    /// # Errors
    /// It cannot be started, or does not read, with the reason.
    pub fn start(reading: DomainLog) -> io::Result<Self> {
        let (own, theirs) = UnixStream::pair()?;
        let launcher = std::process::id();
        apart(|| life(reading, launcher, &theirs).map_or(1, |()| 0))?;
        drop(theirs);
        own.set_read_timeout(Some(PATIENCE))?;
        let started = Self(own);
        hear(&started.0, READING)?;
        Ok(started)
    }

    /// Reports that the domain is in force, with its lines for the status and the number of the launcher's own
    /// refusals, which are not counted. When it returns the status says so, and the program may be executed.
    ///
    /// # Errors
    /// The reader is gone: there is no log any more.
    pub fn confined(&mut self, lines: &str, refused: usize) -> io::Result<()> {
        self.0.write_all(format!("{}\n{CONFINED}{refused}\n", lines.trim_end()).as_bytes())?;
        hear(&self.0, WRITTEN)
    }

    /// Reports that the program was not executed. When it returns the status says so, if it can be written.
    pub fn failed(mut self) {
        let told = self.0.write_all(format!("{FAILED}\n").as_bytes());
        let _ = told.and_then(|()| hear(&self.0, WRITTEN));
    }
}

/// Runs `child` in a copy of this process that is nobody's child. For a process with one thread.
pub(crate) fn apart(child: impl FnOnce() -> i32) -> io::Result<()> {
    let between = i32::try_from(fork(|| fork(child).map_or(1, |_| 0))?).map_err(io::Error::other)?;
    match waitpid(Pid::from_raw(between), None)? {
        WaitStatus::Exited(_, 0) => Ok(()),
        how => Err(io::Error::other(format!("{how:?}"))),
    }
}

/// Main function of the reader.
fn life(reading: DomainLog, launcher: u32, socket: &UnixStream) -> io::Result<()> {
    let nowhere = alone(socket)?;
    let read =
        reader::read_of(reading, Whose::Launcher(launcher), Some(socket.try_clone()?), || let_go(&nowhere));
    if let Err(error) = &read {
        complain(socket, error);
    }
    read.map_err(io::Error::other)
}

/// Closes everything inherited from the launcher except this socket and, until [`let_go`], its working directory and
/// standard error. Returns the null device that replaced standard input and output.
pub(crate) fn alone(socket: &UnixStream) -> io::Result<File> {
    own_session()?;
    close_inherited(&[socket.as_raw_fd()])?;
    let nowhere = plain::null_device()?;
    dup2_stdin(&nowhere)?;
    dup2_stdout(&nowhere)?;
    Ok(nowhere)
}

/// Gives up directory and standard error, once the files named relative to the launcher's directory are open.
pub(crate) fn let_go(nowhere: &File) -> io::Result<()> {
    dup2_stderr(nowhere)?;
    Ok(chdir("/")?)
}
