//! Processes: started with everything decided before `exec`, found, signalled, reaped.
//!
//! Both sides of the wall, any process, cold path. Owns the state given to a child between `fork` and `exec` (`spawn`),
//! the process tree in `/proc` (`tree`), ends of children and their usage (`wait`), a child that runs a piece of its
//! parent (`fork`), signals that cannot hit a process that took over the number (`signal`), and a child that shares its
//! parent's open files (`share`). Decides nothing: the caller chooses what is started, when and for how long.

mod fork;
mod share;
mod signal;
mod spawn;
mod tree;
mod wait;

pub use fork::fork;
pub use share::{left_open, open_numbers, share_files};
pub use signal::{ChildSignals, Signal, SignalArrivals, end_of, send};
pub use spawn::{Launch, Spawned, User, spawn};
pub use tree::{
    Stat, descendants, is_gone, is_or_below, number_hidden, page_size, scan, stat, ticks_per_second,
};
pub use wait::{Ending, Reaped, ResourceUsage, children_used, reap, reap_pid};

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Path that starts this very program again, for as long as this process lives: its own, or the kernel's name for what
/// it runs if another file stands there by now, such as that of a newer build.
///
/// # Errors
/// `/proc` does not say.
pub fn own_executable() -> io::Result<PathBuf> {
    let same = |path: &PathBuf| {
        let id = |path: &Path| path.metadata().map(|file| (file.dev(), file.ino()));
        id(path).is_ok_and(|found| id(Path::new("/proc/self/exe")).is_ok_and(|own| own == found))
    };
    let path = std::env::current_exe()?;
    Ok(if same(&path) { path } else { format!("/proc/{}/exe", std::process::id()).into() })
}

/// Makes this process the parent of every orphan among its descendants, for as long as it lives:
/// a process that double-forks stays findable and can be reaped.
pub fn become_subreaper() -> io::Result<()> {
    // SAFETY: PR_SET_CHILD_SUBREAPER takes integers only and changes one flag of this process.
    let done = unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Leaves the terminal: a new session whose leader is this process, so that Ctrl-C there reaches neither it nor the
/// processes it starts.
pub fn own_session() -> io::Result<()> {
    nix::unistd::setsid().map(drop).map_err(io::Error::from)
}

/// True when this process may do everything (effective user 0).
pub fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

/// The user called `name`, if the machine has one.
pub fn user_named(name: &str) -> Option<User> {
    let found = nix::unistd::User::from_name(name).ok()??;
    Some(User { uid: found.uid.as_raw(), gid: found.gid.as_raw() })
}
