//! System calls that a daemon may make once its vault is mounted.
//!
//! Measured side, cold. It reads its vault and FUSE, answers, replaces its status, checks for the lock, and waits. It
//! opens no existing file, executes nothing, makes no socket, and signals nobody.

use bakeoff_layers_base::daemon::calls::{CONNECTED, FACTS, REPLACING, RUNTIME};
use bakeoff_sys::seccomp::{Filter, SyscallRule, allow};
use nix::libc;
use std::io;

/// Calls for the kernel's requests, the answers, and the vault; first, as they are the most frequent.
const SERVING: &[SyscallRule] =
    &[allow(libc::SYS_read), allow(libc::SYS_writev), allow(libc::SYS_pread64), allow(libc::SYS_statx)];

/// Calls at the end, to wait for the keeper.
const ENDING: &[SyscallRule] = &[allow(libc::SYS_wait4), allow(libc::SYS_waitid)];

/// Without a keeper the daemon unmounts by itself.
const UNMOUNTING: &[SyscallRule] = &[allow(libc::SYS_umount2)];

/// Refuses all other calls from now on, in all threads. The serving threads must have opened everything that they
/// need.
pub(super) fn confine(has_keeper: bool) -> io::Result<()> {
    filter(has_keeper).apply()
}

fn filter(has_keeper: bool) -> Filter {
    let unmounting = if has_keeper { &[] } else { UNMOUNTING };
    Filter::new(&[SERVING, RUNTIME, CONNECTED, REPLACING, FACTS, ENDING, unmounting])
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::errno::Errno;
    use nix::mount::{MntFlags, umount2};
    use std::fs::{File, OpenOptions};
    use std::net::TcpListener;
    use std::process::Command;
    use std::thread;

    #[test]
    fn a_daemon_opens_nothing_executes_nothing_and_speaks_to_nobody() {
        let tried = thread::spawn(|| {
            filter(true).apply_to_this_thread().unwrap();
            let code = |error: Option<io::Error>| error.and_then(|error| error.raw_os_error());
            [
                code(Command::new("/bin/true").status().err()),
                code(File::open("/etc/passwd").err()),
                code(File::open("/proc/self/mem").err()),
                code(OpenOptions::new().append(true).open("/dev/null").err()),
                code(TcpListener::bind("127.0.0.1:0").err()),
                code(std::fs::read_dir("/").err()),
                code(umount2("/nowhere", MntFlags::empty()).err().map(io::Error::from)),
            ]
        });
        assert_eq!(tried.join().unwrap(), [Some(Errno::EPERM as i32); 7]);
    }
}
