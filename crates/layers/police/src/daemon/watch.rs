//! Watch over the server's sockets: which take which class, and what happens when they go.
//!
//! Measured side, cold. Without them connections pass as if there were no classes; the kernel has forgotten the
//! sockets by itself. They are looked for again as soon as the kernel's table of listeners changes.

use super::DaemonError;
use crate::kernel::{KernelError, ListenerAddress, Programs, ServerListener};
use crate::listeners::{Deferrals, ListenerError, Listening, RulePort, Server, TakenSocket, listening, take};
use crate::rules::table::RuleTable;
use bakeoff_sys::net::is_multipath;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// The server and its sockets.
#[derive(Debug)]
pub(super) struct Watch {
    server: Server,
    places: Vec<RulePort>,
    /// Their ports, and the public ones.
    ports: Vec<u16>,
    /// Listeners at the last look, without the lengths of queues.
    inodes: Vec<u64>,
    /// Ports without a socket of the server's.
    pub(super) gone: Vec<u16>,
    /// Settings on sockets.
    pub(super) deferrals: Deferrals,
    /// Whether connections are to be deferred.
    defers: bool,
    /// Number of times that the server was replaced by another process.
    pub(super) restarts: u64,
}

/// Sockets that are ready for steering; to be dropped soon.
pub(super) struct Ready {
    places: Vec<RulePort>,
    ports: Vec<u16>,
    taken: Vec<TakenSocket>,
    there: Vec<Listening>,
}

impl Watch {
    /// For a server with all ports of the table; the status of an earlier daemon tells the settings that it left.
    pub(super) fn begin(
        server: Server,
        table: &RuleTable,
        left: &str,
    ) -> Result<(Self, Ready), ListenerError> {
        let mut watch = Self {
            server,
            places: Vec::new(),
            ports: Vec::new(),
            inodes: Vec::new(),
            gone: Vec::new(),
            deferrals: Deferrals::default(),
            defers: false,
            restarts: 0,
        };
        let ready = watch.find(table)?;
        watch.deferrals.inherit(left, &ready.there);
        Ok((watch, ready))
    }

    /// All sockets that a table needs. Changes nothing.
    pub(super) fn find(&self, table: &RuleTable) -> Result<Ready, ListenerError> {
        let places = places(table);
        let ports =
            places.iter().map(|place| place.port).chain(table.ports.iter().copied()).collect::<Vec<_>>();
        let there = listening(&ports)?;
        let taken = take(&self.server, &places, &there)?;
        let is_read = table.has_requests() || !table.classes.is_empty();
        let many = taken.iter().find(|taken| is_read && is_multipath(&taken.socket).unwrap_or(false));
        if let Some(TakenSocket { at, .. }) = many {
            return Err(ListenerError::Multipath(at.port));
        }
        // Nothing would come to the classes.
        let is_all = |(on, _, strange): &&ListenerAddress| *strange && on.length() == 0;
        let listeners = addresses(&there, &taken);
        if let Some((_, port, _)) = listeners.iter().find(is_all).filter(|_| !table.classes.is_empty()) {
            let stranger = place(*port, "`listen`, at all addresses", None);
            return Err(ListenerError::Stranger(stranger, self.server.pid()));
        }
        Ok(Ready { places, ports, taken, there })
    }

    /// Steers to these sockets, and sets their deferral as required. Settings on sockets that are no longer needed
    /// are undone.
    pub(super) fn take_on(
        &mut self,
        ready: Ready,
        defers: bool,
        programs: &mut Programs,
    ) -> Result<(), DaemonError> {
        steer(&ready.places, &ready.taken, programs)?;
        programs.leave_out(&addresses(&ready.there, &ready.taken))?;
        if self.places != ready.places || !defers {
            self.put_back().map_err(DaemonError::deferral)?;
        }
        if defers {
            self.deferrals.note(&ready.taken).map_err(DaemonError::deferral)?;
        }
        (self.places, self.ports, self.defers) = (ready.places, ready.ports, defers);
        self.inodes = inodes(&ready.there);
        self.gone.clear();
        Ok(())
    }

    /// The present listeners; if they changed, the server's are taken again. Adds sentences about it.
    pub(super) fn look(
        &mut self,
        programs: &mut Programs,
        said: &mut Vec<String>,
    ) -> io::Result<Vec<Listening>> {
        let there = listening(&self.ports)?;
        let inodes = inodes(&there);
        // A server that ends, or hands its sockets on, changes none of them.
        if inodes != self.inodes || !self.gone.is_empty() || !self.server.is_there() {
            self.inodes = inodes;
            self.changed(&there, programs, said);
        }
        Ok(there)
    }

