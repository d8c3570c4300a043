//! A reader of its own for a launcher, started before it confines itself.
//!
//! Measured side, cold. Owns the start and what is told over the socket. The reader must be nobody's child of what is
//! confined, which may wait for its children and does not know this one: it is started by a process between, which
//! ends.

use super::reader::{CONFINED, READING};
use nix::unistd::{chdir, dup2_stderr};
use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::Duration;

/// How long a reader may take to begin.
const PATIENCE: Duration = Duration::from_secs(10);

/// The launcher's end. Dropped without [`confined`](Self::confined) it says that nothing was run.
#[derive(Debug)]
pub struct Started(UnixStream);

/// Starts a reader with this command, `bakeoff-layers mac log ...`, and waits until it reads: what is refused from now
/// on is told. The launcher's number goes behind the command.
///
/// # Errors
/// It cannot be started, or ended; what it printed on standard error says why.
pub fn start(mut command: Command) -> io::Result<Started> {
    let (own, theirs) = UnixStream::pair()?;
    command.arg(LAUNCHER).arg(std::process::id().to_string());
    command.stdin(OwnedFd::from(theirs)).stdout(Stdio::null());
    let started = command.status()?.success();
    // It holds the other end of the pair.
    drop(command);
    own.set_read_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new(&own).read_line(&mut line)?;
    match (started, line.as_str()) {
        (true, READING) => Ok(Started(own)),
        _ => Err(io::Error::other("the log's reader did not begin to read")),
    }
}

/// A launcher's reader starts the same command once more and ends, so that what the launcher becomes has no child that
/// it does not know.
///
/// # Errors
/// It cannot be started.
pub fn detach() -> io::Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(std::env::args_os().skip(1)).arg("--detached").stdin(Stdio::inherit()).stdout(Stdio::null());
    command.spawn().map(drop)
}

/// The launcher's socket, in a session of its own.
pub(super) fn launcher() -> io::Result<UnixStream> {
    bakeoff_sys::process::own_session()?;
    Ok(UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?))
}

/// Holds nothing of the launcher's any more: neither its standard error nor its directory.
pub(super) fn let_go() {
    if let Ok(nowhere) = OpenOptions::new().write(true).open("/dev/null") {
        let _ = dup2_stderr(nowhere);
    }
    let _ = chdir("/");
}

/// The flag that makes a reader a launcher's.
const LAUNCHER: &str = "--launcher";

impl Started {
    /// The domain is in force, and these lines are what the status says of it. The next thing is to execute the program.
    ///
    /// # Errors
    /// The reader is gone: there is no log any more.
    pub fn confined(mut self, lines: &str) -> io::Result<()> {
        self.0.write_all(format!("{}\n{CONFINED}\n", lines.trim_end()).as_bytes())
    }
}
