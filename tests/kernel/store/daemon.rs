//! Mounting daemons as tests start and watch them: none outlives its test. Shared with the tests of remotefs.

#![allow(clippy::print_stdout, reason = "the SKIP line is for whoever runs the tests")]

use nix::mount::{MntFlags, umount2};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Uid};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// Time limit before the test fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Whether the kernel has what the test needs; otherwise prints SKIP.
pub(crate) fn can_mount(test: &str) -> bool {
    let missing = if !Uid::effective().is_root() {
        "mounting needs root"
    } else if !Path::new("/dev/fuse").exists() {
        "/dev/fuse is missing"
    } else {
        return true;
    };
    skips(test, missing);
    false
}

/// Prints that a test is skipped here, and why.
pub(crate) fn skips(test: &str, missing: &str) {
    assert!(std::env::var_os("BAKEOFF_ALLOW_SKIPS").is_some(), "{test}: {missing}");
    println!("SKIP {test}: {missing}");
}

/// A process that has printed its ready line, and the line, which begins with this word.
pub(crate) fn ready(command: &mut Command, word: &str) -> (Child, String) {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (mut said, (told, hears)) = (BufReader::new(child.stdout.take().unwrap()), channel());
    std::thread::spawn(move || {
        let mut line = String::new();
        let _ = said.read_line(&mut line).map(|_| told.send(line));
    });
    // One that hangs never prints.
    let line = hears.recv_timeout(PATIENCE).unwrap_or_default();
    if !line.starts_with(word) {
        let _ = child.kill();
        let mut text = String::new();
        let _ = child.stderr.take().unwrap().read_to_string(&mut text);
        panic!("`{line}` is not `{word}`: {text}");
    }
    (child, line)
}

/// A running mount.
pub(crate) struct Mount {
    pub(crate) daemon: Child,
    pub(crate) at: PathBuf,
    pub(crate) status: PathBuf,
}

impl Mount {
    pub(crate) fn of(mut command: Command, at: PathBuf, status: PathBuf) -> Self {
        let (daemon, _) = ready(&mut command, "mounted ");
        Self { daemon, at, status }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.daemon.id() as i32), signal).unwrap();
    }

    /// Waits for the daemon's end; returns its exit code.
    pub(crate) fn ended(&mut self) -> Option<i32> {
        until("the daemon ends", || self.daemon.try_wait().unwrap().is_some());
        self.daemon.wait().unwrap().code()
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
        let _ = umount2(&self.at, MntFlags::MNT_DETACH);
    }
}

/// A counter of a status.
pub(crate) fn count(status: &str, name: &str) -> u64 {
    let value = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.unwrap_or_else(|| panic!("{name} is not in {status}")).parse().unwrap()
}

pub(crate) fn is_mounted(at: &Path) -> bool {
    let at = at.canonicalize().unwrap_or_else(|_| at.to_owned());
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    mounts.lines().any(|line| line.split(' ').nth(4) == at.to_str())
}

/// Waits for something to become true.
pub(crate) fn until(what: &str, mut so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !so() {
        assert!(Instant::now() < deadline, "{what}: not within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
