//! Keeper process that unmounts for a daemon without the right to unmount, also after the daemon was killed.
//!
//! Measured side, a process of its own that sleeps in one poll. It holds one end of a socket pair, and only the
//! daemon has the other. The poll ends when the daemon says that it is done, or is gone for any reason. If that
//! daemon's own mount is still there, the keeper unmounts it. A killed daemon may hold its sockets and the FUSE device for
//! ever: one of its threads can be in the kernel and wait for a page that an unanswered read has locked. So the keeper
//! looks at the state of its first thread, too, twice a second, as no event tells of that, and then ends the connection
//! before anything else. Without the keeper, every process that touches the mount point would get ENOTCONN until
//! somebody unmounts. The keeper may unmount, and make hardly any other system call. Without root it starts fusermount3 for that, and no filter can limit it to this one program.

use super::{calls, point};
use bakeoff_sys::inode::unique_mount;
use bakeoff_sys::mount::{Mount, listed};
use bakeoff_sys::seccomp::{Filter, SyscallRule, allow};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::stat::{major, minor};
use nix::sys::time::TimeSpec;
use nix::unistd::Uid;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The daemon's end.
#[derive(Debug)]
pub struct Keeper {
    socket: Option<UnixStream>,
    child: Option<Child>,
}

impl Keeper {
    /// Starts the keeper, if there is a command for it. The mount point is appended as its last argument.
    ///
    /// # Errors
    /// The error of starting a process.
    pub fn start(command: Option<Command>, at: &Path) -> io::Result<Self> {
        let Some(mut command) = command else { return Ok(Self { socket: None, child: None }) };
        let (own, theirs) = UnixStream::pair()?;
        // A group of its own: Ctrl-C of a terminal is for the daemon alone.
        command.arg(at).stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).process_group(0);
        let child = command.spawn()?;
        Ok(Self { socket: Some(own), child: Some(child) })
    }

    /// Whether a keeper runs.
    pub fn is_there(&self) -> bool {
        self.child.is_some()
    }

    /// Tells the keeper which mount at this place is the daemon's: its device, and the number that no other mount ever
    /// has.
    pub fn tell(&mut self, at: &Path) {
        if let (Some(socket), Some(device)) = (&mut self.socket, point::device(at)) {
            let unique = unique_mount(at).ok().flatten().map_or(String::new(), |number| number.to_string());
            let _ = writeln!(socket, "{}:{} {unique}", major(device), minor(device));
        }
    }

    /// Has the keeper unmount and ends it. Returns whether files were open, or `None` if it is gone or failed.
    pub fn unmount(&mut self) -> Option<bool> {
        let mut socket = self.socket.take()?;
        socket.shutdown(Shutdown::Write).ok()?;
        let mut answer = String::new();
        socket.read_to_string(&mut answer).ok()?;
        match answer.as_str() {
            BUSY => Some(true),
            DONE => Some(false),
            _ => None,
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.socket.take());
        if let Some(child) = &mut self.child {
            let _ = child.wait();
        }
    }
}

/// Interval of looks at a daemon that says nothing.
const LOOK: Duration = Duration::from_millis(500);
/// The keeper's answers.
const BUSY: &str = "busy";
const DONE: &str = "done";

/// All calls of a waiting keeper: wait, read, look at the mounts, unmount, answer.
const CALLS: &[SyscallRule] = &[
    allow(libc::SYS_ppoll),
    allow(libc::SYS_read),
    allow(libc::SYS_write),
    allow(libc::SYS_lseek),
    allow(libc::SYS_umount2),
];

/// How the daemon's work ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DaemonEnd {
    /// It said so, or all of it is gone.
    Said,
    /// Its first thread has ended without a word.
    Killed,
}

/// Main function of the keeper: waits for the daemon's end, then unmounts if the mount is there, and answers whether
/// files were open.
///
/// # Errors
/// The mount is there and cannot be unmounted, or the kernel refuses the filter of system calls.
pub fn keeper_main(at: &Path) -> io::Result<()> {
    for signal in [SIGTERM, SIGINT] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    let mut daemon = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut state = File::open(format!("/proc/{}/stat", nix::unistd::getppid()))?;
    let mut mounts = File::open("/proc/self/mountinfo")?;
    if Uid::effective().is_root() {
        Filter::new(&[CALLS, calls::FACTS, calls::RUNTIME]).apply()?;
    }
    let mut said = Vec::new();
    let end = wait(&mut daemon, &mut state, &mut said)?;
    let said = String::from_utf8_lossy(&said);
    let mut numbers = said.split_whitespace();
    let (device, unique) = (numbers.next().unwrap_or_default(), numbers.next());
    let is_own = |point: &Path| {
        let there = unique_mount(point).ok().flatten();
        there.is_some() && unique.and_then(|number| number.parse().ok()) == there
    };
    let mut there = || {
        let mut text = Vec::new();
        // After a rewind the file shows the present mounts.
        mounts.rewind()?;
        mounts.read_to_end(&mut text)?;
        Ok::<_, io::Error>(place_of(&text, device, at, is_own))
    };
    let mut busy = false;
    if let Some(at) = there()? {
        match end {
            DaemonEnd::Said => busy = point::unmount(&at),
            DaemonEnd::Killed => point::cut_off(&at, device),
        }
    }
    if there()?.is_some() {
        return Err(Errno::EBUSY.into());
    }
    // A daemon that was killed hears nothing any more.
    let _ = daemon.write_all(if busy { BUSY } else { DONE }.as_bytes());
    Ok(())
}

