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
mod export;
mod guard;
mod local;
mod objects;
mod principals;

use crate::network::is_for_tests;
use crate::refusal::Refusal;
use audit::Keep;
use bakeoff_layers_base::daemon::degree::Degree;
use bakeoff_layers_base::daemon::door::{self, ConnectionHandler, ListenError, listen};
use bakeoff_layers_base::daemon::mount::{STATUS_DELAY, watch_signals};
use bakeoff_layers_base::daemon::rights::DaemonRights;
use bakeoff_layers_base::daemon::status::{StatusError, StatusFile, try_writing};
use bakeoff_layers_credentials::CredentialRefusal;
use bakeoff_layers_credentials::bundle::Bundles;
use bakeoff_layers_credentials::name::PrincipalName;
use bakeoff_layers_credentials::notice::Notice;
use bakeoff_layers_credentials::tls::Holder;
use bakeoff_sys::privilege::Capability;
use bakeoff_sys::rlimit::raise_open_files;
use coherence::Coherence;
use counters::ServerCounters;
use export::Export;
use guard::Guard;
use nix::errno::Errno;
use nix::sys::stat::{Mode, umask};
use nix::unistd::Uid;
use objects::{Objects, ROOT};
use principals::Principals;
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;
use thiserror::Error;

/// Limit on connections, each with a thread.
const MOST_CONNECTIONS: usize = 1024;
/// Descriptors for connections, and three for each object that is open.
const OPEN_FILES: u64 = 40_000;
/// Capabilities that the server keeps: for all files of the export, as their owner.
const KEPT: [Capability; 3] = [Capability::DacOverride, Capability::DacReadSearch, Capability::Fowner];

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
    /// The access list; read again at SIGHUP.
    pub acl: PathBuf,
    /// Notices from agents.
    pub notices: Receiver<Notice>,
    /// Directory of the audit log, if there is to be one: then every decision is logged there first.
    pub audit: Option<PathBuf>,
    /// Has the checkpoints of that log kept elsewhere.
    pub keep: Option<Keep>,
    /// File that keeps revocations from one start to the next; beside it, in NAME.written, the bytes written under
    /// limits.
    pub revoked: Option<PathBuf>,
}

/// Reasons for not serving.
#[derive(Debug, Error)]
pub enum ServeError {
    /// Without credentials anybody who reaches that address could do everything.
    #[error(
        "without credentials it listens on 127.0.0.1, ::1 or 198.18.0.0/15 alone, and {0} is none of them"
    )]
    OpenNetwork(SocketAddr),
    /// The term is out of range.
    #[error("a term is 1 to 60 seconds")]
    Term,
    /// The directory cannot be exported.
    #[error("cannot serve {}: {error}; it must be a directory, and /proc must be mounted", path.display())]
    Export {
        /// Path of the file.
        path: PathBuf,
        /// The I/O error.
        error: io::Error,
    },
    /// The address cannot be listened on.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The status file cannot be written.
    #[error(transparent)]
    Status(#[from] StatusError),
    /// The server cannot prove its identity.
    #[error("there is no leaf of {0} that is good now: log in first, and keep the session")]
    NoLeaf(String),
    /// Its leaf, or its domain's bundle, is not valid.
    #[error("the server cannot prove that it is {name} ({}): {why}", why.name())]
    Unproven {
        /// Its name.
        name: PrincipalName,
        /// The reason.
        why: CredentialRefusal,
    },
    /// The access list is faulty.
    #[error("cannot use the access list {}: {error}", path.display())]
    Acl {
        /// Path of the file.
        path: PathBuf,
        /// The reason.
        error: String,
    },
    /// The audit log cannot be opened.
    #[error("cannot write down what is decided: {0}")]
    Audit(io::Error),
    /// The file of revocations cannot be read.
    #[error(
        "cannot read {}, where what was taken back is kept: {error}; without it somebody could be let in who must not",
        path.display()
    )]
    Revoked {
        /// Path of the file.
        path: PathBuf,
        /// The I/O error.
        error: io::Error,
    },
    /// The file of bytes written under limits cannot be read.
    #[error(
        "cannot read {}, where it is kept how much was written under transfers that limit it: {error}; bring it back from a copy, or remove it to count from nothing",
        path.display()
    )]
    Written {
        /// Path of the file.
        path: PathBuf,
        /// The I/O error.
        error: io::Error,
    },
    /// The filter of system calls was refused.
    #[error("the kernel takes no filter of system calls ({0}); it needs CONFIG_SECCOMP_FILTER")]
    Confine(io::Error),
    /// Signals, threads, limits or rights failed.
    #[error("cannot serve: {0}")]
    Process(#[from] io::Error),
}

