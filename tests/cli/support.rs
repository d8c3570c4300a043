//! Test yard: a directory, the binary run in it under a time limit, and a check for processes left behind.

// The experiments of tests/experiment use their part of it.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::print_stdout)]

use serde_json::Value;
use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Limit for a command that hangs. No test may judge the machine, so it is far longer than any takes on a slow one.
const TIME_LIMIT: Duration = Duration::from_secs(900);
/// The same for a wait of a test.
pub const PATIENCE: Duration = Duration::from_secs(300);
/// Time that processes may outlive bakeoff: none after an orderly end, this after kill -9.
const KILLED: Duration = Duration::from_secs(60);

/// Whether the program is there. Without it the test fails, unless skipping is allowed; then it says so.
pub fn has(program: &str, test: &str) -> bool {
    let found =
        ["/usr/bin", "/usr/sbin", "/bin", "/sbin"].iter().any(|dir| Path::new(dir).join(program).exists());
    if !found {
        skipped(test, &format!("`{program}` is not installed (tests/prepare installs it)"));
    }
    found
}

/// Prints that the test is skipped, if skipping is allowed; else the test fails.
pub fn skipped(test: &str, reason: &str) {
    assert!(std::env::var_os("BAKEOFF_ALLOW_SKIPS").is_some(), "{test}: {reason}");
    println!("SKIP {test}: {reason}");
}

/// Repeats an attempt that a busy machine may fail at the moment, such as shaping a link, for a limited time.
#[track_caller]
pub fn sooner_or_later<T>(mut attempt: impl FnMut() -> Result<T, String>) -> T {
    let began = Instant::now();
    loop {
        match attempt() {
            Ok(done) => return done,
            Err(why) => assert!(began.elapsed() < PATIENCE, "after {PATIENCE:?}: {why}"),
        }
    }
}

/// Rewrites the directory of a run as one of an ideal machine, so that its report follows from arithmetic: a request of
/// each arm takes `cpu_ns` of CPU, with a spread of a few thousandths from round to round, and the generator is nowhere
/// the limit.
pub fn as_on_a_quiet_machine(yard: &Yard, dir: &str, cpu_ns: impl Fn(&str) -> f64) {
    let file = format!("{dir}/slices.jsonl");
    let slices = yard.read(&file);
    let quiet = slices.lines().enumerate().map(|(number, line)| {
        let mut slice: Value = serde_json::from_str(line).unwrap();
        let each = cpu_ns(slice["arm"].as_str().unwrap()) * (1.0 + (number * 7 % 5) as f64 / 1000.0);
        let counters = &mut slice["counters"];
        counters["subject_cpu_ns"] = ((each * counters["requests"].as_f64().unwrap()) as u64).into();
        counters["generator_busy"] = 0.3.into();
        format!("{slice}\n")
    });
    yard.write(&file, quiet.collect::<String>());
}

/// The middle one, of an even number the upper.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// Whether the test runs as root, which it needs; the same rule.
pub fn is_root(test: &str) -> bool {
    let root = bakeoff_sys::process::is_root();
    if !root {
        skipped(test, "needs root");
    }
    root
}

/// A plan of three short rounds, in turn unless it says otherwise, with time for them on a busy machine; `experiment` adds
/// keys to its first section.
pub fn plan(experiment: &str, workload: &str, arms: &str) -> String {
    let design = if experiment.contains("design") { "" } else { "design = \"pairs\"\n" };
    let rounds = if experiment.contains("max_rounds") { "" } else { "max_rounds = 3\n" };
    let without = ["\"command\"", "\"calls\""].iter().any(|kind| workload.contains(kind));
    let slice = if without || experiment.contains("slice_requests") { "" } else { "slice_requests = 200\n" };
    format!(
        "[experiment]\nseed = 7\nbaseline = \"plain\"\nbudget = \"150s\"\n{rounds}{slice}{design}{experiment}\n\
         [workload]\n{workload}\n\n{arms}\n"
    )
}

