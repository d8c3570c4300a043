//! TCP sockets that never block, for both roles.

mod deferral;
mod local;
mod ports;

pub use deferral::{deferral_s, is_multipath, set_deferral};
pub use local::{Local, LocalPort, PortRange};
pub use ports::kernel_gives;

use local::{bind_local, tcp_socket};
use nix::errno::Errno;
use nix::sys::socket::{self, SockFlag, SockaddrStorage, sockopt};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{FromRawFd, OwnedFd};

/// Starts a connection without waiting for it: when the socket becomes writable, it stands or [`TcpStream::take_error`]
/// says why not. With `no_delay` small writes are sent at once.
///
/// # Errors
///
/// When not even the attempt can be made: no descriptor, no free port, refused at once, or the local address is not one
/// of this machine's. `AddrInUse` when the chosen port is in use.
pub fn begin(address: SocketAddr, from: Local, no_delay: bool) -> io::Result<TcpStream> {
    let fd = tcp_socket(address)?;
    if no_delay {
        socket::setsockopt(&fd, sockopt::TcpNoDelay, &true)?;
    }
    bind_local(&fd, address, from)?;
    match socket::connect(std::os::fd::AsRawFd::as_raw_fd(&fd), &SockaddrStorage::from(address)) {
        Ok(()) | Err(Errno::EINPROGRESS) => Ok(TcpStream::from(fd)),
        // Its address could be had a moment ago: there is a connection from it to the same peer.
        Err(Errno::EADDRNOTAVAIL) if matches!(from.port, LocalPort::This(_)) => Err(Errno::EADDRINUSE.into()),
        Err(error) => Err(error.into()),
    }
}

/// Takes a connection, which does not block either; small writes are sent at once.
///
/// # Errors
/// What `accept4` reports: `WouldBlock` when nobody waits.
pub fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let fd = socket::accept4(std::os::fd::AsRawFd::as_raw_fd(listener), flags)?;
    // SAFETY: the call has just made this descriptor, and nothing else knows of it.
    let stream = TcpStream::from(unsafe { OwnedFd::from_raw_fd(fd) });
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// A listening socket that does not block; several may share a port (`SO_REUSEPORT`), one for each
/// thread, if `shared`.
///
/// # Errors
/// What `bind` and `listen` report, mostly that the port is in use.
pub fn listen(address: SocketAddr, shared: bool) -> io::Result<TcpListener> {
    let fd = tcp_socket(address)?;
    socket::setsockopt(&fd, sockopt::ReuseAddr, &true)?;
    if shared {
        socket::setsockopt(&fd, sockopt::ReusePort, &true)?;
    }
    socket::bind(std::os::fd::AsRawFd::as_raw_fd(&fd), &SockaddrStorage::from(address))?;
    socket::listen(&fd, socket::Backlog::new(BACKLOG)?)?;
    Ok(TcpListener::from(fd))
}

/// Whether this process may have the port, as far as its privilege goes; a port in use is no refusal.
pub fn may_have_port(port: u16) -> bool {
    let address = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
    // A machine without IPv4 says no more of ports than one whose port is taken.
    let Ok(fd) = tcp_socket(address) else { return true };
    let bound = socket::bind(std::os::fd::AsRawFd::as_raw_fd(&fd), &SockaddrStorage::from(address));
    bound != Err(Errno::EACCES)
}

/// Waiting connections; the kernel cuts it to `net.core.somaxconn`.
const BACKLOG: i32 = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;

    #[test]
    fn two_listeners_share_a_port_only_when_told() {
        let any = "127.0.0.1:0".parse().unwrap();
        let first = listen(any, true).unwrap();
        let address = first.local_addr().unwrap();
        assert!(listen(address, true).is_ok());
        assert!(listen(address, false).is_err());
    }

    #[test]
    fn a_connection_is_started_without_waiting() {
        let listener = listen("127.0.0.1:0".parse().unwrap(), false).unwrap();
        let stream = begin(listener.local_addr().unwrap(), Local::default(), true).unwrap();
        assert!(stream.peer_addr().is_ok() && stream.nodelay().unwrap());
    }

    #[test]
    fn a_port_that_is_asked_for_is_had_or_refused_and_can_be_had_again() {
        let listener = listen("127.0.0.1:0".parse().unwrap(), false).unwrap();
        let to = listener.local_addr().unwrap();
        let address: IpAddr = "127.0.0.9".parse().unwrap();
        // A port that is not in use: the kernel names it.
        let free = listen(SocketAddr::new(address, 0), false).unwrap().local_addr().unwrap().port();
        let from = Local { address: Some(address), port: LocalPort::This(free) };
        let first = begin(to, from, true).unwrap();
        assert_eq!(first.local_addr().unwrap(), SocketAddr::new(address, free));
        assert_eq!(begin(to, from, true).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        // To another peer the same port is another connection.
        let other = listen("127.0.0.1:0".parse().unwrap(), false).unwrap();
        let second = begin(other.local_addr().unwrap(), from, true).unwrap();
        assert_eq!(second.local_addr().unwrap().port(), free);
        // Without an address, too.
        let from = Local { address: None, port: LocalPort::This(to.port()) };
        assert_eq!(begin(to, from, true).unwrap_err().kind(), io::ErrorKind::AddrInUse, "the listener's");
        // An address of a network under test (RFC 2544) is not this machine's: no other port would help.
        let from = Local { address: Some("198.18.0.1".parse().unwrap()), port: LocalPort::This(free) };
        assert_eq!(begin(to, from, true).unwrap_err().kind(), io::ErrorKind::AddrNotAvailable);
    }

    #[test]
    fn a_port_that_somebody_has_is_no_matter_of_privilege() {
        let taken = listen("0.0.0.0:0".parse().unwrap(), false).unwrap().local_addr().unwrap();
        assert!(may_have_port(taken.port()));
    }
}
