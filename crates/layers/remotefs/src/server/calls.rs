//! System calls allowed to the serving threads, which strangers speak to.
//!
//! Measured side, cold. They take connections, answer, and carry out requests on the export; none of them executes a
//! program, makes a socket, or reaches another process. Threads that were started before have no filter: they open
//! sessions and listen to agents, and nobody else speaks to them.

use bakeoff_layers_base::daemon::calls::{FACTS, REPLACING, RUNTIME};
use bakeoff_sys::seccomp::{Filter, Rule, allow};
use nix::libc;
use std::io;

/// Calls on connections. None takes an address, so that arguments need not be checked.
const SPEAKING: &[Rule] = &[
    allow(libc::SYS_accept4),
    allow(libc::SYS_recvfrom),
    allow(libc::SYS_sendto),
    allow(libc::SYS_setsockopt),
    allow(libc::SYS_shutdown),
];

/// Calls on the export: Landlock and the names decide on which files.
const SERVING: &[Rule] = &[
    allow(libc::SYS_openat),
    allow(libc::SYS_openat2),
    allow(libc::SYS_pread64),
    allow(libc::SYS_pwrite64),
    allow(libc::SYS_read),
    allow(libc::SYS_lseek),
    allow(libc::SYS_getdents64),
    allow(libc::SYS_readlinkat),
    allow(libc::SYS_fstatfs),
    allow(libc::SYS_fdatasync),
    allow(libc::SYS_ftruncate),
    #[cfg(target_arch = "x86_64")]
    allow(libc::SYS_chmod),
    allow(libc::SYS_fchmodat),
    allow(libc::SYS_utimensat),
    allow(libc::SYS_mkdirat),
    allow(libc::SYS_symlinkat),
    allow(libc::SYS_linkat),
    allow(libc::SYS_fcntl),
];

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
