//! Permission events of fanotify: the kernel asks before it opens a file, and waits for the answer.
//!
//! Measured side, hot: one read and one write an event. Owns the calls and the layout of their records. Decides
//! nothing, and has no time limit of its own: a program that reads an event must answer it, or the process that opens
//! waits for ever.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// A fanotify group of the class that may answer for opens.
#[derive(Debug)]
pub struct Group(OwnedFd);

/// One event that was read.
#[derive(Debug)]
pub enum FanotifyEvent {
    /// A process opens a file and waits.
    Open(Open),
    /// An open that the kernel has refused, since it could not open the file for us: `WouldBlock` when another process
    /// holds a write lease on it, which is asked to let go. Before Linux 6.13 the read itself fails with this error.
    Unopened {
        /// The process that wanted to open it; 0 when it is in another pid namespace.
        pid: u32,
        /// The kernel's error.
        error: io::Error,
    },
    /// The kernel lost events: its queue was full.
    Overflow,
    /// Any other event.
    Other,
}

/// An open that waits for an answer.
#[derive(Debug)]
pub struct Open {
    /// The file, opened for reading by the kernel without a permission event.
    pub file: OwnedFd,
    /// The process that opens it; 0 when it is in another pid namespace.
    pub pid: u32,
    /// The address of the answer: the number that `file` had when it was read.
    pub number: RawFd,
}

/// Marks that a group can set on an inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Ask before this file is opened, whatever the way to it.
    File,
    /// Ask before a file in this directory is opened.
    Children,
    /// Ask before anything on this mount is opened.
    Mount,
    /// Ask no more about this file, until it is written to.
    Ignored,
}

impl Open {
    /// An open that was read by a process that has ended, by the descriptor that it left open. While the descriptor
    /// keeps its number no other event gets the same one.
    pub fn left(file: OwnedFd) -> Self {
        Self { number: file.as_raw_fd(), file, pid: 0 }
    }
}

