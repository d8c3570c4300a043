//! Limits of this process on open descriptors and dumped memory.
//!
//! Both sides of the wall, cold path: read in the pre-checks, set once at the start.

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::io;

/// Limits on the number of open descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenFiles {
    /// In force now.
    pub soft: u64,
    /// The bound up to which `soft` may be raised without privilege.
    pub hard: u64,
}

/// The limit of this process.
pub fn open_files() -> io::Result<OpenFiles> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    Ok(OpenFiles { soft, hard })
}

/// Raises the soft limit to `wanted`, or as near as the hard limit lets it, and returns what is in
/// force then. Never lowers it.
pub fn raise_open_files(wanted: u64) -> io::Result<OpenFiles> {
    let now = open_files()?;
    let soft = wanted.min(now.hard);
    if soft > now.soft {
        setrlimit(Resource::RLIMIT_NOFILE, soft, now.hard)?;
    }
    open_files()
}

/// Raises both limits to what the kernel allows a process (`fs.nr_open`) where privilege lets it, else the soft one as
/// far as it goes; returns what is in force then. Never lowers them.
pub fn raise_open_files_beyond() -> io::Result<OpenFiles> {
    let most: u64 =
        std::fs::read_to_string("/proc/sys/fs/nr_open")?.trim().parse().map_err(io::Error::other)?;
    let now = open_files()?;
    if most > now.hard && setrlimit(Resource::RLIMIT_NOFILE, most, most).is_ok() {
        return open_files();
    }
    raise_open_files(u64::MAX)
}

/// Has the kernel write this process's memory nowhere when it is killed, and that of all that it starts: neither to a
/// file nor, as a limit of one byte is a sign for that, to a program of `core_pattern`, which runs as root outside.
///
/// # Errors
/// The hard limit is 0, and may not be raised.
pub fn dump_no_memory() -> io::Result<()> {
    Ok(setrlimit(Resource::RLIMIT_CORE, 1, 1)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raising_never_lowers_and_stops_at_the_hard_limit() {
        let before = open_files().unwrap();
        assert_eq!(raise_open_files(1).unwrap(), before);
        let most = raise_open_files(u64::MAX).unwrap();
        assert_eq!(most.soft, before.hard);
    }
}
