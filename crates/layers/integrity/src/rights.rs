//! What both processes may do beyond what their user may, once the group of permission events is made.
//!
//! Cold. To mark files, to read events and to answer them the group's descriptor is enough, so the worker
//! has no `CAP_SYS_ADMIN`. The supervisor keeps it for one thing: marks on mounts.

use crate::error::EnforceError;
use crate::settings::Settings;
use bakeoff_sys::privilege::{Capability, keep_only};
use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::unistd::{AccessFlags, faccessat};
use std::path::Path;
use std::thread;

/// To read whatever is listed, to hold it and to freeze it, whoever owns it.
const ALWAYS: [Capability; 4] =
    [Capability::DacReadSearch, Capability::Fowner, Capability::Lease, Capability::LinuxImmutable];

/// Gives up all rights that these settings do not need, but for `further` ones.
pub(crate) fn give_up(settings: &Settings, further: &[Capability]) -> Result<(), EnforceError> {
    let mut kept = [&ALWAYS, further].concat();
    if settings.stop_pid.is_some() {
        kept.push(Capability::Kill);
    }
    let written = [&settings.status, &settings.high_water, &settings.lock_store];
    if !written.into_iter().flatten().all(|path| may_write_beside(path, &kept)) {
        kept.push(Capability::DacOverride);
    }
    keep_only(&kept).map_err(EnforceError::system("giving up capabilities"))?;
    // Nobody without root's rights may look into the process. Where that cannot be said it is as safe as
    // any other process of its user.
    let _ = nix::sys::prctl::set_dumpable(false);
    Ok(())
}

/// Whether a file can be made and renamed there: asked of the kernel by a thread that has no other rights.
/// Nothing is made for it: the directory may be one in which others have laid a link or a fifo.
fn may_write_beside(path: &Path, kept: &[Capability]) -> bool {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or_else(|| Path::new("."));
    let may = || {
        let wanted = AccessFlags::W_OK | AccessFlags::X_OK;
        keep_only(kept).is_ok() && faccessat(AT_FDCWD, folder, wanted, AtFlags::AT_EACCESS).is_ok()
    };
    thread::scope(|scope| scope.spawn(may).join().unwrap_or(false))
}
