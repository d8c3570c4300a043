//! A child process that shares the table of open files with its parent: the descriptors it has open when it is killed
//! stay open, by the same numbers, for the parent to take over.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// Starts `child` in a process that is a copy of this one but for the table of open files, which both have in common.
/// It ends with the code that `child` returns, 101 when it panics. Values that `child` owns are the new process's
/// alone, and are not dropped here. Returns its number; the caller must reap it.
///
/// For a process with one thread; another one's locks would never be free in the child.
///
/// # Errors
///
/// What the kernel reports; `InvalidInput` when there are more threads.
pub fn share_files(child: impl FnOnce() -> i32) -> io::Result<u32> {
    // A thread that was joined a moment ago may still be counted.
    let began = Instant::now();
    while super::stat(std::process::id())?.threads != 1 {
        if began.elapsed() > Duration::from_secs(1) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        std::thread::yield_now();
    }
    let flags = libc::c_long::from(libc::CLONE_FILES | libc::SIGCHLD);
    // SAFETY: without memory in common and without a stack of its own this is fork. There is one thread,
    // so no lock is held by a thread that the child lacks. The C library's copy of the thread's number
    // goes stale in the child; it is used for locks that detect their owner, of which we have none.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0_usize, 0_usize, 0_usize, 0_usize) };
    match pid {
        0 => {
            let code = catch_unwind(AssertUnwindSafe(child)).unwrap_or(101);
            // SAFETY: ends the process at once: nothing of the parent's is flushed or dropped here.
            unsafe { libc::_exit(code) }
        }
        1.. => {
            std::mem::forget(child);
            u32::try_from(pid).map_err(|_| io::ErrorKind::InvalidData.into())
        }
        _ => Err(io::Error::last_os_error()),
    }
}

/// The numbers of all descriptors of this process.
///
/// # Errors
/// `/proc` is not there.
pub fn open_numbers() -> io::Result<Vec<RawFd>> {
    let listed = std::fs::read_dir("/proc/self/fd")?;
    let names: Vec<_> = listed.map(|entry| entry.map(|entry| entry.file_name())).collect::<Result<_, _>>()?;
    let numbers = names.iter().filter_map(|name| name.to_str()?.parse().ok());
    // The listing's own descriptor is closed by now.
    // SAFETY: fcntl with integers; a number that is not open is an error.
    Ok(numbers.filter(|number| unsafe { libc::fcntl(*number, libc::F_GETFD) } >= 0).collect())
}

/// The descriptors that a child of [`share_files`] has left open: all but `own`, which are those of this process. To be
/// called once the child has ended, while nothing but `own` was opened here.
///
/// # Errors
///
/// As [`open_numbers`].
pub fn left_open(own: &[RawFd]) -> io::Result<Vec<OwnedFd>> {
    let left = open_numbers()?.into_iter().filter(|number| !own.contains(number));
    // SAFETY: they are open; the process that opened them has ended, and nothing in this process knows them.
    Ok(left.map(|number| unsafe { OwnedFd::from_raw_fd(number) }).collect())
}
