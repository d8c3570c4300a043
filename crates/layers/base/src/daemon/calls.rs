//! System calls that every daemon needs: building blocks of the seccomp tables of the daemons.
//!
//! Measured side. A table names the allowed calls and their allowed arguments ([`bakeoff_sys::seccomp`]); every other
//! call is refused. None of these parts lets a process execute a program, reach another process or the network, open
//! an existing file, or get executable memory.

use bakeoff_sys::rules;
use bakeoff_sys::seccomp::{Argument, SyscallRule, allow, allow_if, unknown};

/// Memory that is not executable.
const NO_CODE: &[Argument] = &[Argument::long(2, libc::PROT_EXEC as u64, 0)];

/// A thread of this process: it shares memory, signal handlers and all else.
const THREAD: u64 = (libc::CLONE_VM | libc::CLONE_SIGHAND | libc::CLONE_THREAD) as u64;

/// Flags of clone by which a new process has namespaces to itself, in which it would be root.
pub const NAMESPACES: u64 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u64;

/// What the C library and Rust's do by themselves: memory, locks, threads, time, signals, the end.
pub const RUNTIME: &[SyscallRule] = rules! {
    allow: SYS_futex SYS_close SYS_clock_gettime SYS_clock_nanosleep SYS_sched_yield;
    allow_if(NO_CODE): SYS_mmap SYS_mprotect;
    allow: SYS_munmap SYS_mremap SYS_madvise SYS_brk SYS_mlock SYS_munlock SYS_rt_sigprocmask SYS_rt_sigaction
        SYS_rt_sigreturn SYS_sigaltstack SYS_restart_syscall;
    // Its arguments lie in memory, where a filter cannot see them.
    unknown: SYS_clone3;
    allow_if(&[Argument::long(0, THREAD, THREAD)]): SYS_clone;
    allow: SYS_set_robust_list SYS_rseq SYS_gettid SYS_getpid SYS_sched_getaffinity;
    allow_if(&[Argument::int(0, u32::MAX, libc::PR_SET_NAME as u32)]): SYS_prctl;
    allow: SYS_getrandom SYS_exit SYS_exit_group;
};

/// Metadata of files, by a path or a descriptor; opens nothing.
pub const FACTS: &[SyscallRule] =
    &[allow(libc::SYS_statx), allow(libc::SYS_fstat), allow(libc::SYS_newfstatat)];

/// Creation of a file that does not exist yet.
const NEW: u32 = (libc::O_CREAT | libc::O_EXCL) as u32;

/// To put a file in place of another ([`crate::plain::FileLocation`]).
pub const REPLACING: &[SyscallRule] = rules! {
    allow: SYS_write;
    allow_if(&[Argument::int(2, NEW, NEW)]): SYS_openat;
    x86_64 allow: SYS_renameat;
    allow: SYS_renameat2 SYS_unlinkat SYS_fsync;
};

/// To speak over sockets that are connected: no address is named.
pub const CONNECTED: &[SyscallRule] = rules! {
    allow: SYS_read SYS_recvfrom;
    allow_if(&[Argument::long(4, u64::MAX, 0)]): SYS_sendto;
    allow: SYS_shutdown;
    x86_64 allow: SYS_poll;
    allow: SYS_ppoll;
};

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_sys::seccomp::Filter;
    use std::fs::File;
    use std::io;
    use std::process::Command;

    /// Runs `work` in a thread under all these parts, and returns its result; the test itself stays unconfined.
    fn tried<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
        let under = move || {
            Filter::new(&[RUNTIME, FACTS, REPLACING, CONNECTED]).apply_to_this_thread().unwrap();
            work()
        };
        std::thread::spawn(under).join().unwrap()
    }

    fn code<T>(result: io::Result<T>) -> Option<i32> {
        result.err().and_then(|error| error.raw_os_error())
    }

    #[test]
    fn what_a_hijacked_daemon_would_want_is_refused() {
        let refused = tried(|| {
            [
                code(Command::new("/bin/true").spawn()),
                code(File::open("/etc/hostname")),
                code(File::options().write(true).open("/dev/null")),
                code(std::net::UdpSocket::bind("127.0.0.1:0")),
                code(std::os::unix::net::UnixStream::pair()),
                code(nix::sys::signal::kill(nix::unistd::Pid::this(), None).map_err(io::Error::from)),
                code(nix::unistd::chroot("/").map_err(io::Error::from)),
                code(std::fs::read_dir("/")),
                code(std::os::unix::fs::symlink("/etc", "/tmp/bakeoff-never")),
                code(std::fs::hard_link("/etc/hostname", "/tmp/bakeoff-never")),
            ]
        });
        assert_eq!(refused, [Some(libc::EPERM); 10]);
    }

    #[test]
    fn what_a_daemon_does_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("status");
        let place = crate::plain::FileLocation::guarded(&path).unwrap();
        let (one, other) = std::os::unix::net::UnixStream::pair().unwrap();
        let length = tried(move || {
            use std::io::{Read, Write};
            place.replace(b"state", crate::plain::FileAudience::Readers).unwrap();
            (&one).write_all(b"12345").unwrap();
            one.shutdown(std::net::Shutdown::Write).unwrap();
            let mut heard = String::new();
            (&other).read_to_string(&mut heard).unwrap();
            // Threads, memory that grows, time.
            let thread = std::thread::Builder::new().name("another".to_owned());
            let large = thread.spawn(|| vec![1_u8; 40 << 20].len()).unwrap().join().unwrap();
            std::thread::sleep(std::time::Duration::from_millis(1));
            (heard.len(), large, std::fs::metadata(path).unwrap().len())
        });
        assert_eq!(length, (5, 40 << 20, 5));
    }
}
