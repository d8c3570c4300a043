//! The mount: a vault served to any process through FUSE, until it is told to end.
//!
//! Measured side, a process of its own. Owns the life of a mount: a dead one is cleared away first,
//! then mounted, served, watched for a lock, and unmounted. One thread waits here; the threads of
//! the session serve. Prints nothing; the caller's hook says that it is ready.

mod calls;
mod counters;
mod error;
mod filesystem;
mod locking;
mod status;

pub use bakeoff_layers_base::daemon::keeper::keeper_main;
pub use bakeoff_layers_base::daemon::rights::forbid_dumps;
pub use counters::{Count, Counters};
pub use error::MountError;
pub use status::STATUS_DELAY;

use crate::vault::Vault;
use bakeoff_layers_base::daemon::keeper::Keeper;
use bakeoff_layers_base::daemon::point::{self, Mounted, Taken};
use bakeoff_layers_base::daemon::rights::Rights;
use bakeoff_layers_base::plain::Place;
use bakeoff_layers_base::release::SealedFile;
use filesystem::Filesystem;
use fuser::{Config, MountOption, Notifier, Session, SessionACL};
use nix::unistd::Uid;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use status::Status;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;

/// How far the kernel reads ahead in a file. It asks for it in requests of at most
/// [`REQUEST_BYTES`](filesystem::REQUEST_BYTES), which several threads serve at once.
const READ_AHEAD_KIB: u32 = 1024;
/// Requests the kernel may have under way besides those that somebody waits for.
const BACKGROUND: u16 = 64;
/// Threads that serve, for each core: most of a cold read is waiting for the disk.
const THREADS_PER_CORE: usize = 2;

/// How to mount.
#[derive(Debug, Default)]
pub struct Options {
    /// Threads that serve; two a core when 0.
    pub threads: usize,
    /// File that the counters are written to.
    pub status: Option<PathBuf>,
    /// The sealed key; when it gets locked, the keys are dropped.
    pub sealed: Option<PathBuf>,
    /// Runs [`keeper_main`]: a process that unmounts when this one was killed.
    pub keeper: Option<Command>,
}

/// What became of a mount that was ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// A signal came; everything is unmounted.
    Signal,
    /// A signal came while files were open. The mount is out of sight; what is open gets ENOTCONN.
    SignalBusy,
    /// Somebody else unmounted.
    Unmounted,
    /// A signal came, and the keeper, who alone may unmount, was gone. The mount is there still, dead.
    Left,
    /// The store was locked, and what was mounted could not stay (gocryptfs; a vault stays and refuses).
    Locked,
}

impl From<Taken> for End {
    fn from(taken: Taken) -> Self {
        match taken {
            Taken::Off => Self::Signal,
            Taken::OutOfSight => Self::SignalBusy,
            Taken::Left => Self::Left,
        }
    }
}

/// What the caller may say when the mount is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// A mount whose daemon was dead was cleared away.
    pub cleared: bool,
    /// How far the kernel reads ahead; `None` where it could not be raised.
    pub read_ahead_kib: Option<u32>,
}

/// What the waiting thread hears.
pub(crate) enum Event {
    Signal,
    SessionOver,
}

/// Mounts and serves until SIGTERM, SIGINT or an unmount.
///
/// # Errors
/// When it could not be mounted; nothing is left behind then.
pub fn serve(
    vault: Vault,
    at: &Path,
    options: Options,
    ready: impl FnOnce(Ready),
) -> Result<End, MountError> {
    let (at, cleared) = point::prepare(at)?;
    let (sender, events) = channel();
    let rights = match options.keeper {
        Some(_) if Uid::effective().is_root() => {
            let (status, sealed) = (options.status.as_deref(), options.sealed.as_deref());
            Rights::least(&[], || try_files(status, sealed))
        }
        _ => Rights::ALL,
    };
    let keeper = Keeper::start(options.keeper, &at).map_err(MountError::Serve)?;
    rights.within(|| watch_signals(sender.clone())).map_err(MountError::Serve)?;

    let vault = Arc::new(vault);
    let counters = Arc::new(Counters::default());
    let mut status = Status::new(options.status.as_deref(), vault.clone(), counters.clone())?;
    let notifier = start(&vault, &counters, &at, (options.threads, &rights), sender)?;
    // From here on the mount is there, and this guard takes it away whatever happens.
    let mut mount = Mounted::new(at.clone(), keeper, rights.are_least());
    let read_ahead_kib = point::raise_read_ahead(&at, READ_AHEAD_KIB);
    // That the mount answers says, too, that the threads which serve have all that they open.
    mount.tell_keeper();
    rights.give_up().map_err(MountError::Serve)?;
    calls::confine(rights.are_least()).map_err(MountError::Confine)?;
    status.state("mounted");
    status.write_if_changed();
    ready(Ready { cleared, read_ahead_kib });
    let end = wait(mount, &vault, (options.sealed.as_deref(), &notifier), &mut status, &events);
    status.state("ended");
    status.write_if_changed();
    Ok(end)
}

/// What is written and looked for while the mount is there.
fn try_files(status: Option<&Path>, sealed: Option<&Path>) -> io::Result<()> {
    if let Some(status) = status {
        Place::of(status)?.try_writing()?;
    }
    sealed.map_or(Ok(false), SealedFile::is_locked).map(drop)
}

fn start(
    vault: &Arc<Vault>,
    counters: &Arc<Counters>,
    at: &Path,
    (threads, rights): (usize, &Rights),
    over: Sender<Event>,
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
    config.n_threads = Some(if threads == 0 { usual_threads() } else { threads });
    config.clone_fd = true;
    let filesystem = Filesystem::new(vault.clone(), counters.clone());
    let filesystem = filesystem.at_end(move || drop(over.send(Event::SessionOver)));
    let session = Session::new(filesystem, at, &config).map_err(failed)?;
    let session = rights.within(|| session.spawn()).map_err(failed)?;
    let notifier = session.notifier();
    // Its drop would unmount, which is the guard's, and might hit what lies below.
    std::mem::forget(session);
    Ok(notifier)
}

fn wait(
    mut mount: Mounted,
    vault: &Arc<Vault>,
    (sealed, notifier): (Option<&Path>, &Notifier),
    status: &mut Status,
    events: &Receiver<Event>,
) -> End {
    let mut locked = false;
    loop {
        match events.recv_timeout(STATUS_DELAY) {
            Ok(Event::Signal) => return mount.unmount().into(),
            Ok(Event::SessionOver) | Err(RecvTimeoutError::Disconnected) => {
                mount.is_gone();
                return End::Unmounted;
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if !locked && sealed.is_some_and(is_locked) {
            locked = true;
            locking::lock(vault, notifier, &status.dropped);
            status.state("locked");
        }
        status.write_if_changed();
    }
}

/// A lock that cannot be looked for is a lock.
pub(crate) fn is_locked(sealed: &Path) -> bool {
    !matches!(SealedFile::is_locked(sealed), Ok(false))
}

fn usual_threads() -> usize {
    thread::available_parallelism().map_or(1, NonZeroUsize::get) * THREADS_PER_CORE
}

/// Sends an event for each SIGTERM and SIGINT.
pub(crate) fn watch_signals(sender: Sender<Event>) -> io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGINT])?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for _ in signals.forever() {
            if sender.send(Event::Signal).is_err() {
                return;
            }
        }
    })?;
    Ok(())
}