/// Reason why a request is not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum No {
    /// The kernel's error.
    Kernel(Errno),
    /// Our refusal.
    Refused(Refusal),
}

impl From<Errno> for No {
    fn from(errno: Errno) -> Self {
        Self::Kernel(errno)
    }
}

impl From<io::Error> for No {
    fn from(error: io::Error) -> Self {
        Self::Kernel(error.raw_os_error().map_or(Errno::EIO, Errno::from_raw))
    }
}

impl From<Refusal> for No {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// State shared by all threads.
struct Server {
    boot: u64,
    term_ms: u32,
    /// Degree to which the kernel confines it to the export.
    confined: Degree,
    /// Degree to which others' changes on this machine are noticed.
    local: Degree,
    objects: Arc<Objects>,
    coherence: Arc<Coherence>,
    export: Export,
    principals: Option<Arc<Principals>>,
    tally: Arc<ServerCounters>,
    connections: AtomicUsize,
}

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
    let principals =
        options.credentials.take().map(|credentials| Principals::start(credentials, hear)).transpose()?;
    let (tell_local, hear_local) = channel();
    changes.map(|changes| local::start(changes, hear_local)).transpose()?;
    let confined = confine::confine(&options.export, options.status.as_deref());
    // The client decides the permissions of a new file.
    umask(Mode::empty());
    let server = Arc::new(Server::new(&options, open_files, (confined, local), principals)?);
    // Nobody receives it without credentials, or if no changes are reported.
    let _ = (tell.send(Arc::downgrade(&server)), tell_local.send(Arc::downgrade(&server)));
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

impl Server {
    fn new(
        options: &ServerOptions,
        open_files: u64,
        (confined, local): (Degree, Degree),
        principals: Option<Arc<Principals>>,
    ) -> Result<Self, ServeError> {
        let failed = |error| ServeError::Export { path: options.export.clone(), error };
        let boot = RandomState::new().build_hasher().finish();
        let objects = Arc::new(Objects::new(&options.export, boot, open_files).map_err(failed)?);
        // Without /proc nothing could be opened; better to find out now.
        let root = objects.find(ROOT).and_then(|root| objects.opened(&root));
        let root = root.map_err(|_| failed(io::ErrorKind::NotFound.into()))?;
        fs::read_dir(root.link()).map_err(failed)?;
        let tally = Arc::new(ServerCounters::default());
        let coherence = Arc::new(Coherence::new(options.term, objects.clone(), tally.clone()));
        let guard = principals.clone().map(|its| Guard::new(objects.clone(), its, tally.clone()));
        let export = Export::new(objects.clone(), coherence.clone(), tally.clone(), guard);
        let term_ms = u32::try_from(options.term.as_millis()).unwrap_or(u32::MAX);
        Ok(Self {
            boot,
            term_ms,
            confined,
            local,
            objects,
            coherence,
            export,
            principals,
            tally,
            connections: AtomicUsize::new(0),
        })
    }

    fn status(&self, state: &str, address: SocketAddr) -> String {
        format!(
            "state {state}\naddress {address}\nconfined {}\nlocal-changes {}\nterm-ms {}\nconnected {}\nsessions-live {}\nobjects {}\n{}{}",
            self.confined,
            self.local,
            self.term_ms,
            self.connections.load(Ordering::Relaxed),
            self.coherence.sessions(),
            self.objects.count(),
            self.tally.text(),
            self.principals.as_ref().map_or_else(String::new, |principals| principals.text())
        )
    }
}

impl ConnectionHandler for Server {
    const MOST: usize = MOST_CONNECTIONS;

    fn connected(&self) -> &AtomicUsize {
        &self.connections
    }

    fn attend(&self, stream: TcpStream) {
        connection::attend(self, stream);
    }

    fn send_away(&self) {
        self.tally.refuse(Refusal::TooManyConnections);
    }
}
