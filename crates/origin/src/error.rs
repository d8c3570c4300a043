//! Errors with which an origin does not start.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The reason for which it cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum OriginError {
    /// The port.
    #[error("origin: cannot listen on {address}: {why}; give another --port, or 0 for a free one")]
    Listen {
        /// Address asked for.
        address: SocketAddr,
        /// The system's word.
        why: io::Error,
    },
    /// Certificate or key.
    #[error("origin: {path}: {why}; give PEM files with --cert and --key")]
    Certificate {
        /// File.
        path: PathBuf,
        /// The fault.
        why: String,
    },
    /// Threads or event queues.
    #[error("origin: cannot start a thread: {0}")]
    Thread(#[from] io::Error),
}
