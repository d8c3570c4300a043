//! The calling thread: its CPU time, its timer slack and its priority.

use bakeoff_units::Nanos;
use nix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// CPU time that the calling thread has used.
pub fn cpu_time() -> Nanos {
    // The clock exists for every live thread; should the kernel refuse it, zero says "unknown".
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID);
    time.map_or(Nanos::ZERO, |t| Nanos::from_duration(std::time::Duration::from(t)))
}

/// Time for which a thread was ready to run without running, since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunQueueDelay {
    /// All together.
    pub waited: Nanos,
    /// Number of times it began to run.
    pub turns: u64,
}

/// The kernel's count of that for one thread.
#[derive(Debug)]
pub struct RunQueue(File);

impl RunQueue {
    /// The calling thread's.
    ///
    /// # Errors
    /// `/proc` is not there, or the kernel does not count it.
    pub fn of_this_thread() -> io::Result<Self> {
        File::open("/proc/thread-self/schedstat").map(Self)
    }

    /// The count now; `None` when it cannot be read.
    pub fn delay(&mut self) -> Option<RunQueueDelay> {
        let mut text = [0; 96];
        let length = self.0.read_at(&mut text, 0).ok()?;
        let mut numbers = std::str::from_utf8(&text[..length]).ok()?.split_whitespace().skip(1);
        let waited = Nanos::new(numbers.next()?.parse().ok()?);
        Some(RunQueueDelay { waited, turns: numbers.next()?.parse().ok()? })
    }
}

/// Asks the kernel to wake the calling thread at the exact moment, not up to 50 us later (its default slack). A pacer
/// needs it; a refusal only costs sharpness and is not reported.
pub fn wake_sharply() {
    // SAFETY: PR_SET_TIMERSLACK takes a number and touches no memory.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64, 0_u64, 0_u64, 0_u64) };
}

/// Lets the calling thread run before every ordinary one as soon as it has work (`SCHED_FIFO`, lowest priority). For a
/// thread that sleeps most of the time and must not be late. Needs `CAP_SYS_NICE`.
///
/// # Errors
///
/// Without the privilege, and where a control group gives no real-time share.
pub fn go_first() -> io::Result<()> {
    let lowest = libc::sched_param { sched_priority: 1 };
    // SAFETY: number 0 is the calling thread; the pointer is to a local that lives through the call.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &lowest) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Lets the calling thread have about a tenth of what an ordinary one has of a core that both want (10 steps of
/// `nice`). For work that may wait. Needs no privilege.
///
/// # Errors
/// Where the kernel refuses.
pub fn go_behind() -> io::Result<()> {
    // SAFETY: three numbers; 0 is the calling thread, as Linux has it.
    match unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 10) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_has_waited_for_its_core_can_tell() {
        let Ok(mut queue) = RunQueue::of_this_thread() else { return };
        let before = queue.delay().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        let after = queue.delay().unwrap();
        assert!(after.turns > before.turns && after.waited >= before.waited, "{before:?} {after:?}");
    }

    #[test]
    fn a_thread_that_goes_behind_takes_no_other_with_it() {
        let niceness = || {
            let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
            // The name may hold spaces; behind it stands the state, field 3. Niceness is field 19.
            let (_, rest) = stat.rsplit_once(") ").unwrap();
            rest.split(' ').nth(16).unwrap().parse::<i32>().unwrap()
        };
        let before = niceness();
        if before > 10 {
            return; // back needs a privilege
        }
        let behind = std::thread::spawn(move || go_behind().map(|()| niceness())).join().unwrap();
        assert_eq!((behind.unwrap(), niceness()), (10, before));
    }

    #[test]
    fn work_costs_cpu_and_sleep_does_not() {
        let start = cpu_time();
        let mut x = 1_u64;
        while cpu_time().since(start) < Nanos::from_millis(5) {
            x = std::hint::black_box(x.wrapping_mul(3));
        }
        let worked = cpu_time();
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert!(cpu_time().since(worked) < Nanos::from_millis(10));
    }
}
