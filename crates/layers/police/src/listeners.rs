//! Server's own listening sockets: finding them and their owner, duplicating them from the server, and setting how
//! long they defer silent connections.
//!
//! Measured side, cold. Owns the kernel's information on listeners and the option TCP_DEFER_ACCEPT. A taken socket is
//! the server's own, and its port stays in use as long as anybody holds it: so none is kept here for longer than a
//! call. The caller decides what to do with sockets. Decides nothing about connections.

mod server;
mod table;

pub use server::Server;
pub use table::{Listening, listening, made};

use bakeoff_sys::net::{deferral_s, set_deferral};
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::io;
use std::os::fd::OwnedFd;
use thiserror::Error;

/// Time in s after which a silent connection is accepted anyway: shorter than servers' time limits for a request.
const DEFERRAL_S: u32 = 10;

/// Reasons for not getting listeners.
#[derive(Debug, Error)]
pub enum ListenerError {
    /// The server does not exist.
    #[error("there is no process {0} ({1}); give --server-pid the server's first process")]
    NoServer(u32, io::Error),
    /// The process exists, and its program cannot be seen.
    #[error(
        "process {0} is there, and its program cannot be seen ({1}); start this as root where the server was started, and give --server-pid the server's first process"
    )]
    Closed(u32, io::Error),
    /// The server's network cannot be entered.
    #[error("the network of process {0} cannot be entered ({1}); start this as root")]
    Network(u32, io::Error),
    /// A port of the rules has no listener.
    #[error("nobody listens on {0}; let the server listen there, or take the port out of [server]")]
    Nobody(RulePort),
    /// Another process has a port of the rules.
    #[error(
        "{0} is not that of process {1} or of one below it; give --server-pid the server's first process"
    )]
    Stranger(RulePort, u32),
    /// A listener of Multipath TCP: what is said in one connection can come in several, and none can be steered.
    #[error(
        "port {0} is of Multipath TCP, which cannot be read or steered: start the server without, as Go's with GODEBUG=multipathtcp=0"
    )]
    Multipath(u16),
    /// The kernel's table, or another process's descriptors, cannot be read.
    #[error("cannot take the server's sockets: {0}; it needs root (CAP_SYS_PTRACE) and Linux 5.6")]
    System(#[from] io::Error),
}

/// A listening socket of the server's, taken from it.
#[derive(Debug)]
pub struct TakenSocket {
    /// The listener.
    pub at: Listening,
    /// The socket. To be dropped soon: the port stays in use as long.
    pub socket: OwnedFd,
}

/// A port of the rules, with its use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RulePort {
    /// The port.
    pub port: u16,
    /// Its use in words, for errors.
    pub what: String,
    /// The class whose connections come to it.
    pub class: Option<u8>,
}

impl fmt::Display for RulePort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "port {} ({})", self.port, self.what)
    }
}

/// Takes all sockets that listen on these ports from the server; `there` has all listeners on them.
///
/// # Errors
/// A port has no listener, or none of the server's.
pub fn take(
    server: &Server,
    wanted: &[RulePort],
    there: &[Listening],
) -> Result<Vec<TakenSocket>, ListenerError> {
    if let Some(missing) = wanted.iter().find(|wanted| !there.iter().any(|at| at.port == wanted.port)) {
        return Err(ListenerError::Nobody(missing.clone()));
    }
    let taken = server.sockets(there)?;
    match wanted.iter().find(|wanted| !taken.iter().any(|taken| taken.at.port == wanted.port)) {
        Some(other) => Err(ListenerError::Stranger(other.clone(), server.pid())),
        None => Ok(taken),
    }
}

/// Settings on sockets, so that they can be undone. They are also in the status, where the next daemon reads them
/// after one was killed: so they are noted, written there, and then set.
#[derive(Debug, Default)]
pub struct Deferrals {
    /// By inode: the value before, in s.
    before: BTreeMap<u64, u32>,
    /// Whether some are noted and not set.
    pub is_due: bool,
}

impl Deferrals {
    /// First word of its lines of the status: `deferral INODE SECONDS-BEFORE`.
    const LINE: &str = "deferral ";

    /// Takes over from an earlier daemon's status the settings on sockets that still exist.
    pub fn inherit(&mut self, status: &str, there: &[Listening]) {
        let lines = status.lines().filter_map(|line| line.strip_prefix(Self::LINE)?.split_once(' '));
        let numbers = lines.filter_map(|(inode, before)| Some((inode.parse().ok()?, before.parse().ok()?)));
        self.before.extend(numbers.filter(|(inode, _)| there.iter().any(|at| at.inode == *inode)));
    }