    fn changed(&mut self, there: &[Listening], programs: &mut Programs, said: &mut Vec<String>) {
        let mut taken = self.server.sockets(there).unwrap_or_default();
        // One that drains has closed its listeners, and lives.
        if (taken.is_empty() || !self.server.is_there())
            && let Some(next) = self.server.successor(there)
        {
            said.push(format!("the server was started anew, as process {}", next.pid()));
            self.server = next;
            self.restarts += 1;
            taken = self.server.sockets(there).unwrap_or_default();
        }
        self.deferrals.keep(there);
        // Where there are classes, who comes later to a public port gets nothing of theirs.
        if self.places.iter().all(|place| place.class.is_none())
            && let Err(error) = programs.leave_out(&addresses(there, &taken))
        {
            said.push(error.to_string());
        }
        if let Err(error) = steer(&self.places, &taken, programs) {
            said.push(error.to_string());
        }
        if self.defers
            && let Err(error) = self.deferrals.note(&taken)
        {
            said.push(format!("TCP_DEFER_ACCEPT: {error}"));
        }
        let is_gone = |place: &&RulePort| !taken.iter().any(|taken| taken.at.port == place.port);
        let gone: Vec<u16> = self.places.iter().filter(is_gone).map(|place| place.port).collect();
        if let Some(port) = gone.iter().find(|port| !self.gone.contains(port)) {
            said.push(format!(
                "the server does not listen on port {port} any more; it is looked for ten times a second"
            ));
        }
        self.gone = gone;
    }

    /// Sets what is noted, once that is written down.
    pub(super) fn defer(&mut self) -> io::Result<()> {
        if !self.deferrals.is_due {
            return Ok(());
        }
        let taken = self.server.sockets(&listening(&self.ports)?)?;
        self.deferrals.set(&taken)
    }

    /// Undoes the settings on sockets that still exist.
    pub(super) fn put_back(&mut self) -> io::Result<()> {
        if self.deferrals.is_empty() {
            return Ok(());
        }
        let taken = self.server.sockets(&listening(&self.ports)?)?;
        self.deferrals.put_back(&taken)
    }

    /// Number of waiting connections of each class.
    pub(super) fn queues(&self, there: &[Listening]) -> Vec<u32> {
        let of = |place: &RulePort| {
            there.iter().filter(|at| at.port == place.port).map(|at| at.waiting).sum::<u32>()
        };
        self.places.iter().filter(|place| place.class.is_some()).map(of).collect()
    }

    pub(super) const fn server_pid(&self) -> u32 {
        self.server.pid()
    }

    /// Descriptor that becomes ready when the server ends; `None` once it is gone.
    pub(super) fn end(&self) -> Option<BorrowedFd<'_>> {
        self.server.is_there().then(|| self.server.end())
    }
}

fn steer(places: &[RulePort], taken: &[TakenSocket], programs: &mut Programs) -> Result<(), KernelError> {
    let of = |place: &RulePort| {
        let class = place.class?;
        let own = taken.iter().filter(|taken| taken.at.port == place.port);
        Some(own.map(move |taken| ServerListener { class, socket: taken.socket.as_fd() }).collect::<Vec<_>>())
    };
    let listeners: Vec<ServerListener<'_>> = places.iter().filter_map(of).flatten().collect();
    programs.steer(&listeners)
}

/// What has which port at which address, those of the server last: of one address its own counts.
fn addresses(there: &[Listening], taken: &[TakenSocket]) -> Vec<ListenerAddress> {
    let strange = |at: &Listening| !taken.iter().any(|taken| taken.at.inode == at.inode);
    let mut all: Vec<ListenerAddress> = there.iter().map(|at| (at.on, at.port, strange(at))).collect();
    all.sort_by_key(|(_, _, strange)| !strange);
    all
}

fn inodes(there: &[Listening]) -> Vec<u64> {
    there.iter().map(|at| at.inode).collect()
}

/// Without classes the public ports; with them the classes' own, from highest to lowest, and no listener is needed on
/// a public one.
fn places(table: &RuleTable) -> Vec<RulePort> {
    if table.classes.is_empty() {
        return table.ports.iter().map(|port| place(*port, "`listen`", None)).collect();
    }
    let classes = table.classes.iter().zip(0..);
    classes.map(|(class, number)| place(class.port, &format!("class {}", class.name), Some(number))).collect()
}

fn place(port: u16, what: &str, class: Option<u8>) -> RulePort {
    RulePort { port, what: what.to_owned(), class }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::table::ConnectionClass;

    #[test]
    fn ports_of_classes_are_asked_for_once_and_in_place_of_the_public_ones() {
        let class = |name: &str, port| ConnectionClass { name: name.to_owned(), port };
        let found = |classes: &[ConnectionClass]| {
            let table = RuleTable { ports: vec![80, 81], classes: classes.to_vec(), ..RuleTable::default() };
            let places = places(&table);
            places.iter().map(|place| (place.port, place.class)).collect::<Vec<_>>()
        };
        assert_eq!(found(&[class("high", 8200), class("low", 8201)]), [(8200, Some(0)), (8201, Some(1))]);
        assert_eq!(found(&[]), [(80, None), (81, None)]);
    }
}
