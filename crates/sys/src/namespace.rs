//! Network namespaces without a name: a network stack that a few threads and processes have to themselves.
//!
//! Measuring side, cold path; entering one is two system calls. A namespace lives as long as some process holds its
//! descriptor or is inside, so nothing of it is left when bakeoff dies, however it dies. Nothing is put below
//! `/run/netns`, and no file system is mounted anew (unlike `ip netns exec`, which hides the control groups).

use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::Arc;

/// A network namespace, held open. Copies are the same one.
#[derive(Clone, Debug)]
pub struct Namespace {
    file: Arc<File>,
}

impl Namespace {
    /// A new one, with nothing in it but loopback. Needs `CAP_SYS_ADMIN` and `CAP_NET_ADMIN`.
    ///
    /// # Errors
    /// `EPERM` without the privilege, `EINVAL` on a kernel without network namespaces, `ENOSPC`
    /// when the limit `user.max_net_namespaces` is reached.
    pub fn create() -> io::Result<Self> {
        on_a_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET)?;
            raise_loopback()?;
            let file = File::open("/proc/thread-self/ns/net")?;
            Ok(Self { file: Arc::new(file) })
        })
    }

    /// Another process's, by the path of its descriptor (see [`Namespace::path`]).
    ///
    /// # Errors
    /// The process is gone, or of another user.
    pub fn open(path: &std::path::Path) -> io::Result<Self> {
        Ok(Self { file: Arc::new(File::open(path)?) })
    }

    /// The path by which other processes of the same user find it while this one lives.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()))
    }

    /// Puts the calling thread into it, and all that it starts from now on. Sockets stay where they were made. Needs
    /// `CAP_SYS_ADMIN`.
    ///
    /// # Errors
    ///
    /// What `setns` reports.
    pub fn enter(&self) -> io::Result<()> {
        Ok(setns(&self.file, CloneFlags::CLONE_NEWNET)?)
    }

    /// Does `work` inside, on a thread of its own, and waits for it.
    ///
    /// # Errors
    /// When the namespace cannot be entered; `work` has not begun then.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        on_a_thread(|| {
            self.enter()?;
            Ok(work())
        })
    }
}

/// A new namespace has its loopback device down.
fn raise_loopback() -> io::Result<()> {
    let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    // SAFETY: ifreq is plain integers and a union of such, for which all zeros is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, byte) in request.ifr_name.iter_mut().zip(b"lo") {
        *place = *byte as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
    // SAFETY: the descriptor is open; SIOCSIFFLAGS reads one ifreq, which lives through the call
    // and whose name ends with a zero.
    match unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &request) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Namespaces belong to threads: one that enters a namespace must not be needed elsewhere afterwards.
fn on_a_thread<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    std::thread::scope(|scope| match scope.spawn(work).join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::fs::MetadataExt;

    fn inode(path: &str) -> u64 {
        std::fs::metadata(path).unwrap().ino()
    }

    /// Root, or the test says that it was skipped.
    #[allow(clippy::print_stdout)] // the SKIP line is for whoever runs the tests
    fn create(test: &str) -> Option<Namespace> {
        match Namespace::create() {
            Ok(made) => Some(made),
            Err(why) => {
                assert!(std::env::var_os("BAKEOFF_ALLOW_SKIPS").is_some(), "{test}: {why}");
                println!("SKIP {test}: cannot make a network namespace ({why}); run as root");
                None
            }
        }
    }

    #[test]
    fn only_what_is_done_inside_is_inside() {
        let Some(made) = create("only_what_is_done_inside_is_inside") else { return };
        let outside = inode("/proc/thread-self/ns/net");
        let inside = made.run(|| inode("/proc/thread-self/ns/net")).unwrap();
        assert_ne!(inside, outside);
        assert_eq!(inode("/proc/thread-self/ns/net"), outside);
        assert_eq!(inode(made.path().to_str().unwrap()), inside);
        let opened = Namespace::open(&made.path()).unwrap();
        assert_eq!(opened.run(|| inode("/proc/thread-self/ns/net")).unwrap(), inside);
    }

    #[test]
    fn a_listener_outside_cannot_be_reached_from_inside() {
        let Some(made) = create("a_listener_outside_cannot_be_reached_from_inside") else { return };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        assert!(TcpStream::connect(address).is_ok());
        assert!(made.run(|| TcpStream::connect(address)).unwrap().is_err());
        let within = made.run(|| TcpListener::bind("127.0.0.1:0")).unwrap().unwrap();
        let address = within.local_addr().unwrap();
        assert!(made.run(|| TcpStream::connect(address)).unwrap().is_ok());
    }
}
