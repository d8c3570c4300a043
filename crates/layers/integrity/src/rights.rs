//! Capabilities and system calls that both processes keep once the group of permission events is made.
//!
//! Cold. Marking files, reading events and answering them takes only the group's descriptor, so the worker has no
//! `CAP_SYS_ADMIN`. The supervisor keeps it for one thing: marks on mounts. Since its workers are copies of it, its
//! table also holds the calls that they need to arm; a worker's own table is shorter, once it has armed.

use crate::error::EnforceError;
use crate::settings::Settings;
use bakeoff_layers_base::daemon::calls::{CONNECTED, FACTS, REPLACING, RUNTIME};
use bakeoff_layers_base::daemon::rights::{Rights, forbid_dumps};
use bakeoff_layers_base::plain::Place;
use bakeoff_sys::privilege::Capability;
use bakeoff_sys::seccomp::{Argument, Filter, Rule, allow, allow_if};

/// For reading, holding and freezing any listed file, whoever owns it.
const ALWAYS: [Capability; 4] =
    [Capability::DacReadSearch, Capability::Fowner, Capability::Lease, Capability::LinuxImmutable];

/// Gives up all capabilities that these settings do not need, except those in `further`.
pub(crate) fn give_up(settings: &Settings, further: &[Capability]) -> Result<(), EnforceError> {
    let mut kept = [&ALWAYS, further].concat();
    if settings.stop_pid.is_some() {
        kept.push(Capability::Kill);
    }
    let written = [&settings.status, &settings.high_water, &settings.lock_store];
    let mut written = written.into_iter().flatten();
    let rights = Rights::least(&kept, || written.try_for_each(|path| Place::of(path)?.try_writing()));
    rights.give_up().map_err(EnforceError::system("giving up capabilities"))?;
    forbid_dumps();
    Ok(())
}

/// An allowed ioctl on files: their attributes, or non-blocking reads.
const fn ioctl<const REQUEST: u32>() -> Rule {
    allow_if(libc::SYS_ioctl, const { &[Argument::int(1, u32::MAX, REQUEST)] })
}

/// Calls for deciding: events, files, marks, leases, attributes. The calls of every open come first.
const DECIDING: &[Rule] = &[
    allow(libc::SYS_read),
    allow(libc::SYS_write),
    allow(libc::SYS_statx),
    allow(libc::SYS_fcntl),
    allow(libc::SYS_fanotify_mark),
    allow(libc::SYS_pread64),
    allow(libc::SYS_openat),
    allow(libc::SYS_openat2),
    allow(libc::SYS_readlinkat),
    #[cfg(target_arch = "x86_64")]
    allow(libc::SYS_readlink),
    allow(libc::SYS_getdents64),
    allow(libc::SYS_lseek),
    allow(libc::SYS_statfs),
    allow(libc::SYS_fstatfs),
    allow(libc::SYS_fgetxattr),
    allow(libc::SYS_fdatasync),
    allow(libc::SYS_fadvise64),
    allow(libc::SYS_mincore),
    ioctl::<{ libc::FS_IOC_GETFLAGS as u32 }>(),
    ioctl::<{ libc::FS_IOC_SETFLAGS as u32 }>(),
    ioctl::<{ libc::FIONBIO as u32 }>(),
    allow(libc::SYS_getppid),
    allow(libc::SYS_geteuid),
    allow(libc::SYS_prlimit64),
];

/// Calls for ending the server, with `--stop-pid`, and for the supervisor to end its worker.
const ENDING: &[Rule] =
    &[allow(libc::SYS_pidfd_open), allow(libc::SYS_pidfd_send_signal), allow(libc::SYS_kill)];

/// Flags for new namespaces, in which a process would be root.
const NAMESPACES: u64 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u64;

/// Calls for starting a worker, and for the worker until it has armed: it gives up its own rights.
const STARTING: &[Rule] = &[
    allow_if(libc::SYS_clone, &[Argument::long(0, NAMESPACES, 0)]),
    allow(libc::SYS_wait4),
    allow(libc::SYS_waitid),
    allow_if(libc::SYS_socketpair, &[Argument::int(0, u32::MAX, libc::AF_UNIX as u32)]),
    allow(libc::SYS_faccessat),
    allow(libc::SYS_faccessat2),
    allow(libc::SYS_getcwd),
    allow(libc::SYS_getuid),
    allow(libc::SYS_getgid),
    allow(libc::SYS_getegid),
    allow(libc::SYS_signalfd4),
    allow(libc::SYS_prctl),
    allow(libc::SYS_capget),
    allow(libc::SYS_capset),
    allow(libc::SYS_seccomp),
];

/// The worker's calls, once it has armed.
pub(crate) fn confine_worker(settings: &Settings) -> Result<(), EnforceError> {
    let ending = if settings.stop_pid.is_some() { ENDING } else { &[] };
    confine(&[DECIDING, RUNTIME, CONNECTED, REPLACING, FACTS, ending])
}

/// The supervisor's calls, which are also the most that its workers ever get.
pub(crate) fn confine_supervisor() -> Result<(), EnforceError> {
    confine(&[DECIDING, RUNTIME, CONNECTED, REPLACING, FACTS, ENDING, STARTING])
}

fn confine(tables: &[&[Rule]]) -> Result<(), EnforceError> {
    const WHAT: &str = "the filter of system calls (CONFIG_SECCOMP_FILTER of the kernel)";
    Filter::new(tables).apply().map_err(EnforceError::system(WHAT))
}
