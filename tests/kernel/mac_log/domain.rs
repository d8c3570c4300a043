//! A policy with a domain, programs in it, and an audit that is as it was when the test ends.

#![allow(clippy::print_stdout, reason = "the SKIP line is for whoever runs the tests")]

use bakeoff_sys::audit::{Audit, Settings};
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
const PATIENCE: Duration = Duration::from_secs(60);

/// One test at a time has the audit.
static TURN: Mutex<()> = Mutex::new(());

/// A directory with a policy: `open` is the domain's, `secret` is not.
pub(crate) struct Domain {
    dir: TempDir,
    audit: Option<(Settings, MutexGuard<'static, ()>)>,
}

const POLICY: &str = r#"[types]
system = ["/usr", "/lib", "/lib64", "/bin", "/etc", "/dev"]
open = ["{dir}/open"]
secret = ["{dir}/secret"]

[domain.web]
allow = { system = "read list write exec ioctl", open = "any" }
"#;

/// A domain, where the kernel and the user allow it; else the test says SKIP.
pub(crate) fn may_run(test: &str) -> Option<Domain> {
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let missing = match Audit::open().and_then(|audit| audit.settings()) {
        Err(error) => format!("needs root and a kernel with audit ({error})"),
        Ok(Settings { enabled: 2, .. }) => "needs an audit that is not locked".to_owned(),
        Ok(before) => {
            let mut domain = Domain::new();
            domain.audit = Some((before, turn));
            return Some(domain);
        }
    };
    assert!(std::env::var_os("BAKEOFF_ALLOW_SKIPS").is_some(), "{test}: {missing}");
    println!("SKIP {test}: {missing}");
    None
}

/// What the audit is set to.
pub(crate) fn settings() -> Settings {
    Audit::open().unwrap().settings().unwrap()
}

impl Drop for Domain {
    fn drop(&mut self) {
        let Some((before, _turn)) = self.audit.take() else { return };
        let now = settings();
        assert!(
            std::thread::panicking() || !Path::new("/run/bakeoff-audit").exists(),
            "a file is left in /run"
        );
        let set = |settings: Settings| (settings.enabled, settings.backlog_limit);
        if set(now) != set(before) {
            let audit = Audit::open().unwrap();
            let _ = audit
                .set_enabled(before.enabled)
                .and_then(|()| audit.set_backlog_limit(before.backlog_limit));
            assert!(std::thread::panicking(), "the audit was {before:?} and is {now:?}");
        }
    }
}

impl Domain {
    pub(crate) fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("bakeoff-mac-").tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let domain = Self { dir, audit: None };
        for name in ["open", "secret"] {
            fs::create_dir(domain.path(name)).unwrap();
        }
        fs::set_permissions(domain.path("open"), fs::Permissions::from_mode(0o777)).unwrap();
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

    /// Runs a script in the domain; it sees to its own end.
    pub(crate) fn run(&self, script: &str) -> Output {
        let _ = fs::remove_file(self.path("log"));
        let mut launcher = self.launcher(&self.path("status"), script);
        launcher.output().unwrap()
    }

    /// The same as somebody who may not read the audit.
    pub(crate) fn as_nobody(&self, status: &str, script: &str) -> Output {
        self.launcher(status, script).uid(65534).gid(65534).output().unwrap()
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

    /// A reader of all domains, which reads.
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

/// The status as soon as it is as it must be.
pub(crate) fn until(domain: &Domain, is_so: impl Fn(&str) -> bool) -> String {
    let began = Instant::now();
    loop {
        let status = domain.status();
        if is_so(&status) {
            return status;
        }
        assert!(began.elapsed() < PATIENCE, "{status}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The number of a counter.
pub(crate) fn count(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name} in {status}")).parse().unwrap()
}
