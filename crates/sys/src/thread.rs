//! The calling thread: its CPU time, how sharply it is woken and who goes first.

use bakeoff_units::Nanos;
use nix::time::{ClockId, clock_gettime};

/// CPU time that the calling thread has used.
pub fn cpu_time() -> Nanos {
    // The clock exists for every live thread; should the kernel refuse it, zero says "unknown".
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID);
    time.map_or(Nanos::ZERO, |t| Nanos::from_duration(std::time::Duration::from(t)))
}

/// Asks the kernel to wake the calling thread at the moment asked for, not up to 50 us later
/// (its default slack). A pacer needs it; a refusal only costs sharpness and is not reported.
pub fn wake_sharply() {
    // SAFETY: PR_SET_TIMERSLACK takes a number and touches no memory.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64, 0_u64, 0_u64, 0_u64) };
}

/// Lets the calling thread run before every ordinary one as soon as it has something to do
/// (`SCHED_FIFO`, lowest priority). For a thread that sleeps most of the time and must not be
/// late. Needs `CAP_SYS_NICE`.
///
/// # Errors
/// Without the privilege, and where a control group gives no real-time share.
pub fn go_first() -> std::io::Result<()> {
    let lowest = libc::sched_param { sched_priority: 1 };
    // SAFETY: number 0 is the calling thread; the pointer is to a local that lives through the call.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &lowest) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
