//! Start of one child process, with all its settings made before its program runs.
//!
//! The order inside the child matters: the cgroup is joined and the cores are set while the child
//! is still privileged; the death signal comes after the change of user, which clears it.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A user and its first group. The child gets no other group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
}

/// Program and settings of a child. Nothing else reaches the child: no environment, no descriptor, no ignored or
/// blocked signal of the parent.
#[derive(Debug)]
pub struct Launch {
    /// Program (looked up on the `PATH` of `env` unless it holds a `/`) and arguments; not empty.
    pub argv: Vec<OsString>,
    /// The whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// Working directory.
    pub cwd: PathBuf,
    /// Its standard input; `None`: it is empty.
    pub stdin: Option<File>,
    /// Its standard output.
    pub stdout: File,
    /// Its standard error.
    pub stderr: File,
    /// Cores it may run on, inherited by its children; empty: those of the parent.
    pub cpus: Vec<usize>,
    /// The user to become; none: the parent's.
    pub user: Option<User>,
    /// `cgroup.procs` files open for writing; the child joins the first that takes it. That none
    /// does is not an error here: the caller reads the memberships.
    pub cgroups: Vec<File>,
    /// The same, but the child joins all of them, or is not started.
    pub demanded_cgroups: Vec<File>,
}

/// The numbers of a started child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spawned {
    /// Its process id. The caller must reap it (`reap`).
    pub pid: u32,
}

/// Starts it. The child is killed when the *thread* that called this ends, so call it from one
/// that lives as long as the child should. It leads its own process group: a server that signals
/// its group cannot hit its parent.
pub fn spawn(launch: Launch) -> io::Result<Spawned> {
    let Some((program, arguments)) = launch.argv.split_first() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "an empty command"));
    };
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(launch.env).current_dir(&launch.cwd);
    command.stdin(launch.stdin.map_or_else(Stdio::null, Stdio::from));
    command.stdout(launch.stdout).stderr(launch.stderr).process_group(0);
    let inside = Inside {
        parent: std::process::id(),
        cpus: crate::affinity::cpu_set(&launch.cpus)?,
        user: launch.user,
        joins: descriptors(&launch.cgroups),
        demanded: descriptors(&launch.demanded_cgroups),
    };
    // SAFETY: the closure runs in the child between fork and exec and calls only
    // async-signal-safe functions on memory made before the fork; it allocates nothing and takes
    // no lock. The descriptors in `joins` and `demanded` stay open: the files outlive the spawn
    // below.
    unsafe { command.pre_exec(move || inside.prepare()) };
    let child = command.spawn()?;
    drop((launch.cgroups, launch.demanded_cgroups));
    Ok(Spawned { pid: child.id() })
}

fn descriptors(files: &[File]) -> Vec<RawFd> {
    files.iter().map(AsRawFd::as_raw_fd).collect()
}

/// The settings that the child makes for itself.
struct Inside {
    parent: u32,
    cpus: Option<nix::sched::CpuSet>,
    user: Option<User>,
    joins: Vec<RawFd>,
    demanded: Vec<RawFd>,
}

impl Inside {
    fn prepare(&self) -> io::Result<()> {
        for &fd in &self.demanded {
            join(fd)?;
        }
        let _ = self.joins.iter().any(|&fd| join(fd).is_ok()); // that none does is the caller's to see
        if let Some(cpus) = &self.cpus {
            nix::sched::sched_setaffinity(nix::unistd::Pid::from_raw(0), cpus)?;
        }
        if let Some(user) = self.user {
            become_user(user)?;
        }
        reset_signals();
        close_others_on_exec();
        die_with(self.parent)
    }
}

fn join(cgroup: RawFd) -> io::Result<()> {
    // SAFETY: one byte from a static string is written to a descriptor that is open (the parent
    // keeps it so until after the spawn).
    let written = unsafe { libc::write(cgroup, c"0".as_ptr().cast(), 1) };
    if written == 1 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn become_user(user: User) -> io::Result<()> {
    // SAFETY: the three calls take integers, and a count of zero with a null list is how
    // setgroups drops all supplementary groups. This child has one thread, so the raw ids of the
    // thread are those of the process.
    let done = unsafe {
        libc::setgroups(0, std::ptr::null()) == 0
            && libc::setresgid(user.gid, user.gid, user.gid) == 0
            && libc::setresuid(user.uid, user.uid, user.uid) == 0
    };
    if done { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Every signal back to its default and none blocked: the parent ignores some and waits for others
/// by descriptor, and `exec` would hand both down.
fn reset_signals() {
    for number in 1..=64 {
        // SAFETY: SIG_DFL is a valid disposition; numbers that cannot be changed are refused.
        unsafe { libc::signal(number, libc::SIG_DFL) };
    }
    // SAFETY: `none` is written by sigemptyset before sigprocmask reads it.
    unsafe {
        let mut none = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
    }
}

/// Descriptors that were opened without close-on-exec and handed down to bakeoff must not be held open by a server.
/// Kernels before 5.11 refuse; then they stay.
fn close_others_on_exec() {
    // SAFETY: close_range with CLOSE_RANGE_CLOEXEC only sets a flag on open descriptors; nothing
    // is closed before exec.
    unsafe { libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
}

/// SIGKILL for this process when its parent ends; an error when the parent has ended already.
fn die_with(parent: u32) -> io::Result<()> {
    // SAFETY: PR_SET_PDEATHSIG takes integers and changes one field of this process.
    if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    if nix::unistd::getppid().as_raw() as u32 == parent {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(libc::ESRCH))
    }
}
