//! Seccomp notifications: system calls that wait until another process has looked at them. The other end of a filter
//! that asks ([`crate::seccomp::Filter::watching`]).
//!
//! Measured side, hot: two ioctls a watched call, and the cost of looking at it. Owns the calls and the layout of their
//! records. Decides nothing. The holder of a listener must answer, or the caller waits for ever; when no process holds
//! it any more, watched calls fail with ENOSYS.

use crate::process::end_of;
use libc::c_long;
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

/// Requests of `linux/seccomp.h`: `_IOWR('!', 0, struct seccomp_notif)`, `_IOWR('!', 1, struct seccomp_notif_resp)`,
/// `_IOW('!', 2, u64)`, `_IOW('!', 4, u64)`.
const RECEIVE: libc::Ioctl = 0xc050_2100_u32 as libc::Ioctl;
const SEND: libc::Ioctl = 0xc018_2101_u32 as libc::Ioctl;
const IS_VALID: libc::Ioctl = 0x4008_2102;
const SET_FLAGS: libc::Ioctl = 0x4008_2104;
/// `SECCOMP_USER_NOTIF_FLAG_CONTINUE`, `SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP`.
const CONTINUE: u32 = 1;
const SYNC_WAKE_UP: u64 = 1;
/// Memory is read in pieces that end with a page: the page behind may not be there.
const PAGE: u64 = 4096;

/// Hands out watched calls.
#[derive(Debug)]
pub struct CallListener(OwnedFd);

/// A call that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The address of the answer; one more than that of the call before.
    pub id: u64,
    /// The thread that makes it.
    pub thread: u32,
    /// Its number.
    pub number: c_long,
    /// Its arguments. Values in memory may change at any later moment.
    pub arguments: [u64; 6],
}

/// `struct seccomp_notif`.
#[repr(C)]
#[derive(Default)]
struct Notification {
    id: u64,
    thread: u32,
    flags: u32,
    number: i32,
    architecture: u32,
    instruction: u64,
    arguments: [u64; 6],
}

/// `struct seccomp_notif_resp`.
#[repr(C)]
struct Answer {
    id: u64,
    value: i64,
    error: i32,
    flags: u32,
}

impl From<OwnedFd> for CallListener {
    fn from(fd: OwnedFd) -> Self {
        Self(fd)
    }
}

impl AsFd for CallListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl CallListener {
    /// Hands it to the process at the other end of a socket.
    ///
    /// # Errors
    /// The other end is gone.
    pub fn hand_over(&self, socket: &UnixStream) -> io::Result<()> {
        let numbers = [self.0.as_raw_fd()];
        let with = [ControlMessage::ScmRights(&numbers)];
        sendmsg::<()>(socket.as_raw_fd(), &[IoSlice::new(b"!")], &with, MsgFlags::MSG_NOSIGNAL, None)?;
        Ok(())
    }

    /// Takes one over; waits for it.
    ///
    /// # Errors
    /// `UnexpectedEof` when the other end is gone.
    pub fn take_over(socket: &UnixStream) -> io::Result<Self> {
        let mut byte = [0];
        let mut pieces = [IoSliceMut::new(&mut byte)];
        let mut space = nix::cmsg_space!(RawFd);
        let flags = MsgFlags::MSG_CMSG_CLOEXEC;
        let message = recvmsg::<()>(socket.as_raw_fd(), &mut pieces, Some(&mut space), flags)?;
        let numbers = message.cmsgs()?.find_map(|with| match with {
            ControlMessageOwned::ScmRights(numbers) => numbers.first().copied(),
            _ => None,
        });
        // SAFETY: the kernel has just made this descriptor for us, and there was room for one alone.
        let fd = numbers.map(|number| unsafe { OwnedFd::from_raw_fd(number) });
        fd.map(Self).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// From now on an answer wakes its caller on the core of the one that answers: cheaper, where nothing else runs.
    pub fn wake_here(&self) {
        // SAFETY: the flags are given by value. A kernel before 6.6 does not know it, and wakes elsewhere.
        unsafe { libc::ioctl(self.0.as_raw_fd(), SET_FLAGS, SYNC_WAKE_UP) };
    }

    /// The next call; waits for one. `None` when its caller was killed meanwhile.
    ///
    /// # Errors
    /// What the kernel reports.
    pub fn receive(&self) -> io::Result<Option<Call>> {
        let mut found = Notification::default();
        // SAFETY: the kernel wants the record zeroed, and fills in its 80 bytes.
        while unsafe { libc::ioctl(self.0.as_raw_fd(), RECEIVE, &raw mut found) } < 0 {
            match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => found = Notification::default(),
                error if error.raw_os_error() == Some(libc::ENOENT) => return Ok(None),
                error => return Err(error),
            }
        }
        let Notification { id, thread, number, arguments, .. } = found;
        Ok(Some(Call { id, thread, number: number.into(), arguments }))
    }