/// Notes on an event's file that its open was answered, and the file is kept for another use: see [`is_answered`].
///
/// # Errors
///
/// What the kernel reports.
/// What the kernel reports.
pub fn set_answered(file: impl AsFd) -> io::Result<()> {
    let fd = file.as_fd().as_raw_fd();
    // SAFETY: fcntl with integers; the descriptor is open for as long as it is borrowed.
    if unsafe { libc::fcntl(fd, libc::F_SETFL, flags(fd)? & !libc::O_NONBLOCK) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Whether no open can be waiting for an answer to this descriptor. The kernel opens the files of events
/// with `O_NONBLOCK`, which does nothing to a regular file and stays until [`set_answered`].
pub fn is_answered(file: impl AsFd) -> bool {
    flags(file.as_fd().as_raw_fd()).is_ok_and(|flags| flags & libc::O_NONBLOCK == 0)
}

fn flags(fd: RawFd) -> io::Result<libc::c_int> {
    // SAFETY: fcntl with integers; a number that is not open is an error.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFL) };
    if flags < 0 { Err(io::Error::last_os_error()) } else { Ok(flags) }
}

impl Group {
    /// A group without marks. Its queue and its marks have no limit: a full queue would allow opens without an event.
    /// Reading does not touch access times, and does not wait: neither for an event nor, in the kernel's own open, for
    /// the holder of a lease on the file or for the other end of a fifo.
    ///
    /// # Errors
    ///
    /// `EPERM` without `CAP_SYS_ADMIN`, `ENOSYS` on a kernel without permission events.
    pub fn new() -> io::Result<Self> {
        let flags = libc::FAN_CLASS_CONTENT
            | libc::FAN_CLOEXEC
            | libc::FAN_NONBLOCK
            | libc::FAN_UNLIMITED_QUEUE
            | libc::FAN_UNLIMITED_MARKS;
        let files = libc::O_RDONLY | libc::O_LARGEFILE | libc::O_CLOEXEC | libc::O_NOATIME | libc::O_NONBLOCK;
        // SAFETY: fanotify_init takes integers and returns a new descriptor or -1.
        let init = |flags| unsafe { libc::fanotify_init(flags, files as libc::c_uint) };
        let mut fd = init(flags | REPORT_FD_ERROR);
        if fd < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::EINVAL) {
            fd = init(flags);
        }
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a descriptor that was just made and that nobody else owns.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// The same group by another descriptor.
    ///
    /// # Errors
    /// Too many open files.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self(self.0.try_clone()?))
    }

    /// Puts a mark on the inode of `target`; a descriptor opened with `O_PATH` will do.
    ///
    /// # Errors
    ///
    /// What the kernel reports, mostly that it has no memory for more marks.
    pub fn add(&self, mark: Mark, target: impl AsFd) -> io::Result<()> {
        self.mark(libc::FAN_MARK_ADD, mark, target.as_fd())
    }

    /// Takes a mark away.
    ///
    /// # Errors
    /// `ENOENT` when there is none.
    pub fn remove(&self, mark: Mark, target: impl AsFd) -> io::Result<()> {
        self.mark(libc::FAN_MARK_REMOVE, mark, target.as_fd())
    }

    fn mark(&self, how: libc::c_uint, mark: Mark, target: BorrowedFd<'_>) -> io::Result<()> {
        let (kind, mask) = match mark {
            Mark::File => (0, libc::FAN_OPEN_PERM),
            Mark::Children => (libc::FAN_MARK_ONLYDIR, libc::FAN_OPEN_PERM | libc::FAN_EVENT_ON_CHILD),
            Mark::Mount => (libc::FAN_MARK_MOUNT, libc::FAN_OPEN_PERM),
            Mark::Ignored => (libc::FAN_MARK_IGNORED_MASK, libc::FAN_OPEN_PERM),
        };
        let (group, target) = (self.0.as_raw_fd(), target.as_raw_fd());
        // SAFETY: without a path the mark is put on what the descriptor stands for; it is open for as
        // long as it is borrowed.
        let done = unsafe { libc::fanotify_mark(group, how | kind, mask, target, std::ptr::null()) };
        if done == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::EBADF) {
            return Err(error);
        }
        // A descriptor of O_PATH is not taken by itself, but by its name under /proc.
        let path = CString::new(format!("/proc/self/fd/{target}"))?;
        // SAFETY: the path is a string with its zero that lives through the call.
        let done = unsafe { libc::fanotify_mark(group, how | kind, mask, libc::AT_FDCWD, path.as_ptr()) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Takes all marks of inodes away: no permission events come any more.
    ///
    /// # Errors
    ///
    /// What the kernel reports.
    pub fn flush(&self) -> io::Result<()> {
        // SAFETY: with FAN_MARK_FLUSH neither mask nor path is looked at.
        let done = unsafe {
            libc::fanotify_mark(self.0.as_raw_fd(), libc::FAN_MARK_FLUSH, 0, libc::AT_FDCWD, c"/".as_ptr())
        };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Reads one event; `WouldBlock` when there is none.
    ///
    /// # Errors
    ///
    /// `EMFILE` when there is no descriptor for the file, `ENXIO` or `ENODEV` when it is a socket, or a device that is
    /// not there: the kernel has then refused the open. Before Linux 6.13: why the kernel could not open the file, and
    /// has refused the open.
    pub fn read(&self) -> io::Result<FanotifyEvent> {
        let mut buffer = Record([0; RECORD_BYTES]);
        // SAFETY: the buffer is writable for the length that is given.
        let length = unsafe { libc::read(self.0.as_raw_fd(), buffer.0.as_mut_ptr().cast(), RECORD_BYTES) };
        if length < 0 {
            return Err(io::Error::last_os_error());
        }
        if (length as usize) < RECORD_BYTES {
            return Ok(FanotifyEvent::Other);
        }
        // SAFETY: the record is as long and as aligned as the structure, which any bytes make up.
        let event = unsafe { buffer.0.as_ptr().cast::<libc::fanotify_event_metadata>().read() };
        if event.mask & libc::FAN_Q_OVERFLOW != 0 {
            return Ok(FanotifyEvent::Overflow);
        }
        let pid = u32::try_from(event.pid).unwrap_or(0);
        if event.fd < 0 {
            // The error in the descriptor's place; FAN_NOFD is -1, which no failing open reports.
            return Ok(match event.fd {
                libc::FAN_NOFD => FanotifyEvent::Other,
                error => FanotifyEvent::Unopened { pid, error: io::Error::from_raw_os_error(-error) },
            });
        }
        // SAFETY: the kernel opened this descriptor for us with the event.
        let file = unsafe { OwnedFd::from_raw_fd(event.fd) };
        if event.mask & libc::FAN_OPEN_PERM == 0 {
            return Ok(FanotifyEvent::Other);
        }
        Ok(FanotifyEvent::Open(Open { file, pid, number: event.fd }))
    }

    /// Answers an open, by the number of its event. Any process that has the group may do so.
    ///
    /// # Errors
    /// `ENOENT` when no open with that number waits: it was answered, or the process is gone.
    pub fn answer(&self, number: RawFd, allow: bool) -> io::Result<()> {
        let response = if allow { libc::FAN_ALLOW } else { libc::FAN_DENY };
        let record = libc::fanotify_response { fd: number, response };
        let length = size_of_val(&record);
        // SAFETY: the record is readable for the length that is given.
        let done = unsafe { libc::write(self.0.as_raw_fd(), (&raw const record).cast(), length) };
        if done == length as isize { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl AsFd for Group {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// `FAN_REPORT_FD_ERROR` of `linux/fanotify.h` (6.13): an event whose file could not be opened says why.
const REPORT_FD_ERROR: libc::c_uint = 0x2000;

/// A group of this class has no further records behind an event.
const RECORD_BYTES: usize = size_of::<libc::fanotify_event_metadata>();

/// Aligned as the structure that it becomes.
#[repr(C, align(8))]
struct Record([u8; RECORD_BYTES]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_as_long_as_the_kernel_says() {
        // FAN_EVENT_METADATA_LEN of the kernel's header.
        assert_eq!(RECORD_BYTES, 24);
        assert!(align_of::<Record>() >= align_of::<libc::fanotify_event_metadata>());
    }
}
