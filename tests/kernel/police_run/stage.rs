//! Test stage: a network, a server in it, a daemon before it, and clients of any address of 127.0.0.0/8; all removed
//! at the end.

use bakeoff_layers_police::kernel::probe;
use bakeoff_layers_police::listeners::{Server as Process, listening};
use bakeoff_sys::namespace::Namespace;
use bakeoff_sys::net::{Local, LocalPort, begin, deferral_s};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The layers' executable.
pub(crate) const LAYERS: &str = env!("CARGO_BIN_EXE_bakeoff-layers");
pub(crate) const NGINX: &str = "/usr/sbin/nginx";
/// In a network of its own every port is free.
pub(crate) const PUBLIC: u16 = 80;
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
/// A SYN is sent again after a second: a client without an answer before that was dropped.
pub(crate) const SILENCE: Duration = Duration::from_millis(700);

/// Returns false and prints the reason if the machine lacks something.
pub(crate) fn may_run(test: &str, programs: &[&str]) -> bool {
    let missing = if !bakeoff_sys::process::is_root() {
        "needs root".to_owned()
    } else if let Err(missing) = probe() {
        missing.to_string()
    } else if let Some(program) = programs.iter().find(|program| !Path::new(program).exists()) {
        format!("needs {program}")
    } else {
        return true;
    };
    assert!(std::env::var_os("BAKEOFF_ALLOW_SKIPS").is_some(), "{test}: {missing}");
    println!("SKIP {test}: {missing}");
    false
}

/// Tries until it holds.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The network and a directory.
pub(crate) struct Site {
    pub(crate) network: Namespace,
    dir: TempDir,
}

impl Site {
    pub(crate) fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("bakeoff-police-").tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        Self { network: Namespace::create().unwrap(), dir }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        fs::write(self.path(name), text.replace("{dir}", &self.dir.path().display().to_string())).unwrap();
        self.path(name).display().to_string()
    }

    pub(crate) fn spawn(&self, command: &mut Command) -> Child {
        self.network.run(|| command.spawn().unwrap()).unwrap()
    }

    pub(crate) fn run(&self, words: &[&str]) -> Output {
        self.network.run(|| Command::new(words[0]).args(&words[1..]).output().unwrap()).unwrap()
    }

    /// nginx that answers with the class of the port on which it was reached, and listens nowhere else.
    pub(crate) fn nginx(&self) -> Server<'_> {
        let of = |(class, port): (&str, u16)| {
            format!("server {{ listen 127.0.0.1:{port}; location / {{ return 200 \"{class}\"; }} }}\n")
        };
        self.nginx_of(&[("high", 8200), ("low", 8201)].map(of).concat())
    }

    pub(crate) fn nginx_of(&self, servers: &str) -> Server<'_> {
        let text = format!(
            "daemon off; worker_processes 1; pid {{dir}}/nginx.pid; error_log {{dir}}/error.log;
             events {{}}
             http {{ access_log off; client_body_temp_path {{dir}}/b; proxy_temp_path {{dir}}/p; fastcgi_temp_path {{dir}}/f;
               uwsgi_temp_path {{dir}}/u; scgi_temp_path {{dir}}/s;
               {servers} }}"
        );
        let config = self.write("nginx.conf", &text);
        Server::start(self, &[NGINX, "-e", "stderr", "-c", &config])
    }

    /// Result for a client at this address.
    pub(crate) fn ask(&self, from: &str, path: &str) -> Got {
        self.ask_at(PUBLIC, from, path)
    }

    pub(crate) fn ask_at(&self, port: u16, from: &str, path: &str) -> Got {
        self.ask_of(([127, 0, 0, 1], port).into(), from, path)
    }

    pub(crate) fn ask_of(&self, to: SocketAddr, from: &str, path: &str) -> Got {
        self.network.run(|| Got::from(to, from, path)).unwrap()
    }

    /// Deferral of the server's sockets in s: the longest.
    pub(crate) fn deferral_s(&self, server: &Server<'_>) -> u32 {
        let read = || {
            let process = Process::of(server.pid()).unwrap();
            let taken = process.sockets(&listening(&[PUBLIC, 8200, 8201]).unwrap()).unwrap();
            taken.iter().map(|taken| deferral_s(&taken.socket).unwrap()).max()
        };
        self.network.run(read).unwrap().expect("it has no socket")
    }
}