    /// Whether this call waits still: else its thread is gone, and its number may be another's.
    pub fn is_waiting(&self, id: u64) -> bool {
        // SAFETY: the kernel reads the 8 bytes of the number.
        unsafe { libc::ioctl(self.0.as_raw_fd(), IS_VALID, &raw const id) == 0 }
    }

    /// Lets a call be made, as if it had not been watched.
    ///
    /// # Errors
    ///
    /// `ENOENT` when its caller is gone, `EINPROGRESS` when it has not been received yet.
    pub fn go_on(&self, id: u64) -> io::Result<()> {
        let answer = Answer { id, value: 0, error: 0, flags: CONTINUE };
        // SAFETY: the kernel reads the 24 bytes of the record.
        match unsafe { libc::ioctl(self.0.as_raw_fd(), SEND, &raw const answer) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Reads another process's memory from an address on; returns the number of bytes.
///
/// # Errors
///
/// `EFAULT` where there is nothing, `EPERM` where the process may not be looked at, as where Yama allows that only to
/// its parents.
pub fn read_memory(thread: u32, address: u64, into: &mut [u8]) -> io::Result<usize> {
    let first = usize::try_from(PAGE - address % PAGE).map_or(into.len(), |rest| rest.min(into.len()));
    let there = |at: u64, len: usize| libc::iovec { iov_base: at as *mut libc::c_void, iov_len: len };
    let pieces = [there(address, first), there(address.wrapping_add(first as u64), into.len() - first)];
    let own = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    // SAFETY: writes at most `into.len()` bytes to `into`, which is borrowed for that; the other addresses are of the
    // other process, and the kernel checks them.
    let read =
        unsafe { libc::process_vm_readv(thread as libc::pid_t, &raw const own, 1, pieces.as_ptr(), 2, 0) };
    usize::try_from(read).map_err(|_| io::Error::last_os_error())
}

/// A file that another process has open, by its number there.
///
/// # Errors
/// As [`read_memory`]; `EBADF` when there is none.
pub fn file_of(process: u32, number: i32) -> io::Result<OwnedFd> {
    let held = end_of(process)?;
    // SAFETY: three integers; the result is a new descriptor or -1.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_getfd, held.as_raw_fd(), number, 0) };
    match i32::try_from(fd) {
        // SAFETY: a descriptor that was just made and that nobody else owns.
        Ok(fd @ 0..) => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seccomp::{Filter, watch};

    #[test]
    fn a_call_waits_is_seen_with_its_path_and_is_made() {
        let (tell, told) = std::sync::mpsc::channel();
        let caller = std::thread::spawn(move || {
            let filter = Filter::watching(c_long::from(u16::MAX), &[], &[watch(libc::SYS_mkdirat)]);
            tell.send(CallListener::from(filter.listen().unwrap())).unwrap();
            // SAFETY: the path is a string with its zero.
            let done = unsafe { libc::mkdirat(-1, c"/proc/never".as_ptr(), 0o755) };
            (done, io::Error::last_os_error().raw_os_error())
        });
        let listener = told.recv().unwrap();
        let (here, there) = UnixStream::pair().unwrap();
        listener.hand_over(&here).unwrap();
        let listener = CallListener::take_over(&there).unwrap();
        drop(here);
        assert!(CallListener::take_over(&there).is_err());
        listener.wake_here();
        let call = listener.receive().unwrap().unwrap();
        let mut path = [0; 4096];
        let length = read_memory(call.thread, call.arguments[1], &mut path).unwrap();
        assert_eq!((call.number, &path[..12]), (libc::SYS_mkdirat, b"/proc/never\0".as_slice()));
        assert!(length >= 12 && listener.is_waiting(call.id) && !listener.is_waiting(call.id + 1));
        listener.go_on(call.id).unwrap();
        assert!(listener.go_on(call.id).is_err(), "answered already");
        assert_eq!(caller.join().unwrap(), (-1, Some(libc::ENOENT)), "the call's own error");
    }

    #[test]
    fn anothers_file_is_the_same_file() {
        let own = std::fs::File::open("/dev/null").unwrap();
        let again = std::fs::File::from(file_of(std::process::id(), own.as_raw_fd()).unwrap());
        use std::os::unix::fs::MetadataExt;
        assert_eq!(again.metadata().unwrap().ino(), own.metadata().unwrap().ino());
        assert!(
            file_of(std::process::id(), i32::MAX).is_err()
                && read_memory(u32::MAX >> 1, 1, &mut [0]).is_err()
        );
    }
}
