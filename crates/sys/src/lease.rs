//! Read leases: proof that no process has a file open for writing, and notice before one does.
//!
//! Measured side. A lease is granted only while there is no writer and no shared mapping that could be written through,
//! and an open for writing waits until the holder lets go (at most `fs.lease-break-time`). Owns the calls and the
//! descriptor on which the kernel says which lease is asked back; decides nothing.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// `F_SETSIG` of `asm-generic/fcntl.h`: the signal of a break, which then names the descriptor.
const F_SETSIG: libc::c_int = 10;

/// Takes a lease on an open file. It is asked back through [`Breaks`], which must exist before.
///
/// # Errors
///
/// `EAGAIN` when another process can write to the file; `EINVAL` or `EOPNOTSUPP` on file systems without leases;
/// `EACCES` for another user's file without `CAP_LEASE`.
pub fn take(file: impl AsFd) -> io::Result<()> {
    let fd = file.as_fd().as_raw_fd();
    // The owner first. Otherwise the kernel makes the calling thread the one to be told, as if it were
    // a process, and tells nobody when it is not the first thread.
    // SAFETY: getpid and fcntl take integers; the descriptor is open for as long as it is borrowed.
    let done = unsafe { libc::fcntl(fd, libc::F_SETOWN, libc::getpid()) };
    // SAFETY: as above.
    if done < 0 || unsafe { libc::fcntl(fd, F_SETSIG, signal()) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: as above.
    let done = unsafe { libc::fcntl(fd, libc::F_SETLEASE, libc::F_RDLCK) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Shows that no process has a file open for writing at this moment: a lease is taken and given back. For files that
/// cannot be opened for writing meanwhile, so that the lease cannot be asked back.
///
/// # Errors
///
/// As [`take`].
pub fn no_writer(file: impl AsFd) -> io::Result<()> {
    let fd = file.as_fd();
    // SAFETY: fcntl with integers; the descriptor is open for as long as it is borrowed.
    if unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETLEASE, libc::F_RDLCK) } < 0 {
        return Err(io::Error::last_os_error());
    }
    give_back(fd)
}

/// Gives it back; a process that waits to open for writing goes on.
///
/// # Errors
///
/// There is no lease any more.
pub fn give_back(file: impl AsFd) -> io::Result<()> {
    // SAFETY: as above.
    let done = unsafe { libc::fcntl(file.as_fd().as_raw_fd(), libc::F_SETLEASE, libc::F_UNLCK) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The descriptor on which the kernel asks leases back, and on which other signals of the process arrive.
#[derive(Debug)]
pub struct Breaks(OwnedFd);

/// An arrival on the descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseArrival {
    /// The lease on this descriptor is asked back.
    Break(RawFd),
    /// Breaks were lost, since too many signals were waiting: any lease may have been asked back.
    Lost,
    /// Another of the signals that were named.
    Signal(libc::c_int),
}

impl Breaks {
    /// Blocks the signals for this thread and all that it starts from now on, and receives them here.
    /// For the main thread, before there is another one.
    ///
    /// # Errors
    /// Too many open files.
    pub fn new(further: &[libc::c_int]) -> io::Result<Self> {
        let mut wanted = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: sigemptyset initialises the set before it is used.
        let set = unsafe {
            libc::sigemptyset(wanted.as_mut_ptr());
            let set = wanted.assume_init_mut();
            libc::sigaddset(set, signal());
            libc::sigaddset(set, libc::SIGIO);
            for &number in further {
                libc::sigaddset(set, number);
            }
            set
        };
        // SAFETY: the set is initialised; the old one is not asked for.
        if unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, set, std::ptr::null_mut()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the set is initialised; -1 asks for a new descriptor.
        let fd = unsafe { libc::signalfd(-1, set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a descriptor that was just made and that nobody else owns.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// The next one, if there is one.
    ///
    /// # Errors
    /// What the kernel reports, never that there is none.
    pub fn next(&self) -> io::Result<Option<LeaseArrival>> {
        let mut info = std::mem::MaybeUninit::<libc::signalfd_siginfo>::zeroed();
        let length = size_of::<libc::signalfd_siginfo>();
        // SAFETY: the record is writable for the length that is given.
        let read = unsafe { libc::read(self.0.as_raw_fd(), info.as_mut_ptr().cast(), length) };
        if read < 0 {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::WouldBlock { Ok(None) } else { Err(error) };
        }
        // SAFETY: zeroed, then written to by the kernel; any bytes make up this record.
        let info = unsafe { info.assume_init() };
        let number = info.ssi_signo as libc::c_int;
        // The kernel falls back to SIGIO, without a descriptor, when its queue of signals is full.
        Ok(Some(if number == signal() {
            LeaseArrival::Break(info.ssi_fd)
        } else if number == libc::SIGIO {
            LeaseArrival::Lost
        } else {
            LeaseArrival::Signal(number)
        }))
    }
}

impl AsFd for Breaks {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A real-time signal, since those are queued: no break is lost among others.
fn signal() -> libc::c_int {
    libc::SIGRTMIN() + 3
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn a_lease_is_refused_while_somebody_can_write() {
        let path = std::env::temp_dir().join(format!("bakeoff-sys-lease-{}", std::process::id()));
        std::fs::write(&path, "x").unwrap();
        let reader = File::open(&path).unwrap();
        let writer = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        let refused = take(&reader).unwrap_err();
        let writes = no_writer(&reader).unwrap_err();
        drop(writer);
        let granted = take(&reader).and_then(|()| give_back(&reader)).and_then(|()| no_writer(&reader));
        std::fs::remove_file(&path).unwrap();
        // A file system without leases (and then no EAGAIN) is no reason to fail here.
        if refused.raw_os_error() == Some(libc::EAGAIN) {
            granted.unwrap();
            assert_eq!(writes.raw_os_error(), refused.raw_os_error());
        }
    }
}
