//! Test site: a signed tree, the enforcing processes above it, and their end whatever a test does.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longer than anything here takes on a busy machine.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// Returns false and prints the reason if kernel or user lack something.
pub(crate) fn may_run(test: &str) -> bool {
    let missing = if !bakeoff_sys::process::is_root() {
        "needs root"
    } else if bakeoff_sys::fanotify::Group::new().is_err() {
        "needs a kernel with permission events (CONFIG_FANOTIFY_ACCESS_PERMISSIONS)"
    } else if !can_freeze() {
        "needs a temporary directory on a file system with the immutable attribute"
    } else {
        return true;
    };
    assert!(std::env::var_os("BAKEOFF_ALLOW_SKIPS").is_some(), "{test}: {missing}");
    println!("SKIP {test}: {missing}");
    false
}

fn can_freeze() -> bool {
    let file = tempfile::tempfile().unwrap();
    let frozen = bakeoff_sys::inode::set_immutable(&file, true);
    let _ = bakeoff_sys::inode::set_immutable(&file, false);
    frozen.is_ok()
}

pub(crate) fn layers(arguments: &[&str]) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_bakeoff-layers")).args(arguments).output().unwrap()
}

/// Two good files and one below, a key pair, and nothing enforced yet.
pub(crate) struct Site {
    pub(crate) dir: TempDir,
    /// Path of the tree below `dir`.
    root: &'static str,
}

impl Site {
    pub(crate) fn new() -> Self {
        Self::at("site")
    }

    /// A site with its tree at this path below its directory.
    pub(crate) fn at(root: &'static str) -> Self {
        let site = Self { dir: tempfile::Builder::new().prefix("bakeoff-int-").tempdir().unwrap(), root };
        fs::create_dir_all(site.file("sub")).unwrap();
        for name in ["a", "b", "sub/c"] {
            site.write(name, &format!("good {name}"));
        }
        let (key, public) = (site.text("key"), site.text("pub"));
        assert!(layers(&["integrity", "keygen", "--key", &key, "--pub", &public]).status.success());
        site
    }

    /// A sealed site in which these files were changed afterwards.
    pub(crate) fn tampered(names: &[&str]) -> Self {
        let site = Self::new();
        site.seal(1, &[]);
        for name in names {
            site.write(name, &format!("evil {name}"));
        }
        site
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// A file of the tree.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path(self.root).join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.file(name), text).unwrap();
        fs::set_permissions(self.file(name), fs::Permissions::from_mode(0o644)).unwrap();
    }

    /// Standard error of the enforcing process.
    pub(crate) fn said(&self) -> String {
        fs::read_to_string(self.path("said")).unwrap_or_default()
    }

    /// Replaces a file as a deployment must: with a complete one, by renaming.
    pub(crate) fn replace(&self, name: &str, text: &str) {
        let beside = self.path("staged");
        fs::write(&beside, text).unwrap();
        fs::set_permissions(&beside, fs::Permissions::from_mode(0o644)).unwrap();
        fs::rename(&beside, self.file(name)).unwrap();
    }

    pub(crate) fn seal(&self, number: u64, further: &[&str]) {
        let (root, key, out) = (self.text(self.root), self.text("key"), self.text("manifest"));
        let number = number.to_string();
        let mut arguments =
            vec!["integrity", "seal", &root, "--key", &key, "--out", &out, "--number", &number];
        arguments.extend(further);
        let done = layers(&arguments);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    /// Starts enforcing; returns when it is armed. Other messages go to the file `said`.
    pub(crate) fn enforce(&self, further: &[&str]) -> Guard {
        self.enforce_at(self.root, further)
    }

    /// The same, by another path of its tree.
    pub(crate) fn enforce_at(&self, root: &str, further: &[&str]) -> Guard {
        let mut command = self.enforcing(root, further);
        command.stderr(fs::File::create(self.path("said")).unwrap());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("armed "), "{line:?} {}", self.said());
        Guard::new(child, self.path("status"), self.path(self.root), line)
    }

    /// Message of an enforcing process that does not start; nothing is left frozen then.
    pub(crate) fn refusal(&self, further: &[&str]) -> String {
        let mut command = self.enforcing(self.root, further);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut armed = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut armed).unwrap();
        if !armed.is_empty() {
            drop(Guard::new(child, self.path("status"), self.path(self.root), armed.clone()));
            panic!("it has started: {armed}");
        }
        let done = child.wait_with_output().unwrap();
        let said = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(3), "{said}");
        assert!(
            !is_frozen(&self.file("")) && !is_frozen(&self.file("a")),
            "something was left frozen: {said}"
        );
        said
    }

    fn enforcing(&self, root: &str, further: &[&str]) -> Command {
        // As people type it: below the working directory.
        let mut command = Command::new(env!("CARGO_BIN_EXE_bakeoff-layers"));
        command.args(["integrity", "enforce", root, "--manifest", "manifest", "--pub", "pub"]);
        command.args(["--status", "status"]).args(further).current_dir(self.dir.path());
        command
    }
}

pub(crate) fn is_frozen(path: &Path) -> bool {
    use std::os::unix::fs::OpenOptionsExt;
    let file = fs::OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path).unwrap();
    bakeoff_sys::inode::is_immutable(file).unwrap()
}

/// A tree that is thawed when a test ends.
pub(crate) struct Thawed(pub(crate) PathBuf);

impl Drop for Thawed {
    fn drop(&mut self) {
        let _ = layers(&["integrity", "thaw", self.0.to_str().unwrap()]);
    }
}

/// Mounts that are removed when a test ends.
pub(crate) struct Mounted(PathBuf);

impl Mounted {
    pub(crate) fn bind(what: &Path, at: &Path) -> Self {
        Self::new(&["--bind", what.to_str().unwrap()], at)
    }

