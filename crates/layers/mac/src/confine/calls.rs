//! System calls that every domain refuses, whatever its policy: operations that Landlock does not judge, or that
//! would bypass it.
//!
//! Measured side, pure. Owns the tables and the reason for each call in them; [`bakeoff_sys::seccomp`] installs them
//! in the kernel. Every other call is allowed, as the programs are not ours.

use bakeoff_layers_base::daemon::calls;
use bakeoff_sys::rules;
use bakeoff_sys::seccomp::{Argument, Filter, SyscallRule, allow_if, refuse, refuse_if, unknown};
use libc::c_long;

/// The filter of a domain.
pub(super) fn filter(attributes: bool) -> Filter {
    Filter::refusing(NEWEST, &tables(attributes))
}

/// A filter that refuses nothing: calls that the domain's filter would refuse, and those in `watched`, wait for the
/// supervisor.
pub(crate) fn watching(attributes: bool, watched: &[SyscallRule]) -> Filter {
    Filter::watching(NEWEST, &tables(attributes), watched)
}

/// Whether a call is refused only where a domain may not change attributes. `ioctl`, which also waits for other
/// reasons, is counted as one.
pub(crate) fn changes_attributes(number: c_long) -> bool {
    ATTRIBUTES.iter().any(|rule| rule.number() == number)
}

fn tables(attributes: bool) -> Vec<&'static [SyscallRule]> {
    let change: &[&[SyscallRule]] = if attributes { &[] } else { &[ATTRIBUTES] };
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
const UNSEEN: &[SyscallRule] = &[unknown(libc::SYS_clone3), unknown(libc::SYS_openat2)];

