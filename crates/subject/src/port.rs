//! Ports: choice of a free one, reservation, and the owner of one in use.
//!
//! Measuring side, cold path, in the network of the calling thread. The owner is found in the thread's `/proc/net/tcp`
//! and the descriptors of the subject's processes, so a stranger's server is found out before anything is sent to it.

use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, bind, setsockopt, socket, sockopt};
use std::collections::HashSet;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::os::fd::{AsRawFd, OwnedFd};

/// A port that is free at this moment. Another program may take it before the server does; the start is then tried
/// again with another port.
///
/// # Errors
/// There is none, or the address is not this network's.
pub fn free(host: Ipv4Addr) -> io::Result<u16> {
    Ok(TcpListener::bind((host, 0))?.local_addr()?.port())
}

/// Names of further free ports, for a server that listens on more than one.
pub const FURTHER: [&str; 8] = ["port2", "port3", "port4", "port5", "port6", "port7", "port8", "port9"];

/// One for each of these names, all different, and none of them `first`.
pub(crate) fn further(host: Ipv4Addr, first: u16) -> io::Result<Vec<(String, u16)>> {
    let mut held = Vec::new();
    for _ in 0..=FURTHER.len() {
        held.push(TcpListener::bind((host, 0))?);
    }
    let ports: io::Result<Vec<u16>> = held.iter().map(|one| Ok(one.local_addr()?.port())).collect();
    let ports = ports?.into_iter().filter(|port| *port != first);
    Ok(FURTHER.map(str::to_owned).into_iter().zip(ports).collect())
}

/// A reserved port of the loopback device; dropping this frees it.
#[derive(Debug)]
pub struct Held {
    /// Its number.
    pub port: u16,
    _held: OwnedFd,
}

/// A free port, reserved.
///
/// # Errors
/// There is none.
pub fn hold_free() -> io::Result<Held> {
    let port = free(Ipv4Addr::LOCALHOST)?;
    Ok(Held { port, _held: hold(Ipv4Addr::LOCALHOST, port)? })
}

/// Reserves a port while its server is away, so that no connection gets it as its own, until this is dropped: a socket
/// that has the port and does not listen. Clients that connect are refused. A server that sets `SO_REUSEADDR`, as all
/// do that are ever started again, can listen beside it.
pub(crate) fn hold(host: Ipv4Addr, port: u16) -> io::Result<OwnedFd> {
    let held = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    setsockopt(&held, sockopt::ReuseAddr, &true)?;
    bind(held.as_raw_fd(), &SockaddrIn::from(SocketAddrV4::new(host, port)))?;
    Ok(held)
}

/// Owner of the listening socket on a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// No process listens.
    Nobody,
    /// One of the processes asked about.
    Ours,
    /// Some process, but none of ours.
    Stranger,
    /// Some process; its identity cannot be seen here.
    Unknown,
}

/// The owner of this address and port, or of the port on all addresses; `pids` are ours.
pub(crate) fn owner(host: Ipv4Addr, port: u16, pids: &[u32]) -> Owner {
    // Not `/proc/net`, which shows the network of the first thread.
    let tables = ["/proc/thread-self/net/tcp", "/proc/thread-self/net/tcp6"].map(fs::read_to_string);
    if tables[0].is_err() {
        return Owner::Unknown;
    }
    let listening: HashSet<u64> =
        tables.iter().flatten().flat_map(|table| listeners(table, host, port).collect::<Vec<_>>()).collect();
    if listening.is_empty() {
        return Owner::Nobody;
    }
    let mut blind = false;
    for &pid in pids {
        match sockets(pid) {
            Ok(sockets) if !sockets.is_disjoint(&listening) => return Owner::Ours,
            Ok(_) => {}
            Err(error) => blind |= error.kind() != io::ErrorKind::NotFound,
        }
    }
    if blind { Owner::Unknown } else { Owner::Stranger }
}

/// Socket numbers in state LISTEN that a connection to this address could reach. The table shows
/// addresses as the machine's own numbers.
fn listeners(table: &str, host: Ipv4Addr, port: u16) -> impl Iterator<Item = u64> + '_ {
    let host = format!("{:08X}", u32::from_ne_bytes(host.octets()));
    table.lines().skip(1).filter_map(move |line| {
        // Thousands of connections may stand here, so no line is taken apart to its end that need not be.
        let mut fields = line.split_ascii_whitespace().skip(1);
        let (address, local_port) = fields.next()?.split_once(':')?;
        let listens = fields.nth(1)? == "0A" && u16::from_str_radix(local_port, 16) == Ok(port);
        let reached = address.ends_with(&host) || address.bytes().all(|byte| byte == b'0');
        (listens && reached).then(|| fields.nth(5)?.parse().ok()).flatten()
    })
}

fn sockets(pid: u32) -> io::Result<HashSet<u64>> {
    let mut found = HashSet::new();
    for entry in fs::read_dir(format!("/proc/{pid}/fd"))?.flatten() {
        if let Ok(target) = fs::read_link(entry.path())
            && let Some(number) =
                target.to_str().and_then(|name| name.strip_prefix("socket:[")?.strip_suffix(']'))
        {
            found.extend(number.parse::<u64>());
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpStream;

    #[test]
    fn a_listener_is_ours_a_strangers_or_nobodys() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let owner = |pids: &[u32]| owner(Ipv4Addr::LOCALHOST, port, pids);
        assert_eq!(owner(&[std::process::id()]), Owner::Ours);
        assert_eq!(owner(&[]), Owner::Stranger);
        assert_eq!(owner(&[u32::MAX]), Owner::Stranger);
        drop(listener);
        assert_eq!(owner(&[std::process::id()]), Owner::Nobody);
    }

    #[test]
    fn further_ports_are_all_different() {
        let first = free(Ipv4Addr::LOCALHOST).unwrap();
        let further = further(Ipv4Addr::LOCALHOST, first).unwrap();
        let mut ports: Vec<u16> = further.iter().map(|(_, port)| *port).chain([first]).collect();
        ports.sort_unstable();
        ports.dedup();
        assert_eq!((further.len(), ports.len()), (FURTHER.len(), FURTHER.len() + 1));
    }

    #[test]
    fn a_held_port_refuses_and_can_be_listened_on() {
        let port = free(Ipv4Addr::LOCALHOST).unwrap();
        let held = hold(Ipv4Addr::LOCALHOST, port).unwrap();
        let refused = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        assert_eq!(owner(Ipv4Addr::LOCALHOST, port, &[std::process::id()]), Owner::Nobody);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
        drop(held);
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        drop(listener);
    }

    #[test]
    fn only_listening_sockets_that_can_be_reached_count() {
        let table =
            "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 11 1
   1: 0100007F:1F90 0100007F:A000 01 00000000:00000000 00:00000000 00000000     0        0 12 1
   2: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 13 1
   3: 0200000A:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 14 1";
        let found = |host: [u8; 4], port| listeners(table, host.into(), port).collect::<Vec<_>>();
        assert_eq!(found([127, 0, 0, 1], 8080), [11, 13]);
        assert_eq!(found([10, 0, 0, 2], 8080), [13, 14]);
        assert!(found([127, 0, 0, 1], 8081).is_empty());
    }
}
