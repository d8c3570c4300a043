//! System calls that every domain refuses, whatever its policy: operations that Landlock does not judge, or that
//! would bypass it.
//!
//! Measured side, pure. Owns the tables and the reason for each call in them; [`bakeoff_sys::seccomp`] installs them
//! in the kernel. Every other call is allowed, as the programs are not ours.

use bakeoff_sys::seccomp::{Argument, Filter, Rule, allow_if, refuse, refuse_if, unknown};
use libc::c_long;

/// The filter of a domain.
pub(super) fn filter(attributes: bool) -> Filter {
    Filter::refusing(NEWEST, &tables(attributes))
}

/// A filter that refuses nothing: calls that the domain's filter would refuse, and those in `watched`, wait for the
/// supervisor.
pub(crate) fn watching(attributes: bool, watched: &[Rule]) -> Filter {
    Filter::watching(NEWEST, &tables(attributes), watched)
}

/// Whether a call is refused only where a domain may not change attributes. `ioctl`, which also waits for other
/// reasons, is counted as one.
pub(crate) fn changes_attributes(number: c_long) -> bool {
    ATTRIBUTES.iter().any(|rule| rule.number() == number)
}

fn tables(attributes: bool) -> Vec<&'static [Rule]> {
    let change: &[&[Rule]] = if attributes { &[] } else { &[ATTRIBUTES] };
    let kept = [UNSEEN, TRUNCATING, SOCKETS, NAMESPACES, CODE, OTHERS, IPC, MACHINE, IOCTLS];
    [&kept, change].concat()
}

/// The newest call that was judged, `file_setattr` of Linux 6.17; newer ones are unknown. From 424 on numbers are the
/// same on all architectures; those that the C library's table lacks are here.
const NEWEST: c_long = 469;
const FCHMODAT2: c_long = 452;
const STATMOUNT: c_long = 457;
const LISTMOUNT: c_long = 458;
const SETXATTRAT: c_long = 463;
const REMOVEXATTRAT: c_long = 466;
const OPEN_TREE_ATTR: c_long = 467;
const FILE_SETATTR: c_long = 469;

const fn is(index: u8, value: u32) -> Argument {
    Argument::int(index, u32::MAX, value)
}

/// Calls whose arguments lie in memory, where a filter cannot see them. Programs fall back to an older call.
const UNSEEN: &[Rule] = &[unknown(libc::SYS_clone3), unknown(libc::SYS_openat2)];

/// Two ways to truncate a file that may only be read. Landlock is not asked about truncation, since it would have to
/// walk to the root at every open. It is asked nothing at all for access mode 3, neither reading nor writing.
const READ_TRUNCATE: u32 = (libc::O_TRUNC | libc::O_RDONLY) as u32;
const NEITHER_TRUNCATE: u32 = (libc::O_TRUNC | libc::O_ACCMODE) as u32;
const TRUNCATING: &[Rule] = &[
    refuse(libc::SYS_truncate),
    #[cfg(target_arch = "x86_64")]
    refuse_if(libc::SYS_open, &[Argument::int(1, NEITHER_TRUNCATE, READ_TRUNCATE)]),
    #[cfg(target_arch = "x86_64")]
    refuse_if(libc::SYS_open, &[Argument::int(1, NEITHER_TRUNCATE, NEITHER_TRUNCATE)]),
    refuse_if(libc::SYS_openat, &[Argument::int(2, NEITHER_TRUNCATE, READ_TRUNCATE)]),
    refuse_if(libc::SYS_openat, &[Argument::int(2, NEITHER_TRUNCATE, NEITHER_TRUNCATE)]),
];

/// The kind of a socket, without its flags.
const STREAM: Argument = Argument::int(1, 0xf, libc::SOCK_STREAM as u32);
const UNIX: Argument = is(0, libc::AF_UNIX as u32);
const IP4: Argument = is(0, libc::AF_INET as u32);
const IP6: Argument = is(0, libc::AF_INET6 as u32);
const TCP: Argument = is(2, libc::IPPROTO_TCP as u32);
const ANY_PROTOCOL: Argument = is(2, 0);
const FAST_OPEN: u32 = libc::MSG_FASTOPEN as u32;

