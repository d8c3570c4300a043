//! Mount of a vault: served to any process through FUSE, until it is told to end.
//!
//! Measured side, a process of its own. Owns the life of a mount: clears a dead one away, mounts, serves, watches for
//! a lock, and unmounts. One thread waits here; the threads of the session serve. Prints nothing; the caller's hook
//! says that it is ready.

mod calls;
mod counters;
mod filesystem;
mod locking;

pub use bakeoff_layers_base::daemon::mount::{MountEnd, MountError, MountFacts};
pub use bakeoff_layers_base::daemon::rights::forbid_dumps;
pub use counters::{Count, MountCounters};

use crate::vault::Vault;
use bakeoff_layers_base::daemon::keeper::Keeper;
use bakeoff_layers_base::daemon::mount::{MountEvent, Mounted, wait, watch_signals};
use bakeoff_layers_base::daemon::point;
use bakeoff_layers_base::daemon::rights::DaemonRights;
use bakeoff_layers_base::daemon::status::{StatusFile, try_writing};
use bakeoff_layers_base::release::{StoreHold, StoreLock};
use bakeoff_layers_base::threads::cores;
use filesystem::Filesystem;
use fuser::{Config, MountOption, Notifier, Session, SessionACL};
use locking::Dropped;
use nix::unistd::Uid;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

/// Read-ahead of the kernel in a file. It reads in requests of at most [`REQUEST_BYTES`](filesystem::REQUEST_BYTES),
/// which several threads serve at once.
const READ_AHEAD_KIB: u32 = 1024;
/// Serving threads a core: most of a cold read is waiting for the disk.
const THREADS_PER_CORE: usize = 2;

/// Options of the mount.
#[derive(Debug, Default)]
pub struct MountOptions {
    /// Number of serving threads; 0 means two a core.
    pub threads: usize,
    /// File that the counters are written to.
    pub status: Option<PathBuf>,
    /// Lock of the sealed key, and the hold on it: when it gets locked, keys and contents are dropped, and then the hold.
    pub lock: Option<(StoreLock, StoreHold)>,
    /// Runs [`keeper_main`](bakeoff_layers_base::daemon::keeper::keeper_main): a process that unmounts when this one
    /// was killed.
    pub keeper: Option<Command>,
}

/// Mounts and serves until SIGTERM, SIGINT or an unmount.
///
/// # Errors
/// It could not be mounted; nothing is left behind then.
pub fn serve(
    vault: Vault,
    at: &Path,
    mut options: MountOptions,
    ready: impl FnOnce(MountFacts),
) -> Result<MountEnd, MountError> {
    let (at, cleared) = point::prepare(at)?;
    let (sender, events) = channel();
    let rights = match options.keeper {
        Some(_) if Uid::effective().is_root() => {
            DaemonRights::least(&[], || try_writing(options.status.as_deref()))
        }
        _ => DaemonRights::ALL,
    };
    let keeper = Keeper::start(options.keeper, &at)?;
    let has_keeper = keeper.is_there();
    rights.within(|| watch_signals(sender.clone()))?;

    let (vault, counters, dropped) =
        (Arc::new(vault), Arc::new(MountCounters::default()), Dropped::default());
    let parts = Parts { vault, counters, dropped };
    let mut status = StatusFile::begin(options.status.as_deref(), parts.status("starting"))?;
    let notifier = start(&parts, &at, (options.threads, &rights), sender)?;
    // From here on the mount is there, and this guard takes it away whatever happens.
    let mut mount = Mounted::new(at.clone(), keeper);
    let read_ahead_kib = point::raise_read_ahead(&at, READ_AHEAD_KIB);
    mount.tell_keeper();
    // An answer of the mount shows that the serving threads have opened everything that they need.
    let _ = fs::metadata(&at);
    rights.give_up()?;
    calls::confine(has_keeper).map_err(MountError::Confine)?;
    let mut state = "mounted";
    let _ = status.write(parts.status(state));
    ready(MountFacts { cleared, read_ahead_kib });
    let meanwhile = || {
        if options.lock.as_ref().is_some_and(|(lock, _)| lock.is_locked()) {
            let hold = options.lock.take().map(|(_, hold)| hold);
            locking::lock(&parts.vault, &notifier, &parts.dropped, hold);
            state = "locked";
        }
        // A disk that is full leaves the old one.
        let _ = status.write(parts.status(state));
    };
    // Other mount namespaces keep their copies of the mount, and what is cached could be read there.
    let last = || locking::forget_contents(&parts.vault, &notifier);
    let end = wait(mount, &events, meanwhile, last);
    let _ = status.write(parts.status("ended"));
    Ok(end)
}

/// What the threads of a mount share.
struct Parts {
    vault: Arc<Vault>,
    counters: Arc<MountCounters>,
    /// What a lock has taken away so far.
    dropped: Dropped,
}

impl Parts {
    fn status(&self, state: &str) -> String {
        format!(
            "state {state}\ndropped {}\nsequence {}\nfiles {}\n{}",
            self.dropped.word(),
            self.vault.header().sequence,
            self.vault.tree().len(),
            self.counters.text()
        )
    }
}

fn start(
    parts: &Parts,
    at: &Path,
    (threads, rights): (usize, &DaemonRights),
    over: Sender<MountEvent>,
) -> Result<Notifier, MountError> {
    let failed = |error| MountError::Fuse { path: at.to_owned(), error };
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::RO,
        MountOption::NoDev,
        MountOption::NoSuid,
        MountOption::DefaultPermissions,
        MountOption::FSName("bakeoff-store".to_owned()),
        MountOption::Subtype("bakeoff".to_owned()),
    ];
    // Servers run as another user than root. Without root the kernel allows that only if
    // /etc/fuse.conf says so, and then the mount is for its owner.
    config.acl = if Uid::effective().is_root() { SessionACL::All } else { SessionACL::Owner };
    config.n_threads = Some(if threads == 0 { cores() * THREADS_PER_CORE } else { threads });
    config.clone_fd = true;
    let filesystem = Filesystem::new(parts.vault.clone(), parts.counters.clone(), over);
    let session = Session::new(filesystem, at, &config).map_err(failed)?;
    let session = rights.within(|| session.spawn()).map_err(failed)?;
    let notifier = session.notifier();
    // Dropping it would unmount, which is the guard's job, and might hit a mount below.
    std::mem::forget(session);
    Ok(notifier)
}
