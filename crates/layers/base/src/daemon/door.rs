//! Connections, each attended by a thread of its own, and no more at a time than there may be.
//!
//! Measured side, hot once a connection. What is said on one, and how long it may last, is the host's.

use super::mount::STATUS_DELAY;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use thiserror::Error;

/// Nobody can be let in.
#[derive(Debug, Error)]
#[error("cannot listen on {address}: {error}")]
pub struct ListenError {
    address: SocketAddr,
    error: io::Error,
}

/// Listens; and where, as port 0 is any.
///
/// # Errors
/// What the kernel reports.
pub fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), ListenError> {
    let bound = TcpListener::bind(address).and_then(|listener| Ok((listener.local_addr()?, listener)));
    bound.map(|(at, listener)| (listener, at)).map_err(|error| ListenError { address, error })
}

/// Who attends to connections.
pub trait Host: Send + Sync + 'static {
    /// How many there may be at a time.
    const MOST: usize;

    /// How many there are.
    fn connected(&self) -> &AtomicUsize;

    /// Attends to one until its end.
    fn attend(&self, stream: TcpStream);

    /// One was sent away, as there are so many already.
    fn send_away(&self);
}

/// Lets in who comes, from a thread of its own, as long as the host is there.
///
/// # Errors
/// There is no thread.
pub fn open<H: Host>(listener: TcpListener, host: Weak<H>) -> io::Result<()> {
    thread::Builder::new().name("accept".to_owned()).spawn(move || accept(&listener, &host)).map(drop)
}

fn accept<H: Host>(listener: &TcpListener, host: &Weak<H>) {
    for stream in listener.incoming() {
        let Some(host) = host.upgrade() else { return };
        match stream {
            Ok(stream) => take(&host, stream),
            // No descriptors: they come back when connections go.
            Err(_) => thread::sleep(STATUS_DELAY),
        }
    }
}

fn take<H: Host>(host: &Arc<H>, stream: TcpStream) {
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
