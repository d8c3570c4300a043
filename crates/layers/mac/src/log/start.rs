//! A reader of its own for a launcher, started before it confines itself.
//!
//! Measured side, cold. Owns the start, and what launcher and reader tell each other over a socket: the reader that it
//! reads, the launcher what it has become, the reader that it has written that down. The reader is a copy of the
//! launcher that is nobody's child: what the launcher becomes may wait for its children, and does not know this one.

use super::Reading;
use super::gather::Whose;
use super::reader;
use bakeoff_sys::audit::Audit;
use bakeoff_sys::descriptors::close_inherited;
use bakeoff_sys::process::{fork, own_session};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{Pid, chdir, dup2_stderr, dup2_stdin, dup2_stdout};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// How long a reader may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// What the reader says: records are read from now on, or why it does not start; the status has what it was told.
pub(crate) const READING: &str = "reading\n";
pub(crate) const WRITTEN: &str = "written\n";
/// What the launcher says: behind the lines of the status how many refusals were its own; that it could not execute.
pub(super) const CONFINED: &str = "confined ";
pub(super) const FAILED: &str = "failed";

/// Whether this process may read the kernel's audit, and switch it on.
///
/// # Errors
/// Why not.
pub fn is_allowed() -> io::Result<()> {
    Audit::open()?.settings().map(drop)
}

/// The launcher's end. Dropped before [`confined`](Self::confined) it says that nothing was run.
#[derive(Debug)]
pub struct Reader(UnixStream);

impl Reader {
    /// Starts it, for this process, and waits until it reads: what is refused from now on is told.
    ///
    /// # Errors
    /// It cannot be started, or why it does not read.
    pub fn start(reading: Reading) -> io::Result<Self> {
        let (own, theirs) = UnixStream::pair()?;
        let launcher = std::process::id();
        apart(|| life(reading, launcher, &theirs).map_or(1, |()| 0))?;
        drop(theirs);
        own.set_read_timeout(Some(PATIENCE))?;
        let started = Self(own);
        hear(&started.0, READING)?;
        Ok(started)
    }

    /// The domain is in force, these lines are what the status says of it, and the launcher itself was refused so many
    /// things, which are not counted. When it returns the status says so, and the program may be executed.
    ///
    /// # Errors
    /// The reader is gone: there is no log any more.
    pub fn confined(&mut self, lines: &str, refused: usize) -> io::Result<()> {
        self.0.write_all(format!("{}\n{CONFINED}{refused}\n", lines.trim_end()).as_bytes())?;
        hear(&self.0, WRITTEN)
    }

    /// The program was not executed. When it returns the status says so, if it can be written.
    pub fn failed(mut self) {
        let told = self.0.write_all(format!("{FAILED}\n").as_bytes());
        let _ = told.and_then(|()| hear(&self.0, WRITTEN));
    }
}

/// Waits for a word from the other end.
pub(crate) fn hear(socket: &UnixStream, wanted: &str) -> io::Result<()> {
    let mut line = String::new();
    BufReader::new(socket).read_line(&mut line)?;
    match line.as_str() {
        heard if heard == wanted => Ok(()),
        "" => Err(io::Error::other("the process beside us ended")),
        why => Err(io::Error::other(why.trim_end().to_owned())),
    }
}

/// Does `child` in a copy of this process that is nobody's child. For a process with one thread.
pub(crate) fn apart(child: impl FnOnce() -> i32) -> io::Result<()> {
    let between = i32::try_from(fork(|| fork(child).map_or(1, |_| 0))?).map_err(io::Error::other)?;
    match waitpid(Pid::from_raw(between), None)? {
        WaitStatus::Exited(_, 0) => Ok(()),
        how => Err(io::Error::other(format!("{how:?}"))),
    }
}

/// The reader's whole life.
fn life(reading: Reading, launcher: u32, socket: &UnixStream) -> io::Result<()> {
    let nowhere = alone(socket)?;
    let read =
        reader::read_of(reading, Whose::Launcher(launcher), Some(socket.try_clone()?), || let_go(&nowhere));
    if let Err(error) = &read {
        complain(socket, error);
    }
    read.map_err(io::Error::other)
}

/// Nothing of the launcher's is held any more but this socket, and its directory and standard error until
/// [`let_go`]. Returns what is read and written to in their place.
pub(crate) fn alone(socket: &UnixStream) -> io::Result<File> {
    own_session()?;
    close_inherited(&[socket.as_raw_fd()])?;
    let nowhere = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&nowhere)?;
    dup2_stdout(&nowhere)?;
    Ok(nowhere)
}

/// Once the paths that are meant in the launcher's directory are open.
pub(crate) fn let_go(nowhere: &File) -> io::Result<()> {
    dup2_stderr(nowhere)?;
    Ok(chdir("/")?)
}

/// Tells the launcher, which waits, why not.
pub(crate) fn complain(mut socket: &UnixStream, error: &dyn std::error::Error) {
    let _ = writeln!(socket, "{}", error.to_string().replace('\n', " "));
}
