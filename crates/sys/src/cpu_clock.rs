//! CPU clocks: nanoseconds a process or thread has run, exact also while it runs.
//!
//! Both sides of the wall, hot path allowed (one system call, no allocation). The clock of a
//! process holds all its threads, those that ended too, but not its children. Never add up
//! `/proc/PID/task/*/schedstat` instead: on a running thread those figures are up to a tick old,
//! and threads that ended are missing from them.

use bakeoff_units::Nanos;
use nix::time::{ClockId, clock_gettime};
use std::io;
use std::time::Duration;

/// The kernel's `PID_MAX_LIMIT`. A clock id has only 29 bits for the number: a larger one would
/// silently be the clock of another process.
const LARGEST_PID: u32 = 4 << 20;

/// CPU time of process `pid` so far. `NotFound` when there is no such process. Needs no privilege
/// and works on one that has ended and is not reaped.
pub fn process(pid: u32) -> io::Result<Nanos> {
    if pid == 0 || pid > LARGEST_PID {
        return Err(io::ErrorKind::NotFound.into());
    }
    let clock = ClockId::pid_cpu_clock_id(nix::unistd::Pid::from_raw(pid as i32)).map_err(gone)?;
    read(clock)
}

/// CPU time of this process.
pub fn own_process() -> io::Result<Nanos> {
    read(ClockId::CLOCK_PROCESS_CPUTIME_ID)
}

fn read(clock: ClockId) -> io::Result<Nanos> {
    clock_gettime(clock).map(|time| Nanos::from_duration(Duration::from(time))).map_err(gone)
}

/// The kernel says EINVAL for a clock whose process is gone.
fn gone(errno: nix::Error) -> io::Error {
    match errno {
        nix::Error::ESRCH | nix::Error::EINVAL => io::ErrorKind::NotFound.into(),
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_of_a_process_holds_threads_that_ended() {
        let before = process(std::process::id()).unwrap();
        let goal = Nanos::from_millis(20);
        std::thread::spawn(move || while crate::thread::cpu_time() < goal {}).join().unwrap();
        let spent = process(std::process::id()).unwrap().since(before);
        assert!(spent >= goal, "{spent}");
        assert!(own_process().unwrap() >= spent);
    }

    #[test]
    fn nobody_has_no_clock() {
        for pid in [0, LARGEST_PID, LARGEST_PID + 1, i32::MAX as u32, u32::MAX] {
            assert_eq!(process(pid).unwrap_err().kind(), io::ErrorKind::NotFound, "{pid}");
        }
    }
}
