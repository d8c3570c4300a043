//! Capabilities and system calls that both processes keep once the group of permission events is made.
//!
//! Cold. Marking files, reading events and answering them takes only the group's descriptor, so the worker has no
//! `CAP_SYS_ADMIN`. The supervisor keeps it for one thing: marks on mounts. Since its workers are copies of it, its
//! table also holds the calls that they need to arm; a worker's own table is shorter, once it has armed.

use crate::error::EnforceError;
use crate::settings::EnforcementSettings;
use crate::written::WrittenFiles;
use bakeoff_layers_base::daemon::calls::{CONNECTED, FACTS, NAMESPACES, REPLACING, RUNTIME};
use bakeoff_layers_base::daemon::rights::{DaemonRights, forbid_dumps};
use bakeoff_sys::privilege::Capability;
use bakeoff_sys::rules;
use bakeoff_sys::seccomp::{Argument, Filter, SyscallRule, allow, allow_if};

/// For reading, holding and freezing any listed file, whoever owns it.
const ALWAYS: [Capability; 4] =
    [Capability::DacReadSearch, Capability::Fowner, Capability::Lease, Capability::LinuxImmutable];

/// Gives up all capabilities that these settings do not need, except those in `further`.
pub(crate) fn give_up(
    settings: &EnforcementSettings,
    files: &WrittenFiles,
    further: &[Capability],
) -> Result<(), EnforceError> {
    let mut kept = [&ALWAYS, further].concat();
    if settings.stop_pid.is_some() {
        kept.push(Capability::Kill);
    }
    let rights = DaemonRights::least(&kept, || files.try_writing());
    rights.give_up().map_err(EnforceError::system("giving up capabilities"))?;
    forbid_dumps();
    Ok(())
}

/// An allowed ioctl on files: their attributes, or non-blocking reads.
const fn ioctl<const REQUEST: u32>() -> SyscallRule {
    allow_if(libc::SYS_ioctl, const { &[Argument::int(1, u32::MAX, REQUEST)] })
}

/// To decide: events, files, marks, leases, attributes. What every open takes comes first.
const DECIDING: &[SyscallRule] = rules! {
    allow: SYS_read SYS_write SYS_statx SYS_fcntl SYS_fanotify_mark SYS_pread64 SYS_openat SYS_openat2
        SYS_readlinkat;
    x86_64 allow: SYS_readlink;
    allow: SYS_getdents64 SYS_lseek SYS_statfs SYS_fstatfs SYS_fgetxattr SYS_fdatasync SYS_fadvise64
        SYS_flock SYS_mincore;
    = ioctl::<{ libc::FS_IOC_GETFLAGS as u32 }>();
    = ioctl::<{ libc::FS_IOC_SETFLAGS as u32 }>();
    = ioctl::<{ libc::FIONBIO as u32 }>();
    allow: SYS_getppid SYS_geteuid SYS_prlimit64;
};

/// Calls for ending the server, with `--stop-pid`, and for the supervisor to end its worker.
const ENDING: &[SyscallRule] =
    &[allow(libc::SYS_pidfd_open), allow(libc::SYS_pidfd_send_signal), allow(libc::SYS_kill)];

/// To start a worker, and what it does until it has armed: it gives up its own rights.
const STARTING: &[SyscallRule] = rules! {
    allow_if(&[Argument::long(0, NAMESPACES, 0)]): SYS_clone;
    allow: SYS_wait4 SYS_waitid;
    allow_if(&[Argument::int(0, u32::MAX, libc::AF_UNIX as u32)]): SYS_socketpair;
    allow: SYS_faccessat SYS_faccessat2 SYS_getcwd SYS_getuid SYS_getgid SYS_getegid SYS_signalfd4 SYS_prctl
        SYS_capget SYS_capset SYS_seccomp;
};

/// The worker's calls, once it has armed.
pub(crate) fn confine_worker(settings: &EnforcementSettings) -> Result<(), EnforceError> {
    let ending = if settings.stop_pid.is_some() { ENDING } else { &[] };
    confine(&[DECIDING, RUNTIME, CONNECTED, REPLACING, FACTS, ending])
}

/// The supervisor's calls, which are also the most that its workers ever get.
pub(crate) fn confine_supervisor() -> Result<(), EnforceError> {
    confine(&[DECIDING, RUNTIME, CONNECTED, REPLACING, FACTS, ENDING, STARTING])
}

fn confine(tables: &[&[SyscallRule]]) -> Result<(), EnforceError> {
    const WHAT: &str = "the filter of system calls (CONFIG_SECCOMP_FILTER of the kernel)";
    Filter::new(tables).apply().map_err(EnforceError::system(WHAT))
}
