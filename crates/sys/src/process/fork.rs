//! A child process that is a copy of this one, and runs a piece of it.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `child` in a copy of this process and ends that with the code it returns, 101 when it panics. Values that
/// `child` owns, such as open files, are the new process's alone and dropped here. Returns the child's number; the
/// caller must reap it.
///
/// For a process with one thread: a lock of another thread is never free in the child, which may then wait for it
/// forever.
///
/// # Errors
///
/// What the kernel reports.
pub fn fork(child: impl FnOnce() -> i32) -> io::Result<u32> {
    // SAFETY: the child has all memory for itself, and the C library makes its allocator usable in it. A lock that
    // another thread held is held for good there, which stops the child and breaks nothing.
    match unsafe { libc::fork() } {
        0 => {
            let code = catch_unwind(AssertUnwindSafe(child)).unwrap_or(101);
            // SAFETY: ends the process at once: nothing of the parent's is flushed or dropped here.
            unsafe { libc::_exit(code) }
        }
        pid @ 1.. => u32::try_from(pid).map_err(|_| io::ErrorKind::InvalidData.into()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Ending, reap_pid};
    use super::*;

    #[test]
    fn a_child_ends_with_its_code_and_changes_nothing_here() {
        let mut here = 1;
        let pid = fork(|| {
            here += 6;
            here
        })
        .unwrap();
        let reaped = loop {
            match reap_pid(pid).unwrap() {
                Some(reaped) => break reaped,
                None => std::thread::yield_now(),
            }
        };
        assert_eq!((reaped.pid, reaped.ending), (pid, Ending::Exited(7)));
    }
}
