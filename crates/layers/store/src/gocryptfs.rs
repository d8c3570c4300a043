//! Mount of gocryptfs under the store's key: for data that changes.
//!
//! Measured side, a process of its own above gocryptfs. Owns the password, which follows from the store's key and is
//! passed on standard input, and the life of the mount. gocryptfs's own guarantees differ: it authenticates blocks
//! and binds them to their file, hides names but not sizes, and cannot tell an older state of the directory from the
//! newest.

use crate::cipher::password;
use bakeoff_layers_base::daemon::keeper::Keeper;
use bakeoff_layers_base::daemon::mount::{MountEnd, MountError, MountEvent, STATUS_DELAY, watch_signals};
use bakeoff_layers_base::daemon::point;
use bakeoff_layers_base::release::{StoreHold, StoreKey, StoreLock, burn_stack};
use nix::unistd::Uid;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;
use thiserror::Error;
use zeroize::Zeroizing;

/// The program.
const PROGRAM: &str = "gocryptfs";
/// Cost of stretching the password: the least, as its 256 random bits need none.
const SCRYPT: &str = "10";
/// Text that gocryptfs prints when it serves.
const READY: &str = "mounted and ready";
/// Time limit for gocryptfs to mount.
const PATIENCE: Duration = Duration::from_secs(20);

/// Options of the mount.
#[derive(Debug)]
pub struct GocryptfsOptions {
    /// Lock of the sealed key, and the hold on it: when it gets locked, gocryptfs is ended, and then the hold.
    pub lock: (StoreLock, StoreHold),
    /// Runs [`keeper_main`](bakeoff_layers_base::daemon::keeper::keeper_main).
    pub keeper: Option<Command>,
}

/// Reasons for not mounting, or ending.
#[derive(Debug, Error)]
pub enum GocryptfsError {
    /// The program is missing or failed.
    #[error("{PROGRAM} {what}: {error}; is the package {PROGRAM} installed?")]
    Program {
        /// Its task.
        what: &'static str,
        /// The I/O error.
        error: io::Error,
    },
    /// It ended with an exit code other than 0; its own message stands above.
    #[error("{PROGRAM} {what} ended with {code:?}; what it said stands above")]
    Failed {
        /// Its task.
        what: &'static str,
        /// Its exit code; `None` after a signal.
        code: Option<i32>,
    },
    /// It did not mount in time.
    #[error("{PROGRAM} has not mounted after {PATIENCE:?}; it was ended")]
    Slow,
    /// The mount point cannot be used.
    #[error(transparent)]
    Mount(#[from] MountError),
    /// The cipher library failed.
    #[error("the cipher library failed; is the processor's random source there?")]
    Cipher,
    /// The store was locked while it was mounted: a vault would stay and refuse reads, gocryptfs cannot.
    #[error("the store was locked; {PROGRAM} was ended")]
    Locked,
}

/// Mounts the directory `cipher` on `at`, initialising it for gocryptfs first if needed, until SIGTERM, SIGINT, a
/// lock, or an unmount.
///
/// # Errors
/// It could not be mounted, or was locked.
pub fn serve(
    cipher: &Path,
    at: &Path,
    key: StoreKey,
    options: GocryptfsOptions,
    ready: impl FnOnce(),
) -> Result<MountEnd, GocryptfsError> {
    let (at, _) = point::prepare(at).map_err(MountError::from)?;
    let mut words = password(&key, b"bakeoff gocryptfs 1").map_err(|_| GocryptfsError::Cipher)?;
    words.push('\n');
    drop(key);
    if !cipher.join("gocryptfs.conf").exists() {
        initialise(cipher, &words)?;
    }
    let (sender, events) = channel();
    watch_signals(sender).map_err(MountError::from)?;
    let mut keeper = Keeper::start(options.keeper, &at).map_err(MountError::from)?;
    let mut running = Running { at: at.clone(), child: start(cipher, &at, &words)? };
    drop(words);
    burn_stack();
    running.mounted()?;
    keeper.tell(&at);
    ready();
    let (lock, _hold) = options.lock;
    running.wait(&lock, &events)
}

fn initialise(cipher: &Path, words: &Zeroizing<String>) -> Result<(), GocryptfsError> {
    const WHAT: &str = "-init";
    let mut command = Command::new(PROGRAM);
    command.args(["-q", WHAT, "-scryptn", SCRYPT, "--"]).arg(cipher).stdout(Stdio::null());
    let mut child = spawn(command, words, WHAT)?;
    let status = child.wait().map_err(|error| GocryptfsError::Program { what: WHAT, error })?;
    let code = status.code();
    if status.success() { Ok(()) } else { Err(GocryptfsError::Failed { what: WHAT, code }) }
}

fn start(cipher: &Path, at: &Path, words: &Zeroizing<String>) -> Result<Child, GocryptfsError> {
    let mut command = Command::new(PROGRAM);
    command.args(["-fg", "-nosyslog"]).stdout(Stdio::piped());
    if Uid::effective().is_root() {
        command.arg("-allow_other");
    }
    command.arg("--").arg(cipher).arg(at);
    spawn(command, words, "mount")
}

fn spawn(
    mut command: Command,
    words: &Zeroizing<String>,
    what: &'static str,
) -> Result<Child, GocryptfsError> {
    let failed = |error| GocryptfsError::Program { what, error };
    let mut child = command.stdin(Stdio::piped()).spawn().map_err(failed)?;
    // It may have ended already; then its exit code says more than a broken pipe.
    if let Some(mut pipe) = child.stdin.take() {
        let _ = pipe.write_all(words.as_bytes());
    }
    Ok(child)
}

/// gocryptfs in the foreground; ended and unmounted when dropped.
struct Running {
    at: PathBuf,
    child: Child,
}

impl Running {
    /// Waits until gocryptfs says that it is ready. The mount exists a little sooner, but its FUSE library then still
    /// opens a file on it, and a process that creates a file at that moment waits with it for ever.
    fn mounted(&mut self) -> Result<(), GocryptfsError> {
        let (told, ready) = channel();
        let lines = self.child.stdout.take().map(BufReader::new);
        std::thread::spawn(move || {
            // Read to the end: its later output must not fill the pipe.
            for line in lines.into_iter().flat_map(BufRead::lines).map_while(Result::ok) {
                if line.contains(READY) {
                    let _ = told.send(());
                }
            }
        });
        match ready.recv_timeout(PATIENCE) {
            Ok(()) => Ok(()),
            Err(RecvTimeoutError::Timeout) => Err(GocryptfsError::Slow),
            Err(RecvTimeoutError::Disconnected) => {
                let code = self.child.wait().ok().and_then(|status| status.code());
                Err(GocryptfsError::Failed { what: "mount", code })
            }
        }
    }

    fn wait(mut self, lock: &StoreLock, events: &Receiver<MountEvent>) -> Result<MountEnd, GocryptfsError> {
        loop {
            if let Ok(MountEvent::Signal) = events.recv_timeout(STATUS_DELAY) {
                return Ok(if self.end() { MountEnd::SignalBusy } else { MountEnd::Signal });
            }
            if !matches!(self.child.try_wait(), Ok(None)) {
                return Ok(MountEnd::Unmounted);
            }
            if lock.is_locked() {
                // Killed at once: its memory holds the key. Open files fail from now on.
                let _ = self.child.kill();
                self.end();
                return Err(GocryptfsError::Locked);
            }
        }
    }

    /// Unmounts, after which gocryptfs ends by itself unless files are open.
    fn end(&mut self) -> bool {
        let busy = point::unmount(&self.at);
        if busy {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
        busy
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            self.end();
        }
    }
}
