//! Client: a remote directory, mounted until SIGTERM.
//!
//! Measured side, a process of its own. Owns the life of the mount. It begins when the server has answered, or before
//! if so requested. A keeper unmounts it if this process may not or was killed. One thread waits here; the threads of
//! the session answer the kernel. Prints nothing; the caller's hook says that it is ready.

mod contents;
mod counters;
mod filesystem;
mod kernel;
mod link;
mod order;
mod pages;
mod shown;
mod uses;
mod why;

pub use shown::Shown;
pub use why::why;

use crate::network::is_for_tests;
use bakeoff_layers_base::daemon::degree::Degree;
use bakeoff_layers_base::daemon::keeper::Keeper;
use bakeoff_layers_base::daemon::mount::{
    self, MountEnd, MountEvent, MountFacts, Mounted, wait, watch_signals,
};
use bakeoff_layers_base::daemon::point::{self, PointError};
use bakeoff_layers_base::daemon::rights::DaemonRights;
use bakeoff_layers_base::daemon::status::{StatusFile, try_writing};
use bakeoff_layers_base::threads::cores;
use counters::ClientCounters;
use filesystem::Filesystem;
use fuser::{Config, MountOption, Session, SessionACL};
use kernel::Kernel;
use link::{Link, Lost};
use nix::unistd::Uid;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use thiserror::Error;

/// Read-ahead of the kernel in a file.
const READ_AHEAD_KIB: u32 = 1024;
/// Answering threads a core: most of the time they wait for the server. Each may have a connection, of which a
/// session has sixteen at most.
const THREADS_PER_CORE: usize = 2;
const MOST_THREADS: usize = 15;

/// Options of the mount.
pub struct ClientOptions {
    /// Address of the server; without credentials on this machine, or in a test network.
    pub server: SocketAddr,
    /// Whether changes through the mount are refused.
    pub read_only: bool,
    /// Whether files can be locked, against programs at this mount alone.
    pub local_locks: bool,
    /// Whether to connect only at the first request.
    pub delay_connect: bool,
    /// File that the counters are written to.
    pub status: Option<PathBuf>,
    /// Runs [`keeper_main`](bakeoff_layers_base::daemon::keeper::keeper_main): a process that unmounts when this one
    /// was killed.
    pub keeper: Option<Command>,
    /// Identities of the user and of the server; without them anybody mounts whatever answers.
    pub credentials: Option<Shown>,
}

/// Reasons for not mounting.
#[derive(Debug, Error)]
pub enum ClientError {
    /// Without credentials any server there could give any answer.
    #[error(
        "without credentials it connects to 127.0.0.1, ::1 or 198.18.0.0/15 alone, and {0} is none of them"
    )]
    OpenNetwork(SocketAddr),
    /// The server cannot be reached.
    #[error(
        "cannot reach a server at {server}: {error}; is `remotefs serve` running there? If it closes connections \
         at once it may have too many: refused.too-many-connections of its status"
    )]
    Server {
        /// The address.
        server: SocketAddr,
        /// The I/O error.
        error: io::Error,
    },
    /// One side could not prove its identity.
    #[error(
        "the server at {server} is not who it must be, or does not take the key of this session: {error}; look whether --as-server names \
         it, and whether the trust bundles on both sides are those of now"
    )]
    Unproven {
        /// The address.
        server: SocketAddr,
        /// The reason.
        error: String,
    },
    /// There are no credentials to show.
    #[error("cannot use the session: {0}")]
    NothingToShow(String),
    /// The server refuses the credentials.
    #[error("the server at {server} does not let this session in ({name}): {sentence}")]
    Refused {
        /// The address.
        server: SocketAddr,
        /// The refusal's name.
        name: String,
        /// The fault, and what to do.
        sentence: String,
    },
    /// The mount failed for another reason.
    #[error(transparent)]
    Mount(#[from] mount::MountError),
}

impl From<PointError> for ClientError {
    fn from(error: PointError) -> Self {
        Self::Mount(error.into())
    }
}

impl From<io::Error> for ClientError {
    fn from(error: io::Error) -> Self {
        Self::Mount(error.into())
    }
}

/// State shared by the threads of a mount.
struct Parts {
    link: Arc<Link>,
    kernel: Arc<Kernel>,
    tally: Arc<ClientCounters>,
}