fn talk(from: IpAddr, to: SocketAddr, request: &[u8]) -> io::Result<String> {
    let mut stream = begin(to, Local { address: Some(from), port: LocalPort::Any }, true)?;
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(SILENCE))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    // Waits for the connection.
    stream.write_all(request)?;
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply)?;
    Ok(String::from_utf8_lossy(&reply).into_owned())
}

/// Result of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Got {
    /// A whole reply: status and body.
    Reply(u16, String),
    /// RST, at the connection or at the request.
    Reset,
    /// Nothing at all.
    Silence,
}

impl Got {
    /// In the network of the calling thread.
    pub(crate) fn from(to: SocketAddr, from: &str, path: &str) -> Self {
        let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        Self::of(talk(from.parse().unwrap(), to, request.as_bytes()))
    }

    fn of(reply: io::Result<String>) -> Self {
        use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, TimedOut, WouldBlock};
        match reply {
            Ok(text) => {
                let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
                let body = text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned());
                Self::Reply(status.unwrap_or_else(|| panic!("no status in {text:?}")), body.unwrap())
            }
            Err(error) => match error.kind() {
                ConnectionReset | ConnectionRefused | ConnectionAborted => Self::Reset,
                WouldBlock | TimedOut => Self::Silence,
                _ => panic!("{error}"),
            },
        }
    }

    pub(crate) fn body(class: &str) -> Self {
        Self::Reply(200, class.to_owned())
    }

    pub(crate) fn is_served(&self) -> bool {
        matches!(self, Self::Reply(200, _))
    }
}

/// A server; it and its descendants end with the test.
pub(crate) struct Server<'s> {
    site: &'s Site,
    words: Vec<String>,
    child: Child,
}

impl<'s> Server<'s> {
    /// Starts it and waits until it listens.
    pub(crate) fn start(site: &'s Site, words: &[&str]) -> Self {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let child = Self::spawn(site, &words);
        let server = Self { site, words, child };
        server.await_ports();
        server
    }

    fn spawn(site: &Site, words: &[String]) -> Child {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).process_group(0).stdin(Stdio::null()).stdout(Stdio::null());
        site.spawn(command.stderr(fs::File::create(site.path("server.log")).unwrap()))
    }

    fn await_ports(&self) {
        let listens =
            || !self.site.network.run(|| listening(&[PUBLIC, 8200, 8201])).unwrap().unwrap().is_empty();
        let log = self.site.path("server.log");
        until(&format!("the server listens; it said {:?}", fs::read_to_string(log)), listens);
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(pid(&self.child), signal).unwrap();
    }

    pub(crate) fn lives(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    pub(crate) fn stop(&mut self) {
        self.signal(Signal::SIGTERM);
        until("the server ends", || self.child.try_wait().unwrap().is_some());
    }

    /// Starts it again, as another process.
    pub(crate) fn start_again(&mut self) {
        self.child = Self::spawn(self.site, &self.words);
        self.await_ports();
    }
}

impl Drop for Server<'_> {
    fn drop(&mut self) {
        // Also where the first process has ended: its workers may live on.
        let _ = nix::sys::signal::killpg(pid(&self.child), Signal::SIGKILL);
        let _ = self.child.wait();
    }
}

fn pid(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).unwrap())
}

/// `police run`.
pub(crate) struct Daemon<'s> {
    site: &'s Site,
    child: Child,
    said: BufReader<ChildStdout>,
    pub(crate) armed: String,
}

impl<'s> Daemon<'s> {
    /// Starts it with these rules, and waits until it is armed.
    pub(crate) fn start(site: &'s Site, server: &Server<'_>, rules: &str, flags: &[&str]) -> Self {
        Self::start_by(site, server, (rules, flags), |command| site.spawn(command))
    }

    /// The same from outside the server's network.
    pub(crate) fn start_outside(site: &'s Site, server: &Server<'_>, rules: &str) -> Self {
        Self::start_by(site, server, (rules, &[]), |command| command.spawn().unwrap())
    }