/// Landlock's rules cover TCP's bind and connect alone: not UDP, MPTCP, SCTP, SMC, raw, packet, netlink or vsock
/// sockets, nor the connect in `sendto` (fast open). SMC can also be put over a TCP socket (`TCP_ULP`).
const SOCKETS: &[Rule] = &[
    allow_if(libc::SYS_socket, &[UNIX]),
    allow_if(libc::SYS_socket, &[IP4, STREAM, ANY_PROTOCOL]),
    allow_if(libc::SYS_socket, &[IP4, STREAM, TCP]),
    allow_if(libc::SYS_socket, &[IP6, STREAM, ANY_PROTOCOL]),
    allow_if(libc::SYS_socket, &[IP6, STREAM, TCP]),
    refuse(libc::SYS_socket),
    allow_if(libc::SYS_socketpair, &[UNIX]),
    refuse(libc::SYS_socketpair),
    refuse_if(libc::SYS_sendto, &[Argument::int(3, FAST_OPEN, FAST_OPEN)]),
    refuse_if(libc::SYS_sendmsg, &[Argument::int(2, FAST_OPEN, FAST_OPEN)]),
    refuse_if(libc::SYS_sendmmsg, &[Argument::int(3, FAST_OPEN, FAST_OPEN)]),
    refuse_if(libc::SYS_setsockopt, &[is(1, libc::IPPROTO_TCP as u32), is(2, libc::TCP_ULP as u32)]),
];

/// Flags of clone and unshare that make namespaces; `CLONE_NEWTIME` is a part of clone's signal.
const NAMESPACE: u32 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u32;

/// Calls for another view of files, processes or the network; and handles, which name a file without its path.
const NAMESPACES: &[Rule] = &[
    allow_if(libc::SYS_clone, &[Argument::int(0, NAMESPACE, 0)]),
    refuse(libc::SYS_clone),
    allow_if(libc::SYS_unshare, &[Argument::int(0, NAMESPACE | libc::CLONE_NEWTIME as u32, 0)]),
    refuse(libc::SYS_unshare),
    refuse(libc::SYS_setns),
    refuse(libc::SYS_chroot),
    refuse(libc::SYS_pivot_root),
    refuse(libc::SYS_mount),
    refuse(libc::SYS_umount2),
    refuse(libc::SYS_open_tree),
    refuse(libc::SYS_move_mount),
    refuse(libc::SYS_fsopen),
    refuse(libc::SYS_fsconfig),
    refuse(libc::SYS_fsmount),
    refuse(libc::SYS_fspick),
    refuse(libc::SYS_mount_setattr),
    refuse(OPEN_TREE_ATTR),
    refuse(STATMOUNT),
    refuse(LISTMOUNT),
    refuse(libc::SYS_open_by_handle_at),
];

/// Calls for code that has no path to judge by, and ways to make calls other than by calling.
const CODE: &[Rule] = &[
    refuse(libc::SYS_memfd_create),
    refuse(libc::SYS_memfd_secret),
    refuse(libc::SYS_execveat),
    refuse(libc::SYS_io_uring_setup),
    refuse(libc::SYS_io_uring_enter),
    refuse(libc::SYS_io_uring_register),
    refuse(libc::SYS_bpf),
    refuse(libc::SYS_userfaultfd),
];

/// Argument check: the first argument is a process, and 0 is the caller.
const ONESELF: &[Argument] = &[is(0, 0)];
/// Argument check: the kind of number is a process, and its number is the caller.
const OWN_NICENESS: &[Argument] = &[is(0, libc::PRIO_PROCESS), is(1, 0)];
const OWN_IO: &[Argument] = &[is(0, 1), is(1, 0)];

/// Calls on other processes, and notifications about files that others use. Landlock judges signals.
const OTHERS: &[Rule] = &[
    refuse(libc::SYS_ptrace),
    refuse(libc::SYS_process_vm_readv),
    refuse(libc::SYS_process_vm_writev),
    refuse(libc::SYS_process_madvise),
    refuse(libc::SYS_process_mrelease),
    refuse(libc::SYS_pidfd_getfd),
    refuse(libc::SYS_kcmp),
    refuse(libc::SYS_migrate_pages),
    allow_if(libc::SYS_move_pages, ONESELF),
    refuse(libc::SYS_move_pages),
    allow_if(libc::SYS_setpriority, OWN_NICENESS),
    refuse(libc::SYS_setpriority),
    allow_if(libc::SYS_ioprio_set, OWN_IO),
    refuse(libc::SYS_ioprio_set),
    allow_if(libc::SYS_prlimit64, ONESELF),
    refuse(libc::SYS_prlimit64),
    allow_if(libc::SYS_sched_setaffinity, ONESELF),
    refuse(libc::SYS_sched_setaffinity),
    allow_if(libc::SYS_sched_setscheduler, ONESELF),
    refuse(libc::SYS_sched_setscheduler),
    allow_if(libc::SYS_sched_setparam, ONESELF),
    refuse(libc::SYS_sched_setparam),
    allow_if(libc::SYS_sched_setattr, ONESELF),
    refuse(libc::SYS_sched_setattr),
    // It would change the process's name in the kernel's log.
    refuse_if(libc::SYS_prctl, &[is(0, libc::PR_SET_MM as u32)]),
    #[cfg(target_arch = "x86_64")]
    refuse(libc::SYS_inotify_init),
    refuse(libc::SYS_inotify_init1),
    refuse(libc::SYS_fanotify_init),
    refuse(libc::SYS_perf_event_open),
];