/// Waits for the daemon's end, and reads what it says until then.
fn wait(daemon: &mut File, state: &mut File, said: &mut Vec<u8>) -> io::Result<DaemonEnd> {
    loop {
        let mut watched = [PollFd::new(daemon.as_fd(), PollFlags::POLLIN)];
        match ppoll(&mut watched, Some(TimeSpec::from_duration(LOOK)), None) {
            Ok(0) if has_ended(state) => return Ok(DaemonEnd::Killed),
            Ok(0) | Err(Errno::EINTR) => continue,
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let mut part = [0; 64];
        match daemon.read(&mut part)? {
            0 => return Ok(DaemonEnd::Said),
            read => said.extend_from_slice(&part[..read]),
        }
    }
}

/// Whether a process's first thread has ended, by its `/proc/PID/stat`. A pidfd says so only once all its threads have
/// (Linux 6.15).
fn has_ended(state: &mut File) -> bool {
    let mut text = [0; 64];
    let read = state.rewind().and_then(|()| state.read(&mut text)).unwrap_or(0);
    let behind_name = text.get(..read).and_then(|text| text.iter().rposition(|byte| *byte == b')'));
    behind_name.is_none_or(|at| matches!(text.get(at + 2), Some(b'Z' | b'X')))
}

/// Place of the mount of this device, if it is the topmost one there: where it was made, or where that is now, as a
/// directory above it may have been renamed. Once a mount is gone the kernel gives its device's number to the next one,
/// so that elsewhere only a mount that `is_own` counts.
fn place_of(mountinfo: &[u8], device: &str, at: &Path, is_own: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let all = listed(mountinfo);
    let is_of_device = |mount: &&Mount| format!("{}:{}", mount.major, mount.minor) == device;
    let topmost = |point: &Path| all.iter().rfind(|mount| mount.point == point).filter(is_of_device);
    let elsewhere = || all.iter().filter(is_of_device).find(|mount| is_own(&mount.point));
    topmost(at).or_else(elsewhere).map(|mount| mount.point.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &[u8] = b"20 1 254:0 / / rw - ext4 /dev/vda rw\n\
        30 20 0:50 / /srv/a\\040b ro - fuse.bakeoff bakeoff-store ro\n\
        31 30 0:51 / /srv/a\\040b ro - fuse.bakeoff bakeoff-store ro\n";

    /// As of a killed daemon with a thread that the kernel does not let go.
    #[test]
    fn a_process_has_ended_with_its_first_thread() {
        let script = "import ctypes, sys, threading, time\nthreading.Thread(target=time.sleep, args=(600,)).start()\n\
            ctypes.CDLL(None).syscall(int(sys.argv[1]), 0)";
        let exit = libc::SYS_exit.to_string();
        let mut child = Command::new("python3").args(["-c", script, &exit]).spawn().unwrap();
        let state = |pid| File::open(format!("/proc/{pid}/stat")).unwrap();
        let mut its = state(child.id());
        while !has_ended(&mut its) {
            std::thread::yield_now();
        }
        assert!(child.try_wait().unwrap().is_none(), "its other thread goes on");
        assert!(!has_ended(&mut state(std::process::id())));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(has_ended(&mut its));
    }

    #[test]
    fn only_the_daemons_own_mount_counts_wherever_it_is_now() {
        let (at, elsewhere) = (Path::new("/srv/a b"), Path::new("/srv/renamed"));
        let place =
            |device, at: &Path, own: Option<&Path>| place_of(MOUNTS, device, at, |point| own == Some(point));
        assert_eq!(place("0:51", at, None).as_deref(), Some(at));
        assert_eq!(place("0:50", at, None), None, "another one covers it");
        assert_eq!(
            place("0:51", elsewhere, Some(at)).as_deref(),
            Some(at),
            "a directory above it was renamed"
        );
        assert_eq!(
            place("0:51", elsewhere, None),
            None,
            "a stranger's mount has the number of one that is gone"
        );
        assert_eq!(place("", at, Some(at)), None);
    }
}
