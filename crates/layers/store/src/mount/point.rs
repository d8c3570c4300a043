//! The mount point: made ready, and left as it was.
//!
//! Measured side, cold. Owns unmounting. A mount whose daemon was killed is taken away before a new
//! one is made.

use super::keeper::Keeper;
use super::{End, MountError};
use fuser::BackgroundSession;
use nix::errno::Errno;
use nix::mount::{MntFlags, umount2};
use nix::sys::statvfs::statvfs;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A mount of ours; unmounts when it goes.
pub(super) struct Mounted {
    at: PathBuf,
    session: Option<BackgroundSession>,
    keeper: Keeper,
    /// We may not unmount ourselves.
    by_keeper: bool,
    gone: bool,
}

impl Mounted {
    pub(super) fn new(at: PathBuf, session: BackgroundSession, keeper: Keeper, by_keeper: bool) -> Self {
        Self { at, session: Some(session), keeper, by_keeper, gone: false }
    }

    /// Tells the keeper which mount it is; the mount must answer.
    pub(super) fn tell_keeper(&mut self) {
        self.keeper.tell(device(&self.at));
    }

    /// Unmounts. When files are open the mount is only taken out of sight, and this says so.
    pub(super) fn unmount(&mut self) -> End {
        self.gone = true;
        let busy = if self.by_keeper { self.keeper.unmount() } else { Some(unmount(&self.at)) };
        busy.map_or(End::Left, |busy| if busy { End::SignalBusy } else { End::Signal })
    }

    /// Somebody else unmounted.
    pub(super) fn is_gone(&mut self) {
        self.gone = true;
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if !self.gone {
            self.unmount();
        }
        // The session's own drop would unmount once more, and might hit what lies below.
        std::mem::forget(self.session.take());
    }
}

/// Unmounts; when files are open it takes the mount out of sight and ends its connection, and says so.
pub(crate) fn unmount(at: &Path) -> bool {
    let busy = umount2(at, MntFlags::empty()) == Err(Errno::EBUSY);
    if busy {
        // By force, so that whoever waits for an answer gets an error. It may be the daemon itself:
        // gocryptfs opens a file of its own mount as it starts, and could not even be killed there.
        let _ = umount2(at, MntFlags::MNT_FORCE | MntFlags::MNT_DETACH);
    }
    busy
}

/// The mount point's full path, and whether a dead mount was taken away from it.
pub(crate) fn prepare(at: &Path) -> Result<(PathBuf, bool), MountError> {
    let unfit = |error| MountError::Point { path: at.to_owned(), error };
    let cleared = clear_dead(at)?;
    if !fs::metadata(at).map_err(unfit)?.is_dir() {
        return Err(unfit(io::ErrorKind::NotADirectory.into()));
    }
    Ok((at.canonicalize().map_err(unfit)?, cleared))
}

fn clear_dead(at: &Path) -> Result<bool, MountError> {
    // Not `stat`: the kernel may still have the answer of the dead daemon.
    match statvfs(at) {
        Err(Errno::ENOTCONN) => {
            umount2(at, MntFlags::MNT_DETACH)
                .map_err(|error| MountError::Dead { path: at.to_owned(), error: error.into() })?;
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// The device number of what is mounted there.
pub(crate) fn device(at: &Path) -> Option<u64> {
    fs::metadata(at).ok().map(|metadata| metadata.dev())
}

/// FUSE mounts begin with the kernel's default of 128 KiB, which costs a round trip each. Without
/// root it stays.
pub(super) fn raise_read_ahead(at: &Path, kib: u32) -> Option<u32> {
    let device = device(at)?;
    let (major, minor) = (nix::sys::stat::major(device), nix::sys::stat::minor(device));
    let setting = format!("/sys/class/bdi/{major}:{minor}/read_ahead_kb");
    fs::write(setting, kib.to_string()).ok().map(|()| kib)
}
