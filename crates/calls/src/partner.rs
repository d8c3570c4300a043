//! Partner: the other process of a conversation.
//!
//! Measuring side. It ends with its station, and with the process that made it.

use crate::failure::{Done, OperationFailure};
use bakeoff_sys::{affinity, process};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::{Pid, getppid};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

/// Longest wait for an answer on the loopback device.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// A child that answers until it is ended.
pub(crate) struct Partner(Pid);

impl Partner {
    /// Starts a partner that does this work, on this core. The values it takes along are closed here.
    pub(crate) fn start<T>(core: usize, work: impl FnOnce() -> T) -> Done<Self> {
        let parent = nix::unistd::getpid();
        let answer = || {
            // A layer may refuse both. Then it ends as its parent closes its end, and runs where that does.
            let _ = set_pdeathsig(Signal::SIGKILL);
            let _ = affinity::pin(&[core]);
            if getppid() == parent {
                work();
            }
            0
        };
        let pid = process::fork(answer).map_err(OperationFailure::io("fork"))?;
        Ok(Self(Pid::from_raw(pid as i32)))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.0.as_raw().unsigned_abs()
    }
}

impl Drop for Partner {
    fn drop(&mut self) {
        // Both fail only if it is gone already.
        let _ = kill(self.0, Signal::SIGKILL);
        let _ = waitpid(self.0, None);
    }
}

/// A listener on this port of the loopback device (0: any), and its address.
pub(crate) fn listener(port: u16) -> Done<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .map_err(OperationFailure::io("a TCP socket that listens"))?;
    let address = listener.local_addr().map_err(OperationFailure::io("getsockname"))?;
    Ok((listener, address))
}

/// The first connection; nobody can listen on the same port before.
pub(crate) fn accepted(listener: TcpListener) -> Option<TcpStream> {
    listener.accept().ok().map(|(stream, _)| stream)
}

/// Two UDP sockets: the partner's, and one that is connected to it.
pub(crate) fn datagrams() -> Done<(UdpSocket, UdpSocket)> {
    let theirs = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map_err(OperationFailure::io("a UDP socket"))?;
    let ours = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map_err(OperationFailure::io("a UDP socket"))?;
    let connected = theirs.local_addr().and_then(|address| ours.connect(address));
    connected
        .and_then(|()| ours.set_read_timeout(Some(PATIENCE)))
        .map_err(OperationFailure::io("connect of UDP"))?;
    Ok((ours, theirs))
}