    /// Notes sockets without a deferral. A server that defers by itself, as Apache does, knows its own time.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn note(&mut self, taken: &[TakenSocket]) -> io::Result<()> {
        for TakenSocket { at, socket } in taken {
            if deferral_s(socket)? == 0 {
                self.before.entry(at.inode).or_insert(0);
                self.is_due = true;
            }
        }
        Ok(())
    }

    /// Sets the deferral on those of these sockets that are noted.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn set(&mut self, taken: &[TakenSocket]) -> io::Result<()> {
        self.is_due = false;
        let noted = taken.iter().filter(|taken| self.before.contains_key(&taken.at.inode));
        noted.into_iter().try_for_each(|taken| set_deferral(&taken.socket, DEFERRAL_S))
    }

    /// Undoes the settings on these sockets, and forgets them.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn put_back(&mut self, taken: &[TakenSocket]) -> io::Result<()> {
        for TakenSocket { at, socket } in taken {
            if let Some(before) = self.before.remove(&at.inode) {
                set_deferral(socket, before)?;
            }
        }
        Ok(())
    }

    /// Forgets sockets that are gone.
    pub fn keep(&mut self, there: &[Listening]) {
        self.before.retain(|inode, _| there.iter().any(|at| at.inode == *inode));
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.before.is_empty()
    }

    /// The lines on it in an earlier status.
    pub fn lines_of(status: &str) -> String {
        status.lines().filter(|line| line.starts_with(Self::LINE)).map(|line| format!("{line}\n")).collect()
    }

    /// Lines of the status.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (inode, before) in &self.before {
            let _ = writeln!(text, "{}{inode} {before}", Self::LINE);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn of(listener: &TcpListener) -> (Vec<RulePort>, Vec<Listening>) {
        let port = listener.local_addr().unwrap().port();
        let wanted = vec![RulePort { port, what: "public".to_owned(), class: None }];
        (wanted, listening(&[port]).unwrap())
    }

    #[test]
    fn a_listener_is_taken_by_its_port_and_let_go() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (wanted, there) = of(&listener);
        let server = Server::of(std::process::id()).unwrap();
        let taken = take(&server, &wanted, &there).unwrap();
        assert_eq!(taken.iter().map(|taken| taken.at.inode).collect::<Vec<_>>(), [there[0].inode]);
        drop((taken, listener));
        let gone = take(&server, &wanted, &[]).unwrap_err();
        assert!(matches!(gone, ListenerError::Nobody { .. }), "{gone}");
    }

    #[test]
    fn what_was_set_is_put_back_also_by_the_next() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (wanted, there) = of(&listener);
        let server = Server::of(std::process::id()).unwrap();
        let taken = take(&server, &wanted, &there).unwrap();
        let mut first = Deferrals::default();
        first.note(&taken).unwrap();
        assert!(
            first.text().ends_with(" 0\n") && deferral_s(&listener).unwrap() == 0,
            "written before it is set"
        );
        first.set(&taken).unwrap();
        assert!(deferral_s(&listener).unwrap() >= DEFERRAL_S);
        let left = format!("state armed\ndeferral x 3\ndeferral 1 9\n{}", first.text());
        let mut next = Deferrals::default();
        next.inherit(&left, &there);
        assert_eq!(next.text().lines().count(), 1);
        next.note(&taken).unwrap();
        next.set(&taken).unwrap();
        assert_eq!(next.text(), first.text());
        next.put_back(&taken).unwrap();
        assert_eq!(deferral_s(&listener).unwrap(), 0);
        assert!(next.is_empty());
    }

    #[test]
    fn a_server_that_defers_by_itself_is_left_alone() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        set_deferral(&listener, 30).unwrap();
        let own = deferral_s(&listener).unwrap();
        let (wanted, there) = of(&listener);
        let taken = take(&Server::of(std::process::id()).unwrap(), &wanted, &there).unwrap();
        let mut deferrals = Deferrals::default();
        deferrals.note(&taken).unwrap();
        deferrals.set(&taken).unwrap();
        deferrals.put_back(&taken).unwrap();
        assert_eq!(deferral_s(&listener).unwrap(), own);
    }
}
