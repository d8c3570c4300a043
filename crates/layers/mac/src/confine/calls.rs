//! System calls that every domain refuses, whatever its policy: operations that Landlock does not judge, or that
//! would bypass it.
//!
//! Measured side, pure. Owns the tables and the reason for each call in them; [`bakeoff_sys::seccomp`] installs them
//! in the kernel. Every other call is allowed, as the programs are not ours.

use bakeoff_layers_base::daemon::calls;
use bakeoff_sys::rules;
use bakeoff_sys::seccomp::{Argument, Filter, SyscallRule, allow_if, refuse, refuse_if, unknown};
use libc::c_long;

/// The filter of a domain: whether it may change attributes, and has the right `ioctl` on anything.
pub(super) fn filter(attributes: bool, devices: bool) -> Filter {
    let mut tables = tables(attributes);
    tables.extend((!devices).then_some(WITHOUT_DEVICES));
    Filter::refusing(NEWEST, &tables)
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
    let first = if attributes { CHANGING } else { ATTRIBUTES };
    vec![first, UNSEEN, OPENING, SOCKETS, NAMESPACES, CODE, OTHERS, IPC, MACHINE, IOCTLS]
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

/// Flags of a file opened for reading that is cut to nothing all the same. Landlock is not asked about truncation,
/// since it would have to walk to the root at every open.
const MODE: u32 = libc::O_ACCMODE as u32;
const TRUNCATE: u32 = libc::O_TRUNC as u32;
/// Access mode 3, neither reading nor writing: Landlock is asked nothing at all, and the descriptor takes leases, makes
/// files without names, opens devices. With `O_PATH` the mode does not matter.
const MODE_OR_PATH: u32 = (libc::O_ACCMODE | libc::O_PATH) as u32;
const OPENING: &[SyscallRule] = rules! {
    refuse: SYS_truncate;
    x86_64 refuse_if(&[Argument::int(1, MODE | TRUNCATE, TRUNCATE)]): SYS_open;
    x86_64 refuse_if(&[Argument::int(1, MODE_OR_PATH, MODE)]): SYS_open;
    refuse_if(&[Argument::int(2, MODE | TRUNCATE, TRUNCATE)]): SYS_openat;
    refuse_if(&[Argument::int(2, MODE_OR_PATH, MODE)]): SYS_openat;
    // It makes a device.
    refuse_if(&[Argument::int(4, libc::RENAME_WHITEOUT, libc::RENAME_WHITEOUT)]): SYS_renameat2;
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
    // A child of the parent's would be none of ours in the log.
    allow_if(&[Argument::int(0, NAMESPACE | libc::CLONE_PARENT as u32, 0)]): SYS_clone;
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
    // Into a group outside it could make that group wait for the terminal.
    allow_if(&[is(1, 0)]): SYS_setpgid;
    refuse: SYS_setpgid;
    // What inotify is refused for (F_NOTIFY).
    refuse_if(&[is(1, F_NOTIFY)]): SYS_fcntl;
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

/// `linux/fcntl.h`.
const F_NOTIFY: u32 = 1026;

/// The family of a request, in its second byte.
const fn of_family(family: u8) -> Argument {
    Argument::int(1, 0xff00, (family as u32) << 8)
}

/// Requests that type into the terminal that started the program: the shell behind it would run the input. And requests
/// of file systems, to any file that may be opened: they make snapshots of what may not be read, remove trees, freeze
/// the disk. A filter sees a number and not the file, so the families pass only what reads flags, versions and places,
/// or clones blocks between two open files.
const IOCTLS: &[SyscallRule] = rules! {
    refuse_if(&[is(1, libc::TIOCSTI as u32)]): SYS_ioctl;
    refuse_if(&[is(1, libc::TIOCLINUX as u32)]): SYS_ioctl;
    allow_if(&[is(1, 0x8008_6601)]): SYS_ioctl; // FS_IOC_GETFLAGS
    allow_if(&[is(1, 0x8008_7601)]): SYS_ioctl; // FS_IOC_GETVERSION
    allow_if(&[is(1, 0x801c_581f)]): SYS_ioctl; // FS_IOC_FSGETXATTR
    allow_if(&[is(1, 0xc020_660b)]): SYS_ioctl; // FS_IOC_FIEMAP
    allow_if(&[is(1, 0xc004_6686)]): SYS_ioctl; // FS_IOC_MEASURE_VERITY
    allow_if(&[is(1, 0x400c_6615)]): SYS_ioctl; // FS_IOC_GET_ENCRYPTION_POLICY
    allow_if(&[is(1, 0x4004_9409)]): SYS_ioctl; // FICLONE
    allow_if(&[is(1, 0x4020_940d)]): SYS_ioctl; // FICLONERANGE
    refuse_if(&[of_family(0x94)]): SYS_ioctl; // btrfs, and what it lent to others
    refuse_if(&[of_family(b'f')]): SYS_ioctl; // ext4, fscrypt, fsverity
    refuse_if(&[of_family(b'X')]): SYS_ioctl; // xfs, freezing
    refuse_if(&[of_family(b'v')]): SYS_ioctl; // versions
    refuse_if(&[of_family(b'r')]): SYS_ioctl; // fat
    refuse_if(&[of_family(0xf5)]): SYS_ioctl; // f2fs
    refuse_if(&[of_family(0xbc)]): SYS_ioctl; // bcachefs
    refuse_if(&[of_family(b'o')]): SYS_ioctl; // ocfs2
    refuse_if(&[of_family(0xcf)]): SYS_ioctl; // cifs
    refuse_if(&[of_family(0x97)]): SYS_ioctl; // ceph
    refuse_if(&[of_family(0x83)]): SYS_ioctl; // zfs
};

/// Requests to what is no device, for domains that have no right to any: terminals, pipes and sockets. File systems
/// have other families than the known ones, and some of theirs name a path in memory, which nobody judges.
const WITHOUT_DEVICES: &[SyscallRule] = rules! {
    allow_if(&[of_family(b'T')]): SYS_ioctl;
    allow_if(&[of_family(0x89)]): SYS_ioctl; // sockets
    allow_if(&[of_family(0x15)]): SYS_ioctl; // a file system's UUID, and its place in /sys
    allow_if(&[is(1, 2)]): SYS_ioctl; // FIGETBSZ
    refuse: SYS_ioctl;
};

/// With the right to change attributes their requests pass.
const CHANGING: &[SyscallRule] = rules! {
    allow_if(&[is(1, SET_FLAGS)]): SYS_ioctl;
    allow_if(&[is(1, SET_VERSION)]): SYS_ioctl;
    allow_if(&[is(1, SET_EXTENDED)]): SYS_ioctl;
    allow_if(&[is(1, ENABLE_VERITY)]): SYS_ioctl;
    allow_if(&[is(1, SET_ENCRYPTION)]): SYS_ioctl;
};

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

#[cfg(test)]
mod tests {
    use super::*;

    /// A set of values of one word of a call: some of its bits are known, and under these masks it has none of these
    /// values.
    #[derive(Clone, Debug)]
    struct Word {
        mask: u32,
        value: u32,
        not: Vec<(u32, u32)>,
    }

    impl Word {
        const ANY: Self = Self { mask: 0, value: 0, not: Vec::new() };

        fn of(value: u32) -> Self {
            Self { mask: u32::MAX, value, not: Vec::new() }
        }

        /// Whether `word & mask == value` holds for all of the set, for none, or for some.
        fn is(&self, mask: u32, value: u32) -> Option<bool> {
            let both = self.mask | mask;
            let is_out = |(mask, out): &(u32, u32)| mask & !both == 0 && (self.value | value) & mask == *out;
            match () {
                () if value & !mask != 0 || (self.value ^ value) & self.mask & mask != 0 => Some(false),
                () if mask & !self.mask == 0 => Some(true),
                () if self.not.iter().any(is_out) => Some(false),
                () => None,
            }
        }

        fn with(mut self, mask: u32, value: u32, holds: bool) -> Self {
            match holds {
                true => (self.mask, self.value) = (self.mask | mask, self.value | value),
                false => self.not.push((mask, value)),
            }
            self
        }
    }

    /// Every answer of a program, with the sets of words that get it: together they are all calls, whatever the
    /// program. Runs it as the kernel would, along both ways of each comparison that is not decided by then.
    fn answers(program: &[libc::sock_filter], call: Vec<Word>) -> Vec<(u32, Vec<Word>)> {
        let (mut ways, mut found) = (vec![(0, (0, 0), call)], Vec::new());
        while let Some((at, (word, mask), call)) = ways.pop() {
            let step: libc::sock_filter = program[at];
            let to = |holds: bool| at + 1 + usize::from(if holds { step.jt } else { step.jf });
            let set: &Word = &call[word];
            match u32::from(step.code) {
                0x20 => ways.push((at + 1, (step.k as usize / 4, u32::MAX), call)),
                0x54 => ways.push((at + 1, (word, mask & step.k), call)),
                0x15 => match set.is(mask, step.k) {
                    Some(holds) => ways.push((to(holds), (word, mask), call)),
                    None => ways.extend([true, false].map(|holds| {
                        let mut call = call.clone();
                        call[word] = call[word].clone().with(mask, step.k, holds);
                        (to(holds), (word, mask), call)
                    })),
                },
                0x35 => {
                    assert_eq!(set.mask, u32::MAX, "only the number of a call is searched for");
                    ways.push((to(set.value & mask >= step.k), (word, mask), call));
                }
                0x05 => ways.push((at + 1 + step.k as usize, (word, mask), call)),
                0x06 => found.push((step.k, call)),
                other => panic!("operation {other:#x}"),
            }
        }
        found
    }

    fn call(number: c_long, arguments: [Word; 12]) -> Vec<Word> {
        let head = [Word::of(number as u32), Word::of(AUDIT_ARCH), Word::of(0), Word::of(0)];
        head.into_iter().chain(arguments).collect()
    }

    /// Every set of values of an argument's lower half, with whether a call with it passes.
    fn all_values(filter: &Filter, number: c_long, argument: usize) -> Vec<(bool, Word)> {
        let words = std::array::from_fn(|half| if half / 2 == argument { Word::ANY } else { Word::of(0) });
        let [absent, judged] = filter.programs();
        let absent = answers(absent, call(number, words.clone()));
        assert!(absent.iter().all(|(answer, _)| *answer == libc::SECCOMP_RET_ALLOW));
        let judged = answers(judged, call(number, words));
        let lower = 4 + 2 * argument;
        judged
            .into_iter()
            .map(|(answer, call)| (answer == libc::SECCOMP_RET_ALLOW, call[lower].clone()))
            .collect()
    }

    /// Answer of a filter's programs to one call: the sterner of the two counts, which is the lower one.
    fn answer(filter: &Filter, number: c_long, arguments: [u64; 6]) -> u32 {
        let words = std::array::from_fn(|half| Word::of((arguments[half / 2] >> (32 * (half % 2))) as u32));
        filter
            .programs()
            .map(|program| answers(program, call(number, words.clone()))[0].0)
            .into_iter()
            .min()
            .unwrap()
    }

    const AUDIT_ARCH: u32 = if cfg!(target_arch = "x86_64") { 0xc000_003e } else { 0xc000_00b7 };

    fn passes(filter: &Filter, number: c_long, arguments: [u64; 6]) -> bool {
        answer(filter, number, arguments) == libc::SECCOMP_RET_ALLOW
    }

    #[test]
    fn of_all_flags_none_makes_an_open_that_landlock_is_not_asked_about() {
        const UNASKED: [(u32, u32); 2] = [(MODE_OR_PATH, MODE), (MODE | TRUNCATE, TRUNCATE)];
        for (pass, flags) in all_values(&filter(false, false), libc::SYS_openat, 2) {
            let unasked = UNASKED.map(|(mask, value)| flags.is(mask, value));
            assert_eq!(unasked.contains(&Some(true)), !pass, "{flags:x?}");
            assert!(!pass || unasked == [Some(false); 2], "{flags:x?}");
        }
    }

    #[test]
    fn of_all_numbers_of_requests_only_listed_ones_of_file_systems_pass() {
        const READING: [u32; 8] = [
            0x8008_6601,
            0x8008_7601,
            0x801c_581f,
            0xc020_660b,
            0xc004_6686,
            0x400c_6615,
            0x4004_9409,
            0x4020_940d,
        ];
        const CHANGING: [u32; 5] = [SET_FLAGS, SET_VERSION, SET_EXTENDED, ENABLE_VERITY, SET_ENCRYPTION];
        const FAMILIES: [u32; 11] = [0x94, 0x66, 0x58, 0x76, 0x72, 0xf5, 0xbc, 0x6f, 0xcf, 0x97, 0x83];
        const OPEN: [(u32, u32); 4] = [(0xff00, 0x5400), (0xff00, 0x8900), (0xff00, 0x1500), (u32::MAX, 2)];
        const TYPING: [u32; 2] = [libc::TIOCSTI as u32, libc::TIOCLINUX as u32];
        for (attributes, devices) in [(false, false), (false, true), (true, false), (true, true)] {
            let listed = [&READING[..], if attributes { &CHANGING } else { &[] }].concat();
            let mut passed = Vec::new();
            for (pass, request) in all_values(&filter(attributes, devices), libc::SYS_ioctl, 1) {
                let one = (request.mask == u32::MAX).then_some(request.value);
                let typing = TYPING.map(|typing| request.is(u32::MAX, typing));
                let families = FAMILIES.map(|family| request.is(0xff00, family << 8));
                let is_listed = one.is_some_and(|one| listed.contains(&one));
                let of_others = OPEN.map(|(mask, value)| request.is(mask, value));
                let open = devices && families == [Some(false); 11] || of_others.contains(&Some(true));
                let wanted = typing == [Some(false); 2] && (is_listed || open);
                assert_eq!(pass, wanted, "{request:x?}");
                // What is refused is refused for one of these reasons, and not beside them.
                let closed = !devices && of_others == [Some(false); 4];
                let reason = typing.contains(&Some(true)) || families.contains(&Some(true)) || closed;
                assert!(pass || reason && !is_listed, "{request:x?}");
                passed.extend(one.filter(|_| pass));
            }
            assert!(listed.iter().all(|listed| passed.contains(listed)), "{passed:x?}");
        }
    }

    #[test]
    fn what_acts_on_others_or_hides_from_them_is_refused() {
        let filter = filter(true, false);
        let thread = libc::CLONE_VM as u64 | libc::CLONE_THREAD as u64;
        for (number, arguments, pass) in [
            (libc::SYS_clone, [thread, 0, 0, 0, 0, 0], true),
            (libc::SYS_clone, [libc::CLONE_PARENT as u64, 0, 0, 0, 0, 0], false),
            (libc::SYS_setpgid, [7, 0, 0, 0, 0, 0], true),
            (libc::SYS_setpgid, [0, 7, 0, 0, 0, 0], false),
            (libc::SYS_fcntl, [3, libc::F_SETFL as u64, 0, 0, 0, 0], true),
            (libc::SYS_fcntl, [3, 1026, 0, 0, 0, 0], false),
            (libc::SYS_renameat2, [0, 0, 0, 0, libc::RENAME_EXCHANGE.into(), 0], true),
            (libc::SYS_renameat2, [0, 0, 0, 0, libc::RENAME_WHITEOUT.into(), 0], false),
        ] {
            assert_eq!(passes(&filter, number, arguments), pass, "{number} {arguments:?}");
        }
    }
}