/// Two ways to truncate a file that may only be read. Landlock is not asked about truncation, since it would have to
/// walk to the root at every open. It is asked nothing at all for access mode 3, neither reading nor writing.
const READ_TRUNCATE: u32 = (libc::O_TRUNC | libc::O_RDONLY) as u32;
const NEITHER_TRUNCATE: u32 = (libc::O_TRUNC | libc::O_ACCMODE) as u32;
const TRUNCATING: &[SyscallRule] = rules! {
    refuse: SYS_truncate;
    x86_64 refuse_if(&[Argument::int(1, NEITHER_TRUNCATE, READ_TRUNCATE)]): SYS_open;
    x86_64 refuse_if(&[Argument::int(1, NEITHER_TRUNCATE, NEITHER_TRUNCATE)]): SYS_open;
    refuse_if(&[Argument::int(2, NEITHER_TRUNCATE, READ_TRUNCATE)]): SYS_openat;
    refuse_if(&[Argument::int(2, NEITHER_TRUNCATE, NEITHER_TRUNCATE)]): SYS_openat;
};

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
const SOCKETS: &[SyscallRule] = &[
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
const NAMESPACE: u32 = calls::NAMESPACES as u32;

/// Another view of files, processes or the network; and handles, which name a file without its path.
const NAMESPACES: &[SyscallRule] = rules! {
    allow_if(&[Argument::int(0, NAMESPACE, 0)]): SYS_clone;
    refuse: SYS_clone;
    allow_if(&[Argument::int(0, NAMESPACE | libc::CLONE_NEWTIME as u32, 0)]): SYS_unshare;
    refuse: SYS_unshare SYS_setns SYS_chroot SYS_pivot_root SYS_mount SYS_umount2 SYS_open_tree SYS_move_mount
        SYS_fsopen SYS_fsconfig SYS_fsmount SYS_fspick SYS_mount_setattr SYS_open_by_handle_at;
    refuse number: OPEN_TREE_ATTR STATMOUNT LISTMOUNT;
};

/// Code that has no path to judge by, and calls that are made in other ways than by calling.
const CODE: &[SyscallRule] = rules! {
    refuse: SYS_memfd_create SYS_memfd_secret SYS_execveat SYS_io_uring_setup SYS_io_uring_enter
        SYS_io_uring_register SYS_bpf SYS_userfaultfd;
};

/// Argument check: the first argument is a process, and 0 is the caller.
const ONESELF: &[Argument] = &[is(0, 0)];
/// Argument check: the kind of number is a process, and its number is the caller.
const OWN_NICENESS: &[Argument] = &[is(0, libc::PRIO_PROCESS), is(1, 0)];
const OWN_IO: &[Argument] = &[is(0, 1), is(1, 0)];

/// Other processes, and what is told about files that others use. Signals are Landlock's.
const OTHERS: &[SyscallRule] = rules! {
    refuse: SYS_ptrace SYS_process_vm_readv SYS_process_vm_writev SYS_process_madvise SYS_process_mrelease
        SYS_pidfd_getfd SYS_kcmp SYS_migrate_pages;
    allow_if(ONESELF): SYS_move_pages SYS_prlimit64 SYS_sched_setaffinity SYS_sched_setscheduler
        SYS_sched_setparam SYS_sched_setattr;
    allow_if(OWN_NICENESS): SYS_setpriority;
    allow_if(OWN_IO): SYS_ioprio_set;
    refuse: SYS_move_pages SYS_prlimit64 SYS_sched_setaffinity SYS_sched_setscheduler SYS_sched_setparam
        SYS_sched_setattr SYS_setpriority SYS_ioprio_set;
    // Its name in the kernel's log would be another.
    refuse_if(&[is(0, libc::PR_SET_MM as u32)]): SYS_prctl;
    x86_64 refuse: SYS_inotify_init;
    refuse: SYS_inotify_init1 SYS_fanotify_init SYS_perf_event_open;
};

/// Memory, semaphores and messages by a number or name that is no path; keys.
const IPC: &[SyscallRule] = rules! {
    refuse: SYS_shmget SYS_shmat SYS_shmctl SYS_semget SYS_semop SYS_semtimedop SYS_semctl SYS_msgget
        SYS_msgsnd SYS_msgrcv SYS_msgctl SYS_mq_open SYS_mq_unlink SYS_add_key SYS_request_key SYS_keyctl;
};

/// The whole machine. Nobody without capabilities gets far with these; they are refused where one would.
const MACHINE: &[SyscallRule] = rules! {
    refuse: SYS_kexec_load SYS_kexec_file_load SYS_init_module SYS_finit_module SYS_delete_module SYS_reboot
        SYS_swapon SYS_swapoff SYS_sethostname SYS_setdomainname SYS_settimeofday SYS_clock_settime SYS_acct
        SYS_quotactl SYS_quotactl_fd SYS_syslog;
    x86_64 refuse: SYS_iopl SYS_ioperm;
};

/// Requests that type into the terminal that started the program: the shell behind it would run the input.
const IOCTLS: &[SyscallRule] = &[
    refuse_if(libc::SYS_ioctl, &[is(1, libc::TIOCSTI as u32)]),
    refuse_if(libc::SYS_ioctl, &[is(1, libc::TIOCLINUX as u32)]),
];

/// Requests that change a file that is open for reading (`linux/fs.h`, `linux/fsverity.h`, `linux/fscrypt.h`).
const SET_FLAGS: u32 = 0x4008_6602;
const SET_VERSION: u32 = 0x4008_7602;
const SET_EXTENDED: u32 = 0x401c_5820;
const ENABLE_VERITY: u32 = 0x4080_6685;
const SET_ENCRYPTION: u32 = 0x800c_6613;

/// Modes, owners, times, extended attributes and flags: Landlock judges none of them.
const ATTRIBUTES: &[SyscallRule] = rules! {
    x86_64 refuse: SYS_chmod SYS_chown SYS_lchown SYS_utime SYS_utimes SYS_futimesat;
    refuse: SYS_fchmod SYS_fchmodat SYS_fchown SYS_fchownat SYS_utimensat SYS_setxattr SYS_lsetxattr
        SYS_fsetxattr SYS_removexattr SYS_lremovexattr SYS_fremovexattr;
    refuse number: FCHMODAT2 SETXATTRAT REMOVEXATTRAT FILE_SETATTR;
    refuse_if(&[is(1, SET_FLAGS)]): SYS_ioctl;
    refuse_if(&[is(1, SET_VERSION)]): SYS_ioctl;
    refuse_if(&[is(1, SET_EXTENDED)]): SYS_ioctl;
    refuse_if(&[is(1, ENABLE_VERITY)]): SYS_ioctl;
    refuse_if(&[is(1, SET_ENCRYPTION)]): SYS_ioctl;
};
