//! Signals: sent to a process and not to its successor; received as a descriptor.

use super::tree;
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

/// The signals we send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Please end (`SIGTERM`).
    Terminate,
    /// End (`SIGKILL`).
    Kill,
}

impl Signal {
    fn number(self) -> libc::c_int {
        match self {
            Self::Terminate => libc::SIGTERM,
            Self::Kill => libc::SIGKILL,
        }
    }
}

/// Sends `signal` to the process `pid` that started at `start_ticks` (see `Stat`). `false` when
/// that process has ended, also when its number belongs to another one by now.
pub fn send(pid: u32, start_ticks: u64, signal: Signal) -> io::Result<bool> {
    let held = hold(pid);
    match tree::stat(pid) {
        Ok(stat) if stat.start_ticks == start_ticks => {}
        Ok(_) => return Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    }
    let done = match &held {
        // SAFETY: the descriptor is open and owned here; a null siginfo means "as kill(2)".
        Some(fd) => unsafe {
            libc::syscall(libc::SYS_pidfd_send_signal, raw(fd), signal.number(), std::ptr::null::<u8>(), 0)
        },
        // SAFETY: kill takes integers; `pid` was just seen to be the process meant.
        None => unsafe { libc::kill(pid as libc::pid_t, signal.number()) }.into(),
    };
    match done {
        0 => Ok(true),
        _ => match io::Error::last_os_error() {
            error if error.raw_os_error() == Some(libc::ESRCH) => Ok(false),
            error => Err(error),
        },
    }
}

/// A descriptor for the process that has this number now; it never moves on to a successor. None on kernels before 5.3,
/// or when there is no such process.
fn hold(pid: u32) -> Option<OwnedFd> {
    // SAFETY: pidfd_open takes integers and returns a new descriptor or -1.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid as libc::pid_t, 0) };
    // SAFETY: a result of zero or above is a descriptor nobody else owns.
    (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// A descriptor that can be read (as far as `poll` says) once the process that has this number now ends.
///
/// # Errors
/// There is no such process; `ENOSYS` before Linux 5.3.
pub fn end_of(pid: u32) -> io::Result<OwnedFd> {
    hold(pid).ok_or_else(io::Error::last_os_error)
}

fn raw(fd: &OwnedFd) -> libc::c_int {
    std::os::fd::AsRawFd::as_raw_fd(fd)
}

/// "A child ended" and "please end" as something `poll` can wait for. For a process with one
/// thread: both signals are blocked for the calling thread from now on.
#[derive(Debug)]
pub struct ChildSignals {
    fd: SignalFd,
}

/// Arrivals since the last look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SignalArrivals {
    /// Whether at least one child ended.
    pub child: bool,
    /// Whether this process was asked to end.
    pub terminate: bool,
}

impl ChildSignals {
    /// Blocks `SIGCHLD` and `SIGTERM` and ignores `SIGINT`, `SIGHUP` and `SIGPIPE`.
    pub fn take() -> io::Result<Self> {
        for number in [libc::SIGINT, libc::SIGHUP, libc::SIGPIPE] {
            // SAFETY: SIG_IGN is a valid disposition for these signals.
            unsafe { libc::signal(number, libc::SIG_IGN) };
        }
        let mut wanted = SigSet::empty();
        wanted.add(nix::sys::signal::Signal::SIGCHLD);
        wanted.add(nix::sys::signal::Signal::SIGTERM);
        sigprocmask(SigmaskHow::SIG_BLOCK, Some(&wanted), None)?;
        let fd = SignalFd::with_flags(&wanted, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?;
        Ok(Self { fd })
    }

    /// Empties the descriptor.
    pub fn arrived(&self) -> io::Result<SignalArrivals> {
        let mut seen = SignalArrivals::default();
        while let Some(info) = self.fd.read_signal()? {
            match info.ssi_signo as libc::c_int {
                libc::SIGCHLD => seen.child = true,
                libc::SIGTERM => seen.terminate = true,
                _ => {}
            }
        }
        Ok(seen)
    }
}

impl AsFd for ChildSignals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