/// One small object, four robots.
pub const GET: &str = "kind = \"get\"\nurls = [\"/bytes/500\"]\nrobots = 4";
/// The origin, http and https.
pub const ORIGINS: &str = "[arm.plain]\nserver = \"origin\"\n\n[arm.tls]\nserver = \"origin\"\ntls = true";
/// Slices of about 200 ms on any machine: a run that can be caught in its middle.
pub const SLOW_GET: &str = "kind = \"get\"\nurls = [\"/bytes/500\"]\nrobots = 4\nthink = \"20ms\"";
/// Settings that go with [`SLOW_GET`].
pub const SLOW: &str = "max_rounds = 6\nslice_requests = 40";
/// Rounds of a run that is broken off, and never comes to its end before.
pub const ENDLESS: &str = "max_rounds = 100000";

pub struct Yard {
    dir: TempDir,
}

impl Yard {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(dir.path().join("tmp")).unwrap();
        Self { dir }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path
    }

    pub fn read(&self, name: &str) -> String {
        let path = self.path(name);
        fs::read_to_string(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
    }

    pub fn results(&self, dir: &str) -> Value {
        serde_json::from_str(&self.read(&format!("{dir}/results.json"))).unwrap()
    }

    /// The binary in this yard, with the yard's temporary directory.
    pub fn bakeoff(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bakeoff"));
        command.args(args);
        self.at_home(command)
    }

    /// The binary started by a shell line, in which `"$@"` stands for it and its arguments.
    pub fn shell(&self, line: &str, args: &[&str]) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", line, "sh", env!("CARGO_BIN_EXE_bakeoff")]).args(args);
        self.at_home(command)
    }

    fn at_home(&self, mut command: Command) -> Command {
        command.current_dir(self.dir.path()).env("TMPDIR", self.path("tmp")).env_remove("COLUMNS");
        command.stdin(Stdio::null());
        command
    }

    /// Runs to the end; no process and no temporary file may be left.
    pub fn run(&self, args: &[&str]) -> Ended {
        self.ended(self.start(self.bakeoff(args)))
    }

    /// Starts with both streams going to files.
    pub fn start(&self, mut command: Command) -> Started {
        let (out, err) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
        let (to_out, to_err) = (out.try_clone().unwrap(), err.try_clone().unwrap());
        let child = command.stdout(to_out).stderr(to_err).spawn().unwrap();
        Started { child, out, err }
    }

    pub fn ended(&self, started: Started) -> Ended {
        let ended = started.wait();
        self.nobody_left(Duration::ZERO);
        let left: Vec<_> =
            fs::read_dir(self.path("tmp")).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(left.is_empty(), "left behind: {left:?}\n{ended:?}");
        ended
    }

    /// Checks that no process that knows the yard's temporary directory is left.
    pub fn nobody_left_behind_the_killed(&self) {
        self.nobody_left(KILLED);
    }

    fn nobody_left(&self, patience: Duration) {
        let mark = self.path("tmp").display().to_string();
        wait_until(patience, || {
            let left: Vec<String> = processes().filter(|pid| knows(*pid, &mark)).map(describe).collect();
            if left.is_empty() { Ok(()) } else { Err(format!("still there: {left:?}")) }
        });
    }
}

/// A command that was started.
pub struct Started {
    pub child: Child,
    out: File,
    err: File,
}

impl Started {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Standard error so far. Reading it does not move the position at which the command writes.
    pub fn errors_so_far(&self) -> String {
        let mut text = vec![0; 64 * 1024];
        let read = self.err.read_at(&mut text, 0).unwrap();
        String::from_utf8_lossy(&text[..read]).into_owned()
    }

    pub fn wait(mut self) -> Ended {
        let began = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if began.elapsed() > TIME_LIMIT {
                self.child.kill().unwrap();
                self.child.wait().unwrap();
                panic!(
                    "not ended after {TIME_LIMIT:?}\n{}\n{}",
                    content(&mut self.out),
                    content(&mut self.err)
                );
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        Ended { status, stdout: content(&mut self.out), stderr: content(&mut self.err) }
    }
}

fn content(file: &mut File) -> String {
    use std::io::{Read, Seek};
    let mut text = String::new();
    file.rewind().unwrap();
    file.read_to_string(&mut text).unwrap();
    text
}

/// End of a command: its status and its output.
#[derive(Debug)]
pub struct Ended {
    status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code(), Some(code), "{}\n{}\n{}", self.status, self.stdout, self.stderr);
        self
    }

    /// Checks that standard error contains all of this.
    #[track_caller]
    pub fn says(self, words: &[&str]) -> Self {
        for word in words {
            assert!(self.stderr.contains(word), "should say `{word}`:\n{}", self.stderr);
        }
        self
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|why| panic!("{why}\n{}\n{}", self.stdout, self.stderr))
    }

    pub fn last_line(&self) -> &str {
        self.stdout.lines().last().unwrap_or("")
    }
}