/// Mounts until SIGTERM, SIGINT or an unmount.
///
/// # Errors
/// It could not be mounted; nothing is left behind then.
pub fn mount(
    at: &Path,
    options: ClientOptions,
    ready: impl FnOnce(MountFacts, Degree),
) -> Result<MountEnd, ClientError> {
    let server = options.server;
    if options.credentials.is_none() && !is_for_tests(server) {
        return Err(ClientError::OpenNetwork(server));
    }
    let (at, cleared) = point::prepare(at)?;
    let (sender, events) = channel();
    let status = options.status.clone();
    let rights = match options.keeper {
        Some(_) if Uid::effective().is_root() => {
            DaemonRights::least(&[], move || try_writing(status.as_deref()))
        }
        _ => DaemonRights::ALL,
    };
    let keeper = Keeper::start(options.keeper, &at)?;
    rights.within(|| watch_signals(sender.clone()))?;
    let (kernel, tally) = (Arc::new(Kernel::new()), Arc::new(ClientCounters::default()));
    let shown = (options.credentials, options.delay_connect);
    let opened = rights.within(|| Ok(Link::open(server, shown, kernel.clone(), tally.clone())))?;
    let link = opened.map_err(|lost| match lost {
        Lost::Unreachable(error) => ClientError::Server { server, error },
        Lost::Unproven(error) => ClientError::Unproven { server, error },
        Lost::NothingToShow(error) => ClientError::NothingToShow(error),
        Lost::Refused { name, sentence } => ClientError::Refused { server, name, sentence },
    })?;
    let parts = Parts { link, kernel, tally };

    let begun = StatusFile::begin(options.status.as_deref(), parts.status("starting", server));
    let mut status = begun.map_err(mount::MountError::from)?;
    start(&parts, &at, (options.read_only, options.local_locks, &rights), sender.clone())?;
    // From here on the mount exists, and this guard removes it whatever happens.
    let mut mount = Mounted::new(at.clone(), keeper);
    let read_ahead_kib = point::raise_read_ahead(&at, READ_AHEAD_KIB);
    mount.tell_keeper();
    rights.give_up()?;
    let _ = status.write(parts.status("mounted", server));
    ready(MountFacts { cleared, read_ahead_kib }, parts.degree());
    let meanwhile = || {
        // A full disk leaves the old one.
        let _ = status.write(parts.status("mounted", server));
        if parts.link.is_logged_out() {
            let _ = sender.send(MountEvent::Signal);
        }
    };
    // Nothing may be read that the server no longer vouches for: caches of open files are dropped before the mount is
    // cut off.
    let end = wait(mount, &events, meanwhile, || {
        parts.link.end();
        parts.kernel.empty();
    });
    parts.link.end();
    let _ = status.write(parts.status("ended", server));
    Ok(end)
}

fn start(
    parts: &Parts,
    at: &Path,
    (read_only, local_locks, rights): (bool, bool, &DaemonRights),
    over: Sender<MountEvent>,
) -> Result<(), ClientError> {
    let failed = |error| mount::MountError::Fuse { path: at.to_owned(), error };
    let mut config = Config::default();
    config.mount_options = vec![
        if read_only { MountOption::RO } else { MountOption::RW },
        MountOption::NoDev,
        MountOption::NoSuid,
        MountOption::DefaultPermissions,
        MountOption::FSName("bakeoff-remotefs".to_owned()),
        MountOption::Subtype("bakeoff".to_owned()),
    ];
    // The kernel's caches are for the user who mounted, and for nobody else, not even root.
    config.acl = SessionACL::Owner;
    config.n_threads = Some(usual_threads());
    config.clone_fd = true;
    let (link, kernel, tally) = (parts.link.clone(), parts.kernel.clone(), parts.tally.clone());
    let filesystem = Filesystem::new(link, kernel, tally, (local_locks, over));
    let session = Session::new(filesystem, at, &config).map_err(failed)?;
    let device = session.as_fd();
    rights.within(|| parts.kernel.is_there(device)).map_err(failed)?;
    let session = rights.within(|| session.spawn()).map_err(failed)?;
    // Dropping it would unmount, which is the guard's job, and might hit a mount below.
    std::mem::forget(session);
    Ok(())
}

fn usual_threads() -> usize {
    (cores() * THREADS_PER_CORE).min(MOST_THREADS)
}

impl Parts {
    /// Degree of coherence: the kernel's caches are never stale; on an old kernel it caches less.
    fn degree(&self) -> Degree {
        match self.kernel.keeps_names() {
            true => Degree::Full,
            false => Degree::Partial(
                "this kernel cannot forget names at once (Linux 6.16 can), so each is asked for".to_owned(),
            ),
        }
    }

    fn status(&self, state: &str, server: SocketAddr) -> String {
        let line = |name: &str, text: Option<String>| {
            text.map_or_else(String::new, |text| format!("{name} {text}\n"))
        };
        let (refused, lost) = self.link.trouble();
        let until = self.link.leaf_until_unix_s().map(|s| s.to_string());
        let session = line("leaf-until", until) + &line("refused", refused) + &line("no-session", lost);
        format!("state {state}\nserver {server}\ndegree {}\n{session}{}", self.degree(), self.tally.text(""))
    }
}
