//! Mount point: prepared before mounting, and left as it was found.
//!
//! Measured side, cold. Owns unmounting. The mount of a killed daemon is removed before a new one is made. Without
//! root the kernel does not unmount; then fusermount3 does, which may.

use crate::plain::guard_directory;
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

/// Reasons for having no mount point.
#[derive(Debug, Error)]
pub enum PointError {
    /// The mount point cannot be used.
    #[error("cannot mount on {}: {error}", path.display())]
    Unfit {
        /// The path.
        path: PathBuf,
        /// The I/O error.
        error: io::Error,
    },
    /// A mount whose daemon is dead, and which we may not unmount.
    #[error(
        "{} is a mount whose daemon is dead, and it cannot be unmounted ({error}); as root: umount -l {}",
        path.display(),
        path.display()
    )]
    Dead {
        /// The path.
        path: PathBuf,
        /// The I/O error.
        error: io::Error,
    },
}

/// Unmounts. If files are open it detaches the mount, ends its connection, and returns true.
pub fn unmount(at: &Path) -> bool {
    let taken = umount2(at, MntFlags::empty());
    if taken == Err(Errno::EPERM) {
        return !fusermount(at, &["-u"]) && fusermount(at, &["-u", "-z"]);
    }
    let busy = taken == Err(Errno::EBUSY);
    if busy {
        // By force, so that processes waiting for an answer get an error. One of them may be the daemon itself:
        // gocryptfs opens a file of its own mount as it starts, and could not even be killed there.
        let _ = umount2(at, MntFlags::MNT_FORCE | MntFlags::MNT_DETACH);
    }
    busy
}

/// Ends the connection of a daemon that was killed, so that nobody waits for an answer of it any more, and detaches the
/// mount. `device`: `major:minor` of the mount.
pub(super) fn cut_off(at: &Path, device: &str) {
    if umount2(at, MntFlags::MNT_FORCE | MntFlags::MNT_DETACH) == Err(Errno::EPERM) {
        // The file is of the user who mounted, and is named after the minor number.
        let minor = device.split(':').next_back().unwrap_or_default();
        let _ = fs::write(format!("/sys/fs/fuse/connections/{minor}/abort"), "1");
        fusermount(at, &["-u", "-z"]);
    }
}

/// Has fusermount3 unmount, which may do so for the user who mounted; whether it did.
fn fusermount(at: &Path, how: &[&str]) -> bool {
    let mut command = Command::new("fusermount3");
    command.args(how).arg("--").arg(at).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The mount point's full path, and whether a dead mount was removed from it.
///
/// # Errors
/// It is no directory, somebody else could exchange it, or it is a dead mount that we may not remove.
pub fn prepare(at: &Path) -> Result<(PathBuf, bool), PointError> {
    let unfit = |error| PointError::Unfit { path: at.to_owned(), error };
    let cleared = clear_dead(at)?;
    guard_directory(at).map_err(unfit)?;
    Ok((at.canonicalize().map_err(unfit)?, cleared))
}

fn clear_dead(at: &Path) -> Result<bool, PointError> {
    // Not `stat`: the kernel may still cache the answer of the dead daemon.
    match statvfs(at) {
        Err(Errno::ENOTCONN) => match umount2(at, MntFlags::MNT_DETACH) {
            Err(Errno::EPERM) if fusermount(at, &["-u", "-z"]) => Ok(true),
            Err(error) => Err(PointError::Dead { path: at.to_owned(), error: error.into() }),
            Ok(()) => Ok(true),
        },
        _ => Ok(false),
    }
}

/// Device number of the mount. Does not ask its daemon, which may be blocked.
pub fn device(at: &Path) -> Option<u64> {
    let place = OpenOptions::new().read(true).custom_flags(libc::O_PATH).open(at).ok()?;
    let device = facts(place).ok()?.device;
    Some(makedev(device >> 32, device & u64::from(u32::MAX)))
}

/// FUSE mounts begin with a read-ahead of 128 KiB, the kernel's default, and each costs a round trip. Without root it
/// stays.
pub fn raise_read_ahead(at: &Path, kib: u32) -> Option<u32> {
    let device = device(at)?;
    let (major, minor) = (major(device), minor(device));
    let setting = format!("/sys/class/bdi/{major}:{minor}/read_ahead_kb");
    fs::write(setting, kib.to_string()).ok().map(|()| kib)
}
