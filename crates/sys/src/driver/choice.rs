//! Which driver is used: epoll, unless io_uring is asked for and the kernel lets us have it.
//!
//! io_uring by itself has not been cheaper than epoll by more than noise, but for a connection a request; and
//! the kernel counts its waits as waiting for storage (iowait), which the measuring side would take for a disk
//! that is full.

use super::{Driver, EpollDriver, UringDriver};
use bakeoff_units::MonotonicClock;
use std::io;

/// Which driver is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// epoll.
    #[default]
    Epoll,
    /// io_uring where the kernel lets us have it, epoll elsewhere.
    Uring,
}

/// A driver, and in words why it is not the one that was asked for.
///
/// # Errors
/// When there are no descriptors.
pub fn best(clock: MonotonicClock, choice: Choice) -> io::Result<(Box<dyn Driver>, Option<String>)> {
    let why_not = match choice {
        Choice::Epoll => None,
        Choice::Uring => match UringDriver::new(clock) {
            Ok(driver) => return Ok((Box::new(driver), None)),
            Err(error) => Some(error.to_string()),
        },
    };
    Ok((Box::new(EpollDriver::new(clock)?), why_not))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::Kind;

    /// Forbids this thread io_uring, as containers do.
    fn forbid_io_uring() {
        const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
        const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
        const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
        let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
        let mut steps = [
            step(LOAD, 0, 0, 0), // the call's number
            step(EQUAL, 0, 1, libc::SYS_io_uring_setup as u32),
            step(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
            step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
        ];
        let program = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
        // SAFETY: the program and its steps outlive the calls, which read them; both bind this thread alone.
        let done = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
        };
        assert!(done, "{}", io::Error::last_os_error());
    }

    #[test]
    fn where_io_uring_is_forbidden_epoll_steps_in_and_says_why() {
        let thread = std::thread::spawn(|| {
            forbid_io_uring();
            let clock = MonotonicClock::new();
            let (driver, why_not) = best(clock, Choice::Uring).unwrap();
            assert_eq!(driver.kind(), Kind::Epoll);
            assert!(why_not.unwrap().contains("forbidden"));
        });
        thread.join().unwrap();
    }

    #[test]
    fn epoll_is_no_makeshift() {
        let (driver, why_not) = best(MonotonicClock::new(), Choice::default()).unwrap();
        assert!(driver.kind() == Kind::Epoll && why_not.is_none());
    }
}