    fn start_by(
        site: &'s Site,
        server: &Server<'_>,
        (rules, flags): (&str, &[&str]),
        spawn: impl FnOnce(&mut Command) -> Child,
    ) -> Self {
        site.write("rules.toml", rules);
        let mut command = Command::new(LAYERS);
        command.args(words(site, server.pid())).args(flags).stdout(Stdio::piped());
        command.stderr(fs::File::create(site.path("notes")).unwrap());
        let mut child = spawn(&mut command);
        let mut said = BufReader::new(child.stdout.take().unwrap());
        let mut armed = String::new();
        said.read_line(&mut armed).unwrap();
        let daemon = Self { site, child, said, armed };
        assert!(daemon.armed.starts_with("armed: "), "{}{}", daemon.armed, daemon.notes());
        daemon
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its standard error.
    pub(crate) fn notes(&self) -> String {
        fs::read_to_string(self.site.path("notes")).unwrap()
    }

    pub(crate) fn status(&self) -> String {
        fs::read_to_string(self.site.path("status")).unwrap()
    }

    /// Value of a line of the status; 0 if there is none.
    pub(crate) fn count(&self, name: &str) -> u64 {
        let text = self.status();
        let found = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        found.map_or(0, |value| value.parse().unwrap())
    }

    /// Waits for a line of the status.
    pub(crate) fn await_line(&self, line: &str) {
        let mut last = String::new();
        until(&format!("`{line}` in the status"), || {
            last = self.status();
            last.lines().any(|other| other == line)
        });
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(pid(&self.child), signal).unwrap();
    }

    /// Loads other rules, and waits for the message that they are in force.
    pub(crate) fn reload(&self, rules: &str) {
        self.site.write("rules.toml", rules);
        self.signal(Signal::SIGHUP);
    }

    /// Ends it; returns its exit code.
    pub(crate) fn end(&mut self, signal: Signal) -> Option<i32> {
        self.signal(signal);
        let mut rest = String::new();
        self.said.read_to_string(&mut rest).unwrap();
        self.child.wait().unwrap().code()
    }

    /// Programs, maps and links of BPF that it holds, by the kernel's numbers.
    pub(crate) fn held(&self) -> BTreeSet<(String, u32)> {
        let mut held = BTreeSet::new();
        for (name, value) in self.descriptors().iter().flatten() {
            if matches!(name.as_str(), "prog_id" | "map_id" | "link_id") {
                held.insert((name.clone(), value.parse().unwrap()));
            }
        }
        held
    }

    /// Memory in bytes of each map, by its number: that of the tries and of `exact` depends on their entries.
    pub(crate) fn map_bytes(&self) -> BTreeMap<String, String> {
        let of = |about: BTreeMap<String, String>| {
            Some((about.get("map_id")?.clone(), about.get("memlock")?.clone()))
        };
        self.descriptors().into_iter().filter_map(of).collect()
    }

    /// The kernel's information on each of its descriptors, by name.
    fn descriptors(&self) -> Vec<BTreeMap<String, String>> {
        let entries = fs::read_dir(format!("/proc/{}/fdinfo", self.pid())).unwrap().flatten();
        let texts = entries.map(|entry| fs::read_to_string(entry.path()).unwrap_or_default());
        let of = |line: &str| {
            line.split_once(":\t").map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
        };
        texts.map(|text| text.lines().filter_map(of).collect()).collect()
    }
}

impl Drop for Daemon<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn words(site: &Site, server: u32) -> Vec<String> {
    let file = |name: &str| site.path(name).display().to_string();
    let words = ["police", "run", "--rules", &file("rules.toml"), "--server-pid", &server.to_string()];
    words.into_iter().chain(["--status", &file("status")]).map(str::to_owned).collect()
}

/// Exit code and message of a daemon that does not begin.
pub(crate) fn refused(site: &Site, server: u32, rules: &str, flags: &[&str]) -> (Option<i32>, String) {
    site.write("rules.toml", rules);
    started(site, server, flags)
}

/// The same with the rules that lie there.
pub(crate) fn refused_as_it_is(site: &Site, server: u32) -> (Option<i32>, String) {
    started(site, server, &[])
}

fn started(site: &Site, server: u32, flags: &[&str]) -> (Option<i32>, String) {
    let words = words(site, server);
    let mut all = vec![LAYERS];
    all.extend(words.iter().map(String::as_str));
    all.extend(flags);
    let output = site.run(&all);
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Those of these that still exist in the kernel.
pub(crate) fn left_of(held: &BTreeSet<(String, u32)>) -> Vec<(String, u32)> {
    let all =
        |name: &str, ids: Vec<u32>| ids.into_iter().map(move |id| (name.to_owned(), id)).collect::<Vec<_>>();
    let programs = aya::programs::loaded_programs().flatten().map(|program| program.id()).collect();
    let maps = aya::maps::loaded_maps().flatten().map(|map| map.id()).collect();
    let links = aya::programs::loaded_links().flatten().map(|link| link.id()).collect();
    let there = [all("prog_id", programs), all("map_id", maps), all("link_id", links)].concat();
    there.into_iter().filter(|one| held.contains(one)).collect()
}
