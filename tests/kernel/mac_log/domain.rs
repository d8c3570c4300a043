//! Test domain: a policy with one domain, programs in it, and the kernel's audit, which is restored at the end.

#![allow(clippy::print_stdout, reason = "the SKIP line is for whoever runs the tests")]

use bakeoff_sys::audit::{Audit, AuditSettings};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longer than anything here takes on a busy machine.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// File shared by readers of the audit.
const MEETING: &str = "/run/bakeoff-audit";

/// One test at a time has the audit.
static TURN: Mutex<()> = Mutex::new(());

/// A directory with a policy: `open` is the domain's, `secret` is not.
pub(crate) struct Domain {
    dir: TempDir,
    audit: Option<(AuditSettings, MutexGuard<'static, ()>)>,
}

const POLICY: &str = r#"[types]
system = ["/usr", "/lib", "/lib64", "/bin", "/etc", "/dev"]
open = ["{dir}/open"]
site = ["{dir}/site"]
secret = ["{dir}/secret"]

[domain.web]
allow = { system = "read list write exec ioctl", open = "any", site = "read list" }
"#;

/// A domain, if kernel and user allow it; otherwise prints SKIP.
pub(crate) fn may_run(test: &str) -> Option<Domain> {
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    // Another checkout's tests may have it now.
    eventually(|| !Path::new(MEETING).exists());
    let missing = match Audit::open().and_then(|audit| audit.settings()) {
        Err(error) => format!("needs root and a kernel with audit ({error})"),
        Ok(AuditSettings { enabled: 2, .. }) => "needs an audit that is not locked".to_owned(),
        Ok(before) => {
            let mut domain = Domain::new();
            domain.audit = Some((before, turn));
            return Some(domain);
        }
    };
    skip(test, &missing);
    None
}

/// Prints that a test was skipped, if that is allowed.
pub(crate) fn skip(test: &str, missing: &str) {
    assert!(std::env::var_os("BAKEOFF_ALLOW_SKIPS").is_some(), "{test}: {missing}");
    println!("SKIP {test}: {missing}");
}

/// Settings of the audit.
pub(crate) fn settings() -> AuditSettings {
    Audit::open().unwrap().settings().unwrap()
}

impl Drop for Domain {
    fn drop(&mut self) {
        let Some((before, _turn)) = self.audit.take() else { return };
        let set = |settings: AuditSettings| (settings.enabled, settings.backlog_limit);
        let left = || set(settings()) != set(before) || Path::new(MEETING).exists();
        eventually(|| !left());
        if left() {
            let audit = Audit::open().unwrap();
            let restored = audit.set_enabled(before.enabled);
            let _ = restored.and_then(|()| audit.set_backlog_limit(before.backlog_limit));
            assert!(
                std::thread::panicking(),
                "the audit was {before:?} and is {:?}, or {MEETING} is left",
                settings()
            );
        }
    }
}

/// Waits until it is so, with a time limit.
fn eventually(is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() && began.elapsed() < DEADLINE / 4 {
        std::thread::sleep(Duration::from_millis(10));
    }
}

impl Domain {
    pub(crate) fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("bakeoff-mac-").tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let domain = Self { dir, audit: None };
        for name in ["open", "site", "secret"] {
            fs::create_dir(domain.path(name)).unwrap();
        }
        fs::set_permissions(domain.path("open"), fs::Permissions::from_mode(0o1777)).unwrap();
        for name in ["key", "od\"d na\nme"] {
            fs::write(domain.path("secret").to_owned() + "/" + name, "secret\n").unwrap();
        }
        let policy = POLICY.replace("{dir}", &domain.dir.path().display().to_string());
        fs::write(domain.path("policy.toml"), policy).unwrap();
        domain
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.dir.path().join(name).display().to_string()
    }

    /// Runs a script in the domain, to its end.
    pub(crate) fn run(&self, script: &str) -> Output {
        let _ = fs::remove_file(self.path("log"));
        let mut launcher = self.launcher(&self.path("status"), script);
        launcher.output().unwrap()
    }

    /// Runs a script with nothing refused.
    pub(crate) fn permissive(&self, script: &str) -> Child {
        let _ = fs::remove_file(self.path("log"));
        let launcher = self.launcher(&self.path("status"), script);
        // In front of the program's words.
        let words: Vec<_> = launcher.get_args().map(ToOwned::to_owned).collect();
        let mut command = Command::new(launcher.get_program());
        command.args(&words[..3]).args(["--mode", "permissive"]).args(&words[3..]);
        command.current_dir(self.dir.path()).spawn().unwrap()
    }

    /// The same as a user who may not read the audit.
    pub(crate) fn as_nobody(&self, status: &str, script: &str) -> Output {
        self.launcher(status, script).uid(65534).gid(65534).output().unwrap()
    }

    /// A command of the layer about a program, as nobody, in this directory.
    pub(crate) fn nobodys(&self, words: &[&str], program: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bakeoff-layers"));
        command.args(words).args(program).current_dir(self.dir.path()).uid(65534).gid(65534);
        command
    }

    /// Output of checking the policy.
    pub(crate) fn check(&self) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bakeoff-layers"));
        command.args(["mac", "check", &self.path("policy.toml")]).output().unwrap()
    }

    fn launcher(&self, status: &str, script: &str) -> Command {
        let mut command = self.layer("run");
        command.args(["--status", status, "--log", &self.path("log"), "--", "/bin/sh", "-c", script]);
        command
    }

    fn layer(&self, word: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bakeoff-layers"));
        command.args(["mac", word, "policy.toml", "--domain", "web"]).current_dir(self.dir.path());
        command
    }

    /// A reader of all domains, which has begun to read.
    pub(crate) fn daemon(&self) -> Daemon {
        let mut command = self.layer("log");
        command.args(["--status", "status", "--out", "log"]).stdout(Stdio::piped());
        let mut daemon = Daemon(command.spawn().unwrap());
        let mut line = String::new();
        BufReader::new(daemon.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "reading the kernel's audit\n");
        daemon
    }

    pub(crate) fn status(&self) -> String {
        fs::read_to_string(self.path("status")).unwrap_or_default()
    }

    /// The status once nothing of the domain is left.
    pub(crate) fn ended(&self) -> String {
        let status = until(self, |status| !status.starts_with("state armed") && !status.is_empty());
        assert!(status.starts_with("state ended\n"), "{status}");
        status
    }

    /// The lines of the log.
    pub(crate) fn told(&self) -> Vec<Value> {
        let text = fs::read_to_string(Path::new(&self.path("log"))).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// A reader that is not left behind.
pub(crate) struct Daemon(pub(crate) Child);

impl Daemon {
    /// Ends it as an administrator does.
    pub(crate) fn end(&mut self) {
        let pid = nix::unistd::Pid::from_raw(self.0.id() as i32);
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
        assert!(self.0.wait().unwrap().success());
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The status once it satisfies a condition.
pub(crate) fn until(domain: &Domain, is_so: impl Fn(&str) -> bool) -> String {
    let began = Instant::now();
    loop {
        let status = domain.status();
        if is_so(&status) {
            return status;
        }
        assert!(began.elapsed() < DEADLINE, "{status}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Value of a counter.
pub(crate) fn count(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name} in {status}")).parse().unwrap()
}
