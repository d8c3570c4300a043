//! Inherited descriptors: those that a process has open without having opened them.
//!
//! Measured side, cold. Owns one call.

use std::io;
use std::os::fd::RawFd;

/// Closes every descriptor from 3 on but those listed, whoever opened it: at once, so that no number is missed. It
/// belongs at the beginning of `main`, when only inherited descriptors are open: code that has opened one by then finds
/// it closed.
///
/// # Errors
///
/// `ENOSYS` on kernels before 5.9.
pub fn close_inherited(kept: &[RawFd]) -> io::Result<()> {
    let mut kept: Vec<u32> = kept.iter().filter_map(|number| u32::try_from(*number).ok()).collect();
    kept.sort_unstable();
    let mut first = 3;
    for number in kept.into_iter().filter(|number| *number >= 3) {
        if first < number {
            close(first, number - 1)?;
        }
        first = number + 1;
    }
    close(first, u32::MAX)
}

fn close(first: u32, last: u32) -> io::Result<()> {
    // SAFETY: three integers. That nothing of this process's is among them is what the caller has promised: the
    // worst is a descriptor of ours that answers EBADF, or is another file's by then; memory is not touched.
    match unsafe { libc::syscall(libc::SYS_close_range, first, last, 0_u32) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
