//! Server process: the first process and its descendants, and its successor when it is gone.
//!
//! Measured side, cold. Number and start time identify a process for ever. A restarted server is another process: it
//! is recognised by its program and by the port.

use super::{ListenerError, Listening, TakenSocket};
use bakeoff_sys::namespace::Namespace;
use bakeoff_sys::notify::file_of;
use bakeoff_sys::process::{self, Stat};
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Executable of a process, by which a server is recognised. One that was replaced meanwhile, as by an upgrade, still
/// counts as the one of its path.
fn program_of(pid: u32) -> io::Result<PathBuf> {
    let path = fs::read_link(format!("/proc/{pid}/exe"))?;
    let text = path.to_string_lossy();
    Ok(text.strip_suffix(" (deleted)").map_or_else(|| path.clone(), PathBuf::from))
}

/// A server that runs, or ran.
#[derive(Debug)]
pub struct Server {
    stat: Stat,
    program: PathBuf,
    end: OwnedFd,
}

impl Server {
    /// The server whose first process has this number.
    ///
    /// # Errors
    /// There is no such process, or it may not be inspected.
    pub fn of(pid: u32) -> Result<Self, ListenerError> {
        let gone = |why| ListenerError::NoServer(pid, why);
        let end = process::end_of(pid).map_err(gone)?;
        let stat = process::stat(pid).map_err(gone)?;
        let program = program_of(pid).map_err(|why| ListenerError::Closed(pid, why))?;
        Ok(Self { stat, program, end })
    }

    /// Its first process.
    pub const fn pid(&self) -> u32 {
        self.stat.pid
    }

    /// Descriptor that `poll` reports as ready once it has ended.
    pub fn end(&self) -> BorrowedFd<'_> {
        self.end.as_fd()
    }

    /// Whether the first process runs.
    pub fn is_there(&self) -> bool {
        let is_it = |stat: Stat| stat.start_ticks == self.stat.start_ticks && stat.state != 'Z';
        process::stat(self.stat.pid).is_ok_and(is_it)
    }

    /// Moves the calling thread into its network, if that is another.
    ///
    /// # Errors
    /// It may not be entered.
    pub fn enter_network(&self) -> Result<(), ListenerError> {
        let path = format!("/proc/{}/ns/net", self.stat.pid);
        let entered = || {
            if fs::read_link(&path)? == fs::read_link("/proc/thread-self/ns/net")? {
                return Ok(());
            }
            Namespace::open(Path::new(&path))?.enter()
        };
        entered().map_err(|why| ListenerError::Network(self.stat.pid, why))
    }

    /// Duplicates of its sockets among these; other processes' sockets are left out.
    ///
    /// # Errors
    /// `/proc` is missing.
    pub fn sockets(&self, there: &[Listening]) -> io::Result<Vec<TakenSocket>> {
        let below = process::descendants(self.stat.pid)?;
        let pids = [self.stat.pid].into_iter().chain(below.iter().map(|stat| stat.pid));
        let mut taken: Vec<TakenSocket> = Vec::new();
        for pid in pids {
            for (number, at) in held(pid, there) {
                if !taken.iter().any(|taken| taken.at.inode == at.inode)
                    && let Ok(socket) = file_of(pid, number)
                {
                    taken.push(TakenSocket { at, socket });
                }
            }
        }
        Ok(taken)
    }

    /// Successor of a server that is gone: a process with the same program that listens on its ports, the topmost of
    /// its kind.
    pub fn successor(&self, there: &[Listening]) -> Option<Self> {
        let all = process::scan().ok()?;
        let is_kin = |pid: u32| program_of(pid).is_ok_and(|program| program == self.program);
        let mut found = all.iter().find(|stat| is_kin(stat.pid) && !held(stat.pid, there).is_empty())?;
        while let Some(parent) = all.iter().find(|stat| stat.pid == found.parent && is_kin(stat.pid)) {
            found = parent;
        }
        Self::of(found.pid).ok()
    }
}

/// Those of these sockets that a process has, with its descriptor numbers.
fn held(pid: u32, there: &[Listening]) -> Vec<(i32, Listening)> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else { return Vec::new() };
    let of = |entry: fs::DirEntry| {
        let link = fs::read_link(entry.path()).ok()?;
        let inode: u64 = link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()?;
        let at = there.iter().find(|at| at.inode == inode)?;
        Some((entry.file_name().to_str()?.parse().ok()?, *at))
    };
    entries.flatten().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::super::listening;
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn who_is_there_without_a_program_to_see_is_not_called_absent() {
        let mut child = std::process::Command::new("/bin/true").spawn().unwrap();
        let pid = child.id();
        // Dead and not waited for, it is there, and has no program any more.
        while process::stat(pid).unwrap().state != 'Z' {
            std::thread::yield_now();
        }
        let refused = Server::of(pid);
        child.wait().unwrap();
        assert!(matches!(refused, Err(ListenerError::Closed { .. })), "{refused:?}");
        assert!(matches!(Server::of(pid), Err(ListenerError::NoServer { .. })));
    }

    #[test]
    fn who_is_gone_is_known() {
        let mut child =
            std::process::Command::new("/bin/cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        let server = Server::of(child.id()).unwrap();
        assert!(server.is_there());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!server.is_there());
        assert!(Server::of(child.id()).is_err());
    }

    #[test]
    fn who_listens_with_the_same_program_is_the_successor() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let there = listening(&[listener.local_addr().unwrap().port()]).unwrap();
        let server = Server::of(std::process::id()).unwrap();
        let found = server.successor(&there).unwrap();
        assert!(found.program == server.program);
        let mut other =
            std::process::Command::new("/bin/cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        assert!(Server::of(other.id()).unwrap().successor(&there).is_none(), "another program's port");
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
