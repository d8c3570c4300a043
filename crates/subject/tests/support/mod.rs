//! Shared support of the tests of subjects: a site, a context, a client, and the processes still there.

// Each test file is a crate of its own and uses its part; clippy does not see that this is one.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::print_stdout)]

use bakeoff_subject::{Certificate, Context, Running, Spec, SubjectError};
use bakeoff_sys::process;
use bakeoff_units::Nanos;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Whether the program is there. Without it the test fails, unless skipping is allowed; then it says so.
pub fn has(program: &str, test: &str) -> bool {
    let found =
        ["/usr/bin", "/usr/sbin", "/bin", "/sbin"].iter().any(|dir| Path::new(dir).join(program).exists());
    if !found {
        let reason = format!("`{program}` is not installed (apt-get install nginx-light apache2 curl)");
        assert!(std::env::var_os("BAKEOFF_ALLOW_SKIPS").is_some(), "{test}: {reason}");
        println!("SKIP {test}: {reason}");
    }
    found
}

/// The executable of `examples/play.rs`, which cargo builds with the tests.
pub fn play() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let play = own.parent().unwrap().parent().unwrap().join("examples/play");
    assert!(
        play.exists(),
        "{} is missing: run the tests of the whole package, or build --examples",
        play.display()
    );
    play
}

/// Guards against what hangs; far longer than anything here takes on a slow machine.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Tries with limits that grow, so that what must happen before one ends does so on a slow machine too.
pub fn with_limits<T>(mut tried: impl FnMut(Nanos) -> Option<T>) -> T {
    let limits = [300, 3_000, 30_000].map(Nanos::from_millis);
    limits.into_iter().find_map(&mut tried).expect("not within the longest limit either")
}

pub static NEVER: AtomicBool = AtomicBool::new(false);

pub struct Yard {
    pub dir: TempDir,
    pub certificate: Certificate,
}

impl Yard {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let site = dir.path().join("site");
        std::fs::create_dir_all(site.join("blog")).unwrap();
        std::fs::create_dir_all(dir.path().join("base")).unwrap();
        std::fs::write(site.join("f"), "hello").unwrap();
        std::fs::write(site.join("a b.html"), "space").unwrap();
        std::fs::write(site.join("blog/index.html"), "the blog").unwrap();
        let certificate = Certificate::create(dir.path()).unwrap();
        Self { dir, certificate }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        std::fs::write(self.path(name), text).unwrap();
        self.path(name)
    }

    pub fn context(&self, arm: &str) -> Context<'static> {
        let mut context = Context::new(arm, &self.path("base"), &self.path("site"), &NEVER);
        context.executable = Some(play());
        context.certificate = Some(self.certificate.clone());
        context.start_timeout = Nanos::from_secs(120);
        context.grace = Nanos::from_secs(30);
        context
    }

    pub fn start(&self, spec: &Spec) -> Result<Running, SubjectError> {
        bakeoff_subject::start(spec, &self.context("it"))
    }
}

pub fn command(argv: &[&str]) -> Spec {
    let argv = argv.iter().map(|&word| word.to_owned()).collect();
    Spec::Command { argv, ready: None, env: Vec::new(), tls: false }
}

/// Status and body of a GET.
pub fn get(running: &Running, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(running.address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    let (head, body) = reply.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

/// The same over TLS by curl, which must accept certificate and name.
pub fn get_tls(running: &Running, authority: &Path, path: &str) -> (u16, String) {
    let url = format!("https://localhost:{}{path}", running.address.port());
    let said = Command::new("curl")
        .args(["-sS", "-4", "-w", "\n%{http_code}", "--cacert"])
        .arg(authority)
        .arg(url)
        .output();
    let said = said.unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let text = String::from_utf8(said.stdout).unwrap();
    let (body, status) = text.rsplit_once('\n').unwrap();
    (status.parse().unwrap(), body.to_owned())
}

/// A process that cannot be mistaken for a later one with its number.
pub type Identity = (u32, u64);

pub fn identity(pid: u32) -> Identity {
    (pid, process::stat(pid).map_or(0, |stat| stat.start_ticks))
}

/// The processes still there; an ended one whose parent has not reaped it is not.
pub fn living(all: &[Identity]) -> Vec<Identity> {
    let lives = |&&(pid, start): &&Identity| {
        process::stat(pid).is_ok_and(|stat| stat.start_ticks == start && stat.state != 'Z')
    };
    all.iter().filter(lives).copied().collect()
}

/// All are gone within the time, or the test fails.
pub fn all_gone(all: &[Identity], within: Duration) {
    let begin = Instant::now();
    while !living(all).is_empty() {
        assert!(begin.elapsed() < within, "still there: {:?}", living(all));
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Cgroup directories made by this supervisor.
pub fn cgroups_of(supervisor: u32) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut rest = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(dir) = rest.pop() {
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let name = entry.file_name().to_string_lossy().into_owned();
                if name.starts_with("bakeoff-") && name.split('-').nth(2) == Some(&supervisor.to_string()) {
                    found.push(entry.path());
                }
                rest.push(entry.path());
            }
        }
    }
    found
}

/// As root all processes of a server belong to another user.
pub fn runs_unprivileged(pids: &[u32]) {
    if process::is_root() {
        for pid in pids {
            let owner = std::fs::metadata(format!("/proc/{pid}")).unwrap().uid();
            assert_ne!(owner, 0, "process {pid}");
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
            assert!(
                status.lines().any(|line| line.trim_end() == "Groups:"),
                "supplementary groups: {status}"
            );
        }
    }
}