/// Memory, semaphores and messages named by a number or a name that is no path; keys.
const IPC: &[Rule] = &[
    refuse(libc::SYS_shmget),
    refuse(libc::SYS_shmat),
    refuse(libc::SYS_shmctl),
    refuse(libc::SYS_semget),
    refuse(libc::SYS_semop),
    refuse(libc::SYS_semtimedop),
    refuse(libc::SYS_semctl),
    refuse(libc::SYS_msgget),
    refuse(libc::SYS_msgsnd),
    refuse(libc::SYS_msgrcv),
    refuse(libc::SYS_msgctl),
    refuse(libc::SYS_mq_open),
    refuse(libc::SYS_mq_unlink),
    refuse(libc::SYS_add_key),
    refuse(libc::SYS_request_key),
    refuse(libc::SYS_keyctl),
];

/// Calls on the whole machine. They mostly fail without capabilities; they are refused for a process that has some.
const MACHINE: &[Rule] = &[
    refuse(libc::SYS_kexec_load),
    refuse(libc::SYS_kexec_file_load),
    refuse(libc::SYS_init_module),
    refuse(libc::SYS_finit_module),
    refuse(libc::SYS_delete_module),
    refuse(libc::SYS_reboot),
    refuse(libc::SYS_swapon),
    refuse(libc::SYS_swapoff),
    refuse(libc::SYS_sethostname),
    refuse(libc::SYS_setdomainname),
    refuse(libc::SYS_settimeofday),
    refuse(libc::SYS_clock_settime),
    refuse(libc::SYS_acct),
    refuse(libc::SYS_quotactl),
    refuse(libc::SYS_quotactl_fd),
    refuse(libc::SYS_syslog),
    #[cfg(target_arch = "x86_64")]
    refuse(libc::SYS_iopl),
    #[cfg(target_arch = "x86_64")]
    refuse(libc::SYS_ioperm),
];

/// Requests that type into the terminal that started the program: the shell behind it would run the input.
const IOCTLS: &[Rule] = &[
    refuse_if(libc::SYS_ioctl, &[is(1, libc::TIOCSTI as u32)]),
    refuse_if(libc::SYS_ioctl, &[is(1, libc::TIOCLINUX as u32)]),
];

/// Requests that change a file that is open for reading (`linux/fs.h`, `linux/fsverity.h`, `linux/fscrypt.h`).
const SET_FLAGS: u32 = 0x4008_6602;
const SET_VERSION: u32 = 0x4008_7602;
const SET_EXTENDED: u32 = 0x401c_5820;
const ENABLE_VERITY: u32 = 0x4080_6685;
const SET_ENCRYPTION: u32 = 0x800c_6613;

/// Calls for modes, owners, times, extended attributes and flags: Landlock judges none of them.
const ATTRIBUTES: &[Rule] = &[
    #[cfg(target_arch = "x86_64")]
    refuse(libc::SYS_chmod),
    refuse(libc::SYS_fchmod),
    refuse(libc::SYS_fchmodat),
    refuse(FCHMODAT2),
    #[cfg(target_arch = "x86_64")]
    refuse(libc::SYS_chown),
    #[cfg(target_arch = "x86_64")]
    refuse(libc::SYS_lchown),
    refuse(libc::SYS_fchown),
    refuse(libc::SYS_fchownat),
    #[cfg(target_arch = "x86_64")]
    refuse(libc::SYS_utime),
    #[cfg(target_arch = "x86_64")]
    refuse(libc::SYS_utimes),
    #[cfg(target_arch = "x86_64")]
    refuse(libc::SYS_futimesat),
    refuse(libc::SYS_utimensat),
    refuse(libc::SYS_setxattr),
    refuse(libc::SYS_lsetxattr),
    refuse(libc::SYS_fsetxattr),
    refuse(SETXATTRAT),
    refuse(libc::SYS_removexattr),
    refuse(libc::SYS_lremovexattr),
    refuse(libc::SYS_fremovexattr),
    refuse(REMOVEXATTRAT),
    refuse(FILE_SETATTR),
    refuse_if(libc::SYS_ioctl, &[is(1, SET_FLAGS)]),
    refuse_if(libc::SYS_ioctl, &[is(1, SET_VERSION)]),
    refuse_if(libc::SYS_ioctl, &[is(1, SET_EXTENDED)]),
    refuse_if(libc::SYS_ioctl, &[is(1, ENABLE_VERITY)]),
    refuse_if(libc::SYS_ioctl, &[is(1, SET_ENCRYPTION)]),
];
