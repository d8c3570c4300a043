//! Reaping of children: number, ending and resource usage.

use bakeoff_units::Nanos;
use std::fmt;
use std::io;

/// The way in which a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By itself, with this code (0 to 255).
    Exited(i32),
    /// By this signal.
    Killed(i32),
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Exited(code) => write!(f, "exit status {code}"),
            Self::Killed(number) => match nix::sys::signal::Signal::try_from(number) {
                Ok(name) => write!(f, "killed by {}", name.as_str()),
                Err(_) => write!(f, "killed by signal {number}"),
            },
        }
    }
}

/// Resource usage of ended processes: microsecond resolution, exact sum of user and system, the split between them
/// estimated by the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResourceUsage {
    /// In user mode.
    pub user: Nanos,
    /// In the kernel.
    pub system: Nanos,
    /// Largest resident set of any one of them, in bytes.
    pub max_rss: u64,
}

/// A child that ended and has been reaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reaped {
    /// Its number.
    pub pid: u32,
    /// Its ending.
    pub ending: Ending,
    /// Usage of it and of the children it reaped.
    pub used: ResourceUsage,
}

/// Reaps one child that has ended, of any number; none when none has, or there is no child.
pub fn reap() -> io::Result<Option<Reaped>> {
    wait4(-1)
}

/// Reaps this child if it has ended; other children are not touched.
pub fn reap_pid(pid: u32) -> io::Result<Option<Reaped>> {
    wait4(i32::try_from(pid).map_err(|_| io::ErrorKind::InvalidInput)?)
}

fn wait4(which: i32) -> io::Result<Option<Reaped>> {
    let mut status = 0;
    // SAFETY: rusage is plain integers, for which all zeros is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to locals that live through the call.
    let pid = unsafe { libc::wait4(which, &mut status, libc::WNOHANG, &mut usage) };
    match pid {
        0 => Ok(None),
        1.. => Ok(Some(Reaped { pid: pid as u32, ending: ending(status), used: used(&usage) })),
        _ => match io::Error::last_os_error() {
            error if error.raw_os_error() == Some(libc::ECHILD) => Ok(None),
            error => Err(error),
        },
    }
}

/// Usage of all children that this process has reaped, with those that they had reaped.
pub fn children_used() -> io::Result<ResourceUsage> {
    // SAFETY: rusage is plain integers, for which all zeros is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a local that lives through the call.
    match unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage) } {
        0 => Ok(used(&usage)),
        _ => Err(io::Error::last_os_error()),
    }
}

fn ending(status: libc::c_int) -> Ending {
    if libc::WIFSIGNALED(status) {
        Ending::Killed(libc::WTERMSIG(status))
    } else {
        Ending::Exited(libc::WEXITSTATUS(status))
    }
}

fn used(usage: &libc::rusage) -> ResourceUsage {
    let time = |t: libc::timeval| {
        Nanos::from_secs(t.tv_sec.max(0) as u64) + Nanos::from_micros(t.tv_usec.max(0) as u64)
    };
    ResourceUsage {
        user: time(usage.ru_utime),
        system: time(usage.ru_stime),
        max_rss: (usage.ru_maxrss.max(0) as u64).saturating_mul(1024), // Linux counts KiB
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ending_says_its_signal_by_name() {
        assert_eq!(Ending::Exited(3).to_string(), "exit status 3");
        assert_eq!(Ending::Killed(libc::SIGSEGV).to_string(), "killed by SIGSEGV");
    }
}
