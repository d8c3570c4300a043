//! System calls allowed to the serving threads, which strangers speak to.
//!
//! Measured side, cold. They take connections, answer, and carry out requests on the export; none of them executes a
//! program, makes a socket, or reaches another process. Threads that were started before have no filter: they open
//! sessions and listen to agents, and nobody else speaks to them.

use bakeoff_layers_base::daemon::calls::{FACTS, REPLACING, RUNTIME};
use bakeoff_sys::rules;
use bakeoff_sys::seccomp::{Filter, SyscallRule, allow};
use nix::libc;
use std::io;

/// Connections. None has an address that could be another's, so that arguments need not be looked at.
const SPEAKING: &[SyscallRule] = rules! {
    allow: SYS_accept4 SYS_recvfrom SYS_sendto SYS_setsockopt SYS_shutdown;
};

/// The export: which files, Landlock and the names decide.
const SERVING: &[SyscallRule] = rules! {
    allow: SYS_openat SYS_openat2 SYS_pread64 SYS_pwrite64 SYS_read SYS_lseek SYS_getdents64 SYS_readlinkat
        SYS_fstatfs SYS_fdatasync SYS_ftruncate;
    x86_64 allow: SYS_chmod;
    allow: SYS_fchmodat SYS_utimensat SYS_mkdirat SYS_symlinkat SYS_linkat SYS_fcntl;
};

/// Refuses all other calls from now on, for the calling thread and those that it starts.
pub(super) fn confine() -> io::Result<()> {
    Filter::new(&[SPEAKING, SERVING, FACTS, REPLACING, RUNTIME]).apply_to_this_thread()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::errno::Errno;
    use std::net::{TcpListener, TcpStream};
    use std::process::Command;
    use std::thread;

    #[test]
    fn who_serves_executes_nothing_and_speaks_to_nobody_who_did_not_come() {
        let tried = thread::spawn(|| {
            confine().unwrap();
            let code = |error: Option<io::Error>| error.and_then(|error| error.raw_os_error());
            [
                code(Command::new("/bin/true").status().err()),
                code(TcpListener::bind("127.0.0.1:0").err()),
                code(TcpStream::connect("127.0.0.1:1").err()),
                code(std::os::unix::net::UnixStream::pair().err()),
                code(nix::sys::signal::kill(nix::unistd::Pid::this(), None).err().map(io::Error::from)),
                code(nix::unistd::chroot("/").err().map(io::Error::from)),
                code(nix::unistd::setuid(nix::unistd::Uid::effective()).err().map(io::Error::from)),
            ]
        });
        assert_eq!(tried.join().unwrap(), [Some(Errno::EPERM as i32); 7]);
    }
}
