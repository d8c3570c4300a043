//! Options of a server: the export, and the identities of both sides.
//!
//! Measured side, cold: start alone.

use super::audit::Keep;
use bakeoff_layers_credentials::bundle::Bundles;
use bakeoff_layers_credentials::name::PrincipalName;
use bakeoff_layers_credentials::notice::Notice;
use bakeoff_layers_credentials::tls::Holder;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

/// Options of the server.
pub struct ServerOptions {
    /// The directory.
    pub export: PathBuf,
    /// Address to listen on; without credentials on this machine, or in a test network.
    pub listen: SocketAddr,
    /// File that the counters are written to.
    pub status: Option<PathBuf>,
    /// Time for which a client may keep answers without a sign of life. A change waits for so long for a vanished
    /// client, and so do the first changes after a start.
    pub term: Duration,
    /// Credentials of the server and rights of clients; without them anybody who reaches the server may do
    /// everything.
    pub credentials: Option<Credentials>,
}

/// Identity of the server, and rules for its clients.
pub struct Credentials {
    /// Name of the server.
    pub name: PrincipalName,
    /// Its key, and the present leaf, which is read again and again.
    pub holder: Box<dyn Fn() -> Option<Holder> + Send + Sync>,
    /// Bundles of the trusted domains.
    pub bundles: Arc<Bundles>,
    /// Reads them again, at SIGHUP; `None` if there are faults in them.
    pub read_bundles: Box<dyn Fn() -> Option<Arc<Bundles>> + Send + Sync>,
    /// The access list; read again at SIGHUP.
    pub acl: PathBuf,
    /// Notices from agents.
    pub notices: Receiver<Notice>,
    /// Directory of the audit log, if there is to be one: then every decision is logged there first.
    pub audit: Option<PathBuf>,
    /// Has the checkpoints of that log kept elsewhere.
    pub keep: Option<Keep>,
    /// File that keeps revocations from one start to the next.
    pub revoked: Option<PathBuf>,
}
