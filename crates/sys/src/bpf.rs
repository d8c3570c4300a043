//! BPF calls of the kernel that no library offers.
//!
//! Measured side, cold. Owns one call.

use std::io;

/// `MEMBARRIER_CMD_GLOBAL` of `linux/membarrier.h`.
const GLOBAL: u32 = 1;

/// Waits until every packet program that runs now has ended: entries that it has read of a map may be taken away
/// afterwards. Some milliseconds.
///
/// # Errors
///
/// A kernel without the call, or a sandbox that forbids it.
pub fn wait_for_programs() -> io::Result<()> {
    let (flags, cpu) = (0_u32, 0_i32);
    // SAFETY: the call has integers only. It waits for a grace period of RCU, under which such programs run; with one
    // processor it returns at once, and there no program is under way while this one runs.
    match unsafe { libc::syscall(libc::SYS_membarrier, GLOBAL, flags, cpu) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_comes_back() {
        super::wait_for_programs().unwrap();
    }
}
