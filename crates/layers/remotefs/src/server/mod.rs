//! Server: exports a directory until SIGTERM.
//!
//! Measured side, a process of its own, mostly as root. A thread a connection, as a connection has one request at a
//! time; one thread accepts, one waits for the end and writes the status. Owns the life of the process; prints
//! nothing, the caller's hook says that it listens.

pub mod audit;
mod calls;
mod coherence;
mod confine;
mod connection;
mod counters;
mod error;
mod export;
mod guard;
mod listings;
mod local;
mod objects;
mod options;
mod principals;
mod state;

pub use error::ServeError;
pub use options::{Credentials, ServerOptions};

use crate::network::is_for_tests;
use bakeoff_layers_base::daemon::door::{self, listen};
use bakeoff_layers_base::daemon::mount::{STATUS_DELAY, watch_signals};
use bakeoff_layers_base::daemon::rights::DaemonRights;
use bakeoff_layers_base::daemon::status::{StatusFile, try_writing};
use bakeoff_sys::privilege::Capability;
use bakeoff_sys::rlimit::raise_open_files;
use nix::sys::stat::{Mode, umask};
use nix::unistd::Uid;
use state::Server;
use std::fs::{File, TryLockError};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};

/// Descriptors for connections, and three for each object that is open.
const OPEN_FILES: u64 = 40_000;
/// Capabilities that the server keeps: for all files of the export, as their owner.
const KEPT: [Capability; 3] = [Capability::DacOverride, Capability::DacReadSearch, Capability::Fowner];

/// Serves until SIGTERM or SIGINT; passes the address to `ready`.
///
/// # Errors
/// It could not begin.
pub fn serve(mut options: ServerOptions, ready: impl FnOnce(SocketAddr)) -> Result<(), ServeError> {
    if options.credentials.is_none() && !is_for_tests(options.listen) {
        return Err(ServeError::OpenNetwork(options.listen));
    }
    if !(1..=60).contains(&options.term.as_secs()) {
        return Err(ServeError::Term);
    }
    let (listener, address) = listen(options.listen)?;
    let open_files = raise_open_files(OPEN_FILES)?.soft;
    let (changes, local) = local::listen(&options.export);
    if Uid::effective().is_root() {
        let status = options.status.clone();
        DaemonRights::least(&KEPT, move || try_writing(status.as_deref())).give_up()?;
    }
    let (tell, hear) = channel();
    let principals = options
        .credentials
        .take()
        .map(|credentials| principals::watch::start(credentials, hear))
        .transpose()?;
    let failed = |error| ServeError::Export { path: options.export.clone(), error };
    let served = File::open(&options.export).map_err(failed)?;
    served.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => ServeError::IsServed(options.export.clone()),
        TryLockError::Error(error) => failed(error),
    })?;
    let (tell_local, hear_local) = channel();
    changes.map(|changes| local::start(changes, hear_local)).transpose()?;
    let confined = confine::confine(&options.export, options.status.as_deref());
    // The client decides the permissions of a new file.
    umask(Mode::empty());
    let server = Arc::new(Server::new(&options, open_files, (confined, local), principals)?);
    // Nobody receives it without credentials, or if no changes are reported.
    let _ = (tell.send(Arc::downgrade(&server.coherence)), tell_local.send(Arc::downgrade(&server)));
    let mut status = StatusFile::begin(options.status.as_deref(), server.status("listening", address))?;
    let (sender, events) = channel();
    watch_signals(sender)?;
    calls::confine().map_err(ServeError::Confine)?;
    door::open(listener, Arc::downgrade(&server))?;
    ready(address);
    while events.recv_timeout(STATUS_DELAY) == Err(RecvTimeoutError::Timeout) {
        // A full disk leaves the old one.
        let _ = status.write(server.status("listening", address));
    }
    if let Some(principals) = &server.principals {
        principals.close();
    }
    let _ = status.write(server.status("ended", address));
    Ok(())
}
