//! TCP sockets that never block, for both roles.

use nix::sys::socket::{self, AddressFamily, SockFlag, SockProtocol, SockType, SockaddrStorage, sockopt};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{FromRawFd, OwnedFd};

/// Starts a connection without waiting for it: when the socket becomes writable, it stands or
/// [`TcpStream::take_error`] says why not. With `no_delay` small writes are sent at once. The port of a given
/// local address is chosen when the peer is known: one local address then has all its ports for each peer.
///
/// # Errors
/// When not even the attempt can be made: no descriptor, no free port, refused at once, or the local
/// address is not one of this machine's.
pub fn begin(address: SocketAddr, from: Option<IpAddr>, no_delay: bool) -> io::Result<TcpStream> {
    let fd = tcp_socket(address)?;
    if no_delay {
        socket::setsockopt(&fd, sockopt::TcpNoDelay, &true)?;
    }
    if let Some(from) = from {
        socket::setsockopt(&fd, sockopt::IpBindAddressNoPort, &true)?;
        let local = SockaddrStorage::from(SocketAddr::new(from, 0));
        socket::bind(std::os::fd::AsRawFd::as_raw_fd(&fd), &local)?;
    }
    match socket::connect(std::os::fd::AsRawFd::as_raw_fd(&fd), &SockaddrStorage::from(address)) {
        Ok(()) | Err(nix::errno::Errno::EINPROGRESS) => Ok(TcpStream::from(fd)),
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

/// Waiting connections; the kernel cuts it to `net.core.somaxconn`.
const BACKLOG: i32 = 4096;

fn tcp_socket(address: SocketAddr) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    Ok(socket::socket(family, SockType::Stream, flags, SockProtocol::Tcp)?)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let stream = begin(listener.local_addr().unwrap(), None, true).unwrap();
        assert!(stream.peer_addr().is_ok() && stream.nodelay().unwrap());
    }
}
