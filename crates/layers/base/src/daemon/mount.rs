//! Life of a mount: the events its daemon waits for, its guard, how it ended, and errors at its start.
//!
//! Measured side, cold. The caller decides what is mounted and answers the kernel.

use super::keeper::Keeper;
use super::point::{PointError, unmount};
use crate::plain::PathError;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;
use thiserror::Error;

/// Longest delay of a status file. Ten wake-ups a second cost about a ten-thousandth of a core.
pub const STATUS_DELAY: Duration = Duration::from_millis(100);

/// Event for the thread that waits for the end of a daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MountEvent {
    /// SIGTERM or SIGINT.
    Signal,
    /// The served file system is gone.
    Over,
}

/// End of a mount that was ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MountEnd {
    /// A signal came; everything is unmounted.
    Signal,
    /// A signal came while files were open. The mount is detached; the open files get ENOTCONN.
    SignalBusy,
    /// Somebody else unmounted.
    Unmounted,
    /// A signal came, but the keeper, which alone may unmount, was gone. The dead mount is still there.
    Left,
}

/// A mount of ours; unmounts when dropped.
#[derive(Debug)]
pub struct Mounted {
    at: PathBuf,
    keeper: Keeper,
    gone: bool,
}

impl Mounted {
    /// The mount that was just made at this path. If there is a keeper, it unmounts: this process may not, or gave up
    /// the right.
    pub fn new(at: PathBuf, keeper: Keeper) -> Self {
        Self { at, keeper, gone: false }
    }

    /// Tells the keeper which mount it is.
    pub fn tell_keeper(&mut self) {
        self.keeper.tell(&self.at);
    }

    /// Unmounts. If files are open the mount is only detached, and the result says so.
    fn unmount(&mut self) -> MountEnd {
        self.gone = true;
        let busy = if self.keeper.is_there() { self.keeper.unmount() } else { Some(unmount(&self.at)) };
        busy.map_or(MountEnd::Left, |busy| if busy { MountEnd::SignalBusy } else { MountEnd::Signal })
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if !self.gone {
            self.unmount();
        }
    }
}

/// Facts for the caller's message once the mount is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MountFacts {
    /// A dead daemon's mount was cleared away before.
    pub cleared: bool,
    /// Read-ahead of the kernel; `None` where it could not be raised.
    pub read_ahead_kib: Option<u32>,
}

/// Reasons for not mounting anything.
#[derive(Debug, Error)]
pub enum MountError {
    /// The mount point.
    #[error(transparent)]
    Point(#[from] PointError),
    /// FUSE is missing or refuses.
    #[error(
        "cannot mount on {} through FUSE: {error}; it needs /dev/fuse, and root or fusermount3",
        path.display()
    )]
    Fuse {
        /// The path.
        path: PathBuf,
        /// The I/O error.
        error: io::Error,
    },
    /// The status file.
    #[error(transparent)]
    Status(#[from] PathError),
    /// The filter of system calls.
    #[error("the kernel takes no filter of system calls ({0}); it needs CONFIG_SECCOMP_FILTER")]
    Confine(io::Error),
    /// Signals, threads, the keeper.
    #[error("cannot serve: {0}")]
    Serve(#[from] io::Error),
}

/// Sends an event for each SIGTERM and SIGINT.
///
/// # Errors
/// The kernel's error.
pub fn watch_signals(sender: Sender<MountEvent>) -> io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGINT])?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for _ in signals.forever() {
            if sender.send(MountEvent::Signal).is_err() {
                return;
            }
        }
    })?;
    Ok(())
}

/// Waits until a mount ends and unmounts it, after a call of `last`; calls `meanwhile` every [`STATUS_DELAY`].
pub fn wait(
    mut mount: Mounted,
    events: &Receiver<MountEvent>,
    mut meanwhile: impl FnMut(),
    last: impl FnOnce(),
) -> MountEnd {
    loop {
        match events.recv_timeout(STATUS_DELAY) {
            Ok(MountEvent::Signal) => {
                last();
                return mount.unmount();
            }
            Ok(MountEvent::Over) | Err(RecvTimeoutError::Disconnected) => {
                mount.gone = true;
                return MountEnd::Unmounted;
            }
            Err(RecvTimeoutError::Timeout) => meanwhile(),
        }
    }
}
