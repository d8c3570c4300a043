//! Test yard: domains, their agents, and their members.

use bakeoff_layers_agent::client::Subscriptions;
use bakeoff_layers_agent::session::AgentSession;
use bakeoff_layers_agent::trust::{self, LiveBundles};
use bakeoff_layers_credentials::bundle::Bundles;
use bakeoff_layers_credentials::notice::Notice;
use nix::unistd::Pid;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

/// A directory, and the agents that were started in it.
pub(crate) struct Yard {
    dir: tempfile::TempDir,
    agents: Vec<Running>,
}

/// An agent.
struct Running {
    domain: String,
    address: String,
    child: Child,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Exit code, standard output, standard error.
#[derive(Debug)]
pub(crate) struct Ended(pub(crate) i32, pub(crate) String, pub(crate) String);

impl Yard {
    /// A yard with an agent for each domain, which all know each other: `trust`.
    pub(crate) fn new(domains: &[&str]) -> Self {
        let mut yard = Self { dir: tempfile::tempdir().unwrap(), agents: Vec::new() };
        for domain in domains {
            // The port is not known yet.
            yard.good(&["ca", "init", domain, "--out", domain, "--ola", "127.0.0.1:1"]);
            let address = yard.start(domain, "127.0.0.1:0");
            yard.good(&["ca", "bundle", "--ca", domain, "--ola", &address]);
            let (bundle, public) = (format!("{domain}/trust/{domain}.trust"), format!("{domain}/admin.pub"));
            yard.good(&["ca", "import", &bundle, "--pub", &public, "--trust", "trust"]);
        }
        yard
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn layer(&self, words: &[&str]) -> Ended {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bakeoff-layers"));
        command.current_dir(&self.dir).env("XDG_RUNTIME_DIR", self.path("run")).args(words);
        let Output { status, stdout, stderr } = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Ended(status.code().unwrap(), text(stdout), text(stderr))
    }

    /// Output of a command that succeeds.
    #[track_caller]
    pub(crate) fn good(&self, words: &[&str]) -> String {
        let ended = self.layer(words);
        assert_eq!(ended.0, 0, "{words:?}: {ended:?}");
        ended.1
    }

    /// Output of a command that fails with this code.
    #[track_caller]
    pub(crate) fn bad(&self, code: i32, words: &[&str]) -> String {
        let ended = self.layer(words);
        assert_eq!((ended.0, ended.1.as_str()), (code, ""), "{words:?}: {ended:?}");
        ended.2
    }

    /// Makes a person with a key and an identity: `alice@home.key`, `alice@home.identity`.
    pub(crate) fn certify(&self, kind: &str, name: &str) {
        let domain = name.split_once('@').unwrap().1;
        let (key, identity) = (format!("{name}.key"), format!("{name}.identity"));
        let whole = format!("{kind}:{name}");
        self.good(&["ca", "certify", &whole, "--ca", domain, "--new-key", &key, "--out", &identity]);
    }

    pub(crate) fn login(&self, kind: &str, name: &str, more: &[&str]) -> Ended {
        let (whole, key, identity) =
            (format!("{kind}:{name}"), format!("{name}.key"), format!("{name}.identity"));
        let session = format!("{name}.session");
        let words = [
            "login",
            &whole,
            "--key",
            &key,
            "--identity",
            &identity,
            "--trust",
            "trust",
            "--session",
            &session,
        ];
        self.layer(&[&words[..], more].concat())
    }

    #[track_caller]
    pub(crate) fn logged_in(&self, kind: &str, name: &str, more: &[&str]) -> AgentSession {
        let ended = self.login(kind, name, more);
        assert_eq!(ended.0, 0, "{ended:?}");
        self.session(name)
    }

    pub(crate) fn session(&self, name: &str) -> AgentSession {
        AgentSession::open(&self.path(&format!("{name}.session"))).unwrap()
    }

    pub(crate) fn bundles(&self) -> Bundles {
        trust::read(&self.path("trust")).unwrap()
    }

    /// Process of an agent.
    pub(crate) fn pid(&self, domain: &str) -> Pid {
        let agent = self.agents.iter().find(|agent| agent.domain == domain).unwrap();
        Pid::from_raw(agent.child.id().try_into().unwrap())
    }

    /// Sends the notices of all agents.
    pub(crate) fn subscribe(&self, sender: Sender<Notice>) {
        let bundles = LiveBundles::open(&self.path("trust")).unwrap();
        Subscriptions::begin(&bundles, sender).unwrap();
    }

    pub(crate) fn address(&self, domain: &str) -> String {
        self.agents.iter().find(|agent| agent.domain == domain).unwrap().address.clone()
    }

    /// Kills an agent, with no time to clean up; returns its address.
    pub(crate) fn kill(&mut self, domain: &str) -> String {
        let address = self.address(domain);
        self.agents.retain(|agent| agent.domain != domain);
        address
    }

    /// Starts an agent; returns its address.
    pub(crate) fn start(&mut self, domain: &str, listen: &str) -> String {
        let (ola, status) = (format!("{domain}/ola"), format!("{domain}.status"));
        let mut child = Command::new(env!("CARGO_BIN_EXE_bakeoff-layers"))
            .current_dir(&self.dir)
            .args(["ola", "serve", &ola, "--listen", listen, "--status", &status])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address =
            line.strip_prefix("listening on ").and_then(|rest| rest.split_once(": ")).map(|found| found.0);
        let address = address.unwrap_or_else(|| panic!("{line:?}")).to_owned();
        self.agents.push(Running { domain: domain.to_owned(), address: address.clone(), child });
        address
    }

    /// Waits until a counter of an agent has reached this.
    #[track_caller]
    pub(crate) fn counts(&self, domain: &str, name: &str, least: u64) {
        let path = self.path(&format!("{domain}.status"));
        let begun = Instant::now();
        loop {
            let text = std::fs::read_to_string(&path).unwrap();
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            if line.is_some_and(|count| count.parse::<u64>().unwrap() >= least) {
                return;
            }
            assert!(begun.elapsed() < Duration::from_secs(120), "{name} is not {least}:\n{text}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
