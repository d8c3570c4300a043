//! Limits of this process on open descriptors.
//!
//! Both sides of the wall, cold path: read in the pre-checks, raised once before sockets are opened.

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::io;

/// How many descriptors may be open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenFiles {
    /// In force now.
    pub soft: u64,
    /// What `soft` may be raised to without privilege.
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
