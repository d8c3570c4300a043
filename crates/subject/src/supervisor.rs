//! The supervisor: one small process above each subject, so that no subject outlives bakeoff.
//!
//! Measuring side, its own process (the bakeoff executable again, with the hidden word `supervisor`), same privilege,
//! cold path: asleep while slices run. It is the subreaper of the subject, so a server that double-forks stays below
//! it; it sits in a session of its own, so Ctrl-C in the terminal reaches bakeoff alone. It holds one end of a socket
//! pair; bakeoff holds the other. When that end closes, for whatever reason (`kill -9` of bakeoff too), it ends every
//! process below it, removes the subject's cgroup and exits.
//!
//! `protocol` has the messages between the two, `keeper` is the supervisor, `ending` ends process trees, `handle` is
//! bakeoff's end. It must not measure and must not decide what to start.

mod ending;
mod handle;
mod keeper;
mod protocol;

pub(crate) use handle::{Exit, LaunchError, Supervisor, still_there};
pub(crate) use protocol::Plan;

use std::process::ExitCode;

/// For files in a private directory, which may belong to the user that its server runs as: a link that the server has
/// put there must not lead bakeoff, which may be root, to another file.
const NO_LINK: i32 = nix::fcntl::OFlag::O_NOFOLLOW.bits();

/// The hidden word after the executable's name that makes it a supervisor.
pub const WORD: &str = "supervisor";

/// Entry point of the executable when started with [`WORD`]: it is a supervisor until its subject is gone and bakeoff has
/// said so, or has died.
pub fn main() -> ExitCode {
    match keeper::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE, // bakeoff has been told over the socket, if it is there
    }
}

/// Makes the calling process the parent of orphans, so that the subject of a supervisor that was
/// killed can be found and ended. Starting a subject does it.
pub fn adopt_orphans() -> std::io::Result<()> {
    bakeoff_sys::process::become_subreaper()
}