/// `bakeoff origin`, ended by SIGTERM.
pub struct Origin {
    child: Child,
    rest: BufReader<ChildStdout>,
    pub url: String,
}

impl Origin {
    pub fn start(yard: &Yard, args: &[&str]) -> Self {
        let mut child = yard
            .bakeoff(&["origin"])
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut rest = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        rest.read_line(&mut line).unwrap();
        let url = line.strip_prefix("listening: ").unwrap_or_else(|| panic!("first line: {line:?}"));
        Self { url: url.trim_end().to_owned(), child, rest }
    }

    pub fn pid(&self) -> String {
        self.child.id().to_string()
    }

    pub fn port(&self) -> &str {
        self.url.rsplit(':').next().unwrap()
    }

    /// Exit code, and standard output behind the first line.
    pub fn end(self) -> (Option<i32>, String) {
        let (code, rest, _) = self.end_with_closing_lines();
        (code, rest)
    }

    /// The same, and standard error.
    pub fn end_with_closing_lines(mut self) -> (Option<i32>, String, String) {
        signal("TERM", &self.pid());
        let status = self.child.wait().unwrap();
        let (mut rest, mut closing) = (String::new(), String::new());
        std::io::Read::read_to_string(&mut self.rest, &mut rest).unwrap();
        let mut errors = self.child.stderr.take().unwrap();
        std::io::Read::read_to_string(&mut errors, &mut closing).unwrap();
        (status.code(), rest, closing)
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Any other process of a test, killed when it goes.
pub struct Helper(pub Child);

impl Drop for Helper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Sends a signal; a target with a minus is a process group.
pub fn signal(name: &str, target: &str) {
    let status = Command::new("kill").args(["-s", name, "--", target]).status().unwrap();
    assert!(status.success(), "kill -s {name} {target}");
}

/// Waits until `done` succeeds; fails with its message when the time is over.
#[track_caller]
pub fn wait_until<T>(patience: Duration, mut done: impl FnMut() -> Result<T, String>) -> T {
    let began = Instant::now();
    loop {
        match done() {
            Ok(value) => return value,
            Err(missing) if began.elapsed() > patience => panic!("after {patience:?}: {missing}"),
            Err(_) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

/// Process ids of everything that is no zombie, this process left out.
fn processes() -> impl Iterator<Item = u32> {
    let all = bakeoff_sys::process::scan().unwrap();
    all.into_iter().filter(|stat| stat.state != 'Z' && stat.pid != std::process::id()).map(|stat| stat.pid)
}

/// Whether a process has the mark in its environment, command line, working directory or an open file.
fn knows(pid: u32, mark: &str) -> bool {
    let proc = PathBuf::from(format!("/proc/{pid}"));
    let says = |file: &str| {
        fs::read(proc.join(file)).is_ok_and(|text| String::from_utf8_lossy(&text).contains(mark))
    };
    let links_to = |link: &Path| fs::read_link(link).is_ok_and(|path| path.starts_with(mark));
    says("environ")
        || says("cmdline")
        || links_to(&proc.join("cwd"))
        || fs::read_dir(proc.join("fd")).into_iter().flatten().flatten().any(|fd| links_to(&fd.path()))
}

fn describe(pid: u32) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    format!("{pid} {}", String::from_utf8_lossy(&line).replace('\0', " "))
}

/// An interpreter that needs no home directory.
pub fn python() -> &'static str {
    if Path::new("/usr/bin/python3").exists() { "/usr/bin/python3" } else { "python3" }
}
