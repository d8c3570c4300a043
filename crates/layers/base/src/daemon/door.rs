//! TCP listener with one thread a connection and a limit on the number of connections.
//!
//! Measured side, hot once a connection. The host decides the protocol and how long a connection may last.

use super::mount::STATUS_DELAY;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use thiserror::Error;

/// The address cannot be listened on.
#[derive(Debug, Error)]
#[error("cannot listen on {address}: {error}")]
pub struct ListenError {
    address: SocketAddr,
    error: io::Error,
}

/// Listens, and returns the address that it got, as port 0 means any port.
///
/// # Errors
/// The kernel's error.
pub fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), ListenError> {
    let bound = TcpListener::bind(address).and_then(|listener| Ok((listener.local_addr()?, listener)));
    bound.map(|(at, listener)| (listener, at)).map_err(|error| ListenError { address, error })
}

/// Server that handles the connections.
pub trait ConnectionHandler: Send + Sync + 'static {
    /// Limit on connections at a time.
    const MOST: usize;

    /// Number of connections at present.
    fn connected(&self) -> &AtomicUsize;

    /// Serves one connection until its end.
    fn attend(&self, stream: TcpStream);

    /// Called when a connection was turned away because of the limit.
    fn send_away(&self);
}

/// Accepts connections in a thread of its own, as long as the host exists.
///
/// # Errors
/// The thread cannot be started.
pub fn open<H: ConnectionHandler>(listener: TcpListener, host: Weak<H>) -> io::Result<()> {
    thread::Builder::new().name("accept".to_owned()).spawn(move || accept(&listener, &host)).map(drop)
}

fn accept<H: ConnectionHandler>(listener: &TcpListener, host: &Weak<H>) {
    for stream in listener.incoming() {
        let Some(host) = host.upgrade() else { return };
        match stream {
            Ok(stream) => take(&host, stream),
            // Out of descriptors: they come back when connections close.
            Err(_) => thread::sleep(STATUS_DELAY),
        }
    }
}

fn take<H: ConnectionHandler>(host: &Arc<H>, stream: TcpStream) {
    let leave = |host: &H| host.connected().fetch_sub(1, Ordering::Relaxed);
    if host.connected().fetch_add(1, Ordering::Relaxed) >= H::MOST {
        leave(host);
        host.send_away();
        return;
    }
    let its = host.clone();
    let attended = thread::Builder::new().name("connection".to_owned()).spawn(move || {
        its.attend(stream);
        leave(&its);
    });
    if attended.is_err() {
        leave(host);
        host.send_away();
    }
}
