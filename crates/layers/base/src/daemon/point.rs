//! The mount point: made ready, and left as it was.
//!
//! Measured side, cold. Owns unmounting. A mount whose daemon was killed is taken away before a new
//! one is made. Without root the kernel unmounts for nobody: then fusermount3 does, which may.

use super::keeper::Keeper;
use bakeoff_sys::inode::facts;
use nix::errno::Errno;
use nix::libc;
use nix::mount::{MntFlags, umount2};
use nix::sys::stat::{major, makedev, minor};
use nix::sys::statvfs::statvfs;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use thiserror::Error;

/// Why there is no mount point.
#[derive(Debug, Error)]
pub enum PointError {
    /// The mount point cannot be used.
    #[error("cannot mount on {}: {error}", path.display())]
    Unfit {
        /// Where.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A mount whose daemon is dead, and we may not take it away.
    #[error(
        "{} is a mount whose daemon is dead, and it cannot be unmounted ({error}); as root: umount -l {}",
        path.display(),
        path.display()
    )]
    Dead {
        /// Where.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// What became of a mount that was to be taken off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It is gone.
    Off,
    /// Files were open: it is out of sight, and what is open gets ENOTCONN.
    OutOfSight,
    /// It is there still, dead: the keeper, who alone may unmount, was gone.
    Left,
}

/// A mount of ours; unmounts when it goes.
#[derive(Debug)]
pub struct Mounted {
    at: PathBuf,
    keeper: Keeper,
    gone: bool,
}

impl Mounted {
    /// What was mounted there just now. Where there is a keeper it unmounts: this process may not, or has given it up.
    pub fn new(at: PathBuf, keeper: Keeper) -> Self {
        Self { at, keeper, gone: false }
    }

    /// Tells the keeper which mount it is.
    pub fn tell_keeper(&mut self) {
        self.keeper.tell(device(&self.at));
    }

    /// Unmounts. When files are open the mount is only taken out of sight, and this says so.
    pub fn unmount(&mut self) -> Taken {
        self.gone = true;
        let busy = if self.keeper.is_there() { self.keeper.unmount() } else { Some(unmount(&self.at)) };
        busy.map_or(Taken::Left, |busy| if busy { Taken::OutOfSight } else { Taken::Off })
    }

    /// Somebody else unmounted.
    pub fn is_gone(&mut self) {
        self.gone = true;
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if !self.gone {
            self.unmount();
        }
    }
}

/// Unmounts; when files are open it takes the mount out of sight and ends its connection, and says so.
pub fn unmount(at: &Path) -> bool {
    let taken = umount2(at, MntFlags::empty());
    if taken == Err(Errno::EPERM) {
        return !fusermount(at, &["-u"]) && fusermount(at, &["-u", "-z"]);
    }
    let busy = taken == Err(Errno::EBUSY);
    if busy {
        // By force, so that whoever waits for an answer gets an error. It may be the daemon itself:
        // gocryptfs opens a file of its own mount as it starts, and could not even be killed there.
        let _ = umount2(at, MntFlags::MNT_FORCE | MntFlags::MNT_DETACH);
    }
    busy
}

/// Has fusermount3 do it, which unmounts for whoever mounted; whether it did.
fn fusermount(at: &Path, how: &[&str]) -> bool {
    let mut command = Command::new("fusermount3");
    command.args(how).arg("--").arg(at).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The mount point's full path, and whether a dead mount was taken away from it.
///
/// # Errors
/// It is no directory, or a dead mount that we may not take away.
pub fn prepare(at: &Path) -> Result<(PathBuf, bool), PointError> {
    let unfit = |error| PointError::Unfit { path: at.to_owned(), error };
    let cleared = clear_dead(at)?;
    if !fs::metadata(at).map_err(unfit)?.is_dir() {
        return Err(unfit(io::ErrorKind::NotADirectory.into()));
    }
    Ok((at.canonicalize().map_err(unfit)?, cleared))
}

fn clear_dead(at: &Path) -> Result<bool, PointError> {
    // Not `stat`: the kernel may still have the answer of the dead daemon.
    match statvfs(at) {
        Err(Errno::ENOTCONN) => match umount2(at, MntFlags::MNT_DETACH) {
            Err(Errno::EPERM) if fusermount(at, &["-u", "-z"]) => Ok(true),
            Err(error) => Err(PointError::Dead { path: at.to_owned(), error: error.into() }),
            Ok(()) => Ok(true),
        },
        _ => Ok(false),
    }
}

/// The device number of what is mounted there. Its daemon is not asked, which may wait for something else.
pub fn device(at: &Path) -> Option<u64> {
    let place = OpenOptions::new().read(true).custom_flags(libc::O_PATH).open(at).ok()?;
    let device = facts(place).ok()?.device;
    Some(makedev(device >> 32, device & u64::from(u32::MAX)))
}

/// FUSE mounts begin with the kernel's default of 128 KiB, which costs a round trip each. Without
/// root it stays.
pub fn raise_read_ahead(at: &Path, kib: u32) -> Option<u32> {
    let device = device(at)?;
    let (major, minor) = (major(device), minor(device));
    let setting = format!("/sys/class/bdi/{major}:{minor}/read_ahead_kb");
    fs::write(setting, kib.to_string()).ok().map(|()| kib)
}
