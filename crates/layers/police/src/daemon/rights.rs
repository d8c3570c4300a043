//! Capabilities and system calls of the armed daemon: for reading counters, changing tables, and following a
//! restarted server or a new interface.
//!
//! Measured side, cold.

use super::{DaemonError, DaemonSettings};
use bakeoff_layers_base::daemon::calls::{FACTS, REPLACING, RUNTIME};
use bakeoff_layers_base::daemon::rights::{DaemonRights, forbid_dumps};
use bakeoff_layers_base::daemon::status::try_writing;
use bakeoff_sys::privilege::Capability;
use bakeoff_sys::rules;
use bakeoff_sys::seccomp::{Argument, Filter, SyscallRule, allow, allow_if};

/// For maps and programs, for attaching them to an interface that comes later, and for the sockets of a restarted
/// server, whatever user it runs as.
const KEPT: [Capability; 5] = [
    Capability::Bpf,
    Capability::NetAdmin,
    Capability::Perfmon,
    Capability::SysPtrace,
    Capability::DacReadSearch,
];

/// Gives up all other capabilities, and every system call that is no longer needed.
pub(super) fn give_up(settings: &DaemonSettings) -> Result<(), DaemonError> {
    DaemonRights::least(&KEPT, || try_writing(settings.status.as_deref()))
        .give_up()
        .map_err(DaemonError::system("giving up capabilities"))?;
    forbid_dumps();
    const WHAT: &str = "the filter of system calls (CONFIG_SECCOMP_FILTER of the kernel)";
    Filter::new(&[CALLS, RUNTIME, FACTS, REPLACING]).apply().map_err(DaemonError::system(WHAT))
}

/// Argument check: opened for reading only.
const READING: &[Argument] = &[Argument::int(2, libc::O_ACCMODE as u32, libc::O_RDONLY as u32)];

/// A socket of one family, to ask for interfaces.
const fn socket<const FAMILY: u32>() -> SyscallRule {
    allow_if(libc::SYS_socket, const { &[Argument::int(0, u32::MAX, FAMILY)] })
}

/// What the loop does, most often first.
const CALLS: &[SyscallRule] = rules! {
    allow: SYS_read;
    allow_if(READING): SYS_openat;
    allow: SYS_bpf SYS_membarrier;
    x86_64 allow: SYS_poll;
    allow: SYS_ppoll SYS_lseek SYS_getdents64 SYS_readlinkat;
    x86_64 allow: SYS_readlink;
    allow: SYS_fcntl;
    // Sockets of the server: taken, and how long they defer.
    allow: SYS_pidfd_open SYS_pidfd_getfd SYS_getsockopt SYS_setsockopt;
    // Interfaces and listeners that there are.
    = socket::<{ libc::AF_NETLINK as u32 }>();
    = socket::<{ libc::AF_UNIX as u32 }>();
    allow: SYS_bind SYS_getsockname SYS_sendto SYS_recvmsg SYS_recvfrom;
    allow_if(&[Argument::int(1, u32::MAX, libc::SIOCGIFINDEX as u32)]): SYS_ioctl;
};
