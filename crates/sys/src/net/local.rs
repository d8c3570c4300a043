//! Local end of a connection: its address, and its port or a range of ports.
//!
//! Both sides of the wall; set once a connection.

use nix::sys::socket::{self, AddressFamily, SockFlag, SockProtocol, SockType, SockaddrStorage, sockopt};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};

/// `IP_LOCAL_PORT_RANGE` of `linux/in.h`, since Linux 6.3; IPv6 sockets take it, too.
const IP_LOCAL_PORT_RANGE: libc::c_int = 51;

/// The local end of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Local {
    /// The address; `None` leaves it to the kernel.
    pub address: Option<IpAddr>,
    /// The port.
    pub port: LocalPort,
}

/// The local port of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LocalPort {
    /// One of those that the kernel gives out, chosen when the peer is known: a local address then has all of
    /// them for each peer.
    #[default]
    Any,
    /// The same among these, where the kernel [gives out](super::kernel_gives) all of them.
    Within(PortRange),
    /// This one.
    This(u16),
}

impl Local {
    /// Number of system calls that it takes to set it.
    pub(crate) const fn calls(&self) -> u64 {
        let of_address = if self.address.is_some() { 2 } else { 0 };
        match self.port {
            LocalPort::Any => of_address,
            LocalPort::Within(_) => of_address + 1,
            LocalPort::This(_) => 2,
        }
    }
}

/// Ports from a first to a last one, both of them among it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRange {
    first: u16,
    last: u16,
}

impl PortRange {
    /// `None` when the first is 0 or does not lie before the last: two ports are the fewest.
    pub const fn new(first: u16, last: u16) -> Option<Self> {
        if 0 < first && first < last { Some(Self { first, last }) } else { None }
    }

    /// The first.
    pub const fn first(self) -> u16 {
        self.first
    }

    /// The last.
    pub const fn last(self) -> u16 {
        self.last
    }

    /// Number of ports.
    pub const fn count(self) -> u32 {
        self.last as u32 - self.first as u32 + 1
    }

    pub(super) const fn holds(self, other: Self) -> bool {
        self.first <= other.first && other.last <= self.last
    }
}

/// Binds it, as far as that must be done before the peer is known.
pub(super) fn bind_local(fd: &OwnedFd, to: SocketAddr, from: Local) -> io::Result<()> {
    if let LocalPort::Within(range) = from.port {
        set_port_range(fd, range)?;
    }
    let local = match (from.address, from.port) {
        (None, LocalPort::Any | LocalPort::Within(_)) => return Ok(()),
        (Some(address), LocalPort::Any | LocalPort::Within(_)) => {
            socket::setsockopt(fd, sockopt::IpBindAddressNoPort, &true)?;
            SocketAddr::new(address, 0)
        }
        (address, LocalPort::This(port)) => {
            // One whose last connection is in TIME_WAIT may be had again; the kernel sees to it when the peer is
            // known that no two connections are the same.
            socket::setsockopt(fd, sockopt::ReuseAddr, &true)?;
            SocketAddr::new(address.unwrap_or_else(|| unspecified(to)), port)
        }
    };
    Ok(socket::bind(fd.as_raw_fd(), &SockaddrStorage::from(local))?)
}

fn set_port_range(fd: &OwnedFd, range: PortRange) -> io::Result<()> {
    let value = u32::from(range.first) | u32::from(range.last) << 16;
    // SAFETY: the descriptor is open, and the pointer is to a u32 that outlives the call, with its true length.
    let done = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::IPPROTO_IP,
            IP_LOCAL_PORT_RANGE,
            (&raw const value).cast(),
            size_of::<u32>() as libc::socklen_t,
        )
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn unspecified(to: SocketAddr) -> IpAddr {
    if to.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() }
}

/// A TCP socket for this kind of address, which does not block.
pub(super) fn tcp_socket(address: SocketAddr) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    Ok(socket::socket(family, SockType::Stream, flags, SockProtocol::Tcp)?)
}