    /// The mount that is there.
    pub(crate) fn at(point: &Path) -> Self {
        Self(point.to_owned())
    }

    /// `mount` with these arguments.
    pub(crate) fn new(arguments: &[&str], at: &Path) -> Self {
        let done = Command::new("mount").args(arguments).arg(at).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        Self(at.to_owned())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// The enforcing processes. They end when it is dropped, and earlier if a test waits for ever.
pub(crate) struct Guard {
    child: Child,
    status: PathBuf,
    root: PathBuf,
    pub(crate) armed: String,
    done: Arc<AtomicBool>,
}

impl Guard {
    fn new(child: Child, status: PathBuf, root: PathBuf, armed: String) -> Self {
        let done = Arc::new(AtomicBool::new(false));
        let guard = Self { child, status, root, armed, done: done.clone() };
        let pids = guard.pids();
        std::thread::spawn(move || {
            let began = Instant::now();
            while began.elapsed() < DEADLINE {
                if done.load(Ordering::Relaxed) {
                    return;
                }
                std::thread::sleep(Duration::from_millis(200));
            }
            // Waiting opens go on when nobody holds the group any more.
            pids.iter().for_each(|pid| kill(*pid, "-KILL"));
        });
        guard
    }

    /// Supervisor and worker.
    pub(crate) fn pids(&self) -> [u32; 2] {
        [self.child.id(), self.number("worker-pid") as u32]
    }

    /// A number of the present status.
    pub(crate) fn number(&self, name: &str) -> u64 {
        let text = fs::read_to_string(&self.status).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
    }

    pub(crate) fn degree(&self) -> String {
        let text = fs::read_to_string(&self.status).unwrap();
        text.lines().find_map(|line| line.strip_prefix("degree ")).unwrap().to_owned()
    }

    pub(crate) fn says(&self, line: &str) -> bool {
        fs::read_to_string(&self.status).unwrap().lines().any(|known| known == line)
    }

    /// Waits until a number of the status is at least this.
    pub(crate) fn wait_for(&self, name: &str, at_least: u64) {
        wait_until(name, || self.number(name) >= at_least);
    }

    pub(crate) fn signal(&self, signal: &str) {
        kill(self.child.id(), signal);
    }

    /// Ends it as a user does.
    pub(crate) fn end(mut self) -> Option<i32> {
        self.stop()
    }

    /// The same, without removing what it left behind.
    pub(crate) fn stop(&mut self) -> Option<i32> {
        self.signal("-TERM");
        let status = self.child.wait().unwrap();
        self.done.store(true, Ordering::Relaxed);
        status.code()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            kill(self.child.id(), "-TERM");
            let began = Instant::now();
            while began.elapsed() < DEADLINE && self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        self.pids().iter().for_each(|pid| kill(*pid, "-KILL"));
        let _ = self.child.wait();
        self.done.store(true, Ordering::Relaxed);
        drop(Thawed(self.root.clone()));
    }
}

pub(crate) fn kill(pid: u32, signal: &str) {
    let _ = Command::new("kill").args([signal, &pid.to_string()]).stderr(Stdio::null()).status();
}

/// Waits for something that must come.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < DEADLINE, "{what}: not in {DEADLINE:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Result of opening a file: its content, or the error number.
pub(crate) fn open(path: &Path) -> Result<String, i32> {
    fs::read_to_string(path).map_err(|error| error.raw_os_error().unwrap())
}

/// "Operation not permitted".
pub(crate) const EPERM: i32 = 1;

/// An attacker in Python, which runs beside the test in steps, each ended by a printed line, and ends with the test.
pub(crate) struct Attacker {
    child: Child,
    says: BufReader<ChildStdout>,
    /// Path of its mount.
    point: Option<PathBuf>,
}

impl Attacker {
    /// Starts one; returns when it has printed this line.
    pub(crate) fn start(code: &str, arguments: &[&str], ready: &str) -> Self {
        let mut command = Command::new("python3");
        command.args(["-c", code]).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let says = BufReader::new(child.stdout.take().unwrap());
        let mut attacker = Self { child, says, point: None };
        attacker.hear(ready);
        attacker
    }

    /// One with a FUSE file system of its own, mounted beside the tree: see `own_fuse.py`.
    pub(crate) fn with_fuse(site: &Site, how: &str, target: &Path) -> Self {
        let point = site.path("own");
        fs::create_dir(&point).unwrap();
        let arguments = [how, point.to_str().unwrap(), target.to_str().unwrap()];
        let mut attacker = Self::start(include_str!("own_fuse.py"), &arguments, "ready");
        attacker.point = Some(point);
        attacker
    }

    fn hear(&mut self, line: &str) {
        let mut heard = String::new();
        self.says.read_line(&mut heard).unwrap();
        assert_eq!(heard.trim_end(), line);
    }

    /// Lets it go on until it prints this line.
    pub(crate) fn go_on(&mut self, until: &str) {
        self.child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        self.hear(until);
    }
}

impl Drop for Attacker {
    fn drop(&mut self) {
        if let Some(point) = &self.point {
            // First, and by force: a thread that waits for an answer of its own process cannot be killed.
            for how in ["-f", "-l"] {
                let _ = Command::new("umount").arg(how).arg(point).stderr(Stdio::null()).status();
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A process to protect, ended with the test.
pub(crate) struct Server(pub(crate) Child);

impl Server {
    pub(crate) fn start() -> Self {
        Self(Command::new("sleep").arg("300").spawn().unwrap())
    }

    pub(crate) fn is_alive(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs an attacker in Python, as this crate forbids itself some system calls. Returns its output.
pub(crate) fn python(code: &str, arguments: &[&str]) -> String {
    let done = Command::new("python3").args(["-c", code]).args(arguments).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}
